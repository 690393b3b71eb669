package jobad

import (
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"2:00:00", 7200, true}, {"100:00:01", 360001, true}, {"2-12:00:00", 216000, true}, {"90m", 5400, true}, {"1h30m", 5400, true},
		{"2d", 172800, true}, {"1d1h1m1s", 90061, true}, {"90s", 90, true}, {"0h", 0, true},
		{"", 0, false}, {"90", 0, false}, {"1:30", 0, false}, {"1:60:00", 0, false}, {"1:00:60", 0, false}, {"1.5h", 0, false}, {"1m1h", 0, false},
		{"2H", 0, false}, {"-1h", 0, false}, {"h", 0, false}, {strings.Repeat("9", 400) + "h", 0, false},
	} {
		if got, ok := Span(c.text); got != c.want || ok != c.ok {
			t.Errorf("Span(%q) = %d, %v, want %d, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

// TestUndefinedInShell holds that a shell line with an undefined macro is refused, or with
// Options.Lenient noted, and that other lines are not.
func TestUndefinedInShell(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"shell = echo $(date)", "a.sub:1: shell: $(date): no macro has this name; write $(DOLLAR)(date) for the shell's own $(date)"},
		{"a = 1\nshell = echo $(a) \\\n  $(date)", "a.sub:2: shell: $(date): no macro has this name; write $(DOLLAR)(date) for the shell's own $(date)"},
		{"shell = echo $(DOLLAR)(date) $(date:now) $(Process)", ""},
		{"name = $(date)\nshell = echo $(name)", ""},
		{"executable = /bin/echo\narguments = $(date)", ""},
		{"executable = /bin/echo\nshell = $(date)", ""},
	} {
		_, _, err := read(c.text+"\nqueue\n", testOptions())
		if got := messageOf(err); got != c.want {
			t.Errorf("New(%q) = %s, want %s", c.text, got, c.want)
		}
		o := testOptions()
		o.Lenient = true
		d, _, err := read(c.text+"\nqueue\n", o)
		if err != nil {
			t.Errorf("lenient New(%q) = %v", c.text, err)
		} else if got := messageOf(d.Doomed()); got != c.want {
			t.Errorf("Doomed of %q = %s, want %s", c.text, got, c.want)
		}
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFileChecks(t *testing.T) {
	for _, c := range []struct {
		line       string
		skip, warn bool
	}{{"", false, false}, {"skip_filechecks = true", true, false}, {"skip_filechecks = false", false, false}, {"skip_filechecks = Warn", false, true}} {
		d, _, err := read("executable = /bin/true\n"+c.line+"\nqueue\n", testOptions())
		testenv.OK(t, err)
		if skip, warn := d.FileChecks(); skip != c.skip || warn != c.warn {
			t.Errorf("FileChecks with %q = %v, %v, want %v, %v", c.line, skip, warn, c.skip, c.warn)
		}
	}
}

// TestMeant holds that names near to what is missing are proposed.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"executble = /bin/true", "a.sub:2: executable: not given; did you mean executable by executble in line 1?"},
		{"arguments = 5", "a.sub:2: executable: not given: name the program that is to be run"},
		{"executable = /bin/true\nrequest_mem = 4G", "a.sub:2: request_mem: no such command; did you mean request_memory?"},
	} {
		if _, _, err := read(c.text+"\nqueue\n", testOptions()); messageOf(err) != c.want {
			t.Errorf("New(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}

// TestFirst holds that a look at a cluster makes what Expand and Begin make, once for a number.
func TestFirst(t *testing.T) {
	for _, c := range []struct {
		text string
		jobs int
	}{{"queue 5", 5}, {"max_materialize = 2\nqueue 5", 2}, {"max_materialize = 9\nqueue 5", 5}} {
		d, _, err := read("executable = /bin/true\narguments = $(Cluster).$(Process)\n"+c.text+"\n", testOptions())
		testenv.OK(t, err)
		for _, number := range []int{1, 7} {
			first, err := d.First(number)
			if err != nil || first.Jobs() != c.jobs {
				t.Fatalf("First(%d) of %q = %d jobs, %v, want %d", number, c.text, first.Jobs(), err, c.jobs)
			}
			then := first
			if _, late := d.Late(); late {
				then, _, _, err = d.Begin(number)
			} else {
				then, err = d.Expand(number)
			}
			if err != nil || then.Ad != first.Ad || then.Jobs() != c.jobs {
				t.Errorf("%q makes another cluster %d after First, %v", c.text, number, err)
			}
		}
	}
}
