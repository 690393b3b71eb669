package dumptext

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzAttribute holds that every line of the journal survives a dump.
func FuzzAttribute(f *testing.F) {
	for _, line := range []string{`A = 1`, `A = "\\"`, `A = "x\"y\\z"`, `"a b" = 1`, `Odd1 = 1`, `A = "%"`, "A = \xff", `A = 'x\'y' + 1`, `A = "\\" + "b"`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if line == "" || strings.Contains(line, "\n") {
			return
		}
		w := Writer{}
		w.Attribute([]byte(line))
		text := bytes.TrimSuffix(w.b, []byte("\n"))
		if bytes.Contains(text, []byte("\n")) || len(text) == 0 {
			t.Fatalf("%q was written as %q", line, text)
		}
		if got, err := AppendAttribute(nil, text); err != nil || string(got) != line {
			t.Fatalf("%q was written as %q, which reads as %q, %v", line, text, got, err)
		}
	})
}
