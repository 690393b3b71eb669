package man

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
)

// display is one of a page's literal displays.
type display struct {
	at    string // page and line
	file  string // that it is the text of; empty: none
	lines []string
}

func (d display) text() string { return strings.Join(d.lines, "\n") + "\n" }

// begins reports whether the display is a table with such a heading.
func (d display) begins(heading string) bool { return strings.HasPrefix(d.lines[0], heading+"  ") }

// displays returns the literal displays of a page. One behind a line `.Pa FILE` is
// that file.
func displays(t *testing.T, p page) []display {
	t.Helper()
	var out []display
	for i, l := range p.lines {
		if !strings.HasPrefix(l, ".Bd -literal") {
			continue
		}
		d := display{at: fmt.Sprintf("%s:%d", p.file, i+1)}
		if file, ok := strings.CutPrefix(p.lines[i-1], ".Pa "); ok {
			d.file = file
		}
		n := slices.Index(p.lines[i:], ".Ed")
		if n < 2 {
			t.Fatalf("%s: an empty display, or one without an end", d.at)
		}
		for _, l := range p.lines[i+1 : i+n] {
			d.lines = append(d.lines, escapes.Replace(l))
		}
		out = append(out, d)
	}
	return out
}

var (
	asks       = regexp.MustCompile(`(?m)^queue\b`)
	attributes = regexp.MustCompile(`^[A-Z]\w+ = `)
)

// TestSubmitExamples runs the examples of the pages about submit descriptions: each
// description is read and gives jobs without a warning, unless messages follow it, and
// each table of what it gives is right.
func TestSubmitExamples(t *testing.T) {
	w := world{files: map[string]string{"list": "one\ntwo\nthree\nfour\n"}, folders: []string{"old.dat"}}
	for _, name := range []string{"a.dat", "b.dat", "params.txt"} {
		w.files[name] = ""
	}
	ran := map[string]int{}
	for _, p := range pages(t) {
		if strings.HasPrefix(p.file, "submit") && p.file != "submit.1" || p.has(submitCommands) && p.file != "userlog.5" {
			w.page(t, p, ran)
		}
	}
	for kind, least := range map[string]int{
		"jobs": 5, "references": 1, "queue lines": 1, "messages": 5, "attributes": 2, "descriptions": 15, "definitions": 1,
	} {
		if ran[kind] < least {
			t.Errorf("pages on submit descriptions: %d displays of %s, want %d or more", ran[kind], kind, least)
		}
	}
}

// page runs the examples of a page, and counts its displays by kind.
func (w world) page(t *testing.T, p page, ran map[string]int) {
	t.Helper()
	all := displays(t, p)
	for _, d := range all {
		if d.file != "" {
			w.files[d.file] = d.text()
		}
	}
	var source display
	for i, d := range all {
		kind := ""
		switch {
		case d.file != "":
			continue
		case d.begins("ProcId"):
			kind = "jobs"
			w.jobs(t, d, source)
		case d.begins("reference"):
			kind = "references"
			w.references(t, d, source)
		case d.begins("queue line"):
			kind = "queue lines"
			w.queueLines(t, d)
		case strings.HasPrefix(d.lines[0], "submit: "):
			kind = "messages"
			w.messages(t, d, source)
		case attributes.MatchString(d.lines[0]):
			kind = "attributes"
			w.attributes(t, d, source)
		case asks.MatchString(d.text()):
			kind = "descriptions"
			if source = d; i+1 == len(all) || !strings.HasPrefix(all[i+1].lines[0], "submit: ") {
				w.ads(t, d)
			}
		default:
			kind = "definitions"
			source = d
		}
		ran[kind]++
	}
}

// world is what the pages' examples find outside.
type world struct {
	files   map[string]string
	folders []string
}

func (w world) options() submitfile.Options {
	return submitfile.Options{
		LookupEnv: func(string) (string, bool) { return "", false },
		Read: func(name string) (string, error) {
			text, ok := w.files[name]
			if !ok {
				return "", fs.ErrNotExist
			}
			return text, nil
		},
		Run: func(words []string) (string, error) {
			out, err := exec.Command(words[0], words[1:]...).Output()
			return string(out), err
		},
		Glob: w.glob,
	}
}

func (w world) glob(pattern string) ([]string, error) {
	var out []string
	for name := range w.files {
		if ok, _ := path.Match(pattern, name); ok {
			out = append(out, name)
		}
	}
	for _, name := range w.folders {
		if ok, _ := path.Match(pattern, name); ok {
			out = append(out, name+"/")
		}
	}
	slices.Sort(out)
	return out, nil
}

// submit returns what submit makes of a description, with warnings and error as it
// would print them.
func (w world) submit(text string) (ads []*classad.Ad, messages []string) {
	warnings := func(list []submitfile.Warning) {
		for _, x := range list {
			messages = append(messages, "submit: "+x.String())
		}
	}
	failed := func(err error) ([]*classad.Ad, []string) {
		messages = append(messages, "submit: "+err.Error())
		if e, ok := err.(*submitfile.Error); ok {
			messages = append(messages, strings.Split(e.Excerpt(), "\n")...)
		}
		return nil, messages
	}
	d, list, err := submitfile.Parse(text, "a.sub", w.options())
	warnings(list)
	if err != nil {
		return failed(err)
	}
	jobs, list, err := jobad.New(d, jobad.Options{
		Owner: "alice", Domain: "example.org", Dir: "/home/alice", Now: time.Unix(1_700_000_000, 0),
		Arch: "X86_64", OpSys: "LINUX", FileSystemDomain: "node1",
	})
	warnings(list)
	if err != nil {
		return failed(err)
	}
	if jobs.Count() > 1000 {
		return nil, messages
	}
	c, err := jobs.Expand(1)
	if err != nil {
		return failed(err)
	}
	for _, r := range c.Runs {
		for range r.Count {
			ads = append(ads, r.Ad().Chain(c.Ad))
		}
	}
	return ads, messages
}

// ads returns the ads of a description that gives no cause for a message.
func (w world) ads(t *testing.T, d display) []*classad.Ad {
	t.Helper()
	ads, messages := w.submit(d.text())
	if len(messages) > 0 {
		t.Errorf("%s: submit says %q", d.at, messages)
	}
	return ads
}

// messages holds a display to what submit says of a description.
func (w world) messages(t *testing.T, d, source display) {
	t.Helper()
	if _, got := w.submit(source.text()); !slices.Equal(got, d.lines) {
		t.Errorf("%s: submit says\n%s\nwant\n%s", d.at, strings.Join(got, "\n"), d.text())
	}
}

var columns = regexp.MustCompile(` {2,}`)

// jobs holds a table to the ads of a description: a row for each proc, a column for
// each attribute, - for one that is not there.
func (w world) jobs(t *testing.T, d, source display) {
	t.Helper()
	if !asks.MatchString(source.text()) {
		t.Fatalf("%s: follows no description", d.at)
	}
	ads := w.ads(t, source)
	names := columns.Split(d.lines[0], -1)
	if len(ads) != len(d.lines)-1 {
		t.Errorf("%s: %d jobs, want %d", d.at, len(ads), len(d.lines)-1)
		return
	}
	for proc, line := range d.lines[1:] {
		row := columns.Split(line, len(names))
		if len(row) != len(names) || row[0] != fmt.Sprint(proc) {
			t.Errorf("%s: row %d = %q, want %d columns, the first the proc", d.at, proc, row, len(names))
			continue
		}
		for i, name := range names[1:] {
			if got := shown(ads[proc], name); got != row[i+1] {
				t.Errorf("%s: %s of proc %d = %s, want %s", d.at, name, proc, got, row[i+1])
			}
		}
	}
}

// shown returns an attribute as the page shows it: a string as it is.
func shown(ad *classad.Ad, name string) string {
	e, ok := ad.Lookup(name)
	if !ok {
		return "-"
	}
	if v, constant := e.Constant(); constant {
		if text, is := v.Text(); is {
			return text
		}
	}
	return e.String()
}

// attributes holds lines of attributes to the first job of a description.
func (w world) attributes(t *testing.T, d, source display) {
	t.Helper()
	ads, messages := w.submit(source.text())
	if len(ads) == 0 {
		t.Errorf("%s: no jobs: %q", d.at, messages)
		return
	}
	text := strings.ReplaceAll(d.text(), "\n    ", " ")
	for line := range strings.Lines(text) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if shown(ads[0], name) != want {
			t.Errorf("%s: %s = %s, want %s", d.at, name, shown(ads[0], name), want)
		}
	}
}

// worth returns what a name is worth for each proc of a description.
func (w world) worth(text, name string) (values []string, err error) {
	d, _, err := submitfile.Parse(text, "a.sub", w.options())
	if err != nil {
		return nil, err
	}
	err = d.Walk(1, nil, func(j *submitfile.Job) error {
		for {
			v, _, err := j.Lookup(name)
			if err != nil {
				return err
			}
			values = append(values, v.Text)
			if !j.Next() {
				return nil
			}
		}
	})
	return values, err
}

// references holds a table of references to what they are worth beside some
// definitions.
func (w world) references(t *testing.T, d, source display) {
	t.Helper()
	at := strings.Index(d.lines[0], "value")
	for _, line := range d.lines[1:] {
		reference, want := strings.TrimSpace(line[:at]), line[at:]
		// Between bars, as blanks at the ends of a value do not count.
		got, err := w.worth(source.text()+"shown = |"+reference+"|\nqueue\n", "shown")
		if err != nil || len(got) != 1 || got[0] != "|"+want+"|" {
			t.Errorf("%s: %s = %q, %v, want %q", d.at, reference, got, err, want)
		}
	}
}

// queueLines holds a table of queue lines to their items.
func (w world) queueLines(t *testing.T, d display) {
	t.Helper()
	at := strings.Index(d.lines[0], "item")
	for _, line := range d.lines[1:] {
		line += strings.Repeat(" ", max(at-len(line), 0))
		queue, want := strings.TrimSpace(line[:at]), strings.TrimSpace(line[at:])
		got, err := w.worth(queue+"\n", "item")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: items of %q = %q, %v, want %q", d.at, queue, got, err, want)
		}
	}
}

// builtIn are the items of built-in macros.
var builtIn = regexp.MustCompile(`\$\((\w+)\)`)

// testBuiltIn holds that every built-in macro of submit-macros(5) has a value when submit
// makes jobs.
func testBuiltIn(t *testing.T, bin string) {
	text := strings.Join(read(t, "submit-macros.5").lines, "\n")
	_, text, _ = strings.Cut(text, ".Ss Built-in macros\n")
	text, _, _ = strings.Cut(text, ".El")
	names := builtIn.FindAllStringSubmatch(text, -1)
	if len(names) < 20 {
		t.Fatalf("submit-macros.5: %d built-in macros, want 20 or more", len(names))
	}
	description := "executable = /bin/true\nuniverse = parallel\nmachine_count = 1\n" // Node has a value there
	for _, m := range names {
		description += "+X" + m[1] + " = \"$(" + m[1] + ":none)\"\n"
	}
	c := exec.Command(filepath.Join(bin, "submit"), "-dry-run", "-", "-spool", t.TempDir(), "-")
	c.Stdin = strings.NewReader(description + "queue in x\n")
	c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG=", "FAIRSPOOL_NOW=")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	for _, m := range names {
		line := regexp.MustCompile(`(?m)^X` + m[1] + ` = "(.+)"$`).FindStringSubmatch(string(out))
		if line == nil || line[1] == "none" {
			t.Errorf("submit-macros.5: $(%s) has no value", m[1])
		}
	}
}
