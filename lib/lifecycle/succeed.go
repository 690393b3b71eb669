package lifecycle

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// putSuccession keeps a plan's succession.
func putSuccession(tx *spool.Tx, u negotiator.Succession) {
	spool.Succession.Set(tx, u.Queues)
	spool.Entitlement.Set(tx, u.Entitled)
	var course []pool.Course
	if len(u.Queues) > 0 {
		course = []pool.Course{u.Course}
	}
	spool.Course.Set(tx, course)
}

// successionOf returns the succession that is kept, with the queues and the submitters in any order.
func successionOf(v *spool.View) (u negotiator.Succession) {
	u.Queues, u.Entitled = spool.Succession.All(v), spool.Entitlement.All(v)
	if course := spool.Course.All(v); len(course) > 0 {
		u.Course = course[0]
	}
	return u
}

// Successor returns the claim of the job that takes over a slot when a Running claim has ended, given that claim and
// its job's ad, unless the pilot of its machine leaves. That job is the submitter's next one, in the order of the last
// cycle, that is still idle, that its policy lets run, and that matches the slot as it is. From a piece of a
// partitionable slot the job takes the resources that it requests, and cfg.WeightIn gives the claim's weight. ok is
// false if there is no such job, or if another submitter is below its share and has a job that the slot would take,
// while this one has its share; under a policy with one queue, if another job that the slot would take precedes it
// there. ok is also false if such a job of the submitter's own counts against other limits, if the expressions take too
// many steps, or if too many jobs do not want the slot: the next cycle decides then. The claim has no time of match and
// is not charged yet; see Succeed.
func Successor(tx *spool.Tx, ended pool.Claim, ad *classad.Ad, domain string, now time.Time, cfg *negotiator.Config) (next pool.Claim, ok bool) {
	u := successionOf(&tx.View)
	// A slot that is promised to another job has a Vacating claim.
	if ended.State != pool.RunningClaim || len(u.Queues) == 0 || !takesJobs(&tx.View, ended.Machine) {
		return next, false
	}
	s := succeeding{tx: tx, View: &tx.View, eval: &classad.Context{}, now: now, ended: ended, ad: ad, domain: domain, cfg: cfg}
	if s.slot = maintainedIn(s.View).slotOf(s.View, ended); s.slot == nil || s.reserved() || s.yields(u) {
		return next, false
	}
	next, ok = s.inOrder(u)
	return next, ok && !s.short
}

// MayGoOn reports whether a claim may go on with another job after an attempt that ended so: the job ended by itself, and its slot has
// had jobs one after the other for a time that is below CLAIM_WORKLIFE.
func MayGoOn(how pool.Ending, worked, worklife time.Duration) bool {
	return worked < worklife && how.Lost == "" && how.StartFailed == "" && how.OutputFailed == "" && !how.NotStarted
}

// succeeding is the look for a successor.
type succeeding struct {
	*spool.View
	tx     *spool.Tx
	eval   *classad.Context // for attributes that are no expressions
	now    time.Time
	asked  int  // how many jobs of the queue were asked about
	short  bool // there were too many, or an expression took too many steps
	ended  pool.Claim
	ad     *classad.Ad // of the job that ends
	slot   *classad.Ad // a part of a partitionable slot is the dynamic slot
	domain string
	cfg    *negotiator.Config
}

// reserved reports whether the slot is reserved for a wider job.
func (s *succeeding) reserved() bool {
	return slices.ContainsFunc(spool.Reservations.All(s.View), func(r pool.Reservation) bool { return r.Slot == s.ended.SlotAd() })
}

// yields reports whether the slot is to go to another submitter that is below its share and has a job
// for it: this submitter has its share even without the slot. As slots are whole and shares are not,
// this submitter may also lack less than half of the slot if the other one lacks more than half. So
// each slot that changes hands makes the division fairer, and no slot returns.
func (s *succeeding) yields(u negotiator.Succession) bool {
	without, known := s.beyondShare(u)
	half := s.ended.Weight.Float() / 2
	if !known || without <= negligible-half {
		return false
	}
	for _, w := range u.Entitled {
		if w.Submitter == s.ended.Submitter || without < 0 && w.Weight-s.inUse(w.Submitter) <= half+negligible {
			continue
		}
		for _, id := range w.Jobs {
			if ad, ok := s.idle(id); ok && s.matches(ad) {
				return true
			}
		}
	}
	return false
}

// negligible is below any weight that counts.
const negligible = 1e-6

// beyondShare returns the slot weight by which the submitter exceeds its share without the slot; known is
// false if the submitter has all that it wants.
func (s *succeeding) beyondShare(u negotiator.Succession) (weight float64, known bool) {
	for _, e := range u.Entitled {
		if e.Submitter == s.ended.Submitter && len(e.Jobs) == 0 {
			return s.inUse(e.Submitter) - e.Weight, true
		}
	}
	return 0, false
}

// inUse returns the slot weight that a submitter has.
func (s *succeeding) inUse(name string) float64 {
	r, _ := s.Submitter(name)
	return r.InUse.Float()
}

// candidate is a job that may have the slot.
type candidate struct {
	pool.JobID
	ad    *classad.Ad
	piece pool.Piece // of the slot
}

// outcome is the result of a look at Successors.
type outcome uint8

const (
	passed  outcome = iota // none of the jobs may start, as far as they are known
	unfit                  // the slot does not take them
	counted                // they count against other limits than the job that has ended
	suited                 // one may start
)

// look returns the first of some jobs that may start in the slot at once, and where its stretch begins,
// before a place. The jobs are alike: the first that waits says for all whether the slot takes them.
func (s *succeeding) look(q *pool.Successors, before int, limits []string) (job candidate, at int, how outcome) {
	for n, stretch := range q.Jobs {
		if q.Places[n] >= before {
			break
		}
		for id, ad := range s.waiting(stretch) {
			piece, fits := s.piece(ad)
			switch {
			case !fits || !s.matches(ad):
				return job, 0, unfit
			case !sameIn(limits, s.ad, ad):
				return job, 0, counted
			case s.suits(ad):
				return candidate{id, ad, piece}, q.Places[n], suited
			}
			if s.asked++; s.asked >= mostAsked {
				s.short = true
				return job, 0, unfit
			}
		}
	}
	return job, 0, passed
}

// mostAsked is how many jobs of the queue are asked whether they may start in the slot.
const mostAsked = 1000

// sameIn reports whether two ads say the same under all these names.
func sameIn(names []string, a, b *classad.Ad) bool {
	for _, name := range names {
		x, hasX := a.Lookup(name)
		y, hasY := b.Lookup(name)
		if hasX != hasY || hasX && x.String() != y.String() {
			return false
		}
	}
	return true
}

// suits reports whether a job that matches the slot may start there at once.
func (s *succeeding) suits(ad *classad.Ad) bool {
	at, _ := Deferral(s.tx, ad, s.now)
	return at.IsZero() && s.stays(ad) && Submitter(ad, s.domain, s.cfg.Params.Groups) == s.ended.Submitter
}

// piece returns the part of the last job's piece of a partitionable slot that a job takes: the resources
// that it requests, rounded up as in a cycle, and no more than the piece has. fits is false if the piece
// has too little. A whole slot is taken as it is.
func (s *succeeding) piece(ad *classad.Ad) (piece pool.Piece, fits bool) {
	piece = s.ended.Piece
	if piece.Of == "" {
		return piece, true
	}
	had, err := piece.Takes.Amounts()
	if err != nil {
		return piece, false
	}
	asks := s.requests(ad)
	for i := range had {
		name := strings.ToLower(had[i].Name)
		ask := asks[name]
		delete(asks, name)
		if ask > had[i].Of {
			return piece, false
		}
		had[i].Of = min(pool.RoundedUp(name, ask), had[i].Of)
	}
	before := s.requests(s.ad)
	for name, ask := range asks {
		_, counted := s.slot.Eval(s.eval, name, nil).Number()
		if counted || ask > before[name] { // a resource without a number in the slot sufficed for the last job's request
			return piece, false
		}
	}
	piece.Takes = pool.ResourcesOf(had)
	return piece, true
}

// requests returns how much a job requests of resources, by their names in lower case: one core where it does
// not say, and nothing else.
func (s *succeeding) requests(ad *classad.Ad) map[string]float64 {
	names := ad.NamesFrom(pool.RequestPrefix)
	slices.Sort(names)
	asks := map[string]float64{strings.ToLower(pool.AttrCpus): 1}
	for i, v := range Values(s.tx, ad, nil, names...) {
		if n, ok := v.Number(); ok && n > 0 && !math.IsInf(n, 0) {
			asks[strings.ToLower(names[i][len(pool.RequestPrefix):])] = n
		}
	}
	return asks
}

// stays reports whether the policy of a job lets it run.
func (s *succeeding) stays(ad *classad.Ad) bool {
	if jobpolicy.Never(ad) {
		return true
	}
	names := append(jobpolicy.PeriodicAttributes(), pool.AttrJobStatus, pool.AttrHoldReasonCode)
	q := question{what: "periodic", now: s.now, ads: [2]*classad.Ad{ad}, names: [2][]string{names}}
	return s.yes(q, func(c *classad.Context, ads [2]*classad.Ad) bool {
		return jobpolicy.Periodic(c, ads[0]).Action == jobpolicy.Stay
	})
}

// matches reports whether a job matches the slot.
func (s *succeeding) matches(ad *classad.Ad) bool {
	names := []string{pool.AttrRequirements}
	q := question{what: "match", now: s.now, ads: [2]*classad.Ad{ad, s.slot}, names: [2][]string{names, names}}
	return s.yes(q, func(c *classad.Context, ads [2]*classad.Ad) bool { return classad.Match(c, ads[1], ads[0]) })
}

// yes asks a question, and notes whether the steps did not suffice.
func (s *succeeding) yes(q question, is func(c *classad.Context, ads [2]*classad.Ad) bool) bool {
	answer := ask(s.tx, q, func(c *classad.Context, ads [2]*classad.Ad) verdict {
		yes := is(c, ads)
		return verdict{yes, !c.Budget.Spent()}
	})
	s.short = s.short || !answer.sure
	return answer.yes
}

// verdict is the answer to a question that is yes or no. It is not sure if there were too few steps.
type verdict struct{ yes, sure bool }

// Deferral returns the result of jobpolicy.Deferral: when a job is to be executed.
func Deferral(tx *spool.Tx, ad *classad.Ad, now time.Time) (at time.Time, missed jobpolicy.Verdict) {
	q := question{what: "deferral", now: now, ads: [2]*classad.Ad{ad}, names: [2][]string{{jobpolicy.AttrDeferralTime, jobpolicy.AttrDeferralWindow}}}
	d := ask(tx, q, func(c *classad.Context, ads [2]*classad.Ad) (d deferral) {
		d.at, d.missed = jobpolicy.Deferral(c, ads[0])
		return d
	})
	return d.at, d.missed
}

// deferral is what jobpolicy.Deferral returns.
type deferral struct {
	at     time.Time
	missed jobpolicy.Verdict
}

// idle returns the ad of a job that waits for a slot.
func (s *succeeding) idle(id pool.JobID) (*classad.Ad, bool) {
	ad, ok := s.Job(id)
	if _, claimed := s.Claim(id); !ok || claimed || !isIdle(s.eval, ad) {
		return nil, false
	}
	return ad, true
}

// isIdle reports whether a job, or a run of equal ones, is idle and waits for no others.
func isIdle(c *classad.Context, ad *classad.Ad) bool {
	status, ok := ad.EvalInt(c, pool.AttrJobStatus)
	return ok && pool.Status(status) == pool.Idle && !jobpolicy.Waits(ad)
}

// claim returns the claim of the next job, which has the slot, or a part of the piece, that the last job
// had.
func (s *succeeding) claim(job candidate) pool.Claim {
	ad := job.ad
	n, _ := ad.EvalInt(s.eval, pool.AttrNumJobMatches)
	next := pool.Claim{
		Job: job.JobID, Attempt: int(n) + 1, Slot: s.ended.Slot, Piece: job.piece, Machine: s.ended.Machine, Flocked: s.ended.Flocked,
		Submitter: s.ended.Submitter, State: pool.Matched, Weight: s.ended.Weight, By: credentials(ad, s.cfg.Params), Limits: s.ended.Limits,
	}
	if next.Piece != s.ended.Piece {
		s.slot = SlotOf(s.View, next)
		q := question{what: "weight", now: s.now, ads: [2]*classad.Ad{s.slot}, whole: true}
		next.Weight = min(next.Weight, ask(s.tx, q, func(c *classad.Context, ads [2]*classad.Ad) accountant.Weight {
			w, _, _ := s.cfg.WeightIn(c, ads[0])
			return w
		}))
	}
	q := question{what: "rank", now: s.now, ads: [2]*classad.Ad{s.slot, ad}, names: [2][]string{{pool.AttrRank}}}
	next.Rank = ask(s.tx, q, func(c *classad.Context, ads [2]*classad.Ad) (rank float64) {
		if e, ok := ads[0].Lookup(pool.AttrRank); ok {
			rank, _ = classad.Rank(c, e, ads[0], ads[1])
		}
		return rank
	})
	return next
}

// Succeed matches the job of a claim that Successor returned in the same transaction with
// its slot, and charges it from now. The job has the tickets of the job before (TicketsOf)
// until a cycle computes its own.
func Succeed(tx *spool.Tx, next pool.Claim, tickets int64, now time.Time, p accountant.Params) {
	next.MatchedAt = BeginCharge(tx, next, now, p)
	tx.PutClaim(next)
	countMatches(tx, []attempt{{next.Job, int64(next.Attempt)}}, now)
	if tickets >= 0 {
		keepTickets(tx, []negotiator.Tickets{{Job: next.Job, Tickets: float64(tickets)}})
	}
}

// inOrder returns the claim of the submitter's next job that can have the slot, unless a
// job that the slot would take goes before it: any job under a policy with one queue,
// else one of the submitter's own that a cycle must decide about. ok is also false if
// that is unknown, as the queue was too long to be kept whole.
func (s *succeeding) inOrder(u negotiator.Succession) (next pool.Claim, ok bool) {
	var own, others []*pool.Successors
	for i := range u.Queues {
		switch q := &u.Queues[i]; {
		case q.Submitter == s.ended.Submitter && !q.Asks:
			own = append(own, q)
		case q.Submitter == s.ended.Submitter || u.OneQueue:
			others = append(others, q)
		}
	}
	slices.SortFunc(own, func(a, b *pool.Successors) int { return cmp.Compare(a.Places[0], b.Places[0]) })
	var mine *pool.Successors
	var job candidate
	place, unknown := math.MaxInt, cmp.Or(u.More, math.MaxInt)
	for _, q := range own {
		if q.Places[0] > place {
			break
		}
		switch found, at, how := s.look(q, place, u.Limits); {
		case how == suited:
			mine, job, place = q, found, at
		case how == counted:
			others = append(others, q)
		case how == passed && q.More > 0:
			unknown = min(unknown, q.More)
		}
	}
	if mine == nil || unknown < place || slices.ContainsFunc(others, func(q *pool.Successors) bool { return s.goesFirst(q, mine, place) }) {
		return next, false
	}
	next = s.claim(job)
	if mine.QOS != "" {
		next.By.QOS = mine.QOS
	}
	next.By.PE = mine.PE
	return next, true
}

// goesFirst reports whether a job of q would take the slot before the successor's job, which has this
// place. The jobs of q are alike: one answers for all.
func (s *succeeding) goesFirst(q, mine *pool.Successors, place int) bool {
	if !q.Takes && (q.Limit == "" || q.Limit != mine.Limit) {
		return false
	}
	for n, stretch := range q.Jobs {
		if q.Places[n] >= place {
			return false
		}
		for _, ad := range s.waiting(stretch) {
			return s.matches(ad)
		}
	}
	return q.More > 0 && q.More < place
}

// waiting yields the procs of p that wait for a slot.
func (s *succeeding) waiting(p pool.Procs) iter.Seq2[pool.JobID, *classad.Ad] {
	return func(yield func(pool.JobID, *classad.Ad) bool) {
		cluster, there := s.Cluster(p.Cluster)
		if !there {
			return
		}
		from := sort.Search(len(cluster.Runs), func(i int) bool { return cluster.Runs[i].Last >= p.First })
		for _, run := range cluster.Runs[from:] {
			both, ok := run.Intersect(p)
			if !ok {
				return
			}
			if !isIdle(s.eval, run.Ad) {
				continue
			}
			for id := range both.Jobs() {
				if _, claimed := s.Claim(id); !claimed && !yield(id, run.Proc(id.Proc)) {
					return
				}
			}
		}
	}
}
