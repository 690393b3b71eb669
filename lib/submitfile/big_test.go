package submitfile

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

func TestBig(t *testing.T) { readBig(t, 10_000) }

// TestSoakBig holds that long descriptions take time in proportion to their length:
// with work that grows faster these would take minutes.
func TestSoakBig(t *testing.T) {
	testenv.Soak(t)
	readBig(t, 100_000)
}

// readBig reads descriptions with n pieces of a kind, and with more where they cost little.
func readBig(t *testing.T, n int) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, text string
		jobs       int
	}{
		{"assignments", lines(n, "a%d = $(b)\n") + "queue", 1},
		{"assignments of one name", lines(n, "a = %d\n") + "queue", 1},
		{"continued lines", "a = " + strings.Repeat("x \\\n", 2*n) + "\nqueue", 1},
		{"comments in a continued line", "a = x \\\n" + strings.Repeat("# \\\n", 2*n) + "\nqueue", 1},
		{"queue lines", lines(n, "a = %d\nqueue\n"), n},
		{"queue lines with items", lines(n, "queue x in (%d)\n"), n},
		{"items on a line", "queue x in (" + lines(5*n, "%d ") + ")", 5 * n},
		{"items on lines", "queue x from (\n" + lines(5*n, "i%d\n") + ")", 5 * n},
		{"items from a file", "queue x, y from items", 5 * n},
		{"conditions", lines(n, "if defined x%d\na = 1\nendif\n") + "queue", 1},
		{"nested conditions", strings.Repeat("if true\n", n) + strings.Repeat("endif\n", n) + "queue", 1},
		{"includes", strings.Repeat("include : small\n", maxIncludes) + "queue", 1},
		{"values of many lines", lines(n/2, "a @=e\nx%d\n@e\n") + "queue", 1},
		{"nested references", "a = " + strings.Repeat("$(x", 2*n) + strings.Repeat(")", 2*n) + "\nqueue", 1},
		{"nested functions", "a = " + strings.Repeat("$INT(", 3*n/2) + strings.Repeat(")", 3*n/2) + "\nqueue", 1},
		{"self-references", lines(n/20, "a = $(a) %d\n") + "queue", 1},
		{"parentheses", "queue " + strings.Repeat("(", 5*n) + strings.Repeat(")", 5*n) + " x in a", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &outside{files: map[string]string{"/d/small": "a = 1\n", "/d/items": lines(5*n, "i%d, rest of it\n")}}
			d, _, err := Parse(c.text, "a.sub", w.options())
			if c.jobs < 0 {
				if err == nil {
					t.Errorf("Parse = nil, want an error")
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse = %.200v", err)
			}
			d.Uses()
			jobs := 0
			err = d.Walk(1, nil, func(j *Job) error {
				for jobs++; j.Next(); jobs++ {
					if _, _, err := j.Lookup("x"); err != nil {
						return err
					}
				}
				return nil
			})
			if jobs != c.jobs || err != nil {
				t.Errorf("Walk = %d jobs, %.200v, want %d", jobs, err, c.jobs)
			}
			if !strings.HasPrefix(c.name, "nested ref") && !strings.HasPrefix(c.name, "nested fun") {
				return
			}
			err = d.Walk(1, nil, func(j *Job) error {
				_, _, err := j.Lookup("a")
				return err
			})
			if err == nil {
				t.Errorf("Lookup(a) = nil, want an error")
			}
		})
	}
}

// TestSelfReferencesBounded holds that values which refer to themselves over and
// over end with an error, before they fill the memory.
func TestSelfReferencesBounded(t *testing.T) {
	text := strings.Repeat("a = $(a) more and more and more\n", 100_000) + "queue"
	_, _, err := Parse(text, "a.sub", Options{})
	if want := "values that refer to themselves take more than 134217728 bytes in all"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Parse = %.200v, want %s", err, want)
	}
}
