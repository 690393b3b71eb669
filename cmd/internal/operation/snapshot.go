package operation

import (
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Snapshot is what a negotiation cycle works on, and what it takes to apply
// its plan later.
type Snapshot struct {
	Pool  negotiator.Pool
	Bad   []error          // what could not be used: hand-written slot ads, by file and line, and reservations
	seq   uint64           // the transaction that it was taken after
	slots map[string]known // by name
	mark  string           // the clock that the spool is to keep; empty: as it is
}

// known is what applying a plan has to know of a slot that the cycle saw.
type known struct {
	ad      *classad.Ad
	machine string // its Machine
	hand    bool   // the ad was written by hand
}

// unchanged tells whether a slot's ad is the one that the cycle saw. Ads
// written by hand have no versions; whoever edits them during a cycle finds
// the change respected by the next.
func (s Snapshot) unchanged(tx *spool.Tx, name string) bool {
	if s.slots[name].hand {
		return true
	}
	slot, ok := tx.Advertised(name)
	return ok && slot.Seq <= s.seq
}

// TakeSnapshot reads a view for a cycle: slots, claims, idle jobs, all
// submitters. The cycle has to be over before the view is.
func TakeSnapshot(v *spool.View, domain string, groups *accountant.Groups) Snapshot {
	slots, bad := Slots(v)
	s := Snapshot{Bad: bad, seq: v.Seq(), slots: make(map[string]known, len(slots))}
	c := &classad.Context{}
	for _, slot := range slots {
		s.slots[slot.Name] = known{slot.Ad, machineOf(c, slot), slot.Source != ""}
	}
	reservations, err := Reservations(v)
	if err != nil {
		s.Bad = append(s.Bad, err)
	}
	for i, r := range reservations {
		reservations[i].Submitter = groups.Spelled(r.Submitter) // as the jobs' are
	}
	s.Pool = negotiator.Pool{
		Slots: slots, Claims: v.Claims(), Jobs: idleJobs(v, domain, groups),
		Submitters: v.Submitters(), Backoffs: v.Backoffs(), Reservations: reservations,
	}
	return s
}

// idleJobs returns the runs of idle procs, save those that wait for others to
// end. Some may have a claim already, which the cycle sees for itself.
func idleJobs(v *spool.View, domain string, groups *accountant.Groups) []negotiator.Job {
	var jobs []negotiator.Job
	c := &classad.Context{}
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			if !isIdle(c, run.Ad) {
				continue
			}
			jobs = append(jobs, negotiator.Job{
				First: pool.JobID{Cluster: cluster.ID, Proc: run.First}, Count: run.Count(),
				Submitter: Submitter(run.Ad, domain, groups), Ad: run.Proc(run.First),
			})
		}
	}
	return jobs
}
