package sge

import (
	"cmp"
	"slices"

	"fairspool/lib/heap"
	"fairspool/lib/parallel"
)

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
	// before is each member's tickets of the dependent policies so far: a dependent policy
	// sorts by them, and adds to them. It is nil as long as no job has any.
	before []float64
	// ran is each policy's tickets for each running member, and waits those for each
	// waiting one; nil if it gave none.
	ran, waits [TicketPolicies][]float64
	// unasked are the members with functional tickets that the policies after it do not see.
	unasked []int32
	trace   *trace // nil: nothing is noted
}

// newPass has the policies give members their tickets, in the order of policy_hierarchy.
// Those that are not in it come after, independently of the others.
func newPass(c *Config, used *Used, members []member, running int) *pass {
	return tracedPass(c, used, members, running, nil)
}

// tracedPass is newPass with notes on the members.
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

// policies returns the policies in the order of computation, and how many of them depend on
// earlier ones: those of Hierarchy, each once.
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
		if dependent && before == nil { // no job has any, which differs from not asking
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

// remember adds a dependent policy's tickets to those that the next one uses. It leaves out
// functional tickets of the members in p.unasked.
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

// contest gives waiting members tickets as if they were started one after the other: the
// member that would get most goes first, and its tickets reduce those that the others would
// get.
//
// So a contender's tickets never grow while others go, not even by rounding: they are a
// fraction whose divisors grow. An earlier number is a bound, and only the apparent first
// has to be computed again.
type contest struct {
	members []member
	before  []float64 // tickets so far, by member; nil if these do not count
	adds    bool      // a contender's earlier tickets count among contenders, too
	// submission says that among equals the first that was submitted goes first, and not the
	// first by ID.
	submission bool
	trial      func(*party) float64             // the tickets of the next of a party
	heap       heap.Heap[contender, *contender] // the one that seems to be first is in front
}

// contender is members that would get the same tickets. Only the first of them competes.
type contender struct {
	contest *contest
	party   *party  // of one of them
	members []int32 // those that have not gone; the first by precedence is in front
	sorted  bool    // and so are the others
	trial   float64 // the first one's tickets, as last computed
	value   float64 // the first one's number in the competition
}

// begin has contenders compete.
func (c *contest) begin(all []contender) {
	c.heap = all
	parallel.Parts(parallel.Bounds(len(all), 1), func(_, from, to int) {
		for i := from; i < to; i++ {
			c.lead(&all[i])
		}
	})
	for i := range all {
		all[i].contest = c
		c.reckon(&all[i])
	}
	c.heap.Heapify()
}

// lead brings the first of a contender's members to the front. The others are sorted when
// that is needed: of most contenders few members go, or none.
func (c *contest) lead(one *contender) {
	if one.sorted = slices.IsSortedFunc(one.members, c.precedence); !one.sorted {
		first := 0
		for i, m := range one.members {
			if c.precedence(m, one.members[first]) < 0 {
				first = i
			}
		}
		one.members[0], one.members[first] = one.members[first], one.members[0]
	}
}

// precedence compares members of one contender: those with more tickets so far go first.
func (c *contest) precedence(a, b int32) int {
	if c.before != nil && c.before[a] != c.before[b] {
		return cmp.Compare(c.before[b], c.before[a])
	}
	return c.compare(a, b)
}

// compare compares members between which tickets do not decide.
func (c *contest) compare(a, b int32) int {
	if c.submission {
		if x, y := c.members[a].job.Submitted, c.members[b].job.Submitted; x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(a, b) // they are in the order of IDs
}

// next returns the contender that goes next, or nil after all.
func (c *contest) next() *contender {
	for len(c.heap) > 0 {
		top := &c.heap[0]
		value := top.value
		if c.reckon(top); top.value == value {
			return top
		}
		c.heap.Fix()
	}
	return nil
}

// reckon computes the present tickets of a contender's first member.
func (c *contest) reckon(one *contender) {
	one.trial = c.trial(one.party)
	c.appraise(one)
}

// appraise sets the number with which a contender's first member competes.
func (c *contest) appraise(one *contender) {
	one.value = one.trial
	if c.adds && c.before != nil {
		one.value += c.before[one.members[0]]
	}
}

// goes takes away the first of the contender in front. The next one would get no more.
func (c *contest) goes() {
	top := &c.heap[0]
	if !top.sorted {
		slices.SortFunc(top.members, c.precedence)
		top.sorted = true
	}
	if top.members = top.members[1:]; len(top.members) == 0 {
		c.heap.Pop()
		return
	}
	c.appraise(top)
	c.heap.Fix()
}

// Before reports whether a contender seems to go before another of its contest.
func (a *contender) Before(b *contender) bool {
	if a.value != b.value {
		return a.value > b.value
	}
	return a.contest.compare(a.members[0], b.members[0]) < 0
}

// contenders groups the waiting members by the numbers in of of their parties: members with
// equal numbers are one contender, and those with negative ones none. There are n
// contenders.
func (p *pass) contenders(of []int32, n int) []contender {
	ends := make([]int, n+1)
	waiting := p.crowd.of[p.running:]
	for _, party := range waiting {
		ends[of[party]+1]++ // the first counts those that do not compete
	}
	ends[0] = 0
	for i := 1; i <= n; i++ {
		ends[i] += ends[i-1]
	}
	room := make([]int32, ends[n])
	all := make([]contender, n)
	for i := range all {
		all[i].members = room[ends[i]:ends[i]:ends[i+1]]
	}
	for i, party := range waiting {
		if number := of[party]; number >= 0 {
			one := &all[number]
			one.party = &p.crowd.parties[party]
			one.members = append(one.members, int32(p.running+i))
		}
	}
	return slices.DeleteFunc(all, func(one contender) bool { return len(one.members) == 0 })
}

// object is a user, a project or a department of a job, and its entitlement.
type object struct{ fshare, oticket float64 }

// The kinds of objects.
const (
	ofUser = iota
	ofDepartment
	ofProject
	kinds
)

// nobody is the object for a missing project, and for all objects without an entitlement.
const nobody = 0

// party is the view of a job in the functional and the override policy. Jobs with equal views
// are one party.
type party struct {
	objects         [kinds]int32 // the job's objects, in crowd.objects
	jobShare, extra float64      // job share and override tickets of its own
}

// crowd is the parties and objects of the members.
type crowd struct {
	objects []object // nobody is the first
	parties []party
	of      []int32 // the party of each member
}

// manyJobs are worth another processor.
const manyJobs = 4096

// facts are the properties of a job that determine its party.
type facts struct {
	user, project, department string
	jobShare, extra           float64
}

func factsOf(j *Job) facts {
	return facts{j.User, j.Project, j.Department, entitlement(j.JobShare), entitlement(j.OverrideTickets)}
}

// crowdOf finds the parties of members, in the order of their first ones. Several processors
// find those of some members each, and then these are joined.
func crowdOf(c *Config, members []member) *crowd {
	w := &crowd{objects: []object{nobody: {}}, of: make([]int32, len(members))}
	parts := parallel.Bounds(len(members), manyJobs)
	found := make([][]facts, len(parts)-1)
	parallel.Parts(parts, func(part, from, to int) { found[part] = meet(members[from:to], w.of[from:to]) })
	known := map[facts]int32{}
	objects := map[[2]string]int32{}
	for part, some := range found {
		numbers := make([]int32, len(some))
		for i, f := range some {
			number, met := known[f]
			if !met {
				number = int32(len(w.parties))
				known[f] = number
				w.parties = append(w.parties, w.party(c, f, objects))
			}
			numbers[i] = number
		}
		if part > 0 { // the first part's are as they were found
			for m := parts[part]; m < parts[part+1]; m++ {
				w.of[m] = numbers[w.of[m]]
			}
		}
	}
	return w
}

// meet numbers the facts of members in their order. Neighbours mostly have the same facts.
func meet(members []member, of []int32) (found []facts) {
	known := map[facts]int32{}
	var last *Job
	for m := range members {
		job := members[m].job
		switch {
		case job == last || last != nil && factsOf(job) == factsOf(last):
			of[m] = of[m-1]
		default:
			f := factsOf(job)
			number, met := known[f]
			if !met {
				number = int32(len(found))
				known[f] = number
				found = append(found, f)
			}
			of[m] = number
		}
		last = job
	}
	return found
}

// party returns the party with these facts. Known are the numbers of the objects by kind
// and name, so far.
func (w *crowd) party(c *Config, f facts, known map[[2]string]int32) party {
	p := party{jobShare: f.jobShare, extra: f.extra}
	for kind, name := range [kinds]string{ofUser: f.user, ofDepartment: f.department, ofProject: f.project} {
		records := [kinds]map[string]Object{ofUser: c.Users, ofDepartment: c.Departments, ofProject: c.Projects}[kind]
		record, configured := records[name]
		if !configured || record.FShare <= 0 && record.OTicket <= 0 {
			continue // nobody
		}
		key := [2]string{string(rune('0' + kind)), name}
		number, met := known[key]
		if !met {
			number = int32(len(w.objects))
			known[key] = number
			w.objects = append(w.objects, object{entitlement(record.FShare), entitlement(record.OTicket)})
		}
		p.objects[kind] = number
	}
	return p
}
