package negotiation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// exempting is a policy for one queue that leaves some jobs out, by chance, and can be told
// not to: one job that is not left out, and one that no limit counts for.
type exempting struct {
	drawnQueue
	let, free pool.JobID
}

// but returns the policy that has nothing against a job.
func (q exempting) but(id pool.JobID, cause negotiator.Cause) exempting {
	if cause == negotiator.CauseBlocked {
		q.let = id
	} else {
		q.free = id
	}
	return q
}

// Order gives jobs that are left out priorities, too. One that is not any more stands behind
// all that have the same.
func (q exempting) Order(w jobprio.Waiting) jobprio.Order {
	o := q.drawnQueue.Order(w)
	blocked := o.Blocked
	o.Blocked = nil
	for _, b := range blocked {
		first := w.Idle[b.Run].FirstJob()
		b.Priority = float64(q.hash(first.Cluster, first.Proc, -1) % 50)
		if first != q.let {
			o.Blocked = append(o.Blocked, b)
			continue
		}
		at := slices.IndexFunc(o.Places, func(p jobprio.Place) bool { return p.Priority < b.Priority })
		if at < 0 {
			at = len(o.Places)
		}
		o.Places = slices.Insert(o.Places, at, jobprio.Place{Part: b.Part, Priority: b.Priority})
	}
	if l, ok := o.Limits.(*drawnLimits); ok {
		o.Limits = exemptLimits{l, q.free}
	}
	return o
}

// exemptLimits do not count for a job.
type exemptLimits struct {
	*drawnLimits
	free pool.JobID
}

func (l exemptLimits) Attributes() []string {
	if l.free == (pool.JobID{}) {
		return l.drawnLimits.Attributes()
	}
	return append(l.drawnLimits.Attributes(), pool.AttrClusterID, pool.AttrProcID)
}

func (l exemptLimits) Kind(r jobprio.Run) int {
	if r.FirstJob() == l.free {
		return -1
	}
	return l.drawnLimits.Kind(r)
}

func (l exemptLimits) Refuses(kind int, hard bool) string {
	if kind < 0 {
		return ""
	}
	return l.drawnLimits.Refuses(kind, hard)
}

func (l exemptLimits) Admits(kind int, ended []int, hard bool) bool {
	ended = slices.DeleteFunc(slices.Clone(ended), func(kind int) bool { return kind < 0 })
	return kind < 0 || l.drawnLimits.Admits(kind, ended, hard)
}

func (l exemptLimits) Take(kind int) {
	if kind >= 0 {
		l.drawnLimits.Take(kind)
	}
}

// withoutOthersBefore takes the jobs of others away that go before the one of a rejection:
// those with a better place or of another group, of nice users only behind all others and of who is beyond a soft
// limit behind all who are not.
func (w *world) withoutOthersBefore(plan *negotiator.Plan, r negotiator.Rejection) {
	q := w.cfg.Queue.(exempting)
	all := *w
	idle := slices.Clone(all.Jobs)
	o := q.but(r.Job, negotiator.CauseBlocked).Order(jobprio.Waiting{Idle: idle, Running: all.Running})
	at, places := len(o.Places), map[pool.JobID]int{}
	for i, p := range o.Places {
		id := idle[p.Run].FirstJob()
		if places[id] = i; id == r.Job {
			at = i
		}
	}
	groupOf := w.cfg.Params.Groups.Of
	isNice := func(name string) bool { return strings.HasPrefix(name, "nice-user") }
	w.keepIdle(func(j jobprio.Run) bool {
		place, placed := places[j.FirstJob()]
		switch {
		case j.Submitter == r.Submitter || !placed:
			return true
		case groupOf(j.Submitter) != groupOf(r.Submitter):
			return false
		case isNice(j.Submitter) != isNice(r.Submitter):
			return isNice(j.Submitter)
		}
		return place > at && !q.limits
	})
}

// withoutOwnCluster takes the jobs of the same cluster and submitter away that have better
// places than the one of a rejection, or as it has none, all of them.
func (w *world) withoutOwnCluster(plan *negotiator.Plan, r negotiator.Rejection) {
	for _, o := range plan.Rejections {
		if o.Submitter == r.Submitter && (o.Place < r.Place || r.Place == 0) {
			w.keepIdle(func(j jobprio.Run) bool {
				return j.FirstJob() == r.Job || j.Cluster != r.Job.Cluster || !slices.ContainsFunc(o.Jobs, func(p pool.Procs) bool {
					return p.Cluster == j.Cluster && p.First <= j.First && j.First <= p.Last
				})
			})
		}
	}
}

// With one queue of all jobs, too, a job runs without what is said to be in its way.
func TestCausesInOneQueue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := anyWorld(rt, t)
		w.cfg.Queue = exempting{drawnQueue: drawQueue(rt)}
		for i := range w.Jobs {
			j := &w.Jobs[i]
			if rapid.IntRange(0, 2).Draw(rt, "noise") == 0 {
				j.Ad = j.Ad.Clone()
				j.Ad.SetInt("Noise", 1)
			}
		}
		w.checkCauses(rt, t)
	})
}

// A job of a nice user that the policy leaves out goes behind those of nice users with higher
// priorities, however low those of all others are.
func TestBlockedNiceUser(t *testing.T) {
	cfg := defaults(t)
	cfg.Queue = byPrio{}
	p := negotiator.Pool{Slots: equal(t, 1, ""), Backoffs: []pool.Backoff{{Slot: "slot1", Failures: 1, Until: now.Add(time.Minute)}}, Jobs: []jobprio.Run{
		aJob(t, 1, 1, "bob@x", "JobPrio = 10"), aJob(t, 2, 1, "bob@x", "JobPrio = 5"),
		aJob(t, 3, 1, "nice-user.alice@x", "JobPrio = 45"), aJob(t, 4, 1, "nice-user.alice@x", "JobPrio = 30; Blocked = true")}}
	for _, r := range Cycle(p, cfg, now).Rejections {
		if r.Job.Cluster != 4 {
			continue
		}
		if r.Cause != negotiator.CauseBlocked || !slices.Equal(r.Also, []negotiator.Cause{negotiator.CauseResting, negotiator.CauseOwnJobs, negotiator.CauseOthers}) || r.OwnJobs != 1 || r.Ahead != 2 {
			t.Errorf("4.0: causes %s %v, %d own jobs and %d of others before it; want Blocked, Resting, OwnJobs, Others, 1 and 2", r.Cause, r.Also, r.OwnJobs, r.Ahead)
		}
		return
	}
	t.Error("nothing is said of 4.0")
}

// What runs in a part of a drained slot goes on when it is drained no more, and counts for limits:
// both jobs may only go beyond the soft one, and so in their order.
func TestDrainedBesideWhatRuns(t *testing.T) {
	cfg := defaults(t)
	cfg.Queue = drawnQueue{seed: 1, limits: true, user: [2]int{1, 2}, noise: [2]int{1, 9}}
	claims := runs(9, "alice@x", 1, 1, time.Minute)
	claims[0].Slot, claims[0].Piece = "slot1_1", pool.Piece{Of: "slot1", Takes: "Cpus=1 Memory=128"}
	claims = append(claims, runs(8, "bob@x", 2, 2, time.Minute)...)
	p := negotiator.Pool{Claims: claims, Slots: []pool.Slot{aSlot(t, "slot2", "Requirements = false"), aSlot(t, "slot1", `PartitionableSlot = true; Cpus = 4; Memory = 4096; State = "Drained"`)},
		Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "Noise = 1"), aJob(t, 2, 1, "alice@x", "")}}
	runToo(&p, t)
	plan := Cycle(p, cfg, now)
	if len(plan.Rejections) != 2 || plan.Rejections[0].Job.Cluster != 2 {
		t.Fatalf("rejections %+v, want 2.0 before 1.0", plan.Rejections)
	}
	if r := plan.Rejections[1]; r.Cause != negotiator.CauseDrained || r.OwnJobs != 1 {
		t.Errorf("1.0: causes %s %v and %d own jobs before it, want Drained, and 1", r.Cause, r.Also, r.OwnJobs)
	}
}

// What limits make of a job that was matched is what they make of it alone, also where it came
// in one run with others that are not equal to them.
func TestWaitingBehindOneOfARun(t *testing.T) {
	cfg := defaults(t)
	cfg.Queue = drawnQueue{limits: true, user: [2]int{1, 1}, noise: [2]int{2, 3}}
	p := negotiator.Pool{Slots: equal(t, 4, ""), Claims: runs(9, "bob@x", 1, 3, time.Minute),
		Jobs: []jobprio.Run{aJob(t, 2, 2, "alice@x", "Noise = ProcId"), aJob(t, 4, 1, "alice@x", "")}}
	runToo(&p, t)
	for range 2 {
		plan := Cycle(p, cfg, now)
		if len(plan.Matches) != 1 || plan.Matches[0].Job != (pool.JobID{Cluster: 2, Proc: 1}) {
			t.Fatalf("matches %+v, want 2.1", plan.Matches)
		}
		// Without it there are still 3 jobs of noise 0.
		for _, x := range plan.Autoclusters[0].Ahead {
			if x.Waiting != 0 {
				t.Errorf("%d jobs of %s are said to wait for the slot of 2.1, whose end lets none of them run", x.Waiting, x.Submitter)
			}
		}
		p.Jobs = jobprio.Singly(p.Jobs)
	}
}
