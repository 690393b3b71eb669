package qstat

import (
	"cmp"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/report/queue"
)

// options are the options of the command line.
type options struct {
	form      string // "" for the list, or j, start, long, json, af, c of -g, or own
	json, xml bool
	names     selection.Names // of arguments, -j or -u
	all       bool            // -j without jobs
	args      bool            // there are arguments
	users     []string        // of -u; nil: any
	queue.Filter
	constraint *selection.Constraint
	list       queue.Options
	people     bool          // the display is for a person, and shown once
	warned     bool          // what keeps jobs waiting may be told below
	watch      time.Duration // of -watch; 0: it is shown once
	runs       bool          // times that run, or priorities that grow with them, are shown
	past       *pastOptions  // of -history; nil: jobs of the queue are shown
}

// pastOptions are the options for jobs that have left the queue.
type pastOptions struct {
	limit int       // 0: none
	since time.Time // zero: any
}

// waitOptions are the options of -wait.
type waitOptions struct {
	log     string
	timeout *time.Duration // nil: any time
}

// ownForm is the form in which a policy with one queue of all jobs shows how it computes
// priorities.
const ownForm = "own"

// everybody stands for all users.
const everybody = "*"

// layoutVariable names the layout of displays for which no option chooses one.
const layoutVariable = "FAIRSPOOL_QSTAT"

// refusals are options that do not go together in a common list, in the order in which they are
// refused. "g c" is -g with c.
var refusals = []cmdline.Refusal{
	{Option: "history", Others: []string{"j", "f", "ne", "r", "g", "s", "q", "pri", "urg", "ext", "xml", "brief", "sge", "start"}},
	{Option: "j", Others: []string{"start", "long", "af", "f"}},
	{Option: "start", Others: []string{"long", "af", "f"}},
	{Option: "long", Others: []string{"json", "af", "f"}},
	{Option: "json", Others: []string{"af", "f"}},
	{Option: "af", Others: []string{"f"}},
	{Option: "g c", Others: []string{"f", "r", "j", "long", "json", "af", "pri", "urg", "ext"}},
	{Option: "start", Others: []string{"xml", "r", "g", "pri", "urg", "ext", "w"}},
	{Option: "j", Others: []string{"r", "g", "s", "q", "constraint", "pri", "urg", "ext", "w"}},
	{Option: "json", Others: []string{"xml"}},
}

// adRefusals are what does not go with ads, which -long, -json and -af alone show.
var adRefusals = []string{"xml", "r", "g", "pri", "urg", "ext", "w"}

// layoutRefusals are what does not go together in any list.
var layoutRefusals = []cmdline.Refusal{
	{Option: "brief", Others: []string{"sge"}},
	{Option: "sge", Others: []string{"long", "json", "af", "start"}},
	{Option: "brief", Others: []string{"j", "start", "long", "json", "af", "f", "xml", "r", "pri", "urg", "ext", "g c", "g t"}},
	{Option: "w", Others: []string{"xml"}, Why: ", and in XML names are never cut"},
}

// needed are options that need another one.
var needed = []struct{ option, with string }{{"limit", "history"}, {"since", "history"}, {"ne", "f"}}

// given returns what reports whether an option is there, by its name; "g c" is -g with c.
func given(c *cmdline.Call) func(option string) bool {
	letters := c.Repeated("g")
	return func(option string) bool {
		if letter, is := strings.CutPrefix(option, "g "); is {
			return slices.ContainsFunc(letters, func(g []string) bool { return g[0] == letter })
		}
		return c.Has(option)
	}
}

// conflict refuses options that do not go together. Own is the option for the policy's own form of the
// list, and refused the options that the policy refuses with it; own is empty for a common list.
func conflict(c *cmdline.Call, own string, refused []string) error {
	has := given(c)
	rules := refusals
	if own != "" {
		rules = []cmdline.Refusal{{Option: own, Others: refused}}
	} else if i := slices.IndexFunc(adForms, has); i >= 0 && !has("j") && !has("start") && !has("history") {
		rules = slices.Concat(rules, []cmdline.Refusal{{Option: adForms[i], Others: adRefusals}})
	}
	if err := cmdline.Refuse(has, slices.Concat(rules, layoutRefusals)...); err != nil {
		return err
	}
	for _, n := range needed {
		if has(n.option) && !has(n.with) {
			return cmdline.Usagef("-%s: only with -%s", n.option, n.with)
		}
	}
	for _, g := range c.Repeated("g") {
		switch {
		case !slices.Contains([]string{"c", "d", "t"}, g[0]):
			return cmdline.Usagef("-g %s: want c, d or t", g[0])
		case own != "" && g[0] != "d":
			return cmdline.Usagef("-g %s: a list of priorities takes only -g d", g[0])
		}
	}
	if has("j") && (len(c.Args) > 0 || has("u")) {
		return cmdline.Usagef("-j: names jobs itself: leave out arguments and -u")
	}
	return nil
}

// adForms are the options that show ads.
var adForms = []string{"long", "json", "af"}

// optionsOf reads the command line except -wait. Errors are about its usage.
func optionsOf(c *cmdline.Call) (o options, err error) {
	has, display := given(c), registry.Of(c.Config).Display(c.Config)
	own, refused := "", []string(nil)
	if display.Own != nil && !has("history") {
		own, refused = display.Own(c.Has)
		own = strings.TrimPrefix(own, "-")
	}
	if err := conflict(c, own, refused); err != nil {
		return o, err
	}
	o = options{
		form: formOf(has, own != ""), json: has("json"), xml: has("xml"), args: len(c.Args) > 0, all: has("j") && c.Value("j") == "",
		people: !slices.ContainsFunc([]string{"watch", "xml", "json", "af", "long"}, has),
		warned: !slices.ContainsFunc([]string{"j", "json", "xml", "long", "af", "history"}, has),
		list: queue.Options{
			Options:  policy.Options{Pri: has("pri"), Urg: has("urg"), Ext: has("ext"), Wide: has("w"), XML: has("xml")},
			Requests: has("r"), Single: has("g d"), Master: has("g t"), BySlot: has("f"), Taken: has("ne"),
		},
	}
	if o.list.Brief, err = isBrief(c, has, o.form); err != nil {
		return o, err
	}
	o.runs = o.list.Brief || registry.Of(c.Config).OneQueue() || slices.ContainsFunc([]string{"w", "urg", "ext", "af", "constraint", "s", "f"}, has)
	for _, read := range [...]func(*cmdline.Call) error{o.readJobs, o.readFilter, o.readPast, o.readWatch} {
		if err := read(c); err != nil {
			return o, err
		}
	}
	return o, nil
}

// formOf returns the option that chooses what is printed; -j may be combined with -json or -xml, and
// -f is a list.
func formOf(has func(string) bool, own bool) string {
	if own {
		return ownForm
	}
	if has("g c") {
		return "c"
	}
	forms := []string{"j", "start", "long", "json", "af"}
	if i := slices.IndexFunc(forms, has); i >= 0 {
		return forms[i]
	}
	return ""
}

// isBrief reports whether a list has the brief layout.
func isBrief(c *cmdline.Call, has func(string) bool, form string) (bool, error) {
	switch layout := os.Getenv(layoutVariable); {
	case has("sge"):
		return false, nil
	case layout != "" && layout != "brief" && layout != "sge":
		return false, cmdline.Usagef("%s: %q: want brief or sge", layoutVariable, layout)
	case has("brief"):
		return true, nil
	case form != "" || layout == "sge" || slices.ContainsFunc([]string{"f", "xml", "r", "pri", "urg", "ext", "g t"}, has):
		return false, nil
	default:
		return layout == "brief" || c.Terminal(), nil
	}
}

// readJobs reads the chosen jobs: those of -j, of the arguments and -u, or all.
func (o *options) readJobs(c *cmdline.Call) (err error) {
	words, u := c.Args, c.Value("u")
	// An empty variable of a script must not stand for everybody.
	if c.Has("u") && (strings.Trim(u, ",") == "" || strings.ContainsAny(u, " \t")) {
		return cmdline.Usagef("-u: %q: want names of users with commas between, or *", u)
	}
	if users := strings.Split(u, ","); c.Has("u") && !slices.Contains(users, everybody) {
		o.users = users
	}
	if j := c.Value("j"); j != "" {
		words = strings.Split(j, ",")
	}
	switch {
	case len(words) == 0 && o.users != nil:
		o.names = selection.Users(o.users)
	case len(words) == 0:
		o.names = selection.All()
	default:
		if o.names, err = selection.Parse(words); err != nil {
			return cmdline.Usagef("%v", err)
		}
	}
	return nil
}

// readFilter reads -s, -q and -constraint.
func (o *options) readFilter(c *cmdline.Call) (err error) {
	o.States = queue.EveryState
	if c.Has("s") {
		var ok bool
		if o.States, ok = queue.ParseStates(c.Value("s")); !ok {
			return cmdline.Usagef("-s %s: want p for waiting, r for running or h for held jobs, or letters of s, z, hu, ho, hs, hd, hj, ha and a", c.Value("s"))
		}
	}
	if c.Has("q") {
		o.Slots = strings.Split(c.Value("q"), ",")
		for _, pattern := range o.Slots {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return cmdline.Usagef("-q %s: want names of slots or machines, with * and ?", c.Value("q"))
			}
		}
	}
	if c.Has("constraint") {
		if o.constraint, err = selection.ParseConstraint(c.Value("constraint"), c.Config.Cycle.Steps); err != nil {
			return cmdline.Usagef("%v", err)
		}
	}
	return nil
}

// readPast reads -history, -limit and -since.
func (o *options) readPast(c *cmdline.Call) error {
	if !c.Has("history") {
		return nil
	}
	o.past = &pastOptions{}
	if c.Has("limit") {
		n, err := strconv.ParseUint(c.Value("limit"), 10, 31)
		if err != nil || n == 0 {
			return cmdline.Usagef("-limit: %q: want a whole number from 1 up", c.Value("limit"))
		}
		o.past.limit = int(n)
	}
	if c.Has("since") {
		if _, err := c.Spool(); err != nil { // from now on it is the pool's time
			return err
		}
		var err error
		if o.past.since, err = cmdline.ParseSince(c.Value("since"), c.Now); err != nil {
			return cmdline.Usagef("-since: %v", err)
		}
	}
	return nil
}

const (
	usualWatch            = "2"
	leastWatch, mostWatch = 0.1, 86400 // seconds
)

// readWatch reads -watch.
func (o *options) readWatch(c *cmdline.Call) error {
	if !c.Has("watch") {
		return nil
	}
	every, err := seconds(cmp.Or(c.Value("watch"), usualWatch), leastWatch, mostWatch)
	if err != nil {
		return cmdline.Usagef("-watch: %q: want a number of seconds from %v to %v", c.Value("watch"), leastWatch, mostWatch)
	}
	o.watch = every
	return nil
}

// waits reports whether a command line asks to wait for jobs.
func waits(c *cmdline.Call) bool { return c.Has("wait") || c.Has("timeout") }

// waitOptionsOf reads the command line of -wait, and refuses options that have no meaning
// there.
func waitOptionsOf(c *cmdline.Call) (o waitOptions, err error) {
	if !c.Has("wait") {
		return o, cmdline.Usagef("-timeout: only with -wait")
	}
	for _, f := range Command().Flags {
		if c.Has(f.Name) && !slices.Contains([]string{"wait", "timeout", "json"}, f.Name) {
			return o, cmdline.Usagef("-%s: not with -wait", f.Name)
		}
	}
	o.log = c.Value("wait")
	if c.Has("timeout") {
		d, err := seconds(c.Value("timeout"), 0, 1e9)
		if err != nil {
			return o, cmdline.Usagef("-timeout %s: want a number of seconds, 0 or more", c.Value("timeout"))
		}
		o.timeout = &d
	}
	return o, nil
}

var errRange = errors.New("out of range")

// seconds reads a number of seconds between two.
func seconds(text string, least, most float64) (time.Duration, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && !(x >= least && x <= most) {
		err = errRange
	}
	return time.Duration(x * float64(time.Second)), err
}
