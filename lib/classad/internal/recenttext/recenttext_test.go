package recenttext

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// A text that is kept stays what it was when the bytes that it was made of change.
func TestKeep(t *testing.T) {
	var texts Texts
	var kept, want []string
	for n := range 3 * most {
		for _, s := range []string{strconv.Itoa(n), strings.Repeat("long ", n%500), ""} {
			bytes := []byte(s)
			kept, want = append(kept, texts.Keep(unsafe.String(unsafe.SliceData(bytes), len(bytes)))), append(want, s)
			for i := range bytes {
				bytes[i] = '!'
			}
		}
	}
	for i, s := range kept {
		if s != want[i] {
			t.Fatalf("text %d is %q, want %q", i, s, want[i])
		}
	}
	if a, b := texts.Keep("node"), texts.Keep("no"+strings.Clone("de")); unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("two equal texts, one behind the other, do not share one copy")
	}
}
