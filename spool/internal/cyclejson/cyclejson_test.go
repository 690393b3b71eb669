package cyclejson

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// inPieces is a report that is written so many bytes at a time.
type inPieces struct {
	text string
	size int
}

func (p inPieces) WriteTo(w io.Writer) (n int64, err error) {
	for rest := p.text; rest != "" && err == nil; rest = rest[min(p.size, len(rest)):] {
		_, err = io.WriteString(w, rest[:min(p.size, len(rest))])
	}
	return int64(len(p.text)), err
}

// However a report is written, its seal is the same, checks, and comes off again.
func TestSeal(t *testing.T) {
	for _, text := range []string{"{\n  \"A\": 1\n}\n", "{\"A\":1}", "{\n  \"Texts\": [\n    \"" + strings.Repeat("}\\n", 50) + "\"\n  ]\n}\n\n\n"} {
		want, err := Seal([]byte(text))
		if err != nil || !Sealed(want) {
			t.Fatalf("%q is sealed as %q, %v", text, want, err)
		}
		if got := Unsealed(want); strings.TrimRight(got, "}\n") != strings.TrimRight(text, "}\n") {
			t.Errorf("%q without its seal is %q", text, got)
		}
		for size := 1; size <= len(text); size++ {
			var b bytes.Buffer
			sum, err := seal(&b, inPieces{text, size})
			if err != nil || !bytes.Equal(b.Bytes(), want) || sum != sumOf(want) {
				t.Fatalf("%q in pieces of %d is sealed as %q, %s, %v", text, size, &b, sum, err)
			}
		}
		for i := range want {
			want[i] ^= 1
			if Sealed(want) {
				t.Errorf("%q: byte %d changed, and the seal checks", text, i)
			}
			want[i] ^= 1
		}
	}
	for _, text := range []string{"", "{}", "[1]", "{\"A\": 1", " {\n}\n"} {
		if b, err := Seal([]byte(text)); err == nil {
			t.Errorf("%q is sealed as %q", text, b)
		}
	}
}
