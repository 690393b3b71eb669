package userlog

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// life is what a log says of so many jobs that do nothing but run.
func life(jobs int) string {
	var b []byte
	for proc := range jobs {
		for _, body := range []Body{Submitted{Host: "node1"}, Executing{Host: "node2", Slot: "slot1@node2"}, Terminated{}} {
			b = Event{Job: pool.JobID{Cluster: 1, Proc: proc}, At: time.Unix(1e9, 0).UTC(), Body: body}.AppendTo(b)
		}
	}
	return string(b)
}

// count reads a log to its end.
func count(log string) (events int) {
	r := NewReader(strings.NewReader(log), Options{})
	for {
		if _, err := r.Next(); err != nil {
			return events
		}
		events++
	}
}

// Logs of hundreds of megabytes are read again and again: an event costs a few
// allocations, however many lines it has.
func TestReaderCost(t *testing.T) {
	const jobs = 100
	log := life(jobs)
	if got := count(log); got != 3*jobs {
		t.Fatalf("%d events were read, want %d", got, 3*jobs)
	}
	allocs := testing.AllocsPerRun(10, func() { count(log) }) / (3 * jobs)
	if most := 4.0; allocs > most {
		t.Errorf("reading takes %.1f allocations an event, want %v at most", allocs, most)
	}
}

func BenchmarkReader(b *testing.B) {
	log := life(10_000)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		count(log)
	}
}
