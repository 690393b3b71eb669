package lifecycle

import (
	"math"
	"slices"
	"sort"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Reader takes snapshots of one pool, and keeps what it found out about jobs that do not change. It is for one goroutine.
type Reader struct {
	domain  string
	groups  *accountant.Groups
	beside  policy.Beside
	shared  map[*classad.Ad]standing // of ads that clusters share
	made    []*stood                 // of the clusters of the last snapshot, ascending
	taken   int                      // snapshots
	seen    spool.Changes            // by the last
	owners  []*owner                 // by name
	called  map[string]*owner        // the same by name
	last    *owner                   // that was asked for
	idle    []jobprio.Run            // of the last snapshot
	claims  []pool.Claim             // likewise
	records []accountant.Record      // likewise
	slots   []pool.Slot              // likewise
	ran     []jobprio.Running        // and the jobs with claims
	changed []int                    // clusters that have changed since the one before, ascending
	// summed are summaries of slots, and summarized the ads, nil where they may be others next time.
	summed     []pool.SlotSummary
	summarized []*classad.Ad
	// Room for those of the next snapshot.
	roomRunning []jobprio.Running
	roomIdle    []jobprio.Run
	roomMade    []*stood
}

// owner is a submitter's part of idle, by job, and what changes it: clusters that are gone, ascending, and runs that are new, ascending.
// A cluster that has changed is gone, and new.
type owner struct {
	name     string
	from, to int
	gone     []int
	new      []jobprio.Run
	count    int // scratch
}

// NewReader returns one for a spool of a UID_DOMAIN, which also reads the jobs that beside selects.
func NewReader(domain string, groups *accountant.Groups, beside policy.Beside) *Reader {
	return &Reader{domain: domain, groups: groups, beside: beside, shared: map[*classad.Ad]standing{}, called: map[string]*owner{}}
}

// TakeSnapshot takes the snapshot of a new Reader.
func TakeSnapshot(v *spool.View, domain string, groups *accountant.Groups, beside policy.Beside) Snapshot {
	return NewReader(domain, groups, beside).Snapshot(v)
}

// Snapshot reads a view for a cycle: slots, claims, idle jobs and the jobs that
// beside selects, all submitters. The cycle has to be over before the view is, and before the next snapshot.
func (r *Reader) Snapshot(v *spool.View) Snapshot {
	slots, bad := slotsInto(r.slots, v)
	r.slots = slots
	s := Snapshot{Bad: bad, seq: v.Seq(), slots: slots, maintained: map[int]bool{}}
	for _, m := range Maintenances(v) {
		s.maintained[m.ID] = true
	}
	var claims []pool.Claim
	if r.taken == 0 { // there may be no other
		claims = v.Claims()
	} else {
		r.claims = spool.AppendClaims(r.claims[:0], v)
		claims = r.claims
	}
	r.records = spool.AppendSubmitters(r.records[:0], v)
	reservations := spool.Reservations.All(v)
	for i := range reservations {
		reservations[i].Submitter = r.groups.Spelled(reservations[i].Submitter) // as the jobs' are
	}
	s.Pool = negotiator.Pool{
		Slots: slots, Claims: claims, Submitters: r.records, Backoffs: v.Backoffs(), Reservations: reservations,
	}
	s.Pool.Jobs, s.Pool.Held = r.waiting(v)
	s.ticketed, s.flocked = ticketed(v, s.Pool.Claims), spool.Flocked.All(v)
	if r.beside.Running {
		s.Pool.Running = r.running(v, s.Pool.Claims)
	}
	s.Summaries = func() []pool.SlotSummary { return r.summaries(slots) }
	return s
}

// summaries returns the summaries of slots. Those of slots that have not changed, and have constants there, are made once.
func (r *Reader) summaries(slots []pool.Slot) []pool.SlotSummary {
	if len(r.summed) != len(slots) {
		r.summed, r.summarized = make([]pool.SlotSummary, len(slots)), make([]*classad.Ad, len(slots))
	}
	for i := range slots {
		ad := slots[i].Ad
		if r.summarized[i] == ad && r.summed[i].Name == slots[i].Name {
			continue
		}
		r.summed[i], r.summarized[i] = pool.SummaryOf(&classad.Context{}, slots[i]), ad
		for _, name := range summarized {
			if _, e, _ := ad.Get(name); e != nil {
				r.summarized[i] = nil
			}
		}
	}
	return r.summed
}

// summarized are pool.Summarized.
var summarized = func() (names []*classad.Name) {
	for _, name := range pool.Summarized {
		names = append(names, classad.NewName(name))
	}
	return names
}()

// running returns the jobs that have claims. Those of clusters that have not changed since the last snapshot are taken from it.
func (r *Reader) running(v *spool.View, claims []pool.Claim) []jobprio.Running {
	list := slices.Grow(r.roomRunning[:0], len(claims))
	old, changed := r.ran, r.changed
	for i := range claims {
		c := &claims[i]
		for len(old) > 0 && old[0].FirstJob().Compare(c.Job) < 0 {
			old = old[1:]
		}
		for len(changed) > 0 && changed[0] < c.Job.Cluster {
			changed = changed[1:]
		}
		run := jobprio.Run{Procs: pool.Only(c.Job), Submitter: c.Submitter}
		if len(old) > 0 && old[0].FirstJob() == c.Job && !(len(changed) > 0 && changed[0] == c.Job.Cluster) {
			run.Ad, run.Likeness, run.QDate = old[0].Ad, old[0].Likeness, old[0].QDate
		} else if ad, ok := v.Job(c.Job); ok {
			run.Ad, run.QDate = ad, submittedAt(ad)
		} else {
			continue
		}
		if r.taken > 1 && run.Likeness == nil {
			run.Likeness = new(jobprio.Likeness)
		}
		list = append(list, jobprio.Running{Run: run, Started: c.RunsFrom()})
	}
	r.ran, r.roomRunning = list, r.ran
	return list
}

// waiting returns the runs of idle procs, by submitter and job, and, if that is wanted, of those without a claim
// that are held or wait for others to end, by job. Some of the idle ones may have a claim already,
// which the cycle sees for itself. Clusters that have not changed since the last snapshot are taken from it.
func (r *Reader) waiting(v *spool.View) (idle, kept []jobprio.Run) {
	var clusters []*spool.Cluster // those of changed, where all may have
	changed, now, known := spool.ChangesSince(v, r.seen)
	if r.taken++; r.taken == 2 || !known { // at the second all get a Likeness
		r.made, r.idle, r.owners, r.called, r.last = nil, nil, nil, map[string]*owner{}, nil
		clusters = v.Clusters()
		changed = make([]int, len(clusters))
		for i, cluster := range clusters {
			changed[i] = cluster.ID
		}
	}
	if len(r.shared) > 2*(len(r.made)+len(changed))+10_000 {
		clear(r.shared)
	}
	r.changed, r.seen = changed, now
	look := survey{Reader: r, c: &classad.Context{}, own: map[*classad.Ad]standing{}}
	all := slices.Grow(r.roomMade[:0], len(r.made)+len(changed))
	var fresh []*stood
	old := r.made
	for i, id := range changed {
		n := sort.Search(len(old), func(i int) bool { return old[i].cluster >= id })
		all, old = append(all, old[:n]...), old[n:]
		if len(old) > 0 && old[0].cluster == id {
			r.drop(old[0])
			old = old[1:]
		}
		var cluster *spool.Cluster
		if clusters != nil {
			cluster = clusters[i]
		} else {
			cluster, _ = v.Cluster(id)
		}
		if cluster != nil {
			look.fresh = len(changed) - i
			made := look.stood(cluster)
			if r.taken > 1 {
				made.keep()
			}
			all, fresh = append(all, made), append(fresh, made)
		}
	}
	all = append(all, old...)
	r.made, r.roomMade = all, r.made
	if r.beside.Held {
		for _, made := range all {
			kept = made.appendKept(kept, v)
		}
	}
	return r.merged(fresh), kept
}

// of returns the owner of a name.
func (r *Reader) of(name string) *owner {
	if r.last != nil && r.last.name == name {
		return r.last
	}
	if r.last = r.called[name]; r.last == nil {
		r.last = &owner{name: name}
		r.called[name] = r.last
		at, _ := slices.BinarySearchFunc(r.owners, name, func(o *owner, name string) int { return strings.Compare(o.name, name) })
		r.owners = slices.Insert(r.owners, at, r.last)
	}
	return r.last
}

func (r *Reader) drop(made *stood) {
	for i := range made.idle {
		o := r.of(made.idle[i].Submitter)
		o.gone = append(o.gone, made.idle[i].Cluster)
	}
}

// sorted returns the runs of new clusters by owner, and makes each owner's part the new of that owner.
func (r *Reader) sorted(fresh []*stood) []jobprio.Run {
	all := 0
	for _, made := range fresh {
		for i := range made.idle {
			r.of(made.idle[i].Submitter).count++
			all++
		}
	}
	list := make([]jobprio.Run, all)
	from := 0
	for _, o := range r.owners {
		o.new = list[from : from : from+o.count]
		from, o.count = from+o.count, 0
	}
	for _, made := range fresh {
		for i := range made.idle {
			o := r.of(made.idle[i].Submitter)
			o.new = append(o.new, made.idle[i])
		}
	}
	return list
}

// merged makes the list of idle jobs without the clusters that are gone, and with those that are new.
func (r *Reader) merged(fresh []*stood) []jobprio.Run {
	more := r.sorted(fresh)
	if len(r.idle) == 0 {
		r.idle = more
		for i, from := 0, 0; i < len(r.owners); i++ {
			o := r.owners[i]
			o.from, o.to = from, from+len(o.new)
			from, o.gone, o.new = o.to, nil, nil
		}
		return more
	}
	list := slices.Grow(r.roomIdle[:0], len(r.idle)+len(more))
	for _, o := range r.owners {
		was := r.idle[o.from:o.to]
		o.from = len(list)
		for len(o.gone)+len(o.new) > 0 {
			cluster := math.MaxInt
			if len(o.gone) > 0 {
				cluster = o.gone[0]
			}
			if len(o.new) > 0 {
				cluster = min(cluster, o.new[0].Cluster)
			}
			n := sort.Search(len(was), func(i int) bool { return was[i].Cluster >= cluster })
			list, was = append(list, was[:n]...), was[n:]
			for len(was) > 0 && was[0].Cluster == cluster {
				was = was[1:]
			}
			for len(o.gone) > 0 && o.gone[0] == cluster {
				o.gone = o.gone[1:]
			}
			for len(o.new) > 0 && o.new[0].Cluster == cluster {
				list, o.new = append(list, o.new[0]), o.new[1:]
			}
		}
		list = append(list, was...)
		o.to, o.gone, o.new = len(list), nil, nil
	}
	r.idle, r.roomIdle = list, r.idle
	return list
}

// appendKept appends the procs that are held or wait for others, without those that have a claim.
func (s *stood) appendKept(list []jobprio.Run, v *spool.View) []jobprio.Run {
	for _, k := range s.kept {
		list = appendUnclaimed(list, v, k.run, k.submitter)
	}
	return list
}

// stood is the jobs that a cycle takes of a cluster.
type stood struct {
	cluster int
	idle    []jobprio.Run
	kept    []keptRun
}

// keep lets cycles keep what they find out about idle jobs that are like no others, once a process sees them for the second time.
func (s *stood) keep() {
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
	made.cluster, x.room = cluster.ID, x.room[1:]
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
