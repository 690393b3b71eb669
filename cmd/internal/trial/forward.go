// Package trial plays the cycles to come in a fork of the spool.
package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/jobprio"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/plural"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Start says when jobs start at the latest.
type Start struct {
	pool.Procs
	At      time.Time // zero: it is not known
	Unknown string    // why it is not
}

// Bounds end a play of cycles that would take too long.
type Bounds struct {
	Cycles int // to be played at most
	// Enough is called after each cycle with the number of cycles played, and reports whether
	// to stop.
	Enough func(cycles int) bool
}

// Forward plays the cycles to come: one now, and one whenever a job on a slot has reached its
// limit or a time has come that jobs or slots wait for. It returns the starts of the jobs that
// wait, for a slot or for the end of others, by job. It assumes that no jobs are submitted, held
// or released, that running jobs end exactly when their limits are reached and return their slots
// at once, and that each match is taken up at once.
//
// Accounts and claims are in a fork of the view. The jobs of the queue, which are many, are lists.
func Forward(c *cmdline.Call, v *spool.View, domain string, b Bounds) (starts []Start, err error) {
	cfg, err := lifecycle.CycleConfig(c.Config)
	if err != nil {
		return nil, err
	}
	fork := v.Fork()
	p := &play{config: c.Config, cycle: cfg, now: c.Now, queue: v, on: map[pool.JobID]*onSlot{}, left: map[int]int{}, begun: map[pool.JobID]time.Time{}}
	do := func(step func()) {
		if err == nil {
			err = fork.Update(func(tx *spool.Tx) error {
				tx.Op("play")
				p.Tx = tx
				step()
				return nil
			})
		}
	}
	do(func() { lifecycle.Respell(p.Tx, p.now, cfg.Params) })
	if err == nil {
		err = fork.View(func(v *spool.View) error {
			p.pool = lifecycle.TakeSnapshot(v, domain, c.Config.Groups, policy.Beside{Running: true, Held: true}).Pool
			return nil
		})
	}
	do(p.begin)
	for n := 1; err == nil; n++ {
		var next time.Time
		do(func() {
			p.apply(deal.Out(p.snapshot(), p.cycle, p.now).Plan)
			next = p.next()
		})
		switch {
		case len(p.pool.Jobs)+len(p.dependents) == 0, next.IsZero():
			do(func() { starts = p.result("") })
			return starts, err
		case n == b.Cycles, b.Enough(n):
			do(func() {
				starts = p.result(fmt.Sprintf("later than %s, up to which %s played",
					p.now.Local().Format(time.DateTime), plural.Pick(n, "1 cycle was", "%d cycles were")))
			})
			return starts, err
		}
		do(func() { p.advance(next) })
	}
	return nil, err
}

// play is the course of the cycles to come. Each step of it is a transaction of the fork.
type play struct {
	*spool.Tx
	config     *config.Config
	cycle      negotiator.Config
	now        time.Time
	queue      *spool.View     // as it was at the beginning
	pool       negotiator.Pool // except submitters and claims, which are the fork's
	context    *classad.Context
	on         map[pool.JobID]*onSlot
	dependents []jobprio.Run // that wait for the end of others
	left       map[int]int   // jobs that have not ended, by cluster
	begun      map[pool.JobID]time.Time
}

// onSlot is a job with a claim.
type onSlot struct {
	ad   *classad.Ad
	ends time.Time // by its limit; zero: it has none
}

// snapshot returns the input of a cycle.
func (p *play) snapshot() negotiator.Pool {
	now := p.pool
	now.Submitters, now.Claims = p.Submitters(), p.Claims()
	b := registry.Of(p.config).Beside(p.config)
	if !b.Held {
		now.Held = nil
	}
	if now.Running = nil; b.Running {
		now.Running = slices.DeleteFunc(slices.Clone(p.pool.Running), func(r jobprio.Running) bool {
			_, claimed := p.Claim(r.FirstJob())
			return !claimed
		})
	}
	p.cycle.Queue = registry.Of(p.config).Queue(p.config, policy.Sources{
		Slots: func(do func([]pool.Slot)) { do(p.pool.Slots) }, Claims: p.Claims, Tallies: p.Tallies, Now: p.now,
	})
	return now
}

// end ends a claim, and its charge.
func (p *play) end(c pool.Claim) {
	lifecycle.EndCharge(p.Tx, c, p.now, p.cycle.Params)
	p.DropClaim(c.Job)
	delete(p.on, c.Job)
	if next, ok := p.Claim(c.PromisedTo); ok && c.Promises(next) {
		p.PutClaim(next.Kept(p.now))
	}
}

// begin lets jobs run that were matched, and those leave that have to.
func (p *play) begin() {
	p.context = &classad.Context{Now: p.now}
	for _, c := range p.queue.Clusters() {
		for _, r := range c.Runs {
			if n, _ := r.Ad.EvalInt(p.context, pool.AttrJobStatus); n != int64(pool.Completed) && n != int64(pool.Removed) {
				p.left[c.ID] += r.Count()
			}
		}
	}
	for _, f := range p.queue.Factories() {
		p.left[f.Cluster] += f.Jobs - f.Next
	}
	held := p.pool.Held
	p.pool.Held = nil
	for _, j := range held {
		if status, _ := j.Ad.EvalInt(p.context, pool.AttrJobStatus); pool.Status(status) == pool.Held {
			p.pool.Held = append(p.pool.Held, j)
		} else {
			p.dependents = append(p.dependents, j)
		}
	}
	for _, c := range p.Claims() {
		if c.State == pool.Vacating {
			p.leave(c)
		}
	}
	matched := ByCluster{}
	for _, c := range p.Claims() {
		ad, ok := p.queue.Job(c.Job)
		if !ok || c.State == pool.Promised { // by a slot that is held from outside
			continue
		}
		if c.State == pool.Matched {
			c.State, c.StartedAt = pool.RunningClaim, p.now
			p.PutClaim(c)
			matched[c.Job.Cluster] = append(matched[c.Job.Cluster], pool.Only(c.Job))
		}
		p.on[c.Job] = &onSlot{ad, p.limit(c, ad)}
	}
	p.takeOut(matched)
	p.advance(p.now)
}

// leave ends a job that has to leave its slot. If the slot is promised to another job, that
// job has it then.
func (p *play) leave(c pool.Claim) {
	p.end(c)
	if next, ok := p.Claim(c.PromisedTo); ok && next.State == pool.Matched {
		p.started(next.Job, p.now)
	}
}

// limit returns when a job on a slot has reached its limit, zero if it has none.
func (p *play) limit(c pool.Claim, ad *classad.Ad) time.Time {
	var end time.Time
	for _, l := range jobpolicy.Limits(p.context, ad) {
		from := c.StartedAt
		if n, ok := ad.EvalInt(p.context, pool.AttrExecutingDate); ok && l.Executing && n > from.Unix() {
			from = time.Unix(n, 0)
		}
		if t := from.Add(l.For); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	return end
}

// started notes the start of a job, unless it is one of a job that was preempted.
func (p *play) started(id pool.JobID, at time.Time) {
	if _, again := p.begun[id]; !again {
		p.begun[id] = at
	}
}

// takeOut takes jobs out of the idle ones.
func (p *play) takeOut(jobs ByCluster) {
	var list []jobprio.Run
	for _, j := range p.pool.Jobs {
		rest := j.Procs
		for _, one := range jobs[j.Cluster] {
			both, ok := rest.Intersect(one)
			if ok && rest.First < both.First {
				list = append(list, j.Part(rest.First, both.First-1))
			}
			if ok {
				rest.First = both.Last + 1
			}
		}
		if rest.First <= rest.Last {
			list = append(list, j.Part(rest.First, rest.Last))
		}
	}
	p.pool.Jobs = list
}

// apply carries out a plan at once.
func (p *play) apply(plan *negotiator.Plan) {
	p.pool.Reservations = nil
	for _, r := range plan.Reservations {
		p.pool.Reservations = append(p.pool.Reservations, r.Reservation)
	}
	p.pool.Backoffs = slices.DeleteFunc(p.pool.Backoffs, func(old pool.Backoff) bool {
		return slices.ContainsFunc(plan.Backoffs, func(b pool.Backoff) bool { return b.Slot == old.Slot })
	})
	p.pool.Backoffs = append(p.pool.Backoffs, plan.Backoffs...)
	for _, c := range plan.GiveUp {
		p.end(c)
	}
	slots := map[string]pool.Slot{}
	for _, s := range p.pool.Slots {
		slots[s.Name] = s
	}
	runs := map[int][]jobprio.Run{} // by cluster
	for _, j := range p.pool.Jobs {
		runs[j.Cluster] = append(runs[j.Cluster], j)
	}
	matched := ByCluster{}
	for _, m := range plan.Matches {
		i := slices.IndexFunc(runs[m.Job.Cluster], func(j jobprio.Run) bool { return j.Has(m.Job) })
		if i < 0 {
			continue // it was given up in this cycle, and is not idle in the queue
		}
		job := runs[m.Job.Cluster][i].Part(m.Job.Proc, m.Job.Proc)
		if m.Preempts != nil {
			p.preempt(m.Preempts.Job)
		}
		n, _ := job.Ad.EvalInt(p.context, pool.AttrNumJobMatches)
		c := lifecycle.ClaimOf(m, job.Ad, int(n)+1, p.cycle.Params)
		slot := slots[c.SlotAd()]
		c.Machine, c.Flocked = slot.Machine(p.context), lifecycle.FlockedTo(slot.Ad)
		c.State, c.MatchedAt, c.StartedAt = pool.RunningClaim, lifecycle.BeginCharge(p.Tx, c, p.now, p.cycle.Params), p.now
		if n, ok := job.Ad.EvalInt(p.context, jobpolicy.AttrDeferralTime); ok && n > p.now.Unix() {
			c.StartedAt = time.Unix(n, 0)
		}
		p.PutClaim(c)
		p.on[m.Job] = &onSlot{job.Ad, p.limit(c, job.Ad)}
		p.pool.Running = append(p.pool.Running, jobprio.Running{
			Run: jobprio.Run{Procs: pool.Only(m.Job), Submitter: m.Submitter, Ad: job.Ad}, Started: c.StartedAt,
		})
		matched[m.Job.Cluster] = append(matched[m.Job.Cluster], pool.Only(m.Job))
		p.started(m.Job, c.StartedAt)
	}
	for cluster, jobs := range matched {
		matched[cluster] = pool.JoinProcs(jobs)
	}
	p.takeOut(matched)
}

// preempt ends the claim of a job for another, so that it waits again.
func (p *play) preempt(id pool.JobID) {
	j := p.on[id]
	if j == nil {
		return // a claim from outside
	}
	c, _ := p.Claim(id)
	ad := j.ad.Clone()
	ad.SetInt(pool.AttrJobStatus, int64(pool.Idle))
	p.end(c)
	p.pool.Running = slices.DeleteFunc(p.pool.Running, func(r jobprio.Running) bool { return r.FirstJob() == id })
	p.pool.Jobs = append(p.pool.Jobs, jobprio.Run{Procs: pool.Only(id), Submitter: c.Submitter, Ad: ad})
}

// next returns when something changes: a job reaches its limit, or a time comes that jobs or
// slots wait for; zero: never.
func (p *play) next() (next time.Time) {
	note := func(t time.Time) {
		if t.After(p.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, j := range p.on {
		note(j.ends)
	}
	for _, b := range p.pool.Backoffs {
		note(b.Until)
	}
	for _, j := range p.pool.Jobs {
		if n, ok := j.Ad.EvalInt(p.context, jobpolicy.AttrDeferralTime); ok {
			note(time.Unix(n, 0))
		}
	}
	return next
}

// advance goes on to a time at which jobs have ended.
func (p *play) advance(t time.Time) {
	p.now = t
	p.context = &classad.Context{Now: t}
	for _, c := range p.Claims() {
		if j := p.on[c.Job]; j != nil && !j.ends.IsZero() && !j.ends.After(t) {
			p.end(c)
			p.left[c.Job.Cluster]--
		}
	}
	p.release()
}

// release lets jobs wait for slots that have waited for the end of others.
func (p *play) release() {
	p.dependents = slices.DeleteFunc(p.dependents, func(j jobprio.Run) bool {
		if len(p.unended(j)) > 0 {
			return false
		}
		j.Ad = j.Ad.Clone()
		j.Ad.Set(jobpolicy.AttrDependenciesMet, classad.Literal(classad.Bool(true)))
		p.pool.Jobs = append(p.pool.Jobs, j)
		return true
	})
}

// unended returns the clusters that jobs wait for.
func (p *play) unended(j jobprio.Run) []int {
	ok, either := jobpolicy.After(j.Ad)
	return slices.DeleteFunc(slices.Concat(ok, either), func(id int) bool { return p.left[id] == 0 })
}

// result returns all starts, by job. Late is the reason for which starts later than the
// played time are unknown.
func (p *play) result(late string) []Start {
	plan := negotiation.Cycle(p.snapshot(), p.cycle, p.now) // which says why there are no more matches
	var list []Start
	for id, at := range p.begun {
		list = append(list, Start{Procs: pool.Only(id), At: at})
	}
	unknown := func(jobs pool.Procs, why string) {
		for id := range jobs.Jobs() {
			if _, began := p.begun[id]; !began {
				list = append(list, Start{Procs: pool.Only(id), Unknown: why})
			}
		}
	}
	for _, c := range p.Claims() {
		if c.State == pool.Promised {
			unknown(pool.Only(c.Job), "its slot is held from outside of the pool")
		}
	}
	for _, j := range p.dependents {
		unknown(j.Procs, cmp.Or(late, p.obstacle(j)))
	}
	endless := p.endless()
	for _, x := range plan.Rejections {
		why := cmp.Or(late, x.Reason)
		if late == "" && len(endless) > 0 && !slices.ContainsFunc(append([]negotiator.Cause{x.Cause}, x.Also...), lasts) {
			why = plural.Pick(len(endless), "a job without a time limit has a slot: ", "%d jobs without a time limit have slots: ") + some(endless)
		}
		for _, jobs := range x.Jobs {
			unknown(jobs, why)
		}
	}
	return joined(list)
}

// lasts reports whether a cause stays though jobs leave their slots.
func lasts(c negotiator.Cause) bool {
	switch c {
	case negotiator.CauseNoSlots, negotiator.CauseRequirements, negotiator.CauseSlotRequirements, negotiator.CauseMaintenance, negotiator.CauseTooWide,
		negotiator.CauseSlotConstraint, negotiator.CauseBusy, negotiator.CauseDrained, negotiator.CauseBlocked, negotiator.CauseJobConstraint:
		return true
	}
	return false
}

// endless returns the jobs on slots that have no limit.
func (p *play) endless() (list []string) {
	for _, id := range slices.SortedFunc(maps.Keys(p.on), pool.JobID.Compare) {
		if p.on[id].ends.IsZero() {
			list = append(list, id.String())
		}
	}
	return list
}

// obstacle names the clusters with unknown ends that jobs wait for.
func (p *play) obstacle(j jobprio.Run) string {
	var list []string
	for _, id := range p.unended(j) {
		list = append(list, strconv.Itoa(id))
	}
	return plural.Pick(len(list), "waits for a cluster whose end is not known: ", "waits for %d clusters whose ends are not known: ") + some(list)
}

// some names a few of a list.
func some(list []string) string {
	const most = 3
	if len(list) > most {
		list = append(list[:most:most], "...")
	}
	return strings.Join(list, ", ")
}

// joined returns starts of single jobs by job, with equal neighbours joined.
func joined(list []Start) (all []Start) {
	slices.SortFunc(list, func(a, b Start) int { return a.Compare(b.Procs) })
	for _, s := range list {
		if k := len(all) - 1; k >= 0 {
			last := &all[k]
			if last.Cluster == s.Cluster && last.Last+1 == s.First && last.At.Equal(s.At) && last.Unknown == s.Unknown {
				last.Last = s.Last
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

// ByCluster are procs of several clusters, each cluster's ascending.
type ByCluster map[int][]pool.Procs
