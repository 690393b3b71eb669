package userlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realLogs returns the logs of real pools by name, and the folder's index: how
// many events of each kind every log has, "000:2 028:2".
func realLogs(t *testing.T) (logs map[string][]byte, index map[string]string) {
	t.Helper()
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set: the logs of real pools are not in the repository")
	}
	dir := filepath.Join(shared, "real", "userlog")
	table, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	logs, index = map[string][]byte{}, map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		name := fields[0]
		index[name] = fields[4]
		if logs[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if len(logs) == 0 {
		t.Fatalf("%s: no logs", dir)
	}
	return logs, index
}

// readAll reads a log to its end.
func readAll(t *testing.T, name string, text []byte) (events []Event) {
	t.Helper()
	r := NewReader(bytes.NewReader(text), Options{Year: 2016})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Errorf("%s: Next = %v, want an event", name, err)
			return events
		}
		events = append(events, e)
	}
}

// TestRealLogs reads the logs of real pools. The index says which events there
// are, and writing them again has to give every byte.
func TestRealLogs(t *testing.T) {
	logs, index := realLogs(t)
	for name, text := range logs {
		counts := map[int]int{}
		var again []byte
		for _, e := range readAll(t, name, text) {
			counts[e.Body.number()]++
			again = e.AppendTo(again)
		}
		var kinds []string
		for n := range 100 {
			if counts[n] > 0 {
				kinds = append(kinds, fmt.Sprintf("%03d:%d", n, counts[n]))
			}
		}
		if got := strings.Join(kinds, " "); got != index[name] {
			t.Errorf("%s: events = %s, want %s", name, got, index[name])
		}
		if !bytes.Equal(again, text) {
			t.Errorf("%s: written again it differs, from %q on", name, firstDifference(again, text))
		}
	}
}

func firstDifference(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[n:min(n+80, len(a))]
}

// Of the events that have a type all is in the type, save the words of other
// versions: those come back as they were read.
func TestRealLogsInTypes(t *testing.T) {
	logs, _ := realLogs(t)
	other := map[string]bool{
		"Job was aborted by the user.": true, "Job was held.": true, // without reason or codes
		"Job submitted from host: ": true, "Job executing on host: ": true, // without brackets
		"(0) Job was not checkpointed.": true,
	}
	typed := map[int]int{}
	for name, text := range logs {
		if name == "008-python-bindings.log" {
			continue // its tabs are blanks
		}
		for _, e := range readAll(t, name, text) {
			if _, ok := e.Body.(Unknown); ok {
				continue
			}
			typed[e.Body.number()]++
			if e.AsRead == nil {
				continue
			}
			if !slices.ContainsFunc(e.AsRead[:min(2, len(e.AsRead))], func(l string) bool { return other[strings.TrimSpace(l)] || other[l] }) {
				t.Errorf("%s: %03d is kept as read, want it in its type: %q", name, e.Body.number(), e.AsRead)
			}
		}
	}
	for _, n := range []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 22, 23, 24, 28, 40} {
		if typed[n] == 0 {
			t.Errorf("event %03d: none has its type, want some", n)
		}
	}
}
