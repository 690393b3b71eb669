package sge

import (
	"fmt"
	"slices"
	"strings"
)

// Course is the source of a job's numbers: all inputs of the formulas of Seed, in full
// precision. Numbers has the results, which are no part of the JSON.
type Course struct {
	Numbers `json:"-"`
	Running bool // the job runs
	// WeightPriority and the like are the factors of the three parts of Prio.
	WeightPriority, WeightUrgency, WeightTicket float64
	POSIX                                       int64 // -1023 to 1024: NPPrior is (POSIX + 1024) / 2048
	// NoNPPrior: npprior was not computed for any job, because it has no effect and is
	// not shown; NPPrior is 0.5.
	NoNPPrior bool
	Urgency   UrgencyCourse
	// MaxTickets is the most that any job has: NTckts is Tckts / MaxTickets, or 0.5 if
	// MaxTickets is practically 0.
	MaxTickets float64
	NoTickets  bool // no job has tickets: NTckts is 0.5
	Counted    CountedCourse
	Override   OverrideCourse
	Functional FunctionalCourse
	ShareTree  TreeCourse
}

// CountedCourse is what bounds how many waiting procs of a cluster count in the ticket
// policies: the lower of MaxPending and FreeSlots + 1, but one at least.
type CountedCourse struct {
	Procs      int
	MaxPending int   // max_pending_tasks_per_job
	FreeSlots  int64 // of the pool
}

// Course returns the source of the numbers of a waiting proc. Job is its index in the list
// that was given to Rank, and task its place in the stretch, from 0; if there is no such proc,
// all is zero. The first call repeats the run to look at it, and costs about as much as Rank.
func (r *Ranking) Course(job, task int) *Course {
	if job < 0 || job >= len(r.pending) || task < 0 || task >= r.pending[job].Count {
		return &Course{}
	}
	c := r.course(&r.pending[job], r.Pending(job, task))
	if !c.Uncounted {
		r.noted().pendingTickets(c, len(r.running)+int(r.from[job])+task)
	}
	return c
}

// RunningCourse is Course for a job that runs, by its index in that list.
func (r *Ranking) RunningCourse(job int) *Course {
	if job < 0 || job >= len(r.running) {
		return &Course{}
	}
	c := r.course(&r.running[job], r.Running(job))
	c.Running = true
	r.noted().runningTickets(c, int(r.runs[job]))
	return c
}

// course has all but the tickets.
func (r *Ranking) course(j *Job, n Numbers) *Course {
	c, most := r.config, r.tickets.most
	return &Course{
		Numbers:        n,
		WeightPriority: c.WeightPriority, WeightUrgency: c.WeightUrgency, WeightTicket: c.WeightTicket,
		POSIX:      min(max(j.POSIX, LeastPOSIX), MostPOSIX),
		NoNPPrior:  c.WeightPriority == 0 && !c.ReportPending,
		Urgency:    r.urgencyCourse(j),
		MaxTickets: most,
		NoTickets:  most < negligible,
		Counted:    CountedCourse{c.countable(r.world.FreeSlots), c.MaxPendingTasks, r.world.FreeSlots},
	}
}

// FunctionalCourse is what FTckt comes from: Pool times the sum of Weight * FShare / Jobs / Sum
// of Terms.
type FunctionalCourse struct {
	Why   string `json:",omitempty"` // it gives nothing: why
	Pool  float64
	Terms []FunctionalTerm // of kinds that weigh something, where the job has shares
	Turn  Turn             // of a job that waits
	// Trial says that the job's turn did not come: it has the tickets that it would have got
	// as the last one served.
	Trial bool
}

// FunctionalTerm is the contribution of the shares of a user, department or project, or of the
// job itself.
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

// pendingTickets adds the source of the tickets of a waiting member.
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

// runningTickets adds the source of the tickets of a running member.
func (t *trace) runningTickets(c *Course, at int) {
	active := activeOf(t.active, t.pass.party(at), 0)
	c.Override = t.overrideCourse(at, active)
	c.Functional = t.functionalCourse(at, &t.ran, active)
	c.ShareTree = t.runningTree(at)
}

// overrideCourse returns the source of a member's override tickets, when active jobs of
// its objects count.
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

// functionalCourse returns the source of a member's functional tickets, with the weights and
// sums of a state of the policy, when active jobs of its objects count.
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

// party returns the party of a member in the functional and the override policy.
func (p *pass) party(at int) *party { return &p.crowd.parties[p.crowd.of[at]] }

// TreeCourse is what STckt comes from. For a job that waits it is Pool * Target / Divisor; so it
// is for one that runs, or, if JobShares is above 0, Pool * Target * JobShare / JobShares
// without the fraction.
type TreeCourse struct {
	Why  string `json:",omitempty"` // it gives nothing: why
	Pool float64
	Node string `json:",omitempty"` // where the job belongs, such as /eng/alice
	// Branch is the node with the short-term target Target. For a waiting job it is the node
	// on the way to Node where the ways of the jobs have parted, and Target a part of its
	// parent's; for a running job it is Node itself, and Target a part of the whole.
	Branch string `json:",omitempty"`
	Target float64
	// Divisor is the place of a job that waits among all of Branch, where one that asks for
	// several slots takes as many places; for one that runs, how many run on Node.
	Divisor             float64
	JobShare, JobShares float64 // of a job that runs, and of all that run on Node
	// Levels are the nodes from below the root to Node. A running job's are as without the
	// waiting jobs.
	Levels []TreeLevel
}

// TreeLevel is a node of the share tree among the children of its parent that have jobs:
// LongTarget is Shares / AllShares, and ShortTarget Weight / AllWeights. Weight is Shares^2 /
// max(Usage, TotalLong) / Cut. TotalLong and TotalShort are the products of the targets of
// all levels from the root on.
type TreeLevel struct {
	Path                    string // as in TreeNode
	Shares, AllShares       float64
	Usage                   float64 // decayed and weighted
	Weight, AllWeights      float64
	Cut                     float64 // by the compensation factor; 1 if it is not cut
	LongTarget, TotalLong   float64
	ShortTarget, TotalShort float64
}

// pendingTree returns the source of the share tree tickets of a waiting member.
func (t *trace) pendingTree(at int) TreeCourse {
	c, waiting := t.treeCourse(at, t.pass.forest), at-t.pass.running
	if branch := t.branch[waiting]; c.Why == "" && branch != none {
		c.Branch, c.Target = t.pass.forest.path(branch), t.pass.forest.branches[branch].short
		c.Divisor = t.divisor[waiting]
	}
	return c
}

// runningTree returns the source of the share tree tickets of a running member.
func (t *trace) runningTree(at int) TreeCourse {
	f := t.alone
	c := t.treeCourse(at, f)
	if c.Why != "" {
		return c
	}
	b := &f.branches[f.at[at]]
	c.Branch, c.Target, c.Divisor = c.Node, b.totalShort, float64(b.own)
	for m, branch := range f.at {
		if branch == f.at[at] {
			c.JobShares += entitlement(f.members[m].job.JobShare)
		}
	}
	if c.JobShares > 0 {
		c.JobShare = entitlement(f.members[at].job.JobShare)
	}
	return c
}

// treeCourse returns a member's place in the share tree, and the entitlements of the nodes
// on the way there.
func (t *trace) treeCourse(at int, f *forest) TreeCourse {
	c := TreeCourse{Pool: t.pass.config.pool(ShareTree)}
	switch {
	case c.Pool <= 0:
		c.Why = "weight_tickets_share is 0"
	case f == nil:
		c.Why = "there is no share tree"
	case f.at[at] == none:
		c.Why = f.homeless(f.members[at].job)
	default:
		c.Node = f.path(f.at[at])
		path := c.Node
		for i := f.at[at]; f.branches[i].parent != none; i = f.branches[i].parent {
			c.Levels = append(c.Levels, f.treeLevel(i, path))
			path = path[:len(path)-len(f.step(i))]
		}
		slices.Reverse(c.Levels)
	}
	return c
}

// homeless says why a job belongs to no node.
func (f *forest) homeless(j *Job) string {
	if j.Project == "" {
		return fmt.Sprintf("no node for user %s outside of projects, and no default", j.User)
	}
	in := f.index()
	if project, known := in.projects[j.Project]; known {
		return fmt.Sprintf("no node for user %s below %s, and no default", j.User, f.path(project))
	}
	return fmt.Sprintf("project %s has no node", j.Project)
}

// path returns the way from the root to a branch.
func (f *forest) path(i int32) string {
	var steps []string
	for ; f.branches[i].parent != none; i = f.branches[i].parent {
		steps = append(steps, f.step(i))
	}
	if len(steps) == 0 {
		return "/"
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// step returns a branch's part of its path. A temporary branch is shown below the default that
// it replaces.
func (f *forest) step(i int32) string {
	b := &f.branches[i]
	if b.temporary {
		return "/" + DefaultNode + "/" + b.name
	}
	return "/" + b.name
}

// treeLevel returns a branch among its siblings.
func (f *forest) treeLevel(i int32, path string) TreeLevel {
	b := &f.branches[i]
	l := TreeLevel{Path: path, Shares: b.shares, Usage: b.usage, Weight: b.weight, Cut: 1,
		LongTarget: b.long, TotalLong: b.totalLong, ShortTarget: b.short, TotalShort: b.totalShort}
	if b.compensated && b.weight > 0 {
		l.Cut = cut(b.shares * (b.shares / max(b.usage, b.totalLong)) / b.weight)
	}
	for sibling := range f.children(b.parent) {
		if s := &f.branches[sibling]; s.jobs() > 0 {
			l.AllShares += s.shares
			l.AllWeights += s.weight
		}
	}
	return l
}

// UrgencyCourse is the source of a job's urgency: RRContr is the sum of the contributions of
// Requests, WTContr is WeightWaitingTime * Waited, DLContr is WeightDeadline / FreeTime, and
// NUrg is (Urg - Least) / (Greatest - Least).
type UrgencyCourse struct {
	Requests          []RequestCourse // the one for SlotsComplex first
	WeightWaitingTime float64         // of a second
	Waited            float64         // seconds since it was submitted, 0 and more
	Deadline          int64           // Unix seconds; 0: none
	WeightDeadline    float64         // times seconds
	FreeTime          float64         // seconds until the deadline, at least 1; 0 without one
	Passed            bool            // the deadline has passed
	// Least and Greatest are the urgencies of the least and the most urgent job that wait or
	// run; Greatest is never below 0.
	Least, Greatest float64
	Equal           bool // all are equally urgent: NUrg is 0.5
	// NoUrgency: the urgency was not computed for any job, because it has no effect and
	// is not shown; NUrg is 0.5, and Urg and its parts are 0.
	NoUrgency bool
}

// RequestCourse is what one request adds to RRContr: Urgency * Slots * Amount, or, for types
// without amounts, Urgency.
type RequestCourse struct {
	Name    string  // of the complex
	Text    string  `json:",omitempty"` // the request, as the job has it
	Urgency float64 // of one of it
	Fixed   bool    `json:",omitempty"` // its type has no amounts
	Slots   int64   `json:",omitempty"` // the assumed slot allocation; 0 for types without amounts
	Amount  float64 // of each slot; 1 for types without amounts
	Adds    float64
}

// urgencyCourse returns the source of a job's urgency.
func (r *Ranking) urgencyCourse(j *Job) UrgencyCourse {
	c, now, g := r.config, r.urgent.now, r.urgent
	u := UrgencyCourse{
		WeightWaitingTime: c.WeightWaitingTime,
		Waited:            since(j.Submitted, now, 0),
		Deadline:          j.Deadline,
		WeightDeadline:    c.WeightDeadline,
		Least:             g.least,
		Greatest:          g.greatest,
		Equal:             g.greatest-g.least < negligible,
		NoUrgency:         g.none,
	}
	if j.Deadline != 0 {
		u.FreeTime, u.Passed = since(now, j.Deadline, 1), j.Deadline <= now
	}
	if g.slots != 0 {
		u.Requests = append(u.Requests, RequestCourse{Name: SlotsComplex, Urgency: g.slots, Slots: j.Slots, Amount: j.CPUs, Adds: slotsAdd(j, g.slots)})
	}
	for _, request := range j.Requests {
		if of, ok := c.requestCourse(request, j.Slots); ok {
			u.Requests = append(u.Requests, of)
		}
	}
	return u
}

// requestCourse has what one request adds; false if its complex is not there.
func (c *Config) requestCourse(r Request, slots int64) (RequestCourse, bool) {
	if r.Complex < 0 || r.Complex >= len(c.Complexes) {
		return RequestCourse{}, false
	}
	x := &c.Complexes[r.Complex]
	of := RequestCourse{Name: x.Name, Text: r.Text, Urgency: x.Urgency, Slots: slots, Amount: r.Amount, Adds: c.Contribution(r, slots)}
	if x.Type >= String {
		of.Fixed, of.Slots, of.Amount = true, 0, 1
	}
	return of, true
}
