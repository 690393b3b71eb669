package userprio

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/edit"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/report/accounts"
)

// goldenStep is one call of HTCondor's userprio, with what it printed.
type goldenStep struct {
	Args   []string
	Time   int64
	Exit   int
	Stdout string
	Stderr string

	edits int // how many steps before this one changed something
	zone  *time.Location
	call  *cmdline.Call
}

// differences are the deliberate ones, by what they are called below. Those of
// the first kind are undone in what the displays are fed or in single cells; the
// rest of the step has to agree. Steps of the second kind are not compared.
var differences = map[string]string{
	"carried":  "HTCondor's display takes the usage of the record before for one that has none; such records are fed with that",
	"policy":   "HTCondor's footer tells the surplus policy of the last group it read, ours that of the whole pool; the display is fed with the former",
	"epoch":    "with -grouprollup HTCondor counts since 1970 for who never used anything, and cuts the number off; these cells are blank here",
	"priority": "Priority is the RUP in our ads and the EUP in HTCondor's; EffectivePriority stands in for it",
	"served":   "without -allusers HTCondor's -long and -af list all that the collector happens to have, ours who was active; the cut is left out",
	"carriage": "attributes that tell how the collector came by an ad, and charges of HTCondor's own way of counting",
	"above":    "in the collector's ads AccountingGroup of a group is the group above it, here and in the negotiator's it is the group itself",
	"numbered": "with -allusers HTCondor's -legacy prints an ad each, ours one with numbered attributes; their values are compared",

	"usage":   "help and usage are ours",
	"strict":  "a number without effect or a name that nobody has is refused, and not accepted without effect",
	"words":   "refusals are one line in our words; a usage error has status 2",
	"unknown": "a record without a last usage takes over that of the record before and passes the cut",
}

func TestGoldenUserprio(t *testing.T) {
	for _, file := range goldenFiles(t) {
		b, err := os.ReadFile(file)
		testenv.OK(t, err)
		if strings.HasPrefix(filepath.Base(file), "userprio_display") {
			var s struct {
				Timezone string // UTC if it does not say
				Steps    []*goldenStep
			}
			if err := json.Unmarshal(b, &s); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			zone, err := time.LoadLocation(s.Timezone)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, x := range s.Steps {
				x.zone = zone
			}
			g := &golden{T: t, file: filepath.Base(file), steps: s.Steps}
			g.replay()
			continue
		}
		reprint(t, filepath.Base(file), b)
	}
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/userprio_display*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files = %v, %v, want some", files, err)
	}
	if dir := os.Getenv("FAIRSPOOL_GOLDEN"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "condor", "*.json"))
		testenv.OK(t, err)
		files = append(files, more...)
	}
	return files
}

// golden is the replay of one recorded session.
type golden struct {
	*testing.T
	file       string
	steps      []*goldenStep
	agree, all int
	said       map[string]int // deliberate differences, by how many steps had them
}

// replay runs the edits and refusals against a spool, and the displays with the
// records that the session listed.
func (g *golden) replay() {
	g.said = map[string]int{}
	cmdtest.Spool(g.T, nil)
	edits := 0
	for i, s := range g.steps {
		s.edits = edits
		s.call = parsed(s)
		switch {
		case strings.Contains(s.Stderr, "usage: "):
			g.said["usage"]++
			continue
		case s.Exit != 0 || editOf(s) != "":
			g.edit(i, s)
			if editOf(s) != "" && s.Exit == 0 {
				edits++
			}
		}
	}
	for i, s := range g.steps {
		if s.Exit == 0 && editOf(s) == "" {
			g.display(i, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.said)) {
		g.Logf("golden condor/%s: in %d steps: %s", g.file, g.said[name], differences[name])
	}
	g.Logf("golden condor/%s: %d of %d agree", g.file, g.agree, g.all)
}

// parsed reads a step's command line; nil when it does not read.
func parsed(s *goldenStep) (call *cmdline.Call) {
	s.run(s.Args, func(c *cmdline.Call) error { call = c; return nil })
	return call
}

// now is the time of the step, in the time zone of the recording.
func (s *goldenStep) now() time.Time {
	if s.zone == nil {
		return time.Unix(s.Time, 0).UTC()
	}
	return time.Unix(s.Time, 0).In(s.zone)
}

// run runs something with these arguments at the step's time, and returns what
// it wrote.
func (s *goldenStep) run(args []string, do func(*cmdline.Call) error) string {
	var out strings.Builder
	c := cmdline.Command{Name: "userprio", Flags: flags(), Run: func(c *cmdline.Call) error {
		c.Now = s.now()
		return do(c)
	}}
	if status := cmdline.Execute(c, args, nil, &out, &out); status != 0 {
		return fmt.Sprintf("exit status %d\n%s", status, out.String())
	}
	return out.String()
}

// editOf returns the edit that a step makes.
func editOf(s *goldenStep) string {
	if s.call != nil {
		for _, f := range edit.Flags {
			if f.Name != "duration" && s.call.Has(f.Name) {
				return f.Name
			}
		}
	}
	return ""
}

// edit runs a step that changes something, or is refused, through the command.
func (g *golden) edit(i int, s *goldenStep) {
	g.all++
	g.Setenv("FAIRSPOOL_NOW", fmt.Sprint(s.Time))
	args := s.Args
	if edit.Creates(editOf(s)) {
		args = append(slices.Clone(args), "-create") // HTCondor takes any name
	}
	status, out, bad := cmdtest.Run(command(), args...)
	switch {
	case status == s.Exit && out == s.Stdout && s.Exit == 0:
	case status != 0 && s.Exit != 0 && out == s.Stdout:
		g.said["words"]++
	case status != 0 && s.Exit == 0 && g.careless(i, s):
		g.said["strict"]++
	default:
		g.Errorf("golden %s: step %d %q = %d, %q, %q, want %d, %q, %q", g.file, i, s.Args, status, out, bad, s.Exit, s.Stdout, s.Stderr)
		return
	}
	g.agree++
}

// careless reports whether HTCondor accepted what had no effect: a priority below
// the least, or a change of a record that was not there.
func (g *golden) careless(i int, s *goldenStep) bool {
	name := editOf(s)
	values := s.call.Values(name)
	switch name {
	case "setprio":
		rup, err := strconv.ParseFloat(values[1], 64)
		return err == nil && rup < accountant.MinPriority
	case "delete", "resetusage":
		return !slices.ContainsFunc(g.steps[:i], func(before *goldenStep) bool {
			return len(before.Args) > 1 && before.Args[1] == values[0] && before.Exit == 0
		})
	}
	return false
}

// display compares what a step shows.
func (g *golden) display(i int, s *goldenStep) {
	if s.call != nil && g.passes(s) {
		g.said["unknown"]++
		return
	}
	g.all++
	want := s.Stdout
	var got string
	switch {
	case s.call == nil:
		got = "usage error"
	case s.call.Has("getreslist"):
		got = g.resources(s)
	case s.call.Has("long"):
		got, want = g.long(s), ""
	case s.call.Has("af"), s.call.Has("autoformat"):
		got = g.auto(s)
	default:
		got, want = g.table(s)
	}
	if got != want {
		g.Errorf("golden %s: step %d %q:\n%s\nwant\n%s", g.file, i, s.Args, got, want)
		return
	}
	g.agree++
}

// passes reports whether somebody who never used anything passes the cut by the
// last usage of the record before.
func (g *golden) passes(s *goldenStep) bool {
	o, err := optionsOf(s.call)
	show, _ := o.listed(s.call.Now)
	if err != nil || !s.asked() || s.call.Has("grouprollup") || show.Since.IsZero() {
		return false
	}
	var before time.Time
	for _, r := range g.view(s).Rows {
		if r.Last.IsZero() && before.After(show.Since) {
			return true
		}
		if !r.Last.IsZero() {
			before = r.Last
		}
	}
	return false
}

// sinceEpoch is a time since 1970 as HTCondor's column cuts it off.
var sinceEpoch = regexp.MustCompile(`\d{5}\+\d\d:\d`)

func (g *golden) table(s *goldenStep) (got, want string) {
	v := g.view(s)
	want = s.Stdout
	if s.call.Has("grouprollup") {
		summed := accounts.View{Rows: slices.Clone(v.Rows)}
		summed.RollUp()
		v.Policy = lastPolicy(summed.Rows)
		if sinceEpoch.MatchString(want) {
			g.said["epoch"]++
			want = sinceEpoch.ReplaceAllString(want, strings.Repeat(" ", 10))
		}
	} else {
		g.carryOver(v.Rows)
		v.Policy = lastPolicy(v.Rows)
	}
	if v.Policy != v.RootPolicy() && strings.Contains(want, "Surplus") {
		g.said["policy"]++
	}
	return s.table(v), want
}

// carryOver gives records without usage that of the record before.
func (g *golden) carryOver(rows []accounts.Row) {
	before, some := -1.0, 0
	for i := range rows {
		if rows[i].Counted {
			before = rows[i].Usage
		} else {
			rows[i].Usage, some = before, 1
		}
	}
	g.said["carried"] += some
}

func lastPolicy(rows []accounts.Row) (policy string) {
	for _, r := range rows {
		if r.Group {
			policy = r.Part.Surplus
		}
	}
	return policy
}

// asked reports whether a step asks the accountant itself and not the collector,
// which knows less.
func (s *goldenStep) asked() bool {
	return s.call.Has("allusers") || s.call.Has("grouprollup") || s.call.Has("negotiator")
}

// view returns the records that a step shows: those of the listing from the same
// source that the fewest edits lie between, with these edits made.
func (g *golden) view(s *goldenStep) accounts.View {
	g.Helper()
	var listing *goldenStep
	for _, x := range g.steps {
		if x.Exit != 0 || x.call == nil || !x.call.Has("long") || x.call.Has("getreslist") || x.asked() != s.asked() {
			continue
		}
		if x.edits <= s.edits && (listing == nil || x.edits > listing.edits) {
			listing = x
		}
	}
	if listing == nil {
		g.Fatalf("golden %s: no listing of the records that %q shows", g.file, s.Args)
	}
	v, err := accounts.ReadView(classad.NewReader(strings.NewReader(listing.Stdout), "golden"), s.now())
	if err != nil {
		g.Fatal(err)
	}
	for _, x := range g.steps {
		if name := editOf(x); name != "" && x.Exit == 0 && x.edits >= listing.edits && x.edits < s.edits {
			v.Rows = g.apply(v.Rows, x, name)
		}
	}
	return v
}

// apply makes an edit that came between the listing and the display, and returns
// the rows after it.
func (g *golden) apply(rows []accounts.Row, s *goldenStep, name string) []accounts.Row {
	g.Helper()
	values := s.call.Values(name)
	about := func(r accounts.Row) bool { return name == "resetall" || r.Name == values[0] }
	if name == "delete" {
		return slices.DeleteFunc(rows, about)
	}
	value := 0.0
	if len(values) > 1 {
		var err error
		if value, err = strconv.ParseFloat(values[1], 64); err != nil {
			g.Fatalf("golden %s: %q: %v", g.file, s.Args, err)
		}
	}
	for i := range rows {
		if r := &rows[i]; about(*r) && !editRow(r, name, value, time.Unix(s.Time, 0)) {
			g.Fatalf("golden %s: %q between a listing and a display", g.file, s.Args)
		}
	}
	return rows
}

// editRow makes an edit, if it is one whose outcome does not depend on others.
func editRow(r *accounts.Row, name string, value float64, at time.Time) bool {
	switch name {
	case "resetall", "resetusage":
		r.Usage, r.Accumulated, r.Counted, r.Begin = 0, 0, true, at
	case "setprio":
		r.Priority = max(value, accountant.MinPriority)
	case "setfactor":
		r.Factor = value
	case "setaccum":
		r.Usage, r.Counted = value, true
	case "setbegin":
		r.Begin = time.Unix(int64(value), 0)
	case "setlast":
		r.Last = time.Unix(int64(value), 0)
	case "setceiling":
		r.Ceiling = int64(value)
	case "setfloor":
		r.Floor = int64(value)
	default:
		return false
	}
	if name == "setprio" || name == "setfactor" {
		r.Effective = r.Priority * r.Factor
	}
	return true
}

// auto prints a step's -af, in the order of the recording: HTCondor's is that
// of a hash table.
func (g *golden) auto(s *goldenStep) string {
	v := g.view(s)
	args := slices.Clone(s.Args)
	for i := range args {
		args[i] = renamed.ReplaceAllString(args[i], "EffectivePriority")
	}
	got := s.run(args, func(c *cmdline.Call) error {
		o, err := optionsOf(c)
		if err != nil {
			return err
		}
		show, err := o.listed(c.Now)
		if err != nil {
			return err
		}
		show.Since = time.Time{}
		form, err := c.One("af", "autoformat")
		if err != nil {
			return err
		}
		var ads []*classad.Ad
		for _, r := range show.Pick(v) {
			ads = append(ads, accounts.AdOf(r, v.At))
		}
		return adprint.Print(c, form, slices.Values(ads))
	})
	g.said["priority"]++
	if !s.asked() {
		g.said["served"]++
	}
	return strings.ReplaceAll(got, "EffectivePriority", "Priority")
}

var renamed = regexp.MustCompile(`\bPriority\b`)
