package qstat

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/nearest"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/report/queue"
	"fairspool/spool"
	"fairspool/spool/carried"
)

// display is jobs of the queue that a command line asks to be shown. It can be shown again and again,
// on the spool that was opened the first time.
type display struct {
	*cmdline.Call
	options
}

// show writes the display as of now. It returns cmdline.ErrReported when a job
// that was named is not in the queue, and has been told of.
func (d display) show(w io.Writer, now time.Time) error {
	c := *d.Call
	d.list.Width = widthOf(d.Call, d.list.Brief)
	c.Stdout, c.Now = w, now
	s, err := c.Spool()
	if err != nil {
		return err
	}
	d.Call = &c
	return s.View(func(v *spool.View) error {
		q := queue.Queue{View: v.Listed(), Domain: s.Domain(), Config: c.Config, Now: now, Report: s.Report, Warn: c.Warn, Stuck: stuck(&c, s, v), Silence: health.Silences(&c, s), Carried: filesOf(s)}
		return look{display: d, Queue: &q}.show()
	})
}

// widthOf returns the width of the terminal that is the call's standard output; 0 if that is no
// terminal, unless anyway is set. It asks each time, since windows change. It needs the command
// line's call, as drawing goes through buffers, which do not know the terminal.
func widthOf(c *cmdline.Call, anyway bool) int {
	if !c.Terminal() && !anyway {
		return 0
	}
	width, _ := c.Screen()
	return width
}

// look is a display of a view of the spool.
type look struct {
	display
	*queue.Queue
	every bool // all jobs of Whole are shown, without choosing them one by one
}

// show writes what is asked for.
func (d look) show() error {
	if d.form == "" || d.form == "j" || d.form == ownForm { // it shows where jobs stand in a queue of all jobs
		if err := d.OneQueue(); err != nil {
			return err
		}
	}
	if users, patterns := d.matching(); patterns {
		if d.users = users; !d.args {
			d.names = selection.Users(users)
		}
	}
	var jobs []selection.Procs
	var missing []string
	if d.every = d.everything(); d.every {
		d.Whole = d.View
	} else {
		if names := d.reads(); names != nil {
			d.View, d.Whole = d.View.Only(names), d.View
		}
		if !d.totals() {
			jobs, missing = d.names.In(d.View)
		}
	}
	kept, missing := d.names.Factories(d.View, d.Domain, missing)
	left, missed, err := d.tellMissing(missing, len(kept)+len(jobs) == 0)
	if err != nil {
		return err
	}
	if d.args {
		jobs, kept = ofUsers(jobs, d.users), keptBy(kept, d.users, d.Domain)
	}
	chosen, err := d.choose(jobs)
	if err != nil {
		return err
	}
	d.Rank()
	if err := d.write(chosen, left, kept); err != nil {
		return err
	}
	if err := d.tellKept(kept); err != nil || !missed {
		return err
	}
	return cmdline.ErrReported
}

// tellMissing warns of names without a job in the queue, and reports whether one of them should have
// had some. For -j it returns the jobs that have left the queue.
func (d look) tellMissing(missing []string, none bool) (left []spool.Run, missed bool, err error) {
	ids, users := apart(missing)
	switch {
	case d.form == "j":
		if left, ids, err = d.ended(ids); err != nil {
			return nil, false, err
		}
		if len(users) > 0 {
			defer d.Call.Warn("%s: no such job or user", strings.Join(users, ", "))
		}
		missed = len(users) > 0
	case none && d.people:
		d.warnOfUsers(users)
	}
	if len(ids) > 0 && (d.form == "j" || d.args) {
		d.warnOfMissing(ids)
		missed = true
	}
	return left, missed, nil
}

// everything reports whether the whole ads of all jobs are shown, once: then nothing has to
// be chosen before.
func (d look) everything() bool {
	return d.ads() && d.watch == 0 && d.None() && d.constraint == nil && !d.args && d.users == nil
}

// totals reports whether the totals of all jobs are shown.
func (d look) totals() bool {
	return d.form == "c" && d.None() && d.constraint == nil && !d.args && d.users == nil
}

// ads reports whether whole ads are shown.
func (d look) ads() bool { return slices.Contains(adForms, d.form) }

// reads returns the attributes that are read: those by which jobs are chosen, those that
// are shown unless whole ads are, and those of their places in a queue; nil for all. A
// display that is repeated keeps whole jobs, and reads again only those that changed.
func (d look) reads() []string {
	if d.watch > 0 || d.constraint != nil || d.form == "j" || d.form == "start" || d.list.Requests {
		return nil
	}
	names, ok := d.Reads(d.list, d.form != "c" && !d.ads())
	if !ok {
		return nil
	}
	return names
}

// choose returns the jobs that are shown.
func (d look) choose(jobs []selection.Procs) ([]spool.Run, error) {
	runs := runsOf(jobs)
	if !d.None() {
		runs = d.Chosen(d.Filter, runs)
	}
	if d.constraint == nil {
		return runs, nil
	}
	jobs = procsOf(runs)
	chosen, err := d.constraint.Of(jobs, d.Queue.Now)
	if err == nil && len(chosen) == 0 && d.people {
		if doubt := d.constraint.Doubt(jobs); doubt != "" {
			d.Call.Warn("warning: -constraint: %s", doubt)
		}
	}
	return runsOf(chosen), err
}

// runsOf returns procs of runs as runs of their own.
func runsOf(jobs []selection.Procs) []spool.Run {
	runs := make([]spool.Run, len(jobs))
	for i, s := range jobs {
		runs[i] = s.Run
		runs[i].Procs = s.Procs
	}
	return runs
}

func procsOf(runs []spool.Run) []selection.Procs {
	jobs := make([]selection.Procs, len(runs))
	for i, r := range runs {
		jobs[i] = selection.Procs{Procs: r.Procs, Run: r}
	}
	return jobs
}

// write writes the jobs, those that have left the queue, and which are still to come.
func (d look) write(jobs, left []spool.Run, kept []spool.Factory) error {
	c := d.Call
	list := queue.Listing{Queue: d.Queue, Options: d.list, Filter: d.Filter, Jobs: jobs, All: d.totals(), Kept: kept, Named: d.args}
	switch {
	case d.form == "j" && d.json:
		list := append(d.Waiting(jobs), queue.ToCome(kept)...) // never nil: without jobs, JSON has an empty list
		return c.JSON(struct{ Jobs any }{d.Explained(append(list, d.Past().Waiting(left)...))})
	case d.form == "j" && d.xml:
		return d.SheetsXML(c.Data(), append(jobs, left...))
	case d.form == "j" && d.all:
		return d.Overview(c.Stdout, jobs)
	case d.form == "j":
		if err := d.Sheets(c.Stdout, jobs); err != nil {
			return err
		}
		return d.Past().Sheets(c.Stdout, left)
	case d.form == "start":
		return d.forecast(jobs)
	case d.ads():
		return d.printAds(jobs)
	case d.form == ownForm:
		return d.writeOwn(list.Own())
	}
	w := c.Stdout
	if d.xml {
		w = c.Data()
	}
	if d.form == "c" {
		return list.Summary(w)
	}
	return list.Write(w)
}

// writeOwn writes a policy's own form of a list.
func (d look) writeOwn(form policy.OwnForm) error {
	if !d.json && form.Print != nil {
		return form.Print(d.Stdout)
	}
	list := cmdline.NewStream(d.Data(), "Jobs")
	for i := range form.Count {
		if err := list.Add(form.Object(i)); err != nil {
			return err
		}
	}
	return list.End()
}

// tellKept prints, below a list for people, the jobs of clusters that are still to come, and
// warns beside ads that these are missing. The brief list prints them itself.
func (d look) tellKept(kept []spool.Factory) error {
	switch lists := d.form == "" || d.form == "j" || d.form == ownForm; {
	case lists && !d.list.Brief && !d.json && !d.xml && d.None() && d.constraint == nil:
		return queue.Kept(d.Stdout, kept)
	case d.form == "start" || d.form == ownForm || d.ads():
		if text := queue.LeftOut(kept); text != "" {
			d.Call.Warn("%s", text)
		}
	}
	return nil
}

// apart divides the names without jobs into ids and users. A user without jobs is no
// error, except where details were asked for.
func apart(missing []string) (ids, users []string) {
	for _, m := range missing {
		if m[0] >= '0' && m[0] <= '9' {
			ids = append(ids, m)
		} else {
			users = append(users, m)
		}
	}
	return ids, users
}

// warnOfUsers tells of users without jobs, each with the nearest one that has some.
func (d look) warnOfUsers(users []string) {
	if len(users) == 0 {
		return
	}
	owners := d.View.Owners()
	for _, u := range users {
		d.Call.Warn("warning: %s has no job in the queue%s", u, nearest.Hint(u, owners))
	}
}

// matching returns the users of -u with those that a pattern such as *@a.org stands for in its place, and whether there is one.
func (d look) matching() (users []string, patterns bool) {
	for _, u := range d.users {
		named := []string{u}
		if strings.ContainsAny(u, "*?") {
			patterns = true
			named = slices.DeleteFunc(d.View.Owners(), func(owner string) bool {
				is, _ := path.Match(u, accountant.SubmitterName(owner, "", d.Domain))
				return !is
			})
			if len(named) == 0 {
				named = []string{u} // which has no jobs
			}
		}
		users = append(users, named...)
	}
	return users, patterns
}

// ofUsers keeps the jobs of a list of users; nil: of all.
func ofUsers(jobs []selection.Procs, users []string) []selection.Procs {
	if users == nil {
		return jobs
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(s selection.Procs) bool { return !ofUser(s.Run.Proc(s.First), users) })
}

// ofUser reports whether a job is one of the users'.
func ofUser(ad *classad.Ad, users []string) bool {
	return slices.ContainsFunc([]string{pool.AttrOwner, pool.AttrUser}, func(attr string) bool {
		user, ok := ad.EvalString(&classad.Context{}, attr)
		return ok && slices.Contains(users, user)
	})
}

// filesOf returns what says how far the files of attempts on other machines are.
func filesOf(s *spool.Spool) func(machine string, a pool.Attempt) string {
	return func(machine string, a pool.Attempt) string {
		const mega = 1e6
		switch state, ok := carried.Of(s.Dir(), machine, a); {
		case !ok:
			return ""
		case state.Back:
			return fmt.Sprintf("%.0f MB of its files have come from %s, and more is to come", float64(state.Bytes)/mega, machine)
		default:
			return fmt.Sprintf("%.0f MB of its files have gone to %s, and more is to go", float64(state.Bytes)/mega, machine)
		}
	}
}
