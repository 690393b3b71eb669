package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// preempt tells the claim of this pool to end that a match takes the place of, if it
// is one of this pool: its charge ends, and its supervisor ends its job.
func preempt(tx *spool.Tx, m negotiator.Match, now time.Time, p accountant.Params) {
	holder, ok := tx.Claim(m.Preempts.Job)
	if !ok {
		return
	}
	EndCharge(tx, holder, now, p)
	holder.State, holder.VacateSince = pool.Vacating, now
	why := preemptedFor(m)
	holder.VacateReason, holder.VacateCode, holder.PromisedTo = why.Text, why.Code, m.Job
	tx.PutClaim(holder)
}

// preemptedFor words why a job is preempted, for its ad and its log.
func preemptedFor(m negotiator.Match) pool.Reason {
	why, code := "better priority", PreemptedByPriority
	if m.Reason == negotiator.RankPreemption {
		why, code = "the slot's Rank prefers it", PreemptedByRank
	}
	return pool.Reason{Text: fmt.Sprintf("preempted for job %v of %s: %s", m.Job, m.Submitter, why), Code: code}
}

// handOver gives the slot of a claim that has just ended to the claim that it was
// promised to, if that claim still waits for it.
func handOver(tx *spool.Tx, ended pool.Claim, now time.Time) {
	if ended.PromisedTo == (pool.JobID{}) {
		return
	}
	if next, ok := tx.Claim(ended.PromisedTo); ok && ended.Promises(next) {
		tx.PutClaim(next.Kept(now))
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Arrive turns Promised claims into Matched ones if their slots have no holder any more,
// neither a claim of this pool nor a holder named by the slot's own ad, and returns them
// by job. A slot counts as held if it is not advertised, or in a state in which no cycle
// gives it away, such as Owner. The caller names the transaction.
func Arrive(tx *spool.Tx, now time.Time) []pool.Claim {
	waiting := Arriving(&tx.View)
	for _, c := range waiting {
		tx.PutClaim(c.Kept(now))
	}
	return waiting
}

// Arriving returns the claims that Arrive would turn Matched.
func Arriving(v *spool.View) []pool.Claim {
	promised := false // mostly none is, and no list of claims is needed
	spool.EachClaim(v, func(c *pool.Claim) { promised = promised || c.State == pool.Promised })
	if !promised {
		return nil
	}
	waiting := pool.HeldOutside(v.Claims())
	if len(waiting) == 0 {
		return nil
	}
	names := make([]string, len(waiting))
	for i, c := range waiting {
		names[i] = c.SlotAd()
	}
	free := map[string]bool{}
	for _, s := range v.SlotsNamed(names) {
		free[s.Name] = negotiator.Vacant(&classad.Context{}, s.Ad)
	}
	return slices.DeleteFunc(waiting, func(c pool.Claim) bool { return !free[c.SlotAd()] })
}

// takeFromOutside ends what those are charged that hold slots by the slots' own words
// which were promised to others.
func takeFromOutside(tx *spool.Tx, made []negotiator.Match, now time.Time, p accountant.Params) {
	taken := false
	for _, m := range made {
		if m.Preempts == nil || m.Preempts.Job != (pool.JobID{}) {
			continue
		}
		r, ok := tx.Submitter(p.Groups.Spelled(m.Preempts.Submitter))
		if ok && r.OutsideSlots > 0 {
			tx.PutSubmitter(r.HeldOutside(r.OutsideSlots-1, max(r.Outside-m.Preempts.Weight, 0), now, p))
			taken = true
		}
	}
	if !taken {
		return
	}
	for _, r := range accountant.Regroup(tx.Submitters(), now, p) {
		tx.PutSubmitter(r)
	}
}

// reserve keeps the plan's reservations, and no others.
func reserve(tx *spool.Tx, plan *negotiator.Plan) {
	list := make([]pool.Reservation, len(plan.Reservations))
	for i, r := range plan.Reservations {
		list[i] = r.Reservation
	}
	spool.Reservations.Set(tx, list)
}

// leadingQuoted returns the quoted text that a line begins with, and what stands
// behind the blank after it.
func leadingQuoted(line string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil || quoted[0] != '"' {
		return "", "", false
	}
	text, err = strconv.Unquote(quoted)
	rest, ok = strings.CutPrefix(line[len(quoted):], " ")
	return text, rest, ok && err == nil
}
