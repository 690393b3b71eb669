package operation

import (
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// inOrder returns with which job a slot goes on under a policy with one queue of all jobs: the
// submitter's next of the same autocluster, unless a job goes before that in the queue which
// the slot would take. Where the queue was too long to be kept whole, the next cycle knows.
func (s *succeeding) inOrder(u negotiator.Succession) (next pool.Claim, ok bool) {
	var heir *negotiator.Successors
	var job pool.JobID
	var ad *classad.Ad
	place := 0
	for i := range u.Queues {
		q := &u.Queues[i]
		if q.Submitter != s.ended.Submitter || q.Asks {
			continue
		}
		for n, stretch := range q.Jobs {
			if heir != nil && q.Places[n] > place {
				break
			}
			if id, found, ok := s.first([]pool.Procs{stretch}, u.Telling); ok {
				heir, job, ad, place = q, id, found, q.Places[n]
				break
			}
		}
	}
	if heir == nil || u.More > 0 && u.More < place {
		return next, false
	}
	for i := range u.Queues {
		if q := &u.Queues[i]; q != heir && s.goesFirst(q, heir, place) {
			return next, false
		}
	}
	next = s.claim(job, ad)
	if heir.QOS != "" {
		next.By.QOS = heir.QOS
	}
	next.By.PE = heir.PE
	return next, true
}

// goesFirst tells whether a job of a queue would take the slot before the heir's, which has
// this place. Jobs of one queue are alike, so that one of them tells for all.
func (s *succeeding) goesFirst(q, heir *negotiator.Successors, place int) bool {
	if !q.Takes && (q.Limit == "" || q.Limit != heir.Limit) {
		return false
	}
	for n, stretch := range q.Jobs {
		if q.Places[n] >= place {
			return false
		}
		if ad, ok := s.anyIdle(stretch); ok {
			return classad.Match(s.eval, s.slot, ad)
		}
	}
	return q.More > 0 && q.More < place
}

// anyIdle returns the ad of one of some procs that waits for a slot.
func (s *succeeding) anyIdle(p pool.Procs) (*classad.Ad, bool) {
	cluster, there := s.Cluster(p.Cluster)
	if !there {
		return nil, false
	}
	for _, run := range cluster.Runs {
		both, ok := run.Intersect(p)
		if !ok || !isIdle(s.eval, run.Ad) {
			continue
		}
		for id := range both.Jobs() {
			if _, claimed := s.Claim(id); !claimed {
				return run.Proc(id.Proc), true
			}
		}
	}
	return nil, false
}
