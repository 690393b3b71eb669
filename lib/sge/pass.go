package sge

// member is one proc that the ticket policies count: of a job that runs, or one of the first
// that wait of a cluster.
type member struct {
	job  *Job
	task int // its number in the job, from 0: its proc is job.ID.Proc + task
}

// pass is one pass of the ticket policies. Of members, the first running ones run; both parts
// are in the order of their IDs.
type pass struct {
	config  *Config
	used    *Used
	members []member
	running int
	crowd   *crowd
	forest  *forest // nil if the share tree gives nothing
	// before is what each member has of the dependent policies so far: it is what a dependent
	// policy sorts with, and adds to. It is nil as long as nobody has any.
	before []float64
	// ran is what each policy gave each member that runs, and waits what it gave each that
	// waits; nil if it gave nothing.
	ran, waits [TicketPolicies][]float64
	// unasked are the members with functional tickets that the policies after it do not see.
	unasked []int32
	trace   *trace // nil: nobody looks
}

// newPass has the policies give members their tickets, in the order of policy_hierarchy.
// Those that are not in it come after, independently of the others.
func newPass(c *Config, used *Used, members []member, running int) *pass {
	return tracedPass(c, used, members, running, nil)
}

// tracedPass is newPass with what it notes of the members.
func tracedPass(c *Config, used *Used, members []member, running int, t *trace) *pass {
	p := &pass{config: c, used: used, members: members, running: running, crowd: crowdOf(c, members), trace: t}
	policies, dependent := c.policies()
	for i, policy := range policies {
		p.give(policy, i < dependent)
		if i+1 < dependent {
			p.remember(policy)
		}
	}
	return p
}

// policies returns the policies in the order in which they give, and how many of them depend
// on those before: those of Hierarchy, each once.
func (c *Config) policies() (order []TicketPolicy, dependent int) {
	var listed [TicketPolicies]bool
	for _, policy := range c.Hierarchy {
		if policy < TicketPolicies && !listed[policy] {
			listed[policy] = true
			order = append(order, policy)
		}
	}
	dependent = len(order)
	for policy := range TicketPolicies {
		if !listed[policy] {
			order = append(order, policy)
		}
	}
	return order, dependent
}

// give has one policy give its tickets.
func (p *pass) give(policy TicketPolicy, dependent bool) {
	var before []float64
	if dependent {
		before = p.before
	}
	switch pool := p.config.pool(policy); {
	case policy == Override:
		p.override(before)
	case policy == Functional && pool > 0:
		p.functional(pool, before)
	case policy == ShareTree && pool > 0 && p.config.Tree != nil:
		p.forest = newForest(p.config, p.used, p.members, p.running)
		p.forest.trace = p.trace
		if dependent && before == nil { // nobody has any, which is not the same as not to ask
			before = make([]float64, len(p.members))
		}
		p.ran[ShareTree] = p.forest.runningTickets(pool)
		p.waits[ShareTree] = p.forest.pendingTickets(pool, before)
	}
}

// pool returns the tickets that a policy has to give; Override has no such number.
func (c *Config) pool(policy TicketPolicy) float64 {
	switch policy {
	case Functional:
		return entitlement(c.TicketsFunctional)
	case ShareTree:
		return entitlement(c.TicketsShare)
	}
	return 0
}

// remember adds what a dependent policy gave to what the next one goes on with. Of what the
// functional policy gave, that of the members in p.unasked is not added.
func (p *pass) remember(policy TicketPolicy) {
	ran, waits := p.ran[policy], p.waits[policy]
	if ran == nil && waits == nil {
		return
	}
	if p.before == nil {
		p.before = make([]float64, len(p.members))
	}
	for i, x := range ran {
		p.before[i] += x
	}
	before := p.before[p.running:]
	kept := make([]float64, len(p.unasked))
	for i, m := range p.unasked {
		kept[i] = p.before[m]
	}
	for i, x := range waits {
		before[i] += x
	}
	for i, m := range p.unasked {
		p.before[m] = kept[i]
	}
	p.unasked = nil
}
