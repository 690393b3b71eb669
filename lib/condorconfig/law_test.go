package condorconfig

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are what texts of laws and of the fuzzer are made of.
var pieces = []string{
	"A", "B", "C", "NEGOTIATOR.A", " = ", "=", "\n", "\n", "\r\n", "\\\n", "\\ \n", "#", "$(A)", "$(B)", "$(C:", "$(", ")", "$$(A)", ":",
	"$INT(A)", "$CHOICE(A,B)", "$SUBSTR(A,1,B)", "$Fnx(A)", "$ENV(A)", "$REAL(A,%5.2f)", "@=t", "\n@t\n", "1", "2.5", "+", "*", "\"",
	"if ", "elif ", "else\n", "endif\n", "defined ", "version >= 8.1", "!", "true", "include : x", "include ifexist : x", "use A : b", "warning : w", "error : e",
}

func anyText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), "")
}

// whole reads a text that may include itself, and expands all macros.
func whole(text string) (c *Config, results []string) {
	open := func(path string) (string, error) { return text, nil }
	c, err := Read([]Source{{"a", text}}, Options{Open: open, Subsystem: "NEGOTIATOR", Default: known})
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, m := range c.Macros() {
		x, err := c.Expand(m)
		results = append(results, fmt.Sprint(m, x, err))
	}
	return c, results
}

// TestDeterministic holds that reading ends, and twice with the same.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText(t)
		_, first := whole(text)
		if _, second := whole(text); !reflect.DeepEqual(first, second) {
			t.Errorf("Read(%q) = %q, then %q", text, first, second)
		}
	})
}

// TestLastWins holds that what is defined last, in a plain way, is what counts.
func TestLastWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText(t)
		if c, _ := whole(text); c == nil || strings.Contains(text, "if ") || strings.Contains(text, "@=") {
			t.Skip("not read to its end, or the end may not be taken")
		}
		c, _ := whole(text + "\n\nLAST = 7\nlast = $(LAST)1")
		m, ok := c.Lookup("Last")
		x, err := c.Expand(m)
		if !ok || err != nil || x.Text != "71" {
			t.Errorf("LAST after %q = %q, %v, want 71", text, x.Text, err)
		}
	})
}

// FuzzRead holds that no text makes the reader panic, that errors are one line, and
// that names and places of macros are sound.
func FuzzRead(f *testing.F) {
	for i := range pieces {
		f.Add(strings.Join(pieces[:i], ""))
		f.Add(strings.Join(pieces[i:], " "))
	}
	f.Add("include:0\r00")
	f.Add("X = a \\\n# c\nb\nX = $(X) $(Y:1)\nif defined X\nY @=e\n1\n@e\nendif\nZ = $INT(Y,%3d) $(X)")
	f.Fuzz(func(t *testing.T, text string) {
		c, results := whole(text)
		if c == nil {
			if strings.ContainsAny(results[0], "\n\r") {
				t.Errorf("Read(%q) = %q, want one line", text, results[0])
			}
			return
		}
		for _, n := range c.Notes {
			if strings.ContainsAny(n.Text, "\n\r") || n.Line < 1 {
				t.Errorf("Read(%q) notes %v, want one line and a place", text, n)
			}
		}
		for _, m := range c.Macros() {
			if got, ok := c.exactly(m.Name); !ok || got != m || m.Line < 1 || m.Line > strings.Count(text, "\n")+1 {
				t.Errorf("Read(%q): %v is found as %v", text, m, got)
			}
		}
	})
}
