package operation

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Span is procs of one cluster that stand in one run of equal procs: First to
// Last.
type Span struct{ Cluster, First, Last int }

// String returns the span as people name it: 12.4, or 12.0-3.
func (s Span) String() string {
	if s.First == s.Last {
		return fmt.Sprintf("%d.%d", s.Cluster, s.First)
	}
	return fmt.Sprintf("%d.%d-%d", s.Cluster, s.First, s.Last)
}

// only returns the span of one job.
func only(id pool.JobID) Span { return Span{id.Cluster, id.Proc, id.Proc} }

// Outcome is what an operation did with jobs.
type Outcome int

// What Remove, Hold and Release may do.
const (
	RemovedNow    Outcome = iota + 1 // the job has left the queue, or stays there removed (LeaveJobInQueue)
	Marked                           // it runs and is marked removed; its supervisor ends it
	Already                          // it was removed or held before; nothing was done
	HeldNow                          // the job is held
	HeldRunning                      // it is held, and its supervisor ends it
	ReleasedNow                      // it is held no more
	NotHeld                          // it was not held; nothing was done
	Over                             // it has ended or was removed; nothing was done
	LeavesForMore                    // it is not held: its supervisor ends it, and then it may ask for more than it had
)

// Done is what became of procs.
type Done struct {
	Span
	Outcome
}

// steered is the jobs that an operation is about to change: a stretch without
// claims, or one with a claim.
type steered struct {
	tx *spool.Tx
	Span
	ad      *classad.Ad // of the first; what counts for the operations is the same for all
	claim   pool.Claim
	claimed bool
}

func (s steered) status() pool.Status { return job{ad: s.ad}.status() }

func (s steered) int(name string) int64 { return job{ad: s.ad}.int(name) }

func (s steered) set(name string, v classad.Value) {
	s.tx.SetRange(s.Cluster, s.First, s.Last, name, classad.Literal(v))
}

// unset takes an attribute away, which costs nothing when it is not there.
func (s steered) unset(name string) {
	if s.ad.Has(name) {
		s.tx.SetRange(s.Cluster, s.First, s.Last, name, nil)
	}
}

// each hands the jobs of a span to do: those without claims in stretches, each
// of the others by itself.
func each(tx *spool.Tx, s Span, do func(steered) Outcome) (all []Done, err error) {
	add := func(x steered) error {
		ad, ok := tx.Job(pool.JobID{Cluster: x.Cluster, Proc: x.First})
		if !ok {
			return fmt.Errorf("job %d.%d: not in the queue", x.Cluster, x.First)
		}
		x.tx, x.ad = tx, ad
		all = append(all, Done{x.Span, do(x)})
		return nil
	}
	first := s.First
	for p := s.First; p <= s.Last; p++ {
		claim, ok := tx.Claim(pool.JobID{Cluster: s.Cluster, Proc: p})
		if !ok {
			continue
		}
		if first < p {
			err = add(steered{Span: Span{s.Cluster, first, p - 1}})
		}
		if err == nil {
			err = add(steered{Span: Span{s.Cluster, p, p}, claim: claim, claimed: true})
		}
		if err != nil {
			return all, err
		}
		first = p + 1
	}
	if first <= s.Last {
		err = add(steered{Span: Span{s.Cluster, first, s.Last}})
	}
	return all, err
}
