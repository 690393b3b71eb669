package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Measure is an action on jobs that their own policy, or the end of other jobs, requires.
type Measure int

// The measures.
const (
	HoldThem    Measure = iota + 1
	ReleaseThem         // they are held no more
	RemoveThem
	VacateThem // they leave their slots, to run again
	LetThemGo  // they have ended, and LeaveJobInQueue keeps them no longer
	LetThemRun // the jobs that they waited for have ended
	PlanThem   // their time in the manner of cron(8) is over, and the next one is to be set
)

// measures are the measures that the actions of jobs' own expressions stand for.
var measures = map[jobpolicy.Action]Measure{
	jobpolicy.Hold: HoldThem, jobpolicy.Release: ReleaseThem, jobpolicy.Remove: RemoveThem, jobpolicy.Vacate: VacateThem,
}

// Due is a measure that jobs are due for, with its reason.
type Due struct {
	pool.Procs
	What Measure
	Why  pool.Reason // without a Text for LetThemGo, LetThemRun and PlanThem
}

// Outlook is the set of measures that the jobs' own policies require, without a command.
type Outlook struct {
	// Due are the measures, by ascending jobs.
	Due []Due
	// Unknown are the clusters with jobs that only the history knows, see Recollect.
	// Unneeded are the watched clusters that need no watching any more. Both are ascending.
	Unknown, Unneeded []int
	// PutOff are, by owner, the jobs that were not judged because the owner's expressions had used
	// up their steps.
	PutOff []PutOff

	seq uint64 // the last transaction looked at
}

// PutOff are jobs of an owner that were not judged because the owner's budget was spent: the
// first of them, with which the next look begins, and their number.
type PutOff struct {
	Owner string
	First pool.JobID
	Jobs  int
}

// Policies judges all jobs of the queue as of the time now: their periodic expressions, ended jobs
// that LeaveJobInQueue keeps, and jobs that wait for others to end. It ignores jobs that are still
// to come.
//
// It evaluates an expression once for equal procs if the expression depends only on attributes that
// they share. For a running job, RemoteWallClockTime includes the present run, as with HTCondor's
// shadow.
//
// The expressions of an owner take their steps from that owner's budget. Policies puts off jobs for
// which the budget does not suffice.
func Policies(v *spool.View, now time.Time, look Look) Outlook {
	j := newJudge(v, now)
	j.Look = look
	for _, c := range v.Clusters() {
		j.cluster(c)
	}
	j.From = nil
	for _, u := range j.later {
		j.jobs(u)
	}
	slices.SortStableFunc(j.due, func(a, b Due) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.First, b.First))
	})
	unknown, unneeded := j.watched()
	o := Outlook{Due: j.due, Unknown: unknown, Unneeded: unneeded, seq: v.Seq()}
	for _, owner := range slices.Sorted(maps.Keys(j.putOff)) {
		o.PutOff = append(o.PutOff, *j.putOff[owner])
	}
	return o
}

// judge collects the measures that are due.
type judge struct {
	v       *spool.View
	c       *classad.Context
	past    map[int]ending // of clusters that others wait for
	waiters map[int]bool   // clusters that some job waits for
	due     []Due
	looks   map[*classad.Ad]*outset // by the ad of a run

	Look
	later  []unit // before Look.From
	putOff map[string]*PutOff
}

// Look bounds what Policies evaluates. The zero Look is of all jobs, without bounds.
type Look struct {
	Budgets *classad.Budgets
	From    map[string]pool.JobID // the job with which an owner's turn begins; earlier jobs come last
	Only    map[int]bool          // the clusters; nil: all
	stands  map[int]spool.Stand   // clusters that stand for others
}

func newJudge(v *spool.View, now time.Time) *judge {
	return &judge{v: v, c: &classad.Context{Now: now}, past: map[int]ending{}, waiters: map[int]bool{}, looks: map[*classad.Ad]*outset{}, putOff: map[string]*PutOff{}}
}

// unit is procs of a run that are judged by the ad of the first.
type unit struct {
	pool.Procs
	run spool.Run
	*outset
}

func (j *judge) cluster(c *spool.Cluster) {
	for _, r := range c.Runs {
		x, known := j.looks[r.Ad]
		if !known {
			x = j.lookAt(r.Ad)
			j.looks[r.Ad] = x
		}
		if x.waits && !x.over {
			j.note(c.ID, r.Ad)
		}
		stand, stands := j.stands[c.ID]
		switch {
		case j.Only != nil && !j.Only[c.ID]:
		case x.quiet:
		case stands:
			j.together(unit{r.Procs, r, x}, stand)
		default:
			j.run(r, x)
		}
	}
}

// run judges the jobs of a run.
func (j *judge) run(r spool.Run, x *outset) {
	if r.First == r.Last || alike(r) {
		j.jobs(unit{r.Procs, r, x})
		return
	}
	for id := range r.Jobs() {
		j.jobs(unit{pool.Only(id), r, x})
	}
}

// together judges clusters that stand together: at once if nothing is due for any of them, for as many steps as one by one takes.
func (j *judge) together(u unit, s spool.Stand) {
	budget := j.Budgets.Of(u.owner)
	u.judged = max(u.judged, 1) // the first of them
	if j.c.Budget = budget; u.Count() == s.Len() && j.still(u) && (budget == nil || budget.Left()/s.Len() > u.steps) {
		if budget != nil {
			budget.Take(u.steps * s.Len())
		}
		return
	}
	for r := range s.Runs() {
		j.run(r, u.outset)
	}
}

// outset is the part of a judgement that the ad of a run alone gives.
type outset struct {
	owner       string
	status      pool.Status
	over, waits bool
	quiet       bool // nothing is ever due
	judged      int  // units
	still       bool // nothing is due now, whichever procs they are; steps says how many steps it takes to find that out
	steps       int
}

func (j *judge) lookAt(ad *classad.Ad) *outset {
	n, _ := ad.EvalInt(j.c, pool.AttrJobStatus)
	x := &outset{owner: ownerOf(ad), status: pool.Status(n), waits: jobpolicy.Waits(ad)}
	x.over = x.status == pool.Removed || x.status == pool.Completed
	x.quiet = !x.over && !x.waits && jobpolicy.Never(ad) && !jobpolicy.IsCron(ad)
	return x
}

// ownerOf returns the name of an ad's Owner.
func ownerOf(ad *classad.Ad) string {
	owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
	return owner
}

// note notes which clusters a job waits for. Only earlier clusters count, so that jobs cannot wait for
// one another.
func (j *judge) note(cluster int, ad *classad.Ad) {
	ok, any := jobpolicy.After(ad)
	for _, of := range slices.Concat(ok, any) {
		if of < cluster {
			j.waiters[of] = true
		}
	}
}

// expressions are the attributes that a measure and its reason may depend on.
var expressions = append(jobpolicy.PeriodicAttributes(),
	pool.AttrLeaveJobInQueue, jobpolicy.AttrAfterOk, jobpolicy.AttrAfterAny, jobpolicy.AttrDependenciesMet)

// alike reports whether no expression that a measure depends on tells the procs of a run apart.
func alike(r spool.Run) bool {
	for _, name := range expressions {
		if e, ok := r.Ad.Lookup(name); ok && r.TellsApart(e) {
			return false
		}
	}
	return true
}

// jobs judges jobs now, or later, or puts them off. An owner's first jobs are always judged, so that
// a budget that does not suffice for one job does not put it off for ever.
func (j *judge) jobs(u unit) {
	if (pool.JobID{Cluster: u.Cluster, Proc: u.Last}).Compare(j.From[u.owner]) < 0 {
		j.later = append(j.later, u)
		return
	}
	budget, first := j.Budgets.Of(u.owner), j.Budgets.Whole(u.owner)
	if !budget.Spent() {
		j.c.Budget = budget
		if j.still(u) && (budget == nil || budget.Left() > u.steps) {
			if budget != nil {
				budget.Take(u.steps)
			}
			return
		}
		due := slices.Clone(j.due[max(len(j.due)-1, 0):])
		before := len(j.due) - len(due)
		j.judge(u.Procs, u.run.Proc(u.First), u.status)
		if !budget.Spent() || first {
			return
		}
		j.due = append(j.due[:before], due...) // a verdict that lack of steps has made
	}
	id := pool.JobID{Cluster: u.Cluster, Proc: u.First}
	p := j.putOff[u.owner]
	if p == nil {
		p = &PutOff{Owner: u.owner, First: id}
		j.putOff[u.owner] = p
	}
	p.Jobs += u.Last - u.First + 1
}

// still reports whether nothing is due for idle jobs, as for others with the same ad of their run. The second of them
// finds that out: if its expressions look up nothing that is the job's own, and nothing by chance, the answer and its
// steps are the same for all.
func (j *judge) still(u unit) bool {
	if u.judged++; u.judged != 2 || u.status != pool.Idle || u.waits {
		return u.outset.still
	}
	ad := u.run.Proc(u.First)
	looked := classad.NewUnread(nil, "")
	c := &classad.Context{Now: j.c.Now, Budget: classad.NewBudget(math.MaxInt)}
	probe := looked.Ad().Chain(ad)
	stays := jobpolicy.Periodic(c, probe).Action == jobpolicy.Stay && !jobpolicy.Overdue(c, probe)
	names, all := looked.Missed()
	owns := ad.Clone().Chain(nil).OwnNames()
	own := func(name string) bool {
		return slices.ContainsFunc(owns, func(own string) bool { return strings.EqualFold(name, own) })
	}
	u.outset.still = stays && !all && !slices.ContainsFunc(names, own) && !byChance(ad)
	u.steps = math.MaxInt - c.Budget.Left()
	return u.outset.still
}

// byChance reports whether an expression that a measure depends on may have another value each time.
func byChance(ad *classad.Ad) bool {
	return slices.ContainsFunc(expressions, func(name string) bool {
		e, ok := ad.Lookup(name)
		if !ok {
			return false
		}
		_, chance := classad.Varies(e, ad, nil)
		return chance
	})
}

// judge judges jobs by the ad of the first, a copy.
func (j *judge) judge(s pool.Procs, ad *classad.Ad, status pool.Status) {
	switch status {
	case pool.Removed:
		j.ended(s, ad)
		return
	case pool.Running, pool.Suspended:
		inRun(ad, j.c.Now)
	case pool.Held:
		if x := (job{ad: ad}); x.int(pool.AttrHoldReasonCode) == jobpolicy.DependencyFailed {
			ad.SetBool("PeriodicRelease", false) // only a command releases such a job
		}
	}
	v := jobpolicy.Periodic(j.c, ad)
	what := measures[v.Action]
	switch {
	case what == VacateThem:
		j.only(s, Due{s, what, pool.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}}, isRunning)
	case what != 0:
		j.add(Due{s, what, pool.Reason{Text: v.Reason, Code: v.Code, Subcode: v.Subcode}})
	case status == pool.Completed:
		j.ended(s, ad)
	case status == pool.Idle && jobpolicy.Waits(ad):
		j.dependent(s, ad)
	case status == pool.Idle && jobpolicy.Overdue(j.c, ad):
		j.plan(s, ad)
	}
}

// plan judges idle jobs with cron_* commands that have missed their time.
func (j *judge) plan(s pool.Procs, ad *classad.Ad) {
	if _, err := jobpolicy.Next(j.c, ad); err != nil {
		j.add(Due{s, HoldThem, pool.Reason{Text: err.Error(), Code: jobpolicy.CronSettings}})
		return
	}
	j.only(s, Due{s, PlanThem, pool.Reason{}}, unclaimed)
}

func unclaimed(_ pool.Claim, ok bool) bool { return !ok }

func isRunning(c pool.Claim, ok bool) bool { return ok && c.State == pool.RunningClaim }

// inRun adds to a job's usage the usage of the present run that is not reported yet.
func inRun(ad *classad.Ad, now time.Time) {
	x := job{ad: ad}
	if began := x.int(pool.AttrCurrentStartDate); began > 0 && began < now.Unix() {
		before := x.real(pool.AttrWallClock) - x.real(pool.AttrWallClockCkpt)
		ad.SetReal(pool.AttrWallClock, before+float64(now.Unix()-began))
	}
}

// ended judges jobs that LeaveJobInQueue keeps in the queue.
func (j *judge) ended(s pool.Procs, ad *classad.Ad) {
	if !jobpolicy.Stays(j.c, ad) {
		j.only(s, Due{s, LetThemGo, pool.Reason{}}, unclaimed)
	}
}

// only adds a measure for the jobs of s for which will returns true, given the job's
// claim or the lack of one.
func (j *judge) only(s pool.Procs, d Due, will func(c pool.Claim, ok bool) bool) {
	for id := range s.Jobs() {
		if will(j.v.Claim(id)) {
			d.Procs = pool.Only(id)
			j.add(d)
		}
	}
}

// add adds a measure, or extends the last one if that is the same for the preceding procs of the run.
func (j *judge) add(d Due) {
	if k := len(j.due) - 1; k >= 0 {
		last := &j.due[k]
		if all := last.Procs; last.What == d.What && last.Why == d.Why && all.Extend(d.Procs) && j.oneRun(all) {
			last.Procs = all
			return
		}
	}
	j.due = append(j.due, d)
}

func (j *judge) oneRun(p pool.Procs) bool {
	r, ok := j.v.Run(p.FirstJob())
	return ok && p.Last <= r.Last
}

// Followed is a measure that was taken.
type Followed struct {
	Due
	Outcome Outcome     // of HoldThem, ReleaseThem and RemoveThem
	Ad      *classad.Ad // of the first job, for attributes that no measure changes
}

// Follow takes the measures that are due at the time now. It evaluates no expression: jobs that
// have changed since they were judged stay as they are until the next look. The ads that it returns may
// be read until the transaction ends. The caller names the transaction.
func (o Outlook) Follow(tx *spool.Tx, now time.Time, p accountant.Params) (all []Followed, err error) {
	for _, d := range o.Due {
		for _, s := range o.unchanged(tx, d) {
			d.Procs = s
			done, err := follow(tx, d, now, p)
			if err != nil {
				return nil, err
			}
			all = append(all, done...)
		}
	}
	return all, nil
}

// unchanged returns the jobs that have not changed since they were judged.
func (o Outlook) unchanged(tx *spool.Tx, d Due) (list []pool.Procs) {
	c, ok := tx.Cluster(d.Cluster)
	if !ok {
		return nil
	}
	for _, r := range c.Runs {
		s, ok := d.Intersect(r.Procs)
		if !ok || r.Seq > o.seq {
			continue
		}
		claims := unclaimed
		switch d.What {
		case VacateThem:
			claims = isRunning
		case LetThemGo, PlanThem:
		default:
			list = append(list, s)
			continue
		}
		for id := range s.Jobs() {
			one, k := pool.Only(id), len(list)-1
			if claims(tx.Claim(id)) && (id == s.FirstJob() || k < 0 || !list[k].Extend(one)) {
				list = append(list, one)
			}
		}
	}
	return list
}

func follow(tx *spool.Tx, d Due, now time.Time, p accountant.Params) (all []Followed, err error) {
	ad, _ := tx.Job(d.FirstJob())
	done := []Done{{Procs: d.Procs}}
	switch d.What {
	case HoldThem:
		done, err = Hold(tx, d.Procs, d.Why, now, p)
	case ReleaseThem:
		done, err = Release(tx, d.Procs, d.Why.Text, now)
	case RemoveThem:
		done, err = RemoveAll(tx, d.Procs, d.Why.Text, now, p)
	case VacateThem:
		for id := range d.Jobs() {
			Vacate(tx, id, pool.Reason{Text: d.Why.Text, Code: VacatedByJobPolicy}, now, p)
		}
	case LetThemGo:
		tx.LeaveRange(d.Procs, now)
	case PlanThem:
		steered{tx: tx, Procs: d.Procs, ad: ad}.nextTime(now)
	case LetThemRun:
		tx.SetRange(d.Procs, jobpolicy.AttrDependenciesMet, classad.Literal(classad.Bool(true)))
	}
	for _, x := range done {
		all = append(all, Followed{Due{x.Procs, d.What, d.Why}, x.Outcome, ad})
	}
	return all, err
}

// putOffMark is the mark under which the spool keeps the jobs with which owners' turns begin, for the
// owners that ran out of steps in the last cycle.
const putOffMark = "put off"

// PutOffs are the jobs, by owner, with which the next cycle begins to judge policies and to match.
type PutOffs struct{ Policy, Match map[string]pool.JobID }

// PutOffsOf returns the jobs that the last cycle put off. It skips lines that do not parse: only the
// order of turns depends on them.
func PutOffsOf(v *spool.View) PutOffs {
	p := PutOffs{map[string]pool.JobID{}, map[string]pool.JobID{}}
	of := map[string]map[string]pool.JobID{"policy": p.Policy, "match": p.Match}
	for line := range strings.Lines(v.Mark(putOffMark)) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		owner, job, ok := leadingQuoted(rest)
		id, err := pool.ParseJobID(job)
		if list := of[kind]; ok && err == nil && list != nil {
			list[owner] = id
		}
	}
	return p
}

// KeepPutOff keeps the jobs that a cycle put off, with a line for each kind and owner:
//
//	policy "bob" 12.0
func KeepPutOff(tx *spool.Tx, policy []PutOff, match []negotiator.PutOff) {
	var b []byte
	line := func(kind, owner string, first pool.JobID) {
		b = append(strconv.AppendQuote(append(b, kind...), owner), ' ')
		b = fmt.Appendf(b, "%v\n", first)
	}
	for _, p := range policy {
		line("policy ", p.Owner, p.First)
	}
	for _, p := range match {
		line("match ", p.Owner, p.First)
	}
	putMark(tx, putOffMark, string(b))
}

// The subjects of messages to owners of clusters, by JobNotification.
const (
	TellHeld  pool.Tell = "held"  // jobs are held without asking for it: always, error
	TellStart pool.Tell = "start" // the first job was started: start
	TellEnd   pool.Tell = "end"   // all jobs have ended: always, complete; error if one did not succeed
)

// Owed is a message that is still to be sent.
type Owed struct {
	Endings
	About pool.Tell
}

// mostTries is how often a message is tried before it is given up: again in the next
// cycle, then after 1, 3, 7 minutes and so on, for eight hours in all.
const mostTries = 10

// MailOwed returns the messages to send at the time now, by cluster, at most one for a cluster.
func MailOwed(v *spool.View, now time.Time) (list []Owed) {
	for _, row := range spool.Endings.All(v) {
		e := Endings(row)
		if e.Retry > now.Unix() {
			continue
		}
		if about := e.owes(v); about != "" {
			list = append(list, Owed{e, about})
		}
	}
	return list
}

// owes returns the subject of the owner's next message, empty for none.
func (e Endings) owes(v *spool.View) pool.Tell {
	if e.Notification == NotifyNever || e.Unknown {
		return ""
	}
	ended := Ended(v, e.Cluster)
	for _, x := range [...]struct {
		about pool.Tell
		due   bool
	}{
		{TellHeld, e.Held > 0 && !ended},
		{TellStart, e.Notification == NotifyStart && (e.First > 0 || started(v, e.Cluster))},
		{TellEnd, ended && e.Jobs() > 0},
	} {
		if x.due && e.wants(x.about) {
			return x.about
		}
	}
	return ""
}

// wants reports whether the owner asks for a message that has not been sent.
func (e Endings) wants(about pool.Tell) bool {
	if slices.Contains(e.Told, about) {
		return false
	}
	switch e.Notification {
	case NotifyAlways:
		return about == TellHeld || about == TellEnd
	case NotifyComplete:
		return about == TellEnd
	case NotifyError:
		return about == TellHeld || about == TellEnd && e.Succeeded < e.Jobs()
	case NotifyStart:
		return about == TellStart
	}
	return false
}

// mayTell reports whether a message may have to be sent, now or later. That holds until a cluster has
// ended: the record of a sent message is kept, so that it is sent once.
func (e Endings) mayTell(v *spool.View) bool {
	switch {
	case e.Notification == NotifyNever:
		return false
	case !Ended(v, e.Cluster):
		return true
	case e.Unknown:
		return !slices.Contains(e.Told, TellEnd)
	}
	return e.owes(v) != ""
}

// Jobs returns how many jobs have ended.
func (e Endings) Jobs() int { return e.Succeeded + e.Failed + e.Signalled + e.Removed }

// started reports whether a job of the queue was ever started.
func started(v *spool.View, cluster int) bool {
	c, ok := v.Cluster(cluster)
	return ok && slices.ContainsFunc(c.Runs, func(r spool.Run) bool { return r.Ad.Has(pool.AttrJobStartDate) })
}

// Told notes that a message was sent. The caller names the transaction.
func Told(tx *spool.Tx, m Owed) {
	if e, ok := EndingsOf(&tx.View, m.Cluster); ok {
		e.told(m.About)
		PutEndings(tx, e)
	}
}

func (e *Endings) told(about pool.Tell) {
	e.Told = append(e.Told, about)
	e.Tries, e.Retry = 0, 0
}

// NotTold notes that a message could not be sent at the time now, and reports
// whether that was the last try. The caller names the transaction.
func NotTold(tx *spool.Tx, m Owed, now time.Time) (last bool) {
	e, ok := EndingsOf(&tx.View, m.Cluster)
	if !ok {
		return false
	}
	e.Retry = now.Add(time.Minute * (1<<e.Tries - 1)).Unix()
	e.Tries++
	if last = e.Tries >= mostTries; last {
		e.told(m.About)
	}
	PutEndings(tx, e)
	return last
}
