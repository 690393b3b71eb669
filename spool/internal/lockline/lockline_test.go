package lockline

import (
	"strings"
	"testing"
	"time"
)

// TestLine holds that a line of any text has its size and gives back the text, that a change of any byte is found, and
// that other lines have no text.
func TestLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", Free, "acknowledged 1 2 3 4 deadbeef"} {
		line := Of(text)
		if got, ok := Text(line); len(line) != Size || !ok || got != text {
			t.Errorf("Text(Of(%q)) = %q, %v of %d bytes, want it back, of %d", text, got, ok, len(line), Size)
		}
		for i := range line {
			other := line[:i] + string(line[i]^1) + line[i+1:]
			if _, ok := Text(other); ok {
				t.Errorf("Text(%q) has a text, want none", other)
			}
		}
	}
	if line := Of(strings.Repeat("x", 2*Size)); len(line) != Size {
		t.Errorf("a long text makes %d bytes, want %d", len(line), Size)
	}
}

// TestHolder holds that Holder reads what Held writes, of that process alone.
func TestHolder(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC)
	file := []byte(Of(Held(12, "negotiate", since)) + "more")
	for _, c := range []struct {
		name    string
		file    []byte
		pid     int
		program string
	}{
		{"the holder's", file, 12, "negotiate"},
		{"another process's", file, 13, ""},
		{"a free lock's", []byte(Of(Free)), 12, ""},
		{"a cut file's", file[:Size-1], 12, ""},
	} {
		program, at := Holder(c.file, c.pid)
		if program != c.program || at.IsZero() != (c.program == "") || c.program != "" && !at.Equal(since) {
			t.Errorf("%s: Holder = %q, %v", c.name, program, at)
		}
	}
}
