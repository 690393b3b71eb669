package report

import (
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/history"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/lib/report/accounts"
	"fairspool/lib/report/queue"
	"fairspool/spool"
)

// overview is the content of a page on a pool, or on one user.
type overview struct {
	call    *cmdline.Call
	user    string // the page's user; empty: all users
	domain  string
	now     time.Time
	found   []health.Finding
	damaged bool // nothing else is known
	facts   health.Facts
	journal int64 // bytes

	counts       []queue.Count
	kept         int // jobs that are still to come
	jobs         []queue.Line
	moreJobs     int
	accounts     accounts.View
	maintenances []pool.Maintenance // that are not over
	machines     []queue.Machine    // behind more than one the total
	pilots       []pool.Pilot
	silent       map[string]bool // machines with a pilot that are silent
	last         *cycle          // nil: there was none, or its report does not read
	policy       string          // that puts all jobs into one queue; empty: the order is by EUP
	periods      []period
}

// cycle is the part of the last cycle's report for the page. The matches, which may be many, are not read.
type cycle struct {
	Cycles       []report.Cycle
	Time         int64
	Policy       string `json:"JobPriorityPolicy"`
	Submitters   []negotiator.Share
	Groups       []negotiator.Group
	Rejections   []negotiator.ReportedRejection
	Autoclusters []negotiator.Analysis
}

// period is the history of a length of time up to now.
type period struct {
	name   string
	length time.Duration
	series []history.Series
}

// mostOwnJobs is how many jobs a user's page lists.
const mostOwnJobs = 50

// pointsShown is how many points of a series the pictures of a page have.
const pointsShown = 120

// gather collects the content. With an error of damage the overview has the known part of the pool's health.
func gather(c *cmdline.Call, user string) (*overview, error) {
	o := &overview{call: c, user: user, now: c.Now}
	s, err := c.ExistingSpool()
	if err == nil {
		o.now, o.domain = c.Now, s.Domain()
		err = o.read(c, s)
	}
	if damage, is := health.OfDamage(err); is {
		o.found, o.damaged = []health.Finding{damage}, true
	}
	return o, err
}

func (o *overview) read(c *cmdline.Call, s *spool.Spool) (err error) {
	if o.facts, o.found, err = health.Examine(c, s); err != nil {
		return err
	}
	o.last = new(cycle)
	if known, err := report.Read(s.Report, o.last); err != nil || !known {
		if err != nil {
			c.Warn("%v: the last cycle is left out until the next", err)
		}
		o.last = nil
	} else {
		o.policy = o.last.Policy
	}
	var records []accountant.Record
	err = s.View(func(v *spool.View) error {
		records = v.Submitters()
		o.journal = v.Journal()
		o.pilots = spool.Pilots.All(v)
		return o.look(c, s, v)
	})
	if err != nil {
		return err
	}
	var last *accounts.LastCycle
	if o.last != nil {
		last = &accounts.LastCycle{Submitters: o.last.Submitters, Groups: o.last.Groups}
	}
	o.accounts = accounts.ViewOf(records, o.now, c.Config.Params, last)
	if o.user != "" && !o.known() {
		return accounts.Unknown(o.user, records)
	}
	if c.Has("html") {
		return o.past(c, s)
	}
	return nil
}

// look reads the queue and the slots.
func (o *overview) look(c *cmdline.Call, s *spool.Spool, v *spool.View) error {
	q := &queue.Queue{View: v.Listed(), Domain: o.domain, Config: c.Config, Now: o.now, Report: s.Report, Warn: c.Warn}
	o.counts = slices.DeleteFunc(q.Counts(), func(n queue.Count) bool { return !o.of(n.Submitter, n.Owner) })
	for _, f := range v.Factories() {
		if o.of(accountant.SubmitterName(f.Owner, "", o.domain), f.Owner) {
			o.kept += f.Jobs - f.Next
		}
	}
	o.silent = map[string]bool{}
	silence := health.Silences(c, s)
	for _, p := range o.pilots {
		if (p.State == pool.Live || p.State == pool.Leaving) && silence(p.Machine).Noteworthy() {
			o.silent[p.Machine] = true
		}
	}
	o.maintenances = slices.DeleteFunc(lifecycle.Maintenances(v), func(m pool.Maintenance) bool { return m.Over(o.now) })
	o.machines = queue.Listing{Queue: q}.Machines()
	if o.user == "" {
		return nil
	}
	return o.list(q)
}

// list lists the user's jobs.
func (o *overview) list(q *queue.Queue) error {
	if err := q.OneQueue(); err != nil {
		return err
	}
	l := queue.Listing{Queue: q, Filter: queue.Filter{States: queue.EveryState}}
	l.Brief = true
	if names, ok := q.Reads(l.Options, true); ok {
		q.View, q.Whole = q.View.Only(append(names, pool.AttrOwner, pool.AttrAccountingGroup)), q.View
	}
	for _, c := range q.View.Clusters() {
		for _, r := range c.Runs {
			owner, _ := r.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
			if o.of(lifecycle.Submitter(r.Ad, o.domain, q.Config.Groups), owner) {
				l.Jobs = append(l.Jobs, r)
			}
		}
	}
	q.Rank()
	o.jobs, o.moreJobs = l.Lines(mostOwnJobs)
	return nil
}

// of reports whether the page includes a submitter's, or an owner's, data.
func (o *overview) of(submitter, owner string) bool {
	return o.user == "" || owner == o.user || accountant.Named(submitter, o.user)
}

// known reports whether the pool knows the page's user.
func (o *overview) known() bool {
	return len(o.counts)+o.kept > 0 || slices.ContainsFunc(o.accounts.Rows, func(r accounts.Row) bool { return o.of(r.Name, "") })
}

// past reads past usage and priorities.
func (o *overview) past(c *cmdline.Call, s *spool.Spool) error {
	_, damage, err := o.accounts.ReadLastDay(s)
	const day = 24 * time.Hour
	for _, p := range []period{{name: "day", length: day}, {name: "week", length: 7 * day}, {name: "month", length: 30 * day}} {
		if err != nil {
			return err
		}
		want := spool.Samples{Since: o.now.Add(-p.length), Until: o.now, Points: pointsShown}
		if o.user != "" {
			want.Wanted = func(name string) bool { return o.of(name, "") }
		}
		var more []error
		p.series, more, err = accounts.Series(s, want, c.Config.Params)
		damage = append(damage, more...)
		p.series = slices.DeleteFunc(p.series, func(s history.Series) bool { return accounts.Idle(s) && !accounts.Moved(s) })
		o.periods = append(o.periods, p)
	}
	told := map[string]bool{}
	for _, d := range damage {
		if !told[d.Error()] {
			c.Warn("%v", d)
		}
		told[d.Error()] = true
	}
	return err
}
