package lifecycle

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Snapshot is the input of a negotiation cycle, with the data to apply its plan later.
type Snapshot struct {
	Pool  negotiator.Pool
	Bad   []error     // what could not be used: hand-written slot ads, by file and line
	seq   uint64      // the transaction that it was taken after
	slots []pool.Slot // as View.Slots returns them

	maintained map[int]bool // maintenances, by number

	ticketed []pool.JobID        // jobs with claims that have Tickets
	flocked  []accountant.Record // submitters' usage in other pools
}

// known is the data about a slot that the cycle saw, for applying a plan.
type known struct {
	ad      *classad.Ad
	machine string // its Machine
	hand    bool   // the ad was written by hand
}

// slot returns what the cycle saw of a slot; false: it saw none of the name.
func (s Snapshot) slot(name string) (known, bool) {
	i, there := slices.BinarySearchFunc(s.slots, name, func(slot pool.Slot, name string) int { return pool.CompareNames(slot.Name, name) })
	if !there {
		return known{}, false
	}
	slot := s.slots[i]
	return known{slot.Ad, slot.Machine(&classad.Context{}), slot.Source != ""}, true
}

// unchanged reports whether a slot's ad is the one that the cycle saw. Ads written by
// hand have no versions; an edit during a cycle counts in the next.
func (s Snapshot) unchanged(tx *spool.Tx, name string) bool {
	if slot, _ := s.slot(name); slot.hand {
		return true
	}
	return !tx.SlotChanged(name, s.seq)
}

// Reader takes snapshots of one pool, and keeps what it found out about jobs that do not change. It is for one goroutine.
type Reader struct {
	domain string
	groups *accountant.Groups
	beside policy.Beside
	shared map[*classad.Ad]standing // of ads that clusters share
	seen   []lookedAt               // the clusters of the last snapshot, ascending
	idle   []jobprio.Run            // and its idle jobs
	spare  []jobprio.Run            // room for those of the next
	room   []lookedAt               // and for its clusters
}

// lookedAt is a cluster in a snapshot, and where its idle jobs are.
type lookedAt struct {
	*spool.Cluster
	id       int
	made     *stood
	again    bool // made.keep was called
	keeps    bool // made.kept has jobs
	from, to int
}

// NewReader returns one for a spool of a UID_DOMAIN, which also reads the jobs that beside selects.
func NewReader(domain string, groups *accountant.Groups, beside policy.Beside) *Reader {
	return &Reader{domain: domain, groups: groups, beside: beside, shared: map[*classad.Ad]standing{}}
}

// TakeSnapshot takes the snapshot of a new Reader.
func TakeSnapshot(v *spool.View, domain string, groups *accountant.Groups, beside policy.Beside) Snapshot {
	return NewReader(domain, groups, beside).Snapshot(v)
}

// Snapshot reads a view for a cycle: slots, claims, idle jobs and the jobs that
// beside selects, all submitters. The cycle has to be over before the view is, and before the next snapshot.
func (r *Reader) Snapshot(v *spool.View) Snapshot {
	slots, bad := Slots(v)
	s := Snapshot{Bad: bad, seq: v.Seq(), slots: slots, maintained: map[int]bool{}}
	for _, m := range Maintenances(v) {
		s.maintained[m.ID] = true
	}
	reservations := spool.Reservations.All(v)
	for i := range reservations {
		reservations[i].Submitter = r.groups.Spelled(reservations[i].Submitter) // as the jobs' are
	}
	s.Pool = negotiator.Pool{
		Slots: slots, Claims: v.Claims(), Submitters: v.Submitters(), Backoffs: v.Backoffs(), Reservations: reservations,
	}
	s.Pool.Jobs, s.Pool.Held = r.waiting(v)
	s.ticketed, s.flocked = ticketed(v, s.Pool.Claims), spool.Flocked.All(v)
	if r.beside.Running {
		s.Pool.Running = claimed(v, s.Pool.Claims)
	}
	return s
}

// waiting returns the runs of idle procs, and, if that is wanted, of those without a claim
// that are held or wait for others to end. Some of the idle ones may have a claim already,
// which the cycle sees for itself. Clusters that have not changed since the last snapshot are copied
// from it, as many as follow each other at once.
func (r *Reader) waiting(v *spool.View) (idle, kept []jobprio.Run) {
	clusters := v.Clusters()
	if len(r.shared) > 2*len(clusters)+10_000 {
		clear(r.shared)
	}
	look := survey{Reader: r, keep: len(r.seen) > 0, c: &classad.Context{}, own: map[*classad.Ad]standing{}}
	idle = slices.Grow(r.spare[:0], len(clusters))
	seen := slices.Grow(r.room[:0], len(clusters))
	old, from, to := r.seen, 0, 0 // r.idle[from:to] is still to be copied
	for i, cluster := range clusters {
		made, _ := cluster.Kept().(*stood)
		if len(old) > 0 && old[0].Cluster != cluster {
			for len(old) > 0 && old[0].id < cluster.ID {
				old = old[1:]
			}
		}
		if len(old) > 0 && old[0].Cluster == cluster && old[0].made == made && old[0].again {
			was := old[0]
			if old = old[1:]; was.from != to {
				idle = append(idle, r.idle[from:to]...)
				from = was.from
			}
			to = was.to
			at := len(idle) + was.from - from
			was.from, was.to = at, at+was.to-was.from
			if seen = append(seen, was); was.keeps {
				kept = made.appendKept(kept, v)
			}
			continue
		}
		idle = append(idle, r.idle[from:to]...)
		from = to
		if made == nil || made.by != r {
			look.fresh = len(clusters) - i
			made = look.stood(cluster)
			cluster.Keep(made)
			if look.keep {
				made.keep()
			}
		} else if !made.again {
			made.keep()
		}
		seen = append(seen, lookedAt{cluster, cluster.ID, made, made.again, len(made.kept) > 0, len(idle), len(idle) + len(made.idle)})
		idle = append(idle, made.idle...)
		kept = made.appendKept(kept, v)
	}
	idle = append(idle, r.idle[from:to]...)
	r.seen, r.room, r.idle, r.spare = seen, r.seen, idle, r.idle
	return idle, kept
}

// appendKept appends the procs that are held or wait for others, without those that have a claim.
func (s *stood) appendKept(list []jobprio.Run, v *spool.View) []jobprio.Run {
	for _, k := range s.kept {
		list = appendUnclaimed(list, v, k.run, k.submitter)
	}
	return list
}

// stood is the jobs that a cycle takes of a cluster. The next cycle finds it there if the cluster has not changed.
type stood struct {
	by    *Reader
	idle  []jobprio.Run
	kept  []keptRun
	again bool // keep was called
}

// keep lets cycles keep what they find out about idle jobs that are like no others, once a process sees them for the second time.
func (s *stood) keep() {
	s.again = true
	for i := range s.idle {
		if r := &s.idle[i]; r.Likeness == nil {
			r.Likeness = new(jobprio.Likeness)
		}
	}
}

// keptRun is procs that are held or wait for others.
type keptRun struct {
	run       spool.Run
	submitter string
}

// survey looks at clusters.
type survey struct {
	*Reader
	c     *classad.Context
	own   map[*classad.Ad]standing // of ads that clusters do not share
	keep  bool                     // the Reader takes more than one snapshot
	fresh int                      // clusters that are left
	many  int                      // how many clusters got their room at once
	room  []stood
	runs  []jobprio.Run
}

// mostRoom is how many clusters get their room at once: first one, then twice as many each time, as often only few are new, and
// whatever room one of them has stays as long as it does.
const mostRoom = 256

func (x *survey) stood(cluster *spool.Cluster) *stood {
	if len(x.room) == 0 {
		x.many = min(max(1, 2*x.many), x.fresh, mostRoom)
		x.room = make([]stood, x.many)
	}
	made := &x.room[0]
	x.room = x.room[1:]
	made.by = x.Reader
	if len(x.runs) < len(cluster.Runs) {
		x.runs = make([]jobprio.Run, max(len(cluster.Runs), x.many))
	}
	made.idle = x.runs[:0:len(cluster.Runs)]
	for _, run := range cluster.Runs {
		is := x.standing(run, cluster.Shares(run))
		switch {
		case is.idle:
			idle := part(run, run.First, run.Last, is.submitter)
			idle.Likeness, idle.QDate = is.like, submittedAt(idle.Ad)
			made.idle = append(made.idle, idle)
		case is.kept:
			made.kept = append(made.kept, keptRun{run, is.submitter})
		}
	}
	x.runs = x.runs[len(made.idle):]
	return made
}

// standing says how a cycle treats the jobs of an ad.
type standing struct {
	idle, kept bool
	submitter  string
	like       *jobprio.Likeness
}

// standing returns how a cycle treats the jobs of a run.
func (x *survey) standing(run spool.Run, shared bool) standing {
	known := x.own
	if shared {
		known = x.shared
	}
	is, looked := known[run.Ad]
	if !looked {
		is = standing{idle: isIdle(x.c, run.Ad), kept: x.beside.Held && isKept(x.c, run.Ad), submitter: Submitter(run.Ad, x.domain, x.groups)}
		if shared {
			is.like = new(jobprio.Likeness)
		}
		known[run.Ad] = is
	}
	return is
}

var qDate = classad.NewName(pool.AttrQDate)

// submittedAt returns the QDate of an ad, 0 if it is no whole number.
func submittedAt(ad *classad.Ad) int64 {
	v, _, _ := ad.Get(qDate)
	at, _ := v.Int()
	return at
}

// part returns the procs from first to last of a run.
func part(run spool.Run, first, last int, submitter string) jobprio.Run {
	return jobprio.Run{Procs: pool.Procs{Cluster: run.Cluster, First: first, Last: last}, Submitter: submitter, Ad: run.Proc(first)}
}

// isKept reports whether the procs of a run are held or wait for others to end.
func isKept(c *classad.Context, ad *classad.Ad) bool {
	status, ok := ad.EvalInt(c, pool.AttrJobStatus)
	return ok && (pool.Status(status) == pool.Held || pool.Status(status) == pool.Idle && jobpolicy.Waits(ad))
}

// appendUnclaimed appends the procs of a run that have no claim: one that is held may still
// be leaving its slot.
func appendUnclaimed(list []jobprio.Run, v *spool.View, run spool.Run, submitter string) []jobprio.Run {
	first := run.First
	for proc := run.First; proc <= run.Last+1; proc++ {
		_, claimed := v.Claim(pool.JobID{Cluster: run.Cluster, Proc: proc})
		if proc <= run.Last && !claimed {
			continue
		}
		if first < proc {
			list = append(list, part(run, first, proc-1, submitter))
		}
		first = proc + 1
	}
	return list
}

// claimed returns the jobs that have claims.
func claimed(v *spool.View, claims []pool.Claim) []jobprio.Running {
	list := make([]jobprio.Running, 0, len(claims))
	for _, c := range claims {
		ad, ok := v.Job(c.Job)
		if !ok {
			continue
		}
		list = append(list, jobprio.Running{
			Run:     jobprio.Run{Procs: pool.Only(c.Job), Submitter: c.Submitter, Ad: ad},
			Started: c.RunsFrom(),
		})
	}
	return list
}

// Respell gives all submitters and groups the names that the configuration spells
// otherwise now, in their records and in the claims: names of groups are the same
// whatever their case. The record of a submitter with both names joins the two. The
// caller names the transaction.
func Respell(tx *spool.Tx, now time.Time, p accountant.Params) {
	for _, r := range tx.Submitters() {
		name := p.Groups.Spelled(r.Name)
		if name == r.Name {
			continue
		}
		tx.DropSubmitter(r.Name)
		r.Name = name
		if other, there := tx.Submitter(name); there {
			r = other.Joined(r, now, p)
		}
		tx.PutSubmitter(r)
	}
	renameFlocked(tx, p.Groups.Spelled)
	for _, c := range tx.Claims() {
		if name := p.Groups.Spelled(c.Submitter); name != c.Submitter {
			c.Submitter = name
			tx.PutClaim(c)
		}
	}
}

// renameFlocked renames the submitters in the records of usage in other pools. Records that come to have one name are
// joined.
func renameFlocked(tx *spool.Tx, renamed func(string) string) {
	for _, r := range spool.Flocked.All(&tx.View) {
		name := renamed(r.Name)
		if name == r.Name {
			continue
		}
		spool.Flocked.Drop(tx, r.Name)
		r.Name = name
		if other, there := spool.Flocked.Get(&tx.View, name); there {
			r = other.Joined(r, latest(other.At, r.At), accountant.Params{HalfLife: r.HalfLife})
		}
		spool.Flocked.Put(tx, r)
	}
}

// Misspelt reports whether Respell would change anything.
func (s Snapshot) Misspelt(groups *accountant.Groups) bool {
	for _, r := range slices.Concat(s.Pool.Submitters, s.flocked) {
		if groups.Spelled(r.Name) != r.Name {
			return true
		}
	}
	return slices.ContainsFunc(s.Pool.Claims, func(c pool.Claim) bool { return groups.Spelled(c.Submitter) != c.Submitter })
}

// queueFact is an attribute that a policy with one queue keeps in equal procs.
type queueFact struct {
	pool.Procs
	name string
	is   int64
	// passed says that is, the BypassCount so far, grows by so many of the plan's matches as
	// come about, the last so many of Plan.Passing.
	passed int
}

// queueFacts returns the facts that a plan keeps in jobs until the next cycle: since when
// they are considered, and how often they were passed over. It leaves out jobs that changed
// since the snapshot. Call it before the transaction changes any.
func queueFacts(tx *spool.Tx, plan *negotiator.Plan, seen Snapshot) []queueFact {
	var facts []queueFact
	note := func(f queueFact) {
		if n := len(facts); n > 0 {
			if last := &facts[n-1]; last.name == f.name && last.is == f.is && last.passed == f.passed && last.Extend(f.Procs) {
				return
			}
		}
		facts = append(facts, f)
	}
	for _, k := range plan.Clocks {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, _ *classad.Ad) { note(queueFact{p, pool.AttrEligibleSince, k.Since, 0}) })
	}
	for _, k := range plan.Passed {
		eachUnchanged(tx, k.Procs, seen, func(p pool.Procs, ad *classad.Ad) {
			before, _ := ad.EvalInt(&classad.Context{}, pool.AttrBypassCount)
			note(queueFact{p, pool.AttrBypassCount, max(before, 0), k.Times})
		})
	}
	return facts
}

// eachUnchanged calls do for the procs of p that are as the cycle saw them, run by run.
func eachUnchanged(tx *spool.Tx, p pool.Procs, seen Snapshot, do func(pool.Procs, *classad.Ad)) {
	cluster, ok := tx.Cluster(p.Cluster)
	if !ok {
		return
	}
	runs := cluster.Runs
	for _, run := range runs[sort.Search(len(runs), func(i int) bool { return runs[i].Last >= p.First }):] {
		if run.First > p.Last {
			return
		}
		if both, _ := run.Intersect(p); run.Seq <= seen.seq {
			do(both, run.Ad)
		}
	}
}

// keepQueueFacts notes them in the jobs. passing are the jobs that a plan matched, in the
// order of the queue, and made the matches that came about: a job that got nothing in the
// end has passed no other.
func keepQueueFacts(tx *spool.Tx, facts []queueFact, passing []pool.JobID, made []negotiator.Match) {
	matched := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		matched[m.Job] = true
	}
	failed := make([]int, len(passing)+1) // by how many of the last it is asked about
	for i := range passing {
		failed[i+1] = failed[i]
		if !matched[passing[len(passing)-1-i]] {
			failed[i+1]++
		}
	}
	for _, f := range facts {
		is := f.is
		if f.name == pool.AttrBypassCount {
			more := int64(f.passed - failed[min(f.passed, len(passing))])
			if more == 0 {
				continue
			}
			is = min(is, math.MaxInt64-more) + more
		}
		tx.SetRange(f.Procs, f.name, classad.Literal(classad.Int(is)))
	}
}

// SourcesOf returns the sources of a view, as of now.
func SourcesOf(v *spool.View, now time.Time) policy.Sources {
	return policy.Sources{
		Slots: func(do func([]pool.Slot)) {
			LookAtSlots(v, func(v *spool.View) { slots, _ := Slots(v); do(slots) })
		},
		Summaries: func() []pool.SlotSummary { slots, _ := SlotSummaries(v); return slots },
		Claims:    v.Claims,
		Tallies:   v.Tallies,
		Now:       now, Delivered: Delivered(v),
	}
}

// putMark keeps a text under a name, unless it is the one that is kept: nothing is written then.
func putMark(tx *spool.Tx, name, text string) {
	if text != tx.Mark(name) {
		tx.PutMark(name, text)
	}
}

// slotsMark is the mark of a spool whose pool had slots that may be gone by now.
const slotsMark = "slots"

// EverGiven reports whether the pool has a slot or a file in slots.d, or ever had one
// that NoteGiven noted.
func EverGiven(v *spool.View) bool {
	advertised, byHand := v.SlotSources()
	return advertised || byHand || v.Mark(slotsMark) != ""
}

// NoteGiven makes EverGiven true for ever: for transactions that take slots out of the
// pool, and for slots in files, which go without a transaction.
func NoteGiven(tx *spool.Tx) { putMark(tx, slotsMark, "given") }

// FilesUnnoted reports whether slots.d has a file and nothing notes that it had one.
func FilesUnnoted(v *spool.View) bool {
	_, byHand := v.SlotSources()
	return byHand && v.Mark(slotsMark) == ""
}

// pastMark is the mark under which the spool keeps which transaction was the last
// to change what had been.
const pastMark = "past"

// ChangePast notes that the transaction writes a record as of a time before the record's
// last event, or drops a record: the present does not follow from the events since.
func ChangePast(tx *spool.Tx) { tx.PutMark(pastMark, strconv.FormatUint(tx.Seq(), 10)) }

// Past returns a text that is another one after each change of the past by ChangePast, and
// whenever the spool keeps another clock.
func Past(v *spool.View) string { return v.Mark(pastMark) + " " + v.Mark(accountant.ClockMark) }
