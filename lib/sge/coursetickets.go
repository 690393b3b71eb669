package sge

// FunctionalCourse is what FTckt comes from: Pool times the sum of Weight * FShare / Jobs / Sum
// of Terms.
type FunctionalCourse struct {
	Why   string `json:",omitempty"` // it gives nothing: why
	Pool  float64
	Terms []FunctionalTerm // of kinds that weigh something, where the job has shares
	Turn  Turn             // of a job that waits
	// Trial says that the job's turn did not come: it has what it would have got as the last
	// that was served.
	Trial bool
}

// FunctionalTerm is what the shares of a user, department or project, or of the job itself, are
// worth.
type FunctionalTerm struct {
	Kind   string  // user, department, project or job
	Name   string  `json:",omitempty"`
	Weight float64 // of the kind: its part of the weights of all, 0 to 1
	FShare float64
	Jobs   int     // how many share it: those that run, and those served so far; 1 if it is not shared
	Sum    float64 // the shares of the kind of all these jobs
}

// OverrideCourse is what OTckt comes from: the sum of OTicket / Jobs of Terms.
type OverrideCourse struct {
	Why   string         `json:",omitempty"` // it gives nothing: why
	Terms []OverrideTerm // where the job has any
	Turn  Turn           // of a job that waits, where tickets are shared
}

// OverrideTerm is the tickets of a user, department or project, or of the job itself.
type OverrideTerm struct {
	Kind    string // user, department, project or job
	Name    string `json:",omitempty"`
	OTicket float64
	Jobs    int // how many share it: those that run, and those served so far; 1 if it is not shared
}

// Turn is when a job was served, where those that wait are served one after the other: Place
// counts from 1, and Of is how many were served. The zero value stands for none.
type Turn struct{ Place, Of int }

// kindNames are the names of the functional policy's categories.
var kindNames = [terms]string{ofUser: "user", ofDepartment: "department", ofProject: "project", ofJob: "job"}

// of returns the name of a job's object.
func (j *Job) of(kind int) string {
	return [terms]string{ofUser: j.User, ofDepartment: j.Department, ofProject: j.Project}[kind]
}

// pendingTickets adds what the tickets of a member come from that waits.
func (t *trace) pendingTickets(c *Course, at int) {
	waiting, w := at-t.pass.running, t.pass.party(at)
	o, f := t.override[waiting], t.functional[waiting]
	c.Override = t.overrideCourse(at, o.active)
	if o.place > 0 {
		c.Override.Turn = Turn{o.place, t.served[Override]}
	}
	switch {
	case f.place > 0:
		c.Functional = t.functionalCourse(at, &functional{weights: t.weights, sums: f.sums}, f.active)
		c.Functional.Turn = Turn{f.place, t.served[Functional]}
	case t.last.objects != nil: // they are left over, or have no shares
		next := t.last
		next.sums = next.trialSums(next.shares(w, 1))
		c.Functional = t.functionalCourse(at, &next, activeOf(next.active, w, 1))
		c.Functional.Trial = c.Functional.Why == ""
		c.Functional.Turn.Of = t.served[Functional]
	default:
		c.Functional = t.functionalCourse(at, &functional{}, [kinds]int32{})
	}
	c.ShareTree = t.pendingTree(at)
}

// runningTickets adds what the tickets of a member come from that runs.
func (t *trace) runningTickets(c *Course, at int) {
	active := activeOf(t.active, t.pass.party(at), 0)
	c.Override = t.overrideCourse(at, active)
	c.Functional = t.functionalCourse(at, &t.ran, active)
	c.ShareTree = t.runningTree(at)
}

// overrideCourse has what a member's override tickets come from, when so many jobs of its
// objects count.
func (t *trace) overrideCourse(at int, active [kinds]int32) (o OverrideCourse) {
	w, j := t.pass.party(at), t.pass.members[at].job
	for kind, object := range w.objects {
		if x := t.pass.crowd.objects[object].oticket; x > 0 {
			o.Terms = append(o.Terms, OverrideTerm{kindNames[kind], j.of(kind), x, sharing(t.pass.config.ShareOverride, active[kind])})
		}
	}
	if w.extra > 0 {
		o.Terms = append(o.Terms, OverrideTerm{Kind: kindNames[ofJob], OTicket: w.extra, Jobs: 1})
	}
	if len(o.Terms) == 0 {
		o.Why = "neither user, project, department nor job has override tickets"
	}
	return o
}

// functionalCourse has what a member's functional tickets come from, with the weights and sums
// of a state of the policy, when so many jobs of its objects count.
func (t *trace) functionalCourse(at int, f *functional, active [kinds]int32) FunctionalCourse {
	w, p, j := t.pass.party(at), t.pass, t.pass.members[at].job
	c := FunctionalCourse{Pool: p.config.pool(Functional)}
	shares := [terms]float64{ofJob: w.jobShare}
	some := w.jobShare > 0
	for kind, object := range w.objects {
		shares[kind] = p.crowd.objects[object].fshare
		some = some || shares[kind] > 0
	}
	switch {
	case c.Pool <= 0:
		c.Why = "weight_tickets_functional is 0"
		return c
	case !some:
		c.Why = "neither user, project, department nor job has shares"
		return c
	case at >= p.running && p.config.MaxFunctional <= 0:
		c.Why = "max_functional_jobs_to_schedule is 0"
		return c
	}
	for kind, share := range shares {
		if share > 0 && f.weights[kind] > 0 {
			term := FunctionalTerm{Kind: kindNames[kind], Name: j.of(kind), Weight: f.weights[kind], FShare: share, Jobs: 1, Sum: f.sums[kind]}
			if kind != ofJob {
				term.Jobs = sharing(p.config.ShareFunctional, active[kind])
			}
			c.Terms = append(c.Terms, term)
		}
	}
	if len(c.Terms) == 0 {
		c.Why = "what has shares weighs nothing: weight_user, weight_project, weight_department, weight_job"
	}
	return c
}

// sharing returns by how many of its jobs something is divided.
func sharing(shared bool, active int32) int {
	if shared {
		return int(active)
	}
	return 1
}

// party returns what the functional and the override policy know of a member.
func (p *pass) party(at int) *party { return &p.crowd.parties[p.crowd.of[at]] }
