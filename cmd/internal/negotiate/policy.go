package negotiate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// spending is the budget of the owners' expressions in a cycle, and its use.
type spending struct {
	most    int // MAX_STEPS_PER_OWNER
	budgets *classad.Budgets
	from    map[string]pool.JobID // with which job the look at an owner's begins
	putOff  []lifecycle.PutOff    // by policies
	reading *lifecycle.Reading
}

// look returns how to look at policies: with half of the owners' budget of a cycle, or the
// rest of it if that is less.
func (s *spending) look(c *cmdline.Call, v *spool.View, only map[int]bool) lifecycle.Look {
	if s.most = c.Config.Cycle.Steps; s.budgets == nil || only == nil {
		s.budgets = policyBudgets(c)
		s.from = lifecycle.PutOffsOf(v).Policy
	}
	return lifecycle.Look{Budgets: s.budgets, From: s.from, Only: only}
}

// policyBudgets returns what owners' policies may take in a cycle: half of MAX_STEPS_PER_OWNER.
func policyBudgets(c *cmdline.Call) *classad.Budgets {
	return classad.NewBudgets((c.Config.Cycle.Steps + 1) / 2)
}

// policies does with the jobs what their own expressions want, and looks whether those
// that wait for others still have to, so that the cycle sees them as they are then.
// Where nothing is due, nothing is written. Only the jobs of some clusters count, unless
// only is nil.
func policies(c *cmdline.Call, s *spool.Spool, p accountant.Params, of *spending, only map[int]bool) (did report.Policy, err error) {
	var found lifecycle.Outlook
	survey := func() error {
		taken := of.budgets
		return s.View(func(v *spool.View) error {
			return of.reading.Look(v, func(v *spool.View) error {
				of.budgets = taken.Clone()
				found = lifecycle.Policies(v, c.Now, of.look(c, v, only))
				return nil
			})
		})
	}
	if err := survey(); err != nil {
		return did, err
	}
	if len(found.Unknown) > 0 {
		if err := recollect(c, s, found.Unknown); err != nil {
			return did, err
		}
		if err := survey(); err != nil {
			return did, err
		}
	}
	of.note(found.PutOff)
	if len(found.Due)+len(found.Unneeded) == 0 {
		return did, nil
	}
	var log joblog.Events
	err = lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
		done, err := found.Follow(tx, c.Now, p)
		if err != nil {
			return err
		}
		lifecycle.Forget(tx, found.Unneeded)
		did, log = report.Policy{}, joblog.For(c)
		for _, f := range done {
			did.Add(f.Due)
			note(tx, &log, f)
		}
		tx.Op("job policy", did.Words()...)
		if tx.Forked {
			return nil
		}
		if err := log.Keep(s, c.Now); err != nil {
			c.Warn("job log: %v", err)
		}
		return nil
	})
	if err != nil {
		log.Release()
		return did, err
	}
	log.Write(c)
	return did, nil
}

// note records the jobs that a look put off. The next cycle begins with the first job that
// the first such look at an owner's jobs put off.
func (s *spending) note(list []lifecycle.PutOff) {
	for _, p := range list {
		i := slices.IndexFunc(s.putOff, func(o lifecycle.PutOff) bool { return o.Owner == p.Owner })
		if i < 0 {
			s.putOff = append(s.putOff, p)
		} else {
			s.putOff[i].Jobs += p.Jobs
		}
	}
}

// recollect searches the history for the ends of the first jobs of clusters that are
// watched only since these jobs left the queue. If the history cannot be read, the cycle
// still runs: jobs that wait for those clusters go on waiting.
func recollect(c *cmdline.Call, s *spool.Spool, clusters []int) error {
	var past lifecycle.Recollections
	var bad error
	if err := s.View(func(v *spool.View) error {
		past = lifecycle.Recollect(v, clusters)
		which := spool.Left{Clusters: map[int]bool{}, Since: past.Since()}
		for _, n := range clusters {
			which.Clusters[n] = true
		}
		bad = v.History(which, past.Add)
		return nil
	}); err != nil {
		return err
	}
	if bad != nil {
		c.Warn("%v: jobs that wait for others may wait forever", bad)
		return nil
	}
	return s.Update(func(tx *spool.Tx) error {
		tx.Op("recollect", numbers(clusters)...)
		lifecycle.Remember(tx, past)
		return nil
	})
}

func numbers(list []int) (words []string) {
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// note records events for the logs of jobs. The supervisor of a running job logs its end;
// for a job that has ended the end is logged already.
func note(tx *spool.Tx, log *joblog.Events, f lifecycle.Followed) {
	var body userlog.Body
	ended, _ := f.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	switch {
	case f.Outcome == lifecycle.HeldNow:
		body = userlog.Held{Reason: f.Why.Text, Code: f.Why.Code, Subcode: f.Why.Subcode}
	case f.Outcome == lifecycle.ReleasedNow:
		body = userlog.Released{Reason: f.Why.Text}
	case f.Outcome == lifecycle.RemovedNow && pool.Status(ended) != pool.Completed:
		body = userlog.Aborted{Reason: f.Why.Text}
	default:
		return
	}
	if !log.Wants(f.Ad) {
		return
	}
	for id := range f.Jobs() {
		log.Add(tx, id, f.Ad, body)
	}
}

// report adds the jobs put off to did.
func (s *spending) report(did *report.Policy) {
	for _, p := range s.putOff {
		did.PutOff = append(did.PutOff, negotiator.ReportedPutOff{Owner: p.Owner, First: p.First.String(), Jobs: p.Jobs})
	}
}

// policyFirst warns the user of a dry run of actions on jobs that a cycle would take
// first. The dry run computes with the jobs unchanged, since it writes nothing.
func policyFirst(c *cmdline.Call, v *spool.View, now time.Time) {
	var d report.Policy
	var found lifecycle.Outlook
	if lifecycle.ReadingOf(v).Look(v, func(v *spool.View) error {
		found = lifecycle.Policies(v, now, new(spending).look(c, v, nil))
		return nil
	}) != nil {
		return
	}
	for _, x := range found.Due {
		if x.What != lifecycle.LetThemGo {
			d.Add(x)
		}
	}
	if len(d.Words()) > 0 {
		c.Warn("the jobs' own policy would first act on them: %s; here they count unchanged", strings.Join(d.Words(), ", "))
	}
}
