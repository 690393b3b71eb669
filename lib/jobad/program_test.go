package jobad

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// TestKeptOutput holds which files jobs have that keep their output, and which environment.
func TestKeptOutput(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"queue", "run.12.0.out run.12.0.err HOME=/home/alice LANG=C"},
		{"queue 2", "run.12.0.out run.12.0.err HOME=/home/alice LANG=C, run.12.1.out run.12.1.err HOME=/home/alice LANG=C"},
		{"output = o.$(Process)\nqueue", "o.0 run.12.0.err HOME=/home/alice LANG=C"},
		{"stdout = /dev/null\nstderr = e\nqueue", "/dev/null e HOME=/home/alice LANG=C"},
		{"output =\nqueue", "run.12.0.out run.12.0.err HOME=/home/alice LANG=C"},
		{"getenv = LANG\nqueue", "run.12.0.out run.12.0.err LANG=C"},
		{"get_env = false\nqueue", "run.12.0.out run.12.0.err undefined"},
		{"environment = \"LANG=$$(Name) A=1\"\nqueue", "run.12.0.out run.12.0.err HOME=/home/alice LANG=$$(Name) A=1"},
	} {
		o := testOptions()
		o.KeepOutput, o.Getenv = "run", true
		if got := filesOf(t, sleep+c.text+"\n", o); got != c.want {
			t.Errorf("%q has %s, want %s", c.text, got, c.want)
		}
	}
	if got, want := filesOf(t, sleep+"queue\n", testOptions()), "/dev/null /dev/null undefined"; got != want {
		t.Errorf("jobs that keep nothing have %s, want %s", got, want)
	}
}

// filesOf returns Out, Err and Environment of a description's jobs.
func filesOf(t *testing.T, text string, o Options) string {
	t.Helper()
	d, _, err := read(text, o)
	testenv.OK(t, err)
	cluster, err := d.Expand(12)
	testenv.OK(t, err)
	var jobs []string
	for _, r := range cluster.Runs {
		ad, values := r.Ad().Chain(cluster.Ad), []string(nil)
		for _, name := range []string{"Out", "Err", "Environment"} {
			v := ad.Eval(&classad.Context{}, name, nil)
			text, ok := v.Text()
			if !ok {
				text = v.String()
			}
			values = append(values, text)
		}
		for range r.Count {
			jobs = append(jobs, strings.Join(values, " "))
		}
	}
	return strings.Join(jobs, ", ")
}

// TestCommandAlone holds that nothing else says what jobs run beside a command line.
func TestCommandAlone(t *testing.T) {
	o := testOptions()
	o.Command = submitfile.Exactly([]string{"/bin/echo", "a"})
	for _, text := range []string{"executable = x", "arguments = x", "args = x", "arguments2 = \"x\"", "shell = x", "+Cmd = \"x\"", "+Args = \"x\"", "MY.Arguments = \"x\"", "universe = java"} {
		if _, _, err := read(text+"\nqueue\n", o); err == nil {
			t.Errorf("%q beside a command line is no error", text)
		}
	}
	d, _, err := read("queue\n", o)
	testenv.OK(t, err)
	c, err := d.Expand(12)
	testenv.OK(t, err)
	if e, _ := c.Ad.Lookup("Arguments"); e.String() != `"a"` {
		t.Errorf("Arguments = %s, want \"a\"", e)
	}
}

func TestIsSize(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "4G": true, "500M": true, "1.5 GB": true, "2 TiB": true, "100k": true, "0": true,
		"": false, "G": false, "4X": false, "-1": false, "lots": false, "1 + 1": false, "1e3": false, "99999999999999999999T": false,
	} {
		if got := IsSize(text); got != want {
			t.Errorf("IsSize(%q) = %v, want %v", text, got, want)
		}
	}
}

// TestMatches holds patterns to what a regular expression makes of them.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(text)
		if got := matches(pattern, text); got != want {
			t.Errorf("matches(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

func TestPatterns(t *testing.T) {
	wanted, unwanted := patterns("PATH, !LD_*; Home\t*X ! ")
	if want := []string{"path", "home", "*x"}; !slices.Equal(wanted, want) {
		t.Errorf("patterns wanted = %q, want %q", wanted, want)
	}
	if want := []string{"ld_*", ""}; !slices.Equal(unwanted, want) {
		t.Errorf("patterns unwanted = %q, want %q", unwanted, want)
	}
}
