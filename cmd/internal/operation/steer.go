package operation

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

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
	pool.Procs
	Outcome
}

// steered is the jobs that an operation is about to change: a stretch without
// claims, or one with a claim.
type steered struct {
	tx *spool.Tx
	pool.Procs
	ad      *classad.Ad // of the first; what counts for the operations is the same for all
	claim   pool.Claim
	claimed bool
}

func (s steered) status() pool.Status { return job{ad: s.ad}.status() }

func (s steered) int(name string) int64 { return job{ad: s.ad}.int(name) }

func (s steered) set(name string, v classad.Value) {
	s.tx.SetRange(s.Procs, name, classad.Literal(v))
}

// unset takes an attribute away, which costs nothing when it is not there.
func (s steered) unset(name string) {
	if s.ad.Has(name) {
		s.tx.SetRange(s.Procs, name, nil)
	}
}

// each hands the jobs of a span to do: those without claims in stretches, each
// of the others by itself.
func each(tx *spool.Tx, s pool.Procs, do func(steered) Outcome) (all []Done, err error) {
	add := func(x steered) error {
		ad, ok := tx.Job(x.FirstJob())
		if !ok {
			return fmt.Errorf("job %v: not in the queue", x.FirstJob())
		}
		x.tx, x.ad = tx, ad
		all = append(all, Done{x.Procs, do(x)})
		return nil
	}
	rest := s
	for id := range s.Jobs() {
		claim, ok := tx.Claim(id)
		if !ok {
			continue
		}
		if before := rest; before.First < id.Proc {
			before.Last = id.Proc - 1
			err = add(steered{Procs: before})
		}
		if err == nil {
			err = add(steered{Procs: pool.Only(id), claim: claim, claimed: true})
		}
		if err != nil {
			return all, err
		}
		rest.First = id.Proc + 1
	}
	if rest.First <= rest.Last {
		err = add(steered{Procs: rest})
	}
	return all, err
}
