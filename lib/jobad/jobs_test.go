package jobad

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/submitfile"
)

func testOptions() Options {
	return Options{
		Owner: "alice", Domain: "example.org", Dir: "/home/alice", Now: time.Unix(1700000000, 0),
		Environ: []string{"HOME=/home/alice", "LANG=C"},
	}
}

// read reads a description in a folder where no file can be read.
func read(text string, o Options) (*Jobs, []submitfile.Warning, error) {
	d, warnings, err := submitfile.Parse(text, "a.sub", submitfile.Options{
		Dir: o.Dir, LookupEnv: func(name string) (string, bool) { return "/opt", name == "PREFIX" },
	})
	if err != nil {
		return nil, warnings, err
	}
	j, more, err := New(d, o)
	return j, append(warnings, more...), err
}

func parse(t *testing.T, text string) (*Jobs, []submitfile.Warning) {
	t.Helper()
	j, warnings, err := read(text, testOptions())
	if err != nil {
		t.Fatalf("read(%q) = %v", text, err)
	}
	return j, warnings
}

func TestManyLines(t *testing.T) { readManyLines(t, 6_000) }

// TestSoakManyLines reads descriptions with very many lines of a kind: work that grows with
// the square of their number would not end.
func TestSoakManyLines(t *testing.T) {
	testenv.Soak(t)
	readManyLines(t, 60_000)
}

func readManyLines(t *testing.T, n int) {
	lines := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		what, text string
		warnings   int
	}{
		{"attributes", lines("+A%[1]d = %[1]d\n", n) + "queue\n", 0},
		{"attributes of several queue lines", lines("+A%[1]d = %[1]d\n", n/3) + "queue\n+A5 = 7\nqueue\n", 0},
		{"unknown commands", lines("zz%[1]d = %[1]d\n", n) + "queue\n", mostDoubts + 1},
	} {
		jobs, warnings, err := read(sleep+c.text, testOptions())
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if _, err := jobs.Expand(1); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if len(warnings) != c.warnings {
			t.Errorf("%s: %d warnings, want %d", c.what, len(warnings), c.warnings)
		}
	}
}

func BenchmarkQueueLines(b *testing.B) {
	text := sleep + strings.Repeat("arguments = x\nqueue\n", 1000)
	for range b.N {
		jobs, _, err := read(text, testOptions())
		if err == nil {
			_, err = jobs.Expand(1)
		}
		testenv.OK(b, err)
	}
}
