package qstat

import (
	"io"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/nearest"
	"fairspool/lib/policy/registry"
	"fairspool/spool"
)

// display is what a command line asks to be shown. It can be shown again and again,
// on the spool that was opened the first time.
type display struct {
	call  *cmdline.Call
	form  string // "" for the list, or j, start, long, json, af, f, or c of -g
	names selection.Names
	filter
	columns
}

// displayOf reads the command line. Errors are about its usage.
func displayOf(c *cmdline.Call) (display, error) {
	d := display{call: c}
	var err error
	if d.form, err = formOf(c); err != nil {
		return d, err
	}
	if d.names, err = named(c, d.form); err != nil {
		return d, err
	}
	if d.filter, err = filterOf(c); err != nil {
		return d, err
	}
	d.columns, err = columnsOf(c, d.form)
	return d, err
}

// show writes the display as of now. It returns cmdline.ErrReported when a job
// that was named is not in the queue, and has been told of.
func (d display) show(w io.Writer, now time.Time) error {
	c := *d.call
	c.Stdout, c.Now = w, now
	s, err := c.Spool()
	if err != nil {
		return err
	}
	d.call = &c
	return s.View(func(v *spool.View) error { return d.view(queue{call: &c, spool: s, view: v.Listed()}) })
}

// view writes the display of a view of the spool.
func (d display) view(q queue) error {
	c := q.call
	var err error
	var procs []selection.Procs
	var missing []string
	if d.ranks() {
		if q.hierarchy, err = hierarchyOf(q); err != nil {
			return err
		}
	}
	switch names := d.reads(q.hierarchy); {
	case d.everything():
		q.whole, q.every = q.view, true
	case names != nil:
		q.view, q.whole = q.view.Only(names), q.view
		fallthrough
	default:
		procs, missing = d.names.In(q.view)
	}
	kept, missing := d.names.Factories(q.view, q.spool.Domain(), missing)
	if len(kept) == 0 && len(procs) == 0 && d.form != "j" && forPeople(c) {
		_, users := apart(missing)
		warnOfUsers(q, users)
	}
	if len(c.Args) == 0 && d.form != "j" {
		missing = nil // users without jobs
	}
	ids, users := apart(missing)
	var left []selection.Procs
	if d.form == "j" {
		if left, ids, err = q.ended(ids); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		d.warnOfMissing(q, ids)
		err = cmdline.ErrReported
	}
	if d.form == "j" && len(users) > 0 {
		c.Warn("%s: no such job or user", strings.Join(users, ", "))
		err = cmdline.ErrReported
	}
	if len(c.Args) > 0 {
		procs = ofUsers(procs, c.Value("u"))
		kept = keptBy(kept, c.Value("u"), q.spool.Domain())
	}
	procs, e := d.choose(q, procs)
	if e == nil {
		q.hierarchy.rank(q)
		e = d.write(q, procs, left, kept)
	}
	switch {
	case e != nil:
	case d.tellsKept():
		e = tellKept(c.Stdout, kept)
	case d.form == "start" || d.form == "long" || d.form == "json" || d.form == "af" || d.form == ownForm:
		warnOfKept(c, kept)
	}
	if e != nil {
		return e
	}
	return err
}

// everything reports whether the whole ads of all jobs are shown, once: then nothing has to
// be chosen before.
func (d display) everything() bool {
	c := d.call
	if c.Has("watch") || !d.filter.none() || len(c.Args) > 0 || c.Value("u") != "" {
		return false
	}
	return d.form == "long" || d.form == "json" || d.form == "af"
}

// ranks reports whether the display shows where jobs stand in a queue of all jobs.
func (d display) ranks() bool {
	return d.form == "" || d.form == "f" || d.form == "j" || d.form == ownForm
}

// reads returns the attributes by which the jobs can be chosen, and all but whole ads be
// shown, with their places in a queue; nil for all of them. What is shown again and again
// keeps whole jobs, of which only those are read again that changed.
func (d display) reads(h *hierarchy) []string {
	names, ok := h.reads()
	switch {
	case d.call.Has("watch") || d.constraint != nil || d.form == "j" || d.form == "start" || d.requests || !ok:
		return nil
	case d.form == "c" || d.form == "long" || d.form == "json" || d.form == "af":
		return totalsNames
	}
	return slices.Concat(names, listedNames, d.columns.reads())
}

// tellsKept reports whether what is still to come of clusters has its place in the
// display.
func (d display) tellsKept() bool {
	c := d.call
	switch d.form {
	case "", "f", "j", ownForm:
		return !d.brief && !c.Has("json") && !c.Has("xml") && d.filter.none()
	}
	return false
}

func (d display) write(q queue, procs, left []selection.Procs, kept []spool.Factory) error {
	c := q.call
	switch d.form {
	case "j":
		switch {
		case c.Has("json"):
			return c.JSON(q.explained(slices.Concat(q.waiting(procs), toCome(kept), q.history().waiting(left))))
		case c.Has("xml"):
			return q.detailsXML(c.Data(), append(procs, left...))
		case c.Value("j") == "":
			return q.overview(c.Stdout, procs)
		}
		if err := q.details(c.Stdout, procs); err != nil {
			return err
		}
		return q.history().details(c.Stdout, left)
	case "start":
		return q.forecast(procs)
	case "long", "json", "af":
		return q.printAds(d.form, procs)
	case "c":
		return d.summary(q, procs)
	}
	rows := q.rowsWith(d.columns, procs)
	switch {
	case d.form == ownForm:
		return q.hierarchy.own(d, q, rows)
	case d.brief:
		if !d.filter.none() {
			kept = nil
		}
		return d.briefList(q, rows, kept)
	case c.Has("xml"):
		return d.xml(q, rows)
	case d.form == "f":
		return d.bySlot(q, rows)
	}
	return d.list(c.Stdout, rows)
}

// ownForm is that in which a policy with one queue of all jobs says what their priorities
// come from.
const ownForm = "own"

func ownFormOf(c *cmdline.Call) (own bool, err error) {
	show := registry.Of(c.Config).Display(c.Config)
	if show.Own == nil {
		return false, nil
	}
	option, refused := show.Own(c.Has)
	if option == "" {
		return false, nil
	}
	err = only(c, option, refused...)
	for _, g := range c.Repeated("g") {
		if err == nil && g[0] != "d" {
			err = cmdline.Usagef("-g %s: only -g d has a meaning where nothing but priorities is shown", g[0])
		}
	}
	return true, err
}

// formOf returns the option that says what is printed; -j may have -json or -xml
// with it.
func formOf(c *cmdline.Call) (string, error) {
	if own, err := ownFormOf(c); own {
		return ownForm, err
	}
	form, err := c.One("j", "start", "long", "af", "f")
	if err == nil && form != "j" && form != "start" {
		form, err = c.One("j", "long", "json", "af", "f")
	}
	if err != nil {
		return "", err
	}
	for _, g := range c.Repeated("g") {
		switch g[0] {
		case "c":
			form, err = "c", only(c, "-g c", "f", "r", "j", "long", "json", "af", "pri", "urg", "ext")
		case "d", "t":
		default:
			err = cmdline.Usagef("-g %s: want c, d or t", g[0])
		}
		if err != nil {
			return "", err
		}
	}
	switch {
	case form == "start":
		err = only(c, "-start", "xml", "r", "g", "pri", "urg", "ext", "w")
	case form == "j":
		err = only(c, "-j", "f", "r", "g", "s", "q", "constraint", "pri", "urg", "ext", "w")
		if err == nil && c.Has("json") && c.Has("xml") {
			err = cmdline.Usagef("-json and -xml: only one of them at a time")
		}
	case form == "long" || form == "json" || form == "af":
		err = only(c, "-"+form, "xml", "r", "g", "pri", "urg", "ext", "w")
	}
	if err == nil && c.Has("ne") && form != "f" {
		err = cmdline.Usagef("-ne: has a meaning with -f only")
	}
	return form, err
}

// only refuses options beside another one.
func only(c *cmdline.Call, one string, others ...string) error {
	for _, o := range others {
		if c.Has(o) {
			return cmdline.Usagef("%s and -%s: only one of them at a time", one, o)
		}
	}
	return nil
}

// named returns the jobs that are asked for: those of -j, of the arguments,
// or all.
func named(c *cmdline.Call, form string) (selection.Names, error) {
	words := c.Args
	// An empty variable of a script must not stand for everybody.
	if u := c.Value("u"); c.Has("u") && (strings.Trim(u, ",") == "" || strings.ContainsAny(u, " \t")) {
		return selection.Names{}, cmdline.Usagef("-u: %q: want names of users with commas between, or *", u)
	}
	if form == "j" {
		if len(c.Args) > 0 || c.Has("u") {
			return selection.Names{}, cmdline.Usagef("-j: takes jobs, and neither arguments nor -u")
		}
		if c.Value("j") == "" {
			return selection.All(), nil
		}
		words = strings.Split(c.Value("j"), ",")
	}
	if users := strings.Split(c.Value("u"), ","); len(words) == 0 && c.Value("u") != "" && !slices.Contains(users, everybody) {
		return selection.Users(users), nil
	}
	if len(words) == 0 {
		return selection.All(), nil
	}
	names, err := selection.Parse(words)
	if err != nil {
		return names, cmdline.Usagef("%v", err)
	}
	return names, nil
}

// apart divides the names for which there are no jobs into ids and users. A
// user without jobs is nothing wrong, save where details were asked for.
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

// forPeople reports whether a person reads what is shown, once.
func forPeople(c *cmdline.Call) bool {
	return !slices.ContainsFunc([]string{"watch", "xml", "json", "af", "long"}, c.Has)
}

// warnOfUsers tells of users without jobs, each with the nearest one that has some.
func warnOfUsers(q queue, users []string) {
	if len(users) == 0 {
		return
	}
	owners := q.view.Owners()
	for _, u := range users {
		q.call.Warn("warning: %s has no job in the queue%s", u, nearest.Hint(u, owners))
	}
}

// everybody stands for all users.
const everybody = "*"

// ofUsers keeps the jobs of a list of users.
func ofUsers(procs []selection.Procs, users string) []selection.Procs {
	wanted := map[string]bool{}
	for _, u := range strings.Split(users, ",") {
		wanted[u] = true
	}
	if users == "" || wanted[everybody] {
		return procs
	}
	var kept []selection.Procs
	for _, s := range procs {
		if ofUser(s.Run.Proc(s.First), wanted) {
			kept = append(kept, s)
		}
	}
	return kept
}
