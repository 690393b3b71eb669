package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
)

// cycle is the part about unmatched jobs of the last negotiation cycle's report.
type cycle struct {
	unknown string    // why there is nothing to be known
	at      time.Time // of the cycle
	said    []verdict // by ascending job
	report  told
	putOff  []negotiator.ReportedPutOff // owners with jobs whose policies were put off
	awaited []lifecycle.AskedPilots     // pilots that batch engines were asked for
	missed  []lifecycle.MissedPilot
	others  []config.Engine // other pools
	domain  string
}

// verdict is why procs were not matched.
type verdict struct {
	pool.Procs
	why
}

// why is the verdict on procs.
type why struct {
	reason string
	at     int // the index of the rejection in the report, counted from 1; 0: none
}

// told is the part about waiting jobs of a cycle's report. The matches, which may be many, are not read.
type told struct {
	Time         int64
	Rejections   []negotiator.ReportedRejection
	Autoclusters []negotiator.Analysis
	Reservations []negotiator.ReportedReservation
	Policy       *report.Policy
}

// lastCycle reads the last cycle's report. One that does not read is no reason
// not to show a job.
func (q *Queue) lastCycle() cycle {
	var r told
	found, err := report.Read(q.Report, &r)
	switch {
	case err != nil:
		return cycle{unknown: fmt.Sprintf("the report of the last negotiation cycle does not read: %v", err)}
	case !found:
		return cycle{unknown: "no negotiation cycle has been run yet"}
	}
	c := cycle{at: unix(r.Time), report: r, awaited: lifecycle.AskedPilotsOf(q.View), missed: lifecycle.MissedPilotsOf(q.View), domain: q.Domain}
	c.others = slices.DeleteFunc(q.Config.Asked(), func(e config.Engine) bool { return e.Kind != config.KindPool })
	if r.Policy != nil {
		c.putOff = r.Policy.PutOff
	}
	for i, x := range r.Rejections {
		if len(x.Jobs) == 0 {
			return cycle{unknown: "the report of the last negotiation cycle is an older version's and does not name the jobs"}
		}
		for _, p := range x.Jobs {
			c.said = append(c.said, verdict{p, why{x.Reason, i + 1}})
		}
	}
	slices.SortFunc(c.said, func(a, b verdict) int { return a.Compare(b.Procs) })
	return c
}

// scheduling returns why the last cycle did not match the jobs of a row: one
// reason, or a line for each with its procs, and behind each how far the slots were
// from taking one of the jobs, and what would help. Lines of that begin with table.Blanks.
func (c cycle) scheduling(r *row) []string {
	if c.unknown != "" {
		return []string{c.unknown}
	}
	var lines []string
	all := c.ofRow(r)
	for i, v := range all {
		if len(all) == 1 {
			lines = append(lines, v.reason)
		} else {
			lines = append(lines, fmt.Sprintf("%v: %s", v.Procs, v.reason))
		}
		if !slices.ContainsFunc(all[:i], func(o verdict) bool { return o.at == v.at }) {
			lines = append(lines, c.details(v)...)
		}
	}
	for _, p := range c.putOff {
		if p.Owner == r.user {
			lines = append(lines, fmt.Sprintf("the policies of %d %s of %s, from %s on, were put off to the next cycle: their expressions took all of the steps that they have (MAX_STEPS_PER_OWNER)",
				p.Jobs, plural.Noun(p.Jobs, "job"), p.Owner, p.First))
		}
	}
	for _, v := range c.reservations(r) {
		lines = append(lines, "  "+v.Line())
	}
	for _, a := range c.awaited {
		if a.Admits(r.user) || a.Admits(accountant.SubmitterName(r.user, "", c.domain)) {
			lines = append(lines, a.String())
		}
	}
	for _, e := range c.others {
		if why := lifecycle.Stays(r.ad, e); r.ad != nil && why != "" {
			lines = append(lines, "it has no slot of pool "+e.Name+": "+why)
		}
	}
	for _, m := range c.missed {
		lines = append(lines, m.String())
	}
	return lines
}

// reservations returns those that the cycle left for the jobs of a row.
func (c cycle) reservations(r *row) (some []negotiator.ReportedReservation) {
	for _, v := range c.report.Reservations {
		id, err := pool.ParseJobID(v.Job)
		if err == nil && slices.ContainsFunc(r.ranges, func(p pool.Procs) bool { return p.Has(id) }) {
			some = append(some, v)
		}
	}
	return some
}

// ofRow returns the cycle's verdicts on the jobs of a row.
func (c cycle) ofRow(r *row) (all []verdict) {
	for _, s := range r.ranges {
		all = append(all, c.verdicts(s, unix(r.key.QDate))...)
	}
	return all
}

// rejection returns a verdict's rejection and its analysis, nil if the report lacks them,
// as one of an older version does.
func (c cycle) rejection(v verdict) (*negotiator.ReportedRejection, *negotiator.Analysis) {
	if v.at == 0 {
		return nil, nil
	}
	x := &c.report.Rejections[v.at-1]
	if x.Cause == "" || x.Autocluster < 0 || x.Autocluster >= len(c.report.Autoclusters) {
		return nil, nil
	}
	return x, &c.report.Autoclusters[x.Autocluster]
}

// details says how far the slots were from taking the jobs, and what would help.
func (c cycle) details(v verdict) []string {
	x, a := c.rejection(v)
	if x == nil {
		return nil
	}
	var lines []string
	if standing := x.Standing(); standing != "" {
		lines = append(lines, standing)
	}
	if x.Cause != negotiator.CauseSteps { // which was before any slot was looked at
		lines = append(lines, a.Lines()...)
	}
	if help := x.Help(*a); help != "" {
		lines = append(lines, "what would help: "+help)
	}
	switch {
	case x.Ahead > 0 && a.OneQueue:
		lines = append(lines, fmt.Sprintf("%d %s of others before it in the queue %s for such slots",
			x.Ahead, plural.Pick(x.Ahead, "job", "jobs"), plural.Pick(x.Ahead, "waits", "wait")))
	case x.Ahead > 0:
		lines = append(lines, fmt.Sprintf("%d with a better EUP %s such slots or %s for them",
			x.Ahead, plural.Pick(x.Ahead, "has", "have"), plural.Pick(x.Ahead, "waits", "wait")))
	}
	if a.PreemptionFor != "" && a.PreemptionFor != x.Submitter {
		// Which the cycle works out for the first to ask only.
		job := pool.JobID{Cluster: v.Cluster, Proc: v.First}
		lines = append(lines, fmt.Sprintf("why none is preempted for %s: negotiate -explain %v", x.Submitter, job))
	}
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// verdicts divides procs by the cycle's verdicts. Neighbours with the same verdict stay
// together.
func (c cycle) verdicts(of pool.Procs, submitted time.Time) (all []verdict) {
	add := func(first, last int, w why) {
		if k := len(all) - 1; k >= 0 && all[k].why == w {
			all[k].Last = last
			return
		}
		all = append(all, verdict{pool.Procs{Cluster: of.Cluster, First: first, Last: last}, w})
	}
	// From the first that does not end before these procs.
	i, _ := slices.BinarySearchFunc(c.said, of, func(v verdict, of pool.Procs) int {
		return cmp.Or(cmp.Compare(v.Cluster, of.Cluster), cmp.Compare(v.Last, of.First))
	})
	next := of.First
	for ; i < len(c.said) && c.said[i].Cluster == of.Cluster && c.said[i].First <= of.Last; i++ {
		v := c.said[i]
		if v.Last < next {
			continue // no cycle writes a job twice, but an edited report may
		}
		if v.First > next {
			add(next, v.First-1, why{reason: c.silence(submitted)})
		}
		add(max(v.First, next), min(v.Last, of.Last), v.why)
		next = v.Last + 1
	}
	if next <= of.Last {
		add(next, of.Last, why{reason: c.silence(submitted)})
	}
	return all
}

// silence tells why the report says nothing of a job.
func (c cycle) silence(submitted time.Time) string {
	if submitted.After(c.at) {
		return fmt.Sprintf("submitted after the last negotiation cycle, which was at %s", Clock(c.at))
	}
	return fmt.Sprintf("waits for the next negotiation cycle; the last was at %s", Clock(c.at))
}

// Waiting is what -j prints with -json of jobs that are in one state.
type Waiting struct {
	Jobs  []pool.Procs
	State string // as in the table, such as qw; empty for jobs that are still to come
	// Reason is why the last cycle matched none of them, and Help would let the first run. For a job
	// that is promised a slot, Reason says which job has to leave the slot; for a job that has to
	// leave, why; for held ones, by what; for jobs still to come, what keeps them back; for jobs
	// that have left the queue, how they ended. Empty if they do not wait.
	Reason string `json:",omitempty"`
	Help   string `json:",omitempty"`
	// Rejection and Analysis are the report's, of a job that may be of another
	// cluster but is like these.
	Rejection *negotiator.ReportedRejection `json:",omitempty"`
	Analysis  *negotiator.Analysis          `json:",omitempty"`
	// Reservations are the reservations for any of the jobs in this state.
	Reservations []negotiator.ReportedReservation `json:",omitempty"`
}

// Waiting returns why jobs wait, or what else they are in.
func (q *Queue) Waiting(procs []spool.Run) []Waiting {
	last := q.lastCycle()
	list, claims := []Waiting{}, q.claims(procs)
	for _, s := range procs {
		for _, r := range q.split(s, claims) {
			if why := q.moving(r); why != "" {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: why})
				continue
			}
			d := sheet{Queue: q, row: r, context: q.context()}
			if q.past {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: ending(d.context, r.ad)})
				continue
			}
			if why := d.held(); why != "" {
				list = append(list, Waiting{Jobs: r.ranges, State: r.state, Reason: why})
				continue
			}
			list = append(list, last.waiting(r)...)
		}
	}
	return list
}

func (c cycle) waiting(r *row) (list []Waiting) {
	jobs := r.ranges
	switch {
	case r.state != "qw":
		return []Waiting{{Jobs: jobs, State: r.state}}
	case c.unknown != "":
		return []Waiting{{Jobs: jobs, State: r.state, Reason: c.unknown}}
	}
	for _, v := range c.ofRow(r) {
		w := Waiting{Jobs: []pool.Procs{v.Procs}, State: r.state, Reason: v.reason, Reservations: c.reservations(r)}
		if w.Rejection, w.Analysis = c.rejection(v); w.Rejection != nil {
			w.Help = w.Rejection.Help(*w.Analysis)
		}
		list = append(list, w)
	}
	return list
}

// moving says what a promised job waits for, why a preempted job leaves its slot, and
// that a job's machine is silent; it is empty for all other jobs.
func (q *Queue) moving(r *row) string {
	switch {
	case r.claim == nil:
		return ""
	case r.claim.State == pool.Vacating:
		return strings.TrimPrefix(r.claim.VacateReason+q.silent(r.claim), "; ")
	case r.claim.State != pool.Promised:
		return strings.TrimPrefix(q.silent(r.claim), "; ")
	}
	if c, ok := q.leaver(*r.claim); ok {
		return fmt.Sprintf("waits for job %v of %s to leave %s", c.Job, c.Submitter, r.slot)
	}
	for _, s := range q.View.SlotsNamed([]string{r.claim.SlotAd()}) {
		if who := negotiator.Holder(&classad.Context{Now: q.Now}, s.Ad); who != "" {
			return fmt.Sprintf("waits for %s to leave %s", who, r.slot)
		}
	}
	return fmt.Sprintf("waits for %s to come free", r.slot)
}

// silent says behind a semicolon that the machine of a job is silent, which a pilot runs, or that the job's files are
// on their way; else nothing.
func (q *Queue) silent(c *pool.Claim) string {
	if c.Instance == "" || q.Silence == nil {
		return ""
	}
	if s := q.Silence(c.Machine); s.Noteworthy() {
		return "; " + s.String()
	}
	if q.Carried == nil {
		return ""
	}
	if s := q.Carried(c.Machine, pool.Attempt{Job: c.Job, Number: c.Attempt}); s != "" {
		return "; " + s
	}
	return ""
}

// leaver returns the claim that has to end for a promised one.
func (q *Queue) leaver(promised pool.Claim) (pool.Claim, bool) {
	if q.leavers == nil {
		q.leavers = map[pool.JobID]pool.Claim{}
		for _, c := range q.View.Claims() {
			if c.State == pool.Vacating && c.PromisedTo != (pool.JobID{}) {
				q.leavers[c.PromisedTo] = c
			}
		}
	}
	c, ok := q.leavers[promised.Job]
	return c, ok && c.Promises(promised)
}
