package userlog

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The events that userlog(5) shows are events, each of its kind, and the page
// shows every kind that the package knows.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../man/userlog.5")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[int]bool{}
	for _, display := range strings.Split(string(page), ".Bd -literal")[1:] {
		_, display, _ = strings.Cut(display, "\n")
		if strings.HasPrefix(display, "Partitionable") {
			continue // a part of an event
		}
		display, _, _ = strings.Cut(display, ".Ed\n")
		text := []byte(strings.ReplaceAll(display, `\&...`, "..."))
		var again []byte
		for _, e := range readAll(t, "userlog.5", text) {
			shown[e.Body.number()] = true
			if _, ok := e.Body.(Unknown); ok || e.AsRead != nil || e.More != nil {
				t.Errorf("userlog.5: not an event of its kind: %s", e.AppendTo(nil))
			}
			again = e.AppendTo(again)
		}
		if !bytes.Equal(again, text) {
			t.Errorf("userlog.5: %q is written as %q", text, again)
		}
	}
	for n := range kinds {
		if !shown[n] {
			t.Errorf("userlog.5: shows no event %03d", n)
		}
	}
}
