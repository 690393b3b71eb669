package operation

import (
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

// Snapshot is what a negotiation cycle works on, and what it takes to apply
// its plan later.
type Snapshot struct {
	Pool  negotiator.Pool
	Bad   []error          // what could not be used: hand-written slot ads, by file and line, and reservations
	seq   uint64           // the transaction that it was taken after
	slots map[string]known // by name
	mark  string           // the clock that the spool is to keep; empty: as it is

	ticketed []pool.JobID // those of claims that have Tickets
}

// known is what applying a plan has to know of a slot that the cycle saw.
type known struct {
	ad      *classad.Ad
	machine string // its Machine
	hand    bool   // the ad was written by hand
}

// unchanged reports whether a slot's ad is the one that the cycle saw. Ads
// written by hand have no versions; whoever edits them during a cycle finds
// the change respected by the next.
func (s Snapshot) unchanged(tx *spool.Tx, name string) bool {
	if s.slots[name].hand {
		return true
	}
	slot, ok := tx.Advertised(name)
	return ok && slot.Seq <= s.seq
}

// TakeSnapshot reads a view for a cycle: slots, claims, idle jobs and those beside, all
// submitters. The cycle has to be over before the view is.
func TakeSnapshot(v *spool.View, domain string, groups *accountant.Groups, beside policy.Beside) Snapshot {
	slots, bad := Slots(v)
	s := Snapshot{Bad: bad, seq: v.Seq(), slots: make(map[string]known, len(slots))}
	c := &classad.Context{}
	for _, slot := range slots {
		s.slots[slot.Name] = known{slot.Ad, slot.Machine(c), slot.Source != ""}
	}
	reservations, err := Reservations(v)
	if err != nil {
		s.Bad = append(s.Bad, err)
	}
	for i, r := range reservations {
		reservations[i].Submitter = groups.Spelled(r.Submitter) // as the jobs' are
	}
	s.Pool = negotiator.Pool{
		Slots: slots, Claims: v.Claims(), Submitters: v.Submitters(), Backoffs: v.Backoffs(), Reservations: reservations,
	}
	s.Pool.Jobs, s.Pool.Held = waiting(v, domain, groups, beside.Held)
	s.ticketed = ticketed(v, s.Pool.Claims)
	if beside.Running {
		s.Pool.Running = claimed(v, s.Pool.Claims)
	}
	return s
}

// waiting returns the runs of idle procs, and, if that is wanted, of those without a claim
// that are held or wait for others to end. Some of the idle ones may have a claim already,
// which the cycle sees for itself.
func waiting(v *spool.View, domain string, groups *accountant.Groups, held bool) (idle, kept []jobprio.Run) {
	c := &classad.Context{}
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			switch {
			case isIdle(c, run.Ad):
				idle = append(idle, part(cluster.ID, run, run.First, run.Last, domain, groups))
			case held && isKept(c, run.Ad):
				kept = appendUnclaimed(kept, v, cluster.ID, run, domain, groups)
			}
		}
	}
	return idle, kept
}

// part returns the procs from first to last of a run.
func part(cluster int, run spool.Run, first, last int, domain string, groups *accountant.Groups) jobprio.Run {
	return jobprio.Run{
		Procs:     pool.Procs{Cluster: cluster, First: first, Last: last},
		Submitter: Submitter(run.Ad, domain, groups),
		Ad:        run.Proc(first),
	}
}

// isKept reports whether the procs of a run are held or wait for others to end.
func isKept(c *classad.Context, ad *classad.Ad) bool {
	status, ok := ad.EvalInt(c, pool.AttrJobStatus)
	return ok && (pool.Status(status) == pool.Held || pool.Status(status) == pool.Idle && jobpolicy.Waits(ad))
}

// appendUnclaimed appends the procs of a run that have no claim: one that is held may still
// be leaving its slot.
func appendUnclaimed(list []jobprio.Run, v *spool.View, cluster int, run spool.Run, domain string, groups *accountant.Groups) []jobprio.Run {
	first := run.First
	for proc := run.First; proc <= run.Last+1; proc++ {
		_, claimed := v.Claim(pool.JobID{Cluster: cluster, Proc: proc})
		if proc <= run.Last && !claimed {
			continue
		}
		if first < proc {
			list = append(list, part(cluster, run, first, proc-1, domain, groups))
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

// Accounts are records and claims: those of a transaction, or a copy of them.
type Accounts interface {
	Submitters() []accountant.Record
	Submitter(name string) (accountant.Record, bool)
	PutSubmitter(accountant.Record)
	DropSubmitter(name string)
	Claims() []pool.Claim
	PutClaim(pool.Claim)
}

// Respell gives all submitters and groups the names that the configuration spells
// otherwise now, in their records and in the claims: names of groups are the same
// whatever their case. The record of one who has both names is the two joined. Whoever
// calls it on a transaction names that.
func Respell(tx Accounts, now time.Time, p accountant.Params) {
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
	for _, c := range tx.Claims() {
		if name := p.Groups.Spelled(c.Submitter); name != c.Submitter {
			c.Submitter = name
			tx.PutClaim(c)
		}
	}
}

// Misspelt reports whether Respell would change anything.
func (s Snapshot) Misspelt(groups *accountant.Groups) bool {
	for _, r := range s.Pool.Submitters {
		if groups.Spelled(r.Name) != r.Name {
			return true
		}
	}
	for _, c := range s.Pool.Claims {
		if groups.Spelled(c.Submitter) != c.Submitter {
			return true
		}
	}
	return false
}
