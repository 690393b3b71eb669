package userlog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// all reads a log to its end, with what is wrong in it.
func all(r *Reader) (events []Event, bad []string, end error) {
	for {
		e, err := r.Next()
		var wrong *SyntaxError
		switch {
		case err == nil:
			events = append(events, e)
		case errors.As(err, &wrong):
			bad = append(bad, err.Error())
		default:
			return events, bad, err
		}
	}
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(text).Draw(t, "event")
		e.More = orNil(rapid.SliceOfN(rapid.SampledFrom([]string{"\tPartitionable Resources :    Usage  Request Allocated", "\t   Cpus                 :        0        1         4 ", "", "    note"}), 0, 3).Draw(t, "more"))
		switch e.Body.(type) {
		case Terminated, ImageSize: // of the others some take such a line for their own
		default:
			e.More = nil
		}
		events, bad, end := all(NewReader(bytes.NewReader(e.AppendTo(nil)), Options{}))
		if len(events) != 1 || len(bad) != 0 || end != io.EOF {
			t.Fatalf("read of %q = %d events, %v, %v, want one", e.AppendTo(nil), len(events), bad, end)
		}
		if !reflect.DeepEqual(events[0], e) {
			t.Fatalf("read of %q = %#v, want %#v", e.AppendTo(nil), events[0], e)
		}
	})
}

// Whatever a text holds, an event stays one event, and is written again as it was.
func TestNoTextForgesAnEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(rough).Draw(t, "event")
		e.More = rapid.SliceOfN(rough, 0, 3).Draw(t, "more")
		text := e.AppendTo(nil)
		events, bad, end := all(NewReader(bytes.NewReader(text), Options{}))
		if len(events) != 1 || len(bad) != 0 || end != io.EOF {
			t.Fatalf("read of %q = %d events, %v, %v, want one", text, len(events), bad, end)
		}
		if again := events[0].AppendTo(nil); !bytes.Equal(again, text) {
			t.Fatalf("written again = %q, want %q", again, text)
		}
	})
}

func TestDates(t *testing.T) {
	zone := time.FixedZone("test", 3600)
	for _, c := range []struct {
		date  string
		want  time.Time
		stamp Stamp
	}{
		{"2026-11-20 10:00:01", time.Date(2026, 11, 20, 10, 0, 1, 0, zone), Stamp{}},
		{"2026-11-20T10:00:01", time.Date(2026, 11, 20, 10, 0, 1, 0, zone), Stamp{T: true}},
		{"2026-11-20 10:00:01.250", time.Date(2026, 11, 20, 10, 0, 1, 250e6, zone), Stamp{Digits: 3}},
		{"2026-11-20 10:00:01Z", time.Date(2026, 11, 20, 10, 0, 1, 0, time.UTC), Stamp{UTC: true}},
		{"2026-11-20T10:00:01.5Z", time.Date(2026, 11, 20, 10, 0, 1, 5e8, time.UTC), Stamp{T: true, UTC: true, Digits: 1}},
		{"11/20 10:00:01", time.Date(2025, 11, 20, 10, 0, 1, 0, zone), Stamp{Old: true}},
		{"02/29 10:00:01", time.Date(2024, 2, 29, 10, 0, 1, 0, zone), Stamp{Old: true}},
	} {
		line := "009 (012.003.000) " + c.date + " Job was aborted.\n...\n"
		events, bad, _ := all(NewReader(strings.NewReader(line), Options{Year: 2025, Zone: zone}))
		if len(events) != 1 {
			t.Errorf("%s: %v, want an event", c.date, bad)
			continue
		}
		e := events[0]
		if !e.At.Equal(c.want) || e.Stamp != c.stamp || e.Job != (pool.JobID{Cluster: 12, Proc: 3}) {
			t.Errorf("%s = %v %+v of %v, want %v %+v of 12.3", c.date, e.At, e.Stamp, e.Job, c.want, c.stamp)
		}
		if got := string(e.AppendTo(nil)); got != line {
			t.Errorf("%s: written again = %q, want %q", c.date, got, line)
		}
	}
	for _, date := range []string{
		"2026-13-01 10:00:00", "2026-02-30 10:00:00", "2026-11-20 24:00:00", "2026-11-20 10:60:00", "2026-11-20 10:00", "13/01 10:00:00",
		"2026-11-20  10:00:00", "2026-11-20 10:00:00.", "2026-1-20 10:00:00", "yesterday", "", "2026-11-20 10:00:00X",
	} {
		events, bad, _ := all(NewReader(strings.NewReader("009 (012.003.000) "+date+" Job was aborted.\n...\n"), Options{}))
		if len(events) != 0 || len(bad) != 1 || !strings.HasPrefix(bad[0], "line 1: no date") {
			t.Errorf("%q: %d events, %q, want no date", date, len(events), bad)
		}
	}
}

// The year of dates without one grows where they begin anew.
func TestYearOfOldDates(t *testing.T) {
	var b strings.Builder
	for _, date := range []string{"11/20", "12/31", "01/01", "12/31", "11/30", "01/02"} {
		b.WriteString("011 (001.000.000) " + date + " 00:00:00 Job was unsuspended.\n...\n")
	}
	events, _, _ := all(NewReader(strings.NewReader(b.String()), Options{Year: 2016}))
	var years []int
	for _, e := range events {
		years = append(years, e.At.Year())
	}
	if want := []int{2016, 2016, 2017, 2017, 2017, 2018}; !reflect.DeepEqual(years, want) {
		t.Errorf("years = %v, want %v", years, want)
	}
}

func TestTolerance(t *testing.T) {
	const head = "005 (-01.-01.-01) 2026-11-20 10:00:00 Job terminated.\n"
	for _, c := range []struct {
		name, text string
		want       []Body
		bad        []string
		end        error
	}{
		{"nothing", "", nil, nil, io.EOF},
		{"blank lines and lone dots", "\n\n...\n\n", nil, nil, io.EOF},
		{"carriage returns", "012 (1.0.0) 2026-11-20 10:00:00 Job was held.\r\n\twhy\r\n\tCode 1 Subcode 2\r\n...\r\n", []Body{Held{"why", 1, 2}}, nil, io.EOF},
		{"no line break at the end", "013 (1.0.0) 2026-11-20 10:00:00 Job was released.\n...", []Body{Released{}}, nil, io.EOF},
		{"being written", "013 (1.0.0) 2026-11-20 10:00:00 Job was released.\n\tby al", nil, nil, io.ErrUnexpectedEOF},
		{"being written after a line", "013 (1.0.0) 2026-11-20 10:00:00 Job was released.\n", nil, nil, io.ErrUnexpectedEOF},
		{"broken off", head + "\t(1) Norm\n" + "011 (1.0.0) 2026-11-20 10:00:00 Job was unsuspended.\n...\n", []Body{Unsuspended{}},
			[]string{"line 1: the event breaks off where the next begins"}, io.EOF},
		{"no event", "what is this\n...\n011 (1.0.0) 2026-11-20 10:00:00 Job was unsuspended.\n...\n", []Body{Unsuspended{}},
			[]string{"line 1: " + errHeader.Error()}, io.EOF},
		{"unknown lines", head + "\t(1) Normal termination (return value 3)\n    what\n\telse\n...\n", []Body{Terminated{ReturnValue: 3}}, nil, io.EOF},
		{"no signal", head + "\t(0) Abnormal termination (signal 0)\n\t(0) No core file\n...\n", []Body{Terminated{Signal: -1}}, nil, io.EOF},
		{"an unknown kind", "099 (1.0.0) 2026-11-20 10:00:00 Something new\n\tx = 1\n...\n", []Body{Unknown{99, []string{"Something new", "\tx = 1"}}}, nil, io.EOF},
		{"other words", "005 (1.0.0) 2026-11-20 10:00:00 Job is over\n...\n", []Body{Unknown{5, []string{"Job is over"}}}, nil, io.EOF},
		{"no end in it", head + "...\n", []Body{Unknown{5, []string{"Job terminated."}}}, nil, io.EOF},
		{"the old words", "009 (1.0.0) 2026-11-20 10:00:00 Job was aborted by the user.\n\tvia condor_rm\n...\n", []Body{Aborted{"via condor_rm"}}, nil, io.EOF},
		{"held without reason", "012 (1.0.0) 2026-11-20 10:00:00 Job was held.\n\tCode 3 Subcode 4\n...\n", []Body{Held{"", 3, 4}}, nil, io.EOF},
	} {
		for _, from := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			events, bad, end := all(NewReader(from, Options{}))
			var got []Body
			for _, e := range events {
				got = append(got, e.Body)
			}
			if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(bad, c.bad) || end != c.end {
				t.Errorf("%s: read = %v, %q, %v, want %v, %q, %v", c.name, got, bad, end, c.want, c.bad, c.end)
			}
		}
	}
}

// growing is a file that somebody else writes.
type growing struct{ bytes.Buffer }

// A log may be read while it is written, whatever of it is there.
func TestReadGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		want := rapid.SliceOfN(anyEvent(rough), 1, 4).Draw(t, "events")
		for _, e := range want {
			text = e.AppendTo(text)
		}
		var file growing
		r := NewReader(&file, Options{})
		var got []byte
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "written")
			file.Write(text[:n])
			text = text[n:]
			events, bad, end := all(r)
			if len(bad) > 0 || end != io.EOF && end != io.ErrUnexpectedEOF {
				t.Fatalf("read = %q, %v, want events", bad, end)
			}
			for _, e := range events {
				got = e.AppendTo(got)
			}
		}
		var whole []byte
		for _, e := range want {
			whole = e.AppendTo(whole)
		}
		if !bytes.Equal(got, whole) {
			t.Fatalf("read piece by piece = %q, want %q", got, whole)
		}
	})
}

func TestReadIsBounded(t *testing.T) {
	after := "011 (1.0.0) 2026-11-20 10:00:00 Job was unsuspended.\n...\n"
	head := "008 (1.0.0) 2026-11-20 10:00:00 x\n"
	for name, long := range map[string]string{
		"a line":      head + strings.Repeat("x", 5*maxEvent) + "\n...\n",
		"lines":       head + strings.Repeat("xx\n", 2*maxEvent) + "...\n",
		"empty lines": head + strings.Repeat("\n", maxEvent) + "...\n",
		"the first":   strings.Repeat("x", 5*maxEvent) + "\n...\n",
	} {
		r := NewReader(strings.NewReader(long+after), Options{})
		events, bad, _ := all(r)
		if len(events) != 1 || len(bad) != 1 || !strings.Contains(bad[0], "longer than") {
			t.Errorf("%s: %d events, %q, want the last, and one too long", name, len(events), bad)
		}
		if cap(r.line) > 4*maxEvent {
			t.Errorf("%s: a line of %d bytes is kept, want %d at most", name, cap(r.line), 4*maxEvent)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("005 (012.003.000) 2026-11-20 10:00:00 Job terminated.\n\t(1) Normal termination (return value 3)\n\t\tUsr 0 00:00:01, Sys 0 00:00:00  -  Run Remote Usage\n...\n"))
	f.Add([]byte("004 (-01.-01.-01) 05/22 18:28:20 Job was evicted.\n\t(0) Job terminated and was requeued\n\t(0) Abnormal termination (signal 9)\n...\r\n"))
	f.Add([]byte("033 (1.0.0) 2026-11-20T10:00:00.5Z Changing job attribute A from \"x to y\" to 3\n...\n036 (1.-1.-1) 11/20 10:00:00 Cluster removed\n\tMaterialized 1 jobs from 2 items.\tError -3\n"))
	f.Add([]byte("012 (1.0.0) 2026-11-20 10:00:00 Job was held.\n\tCode 3 Subcode 4\n...\n021 (1.0.0) 2026-11-20 10:00:00 Error from a on b:\n\tx\n\tCode 0 Subcode 4\n..."))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, _, _ := all(NewReader(bytes.NewReader(text), Options{Year: 2016}))
		var once []byte
		for _, e := range events {
			once = e.AppendTo(once)
		}
		again, bad, end := all(NewReader(bytes.NewReader(once), Options{Year: 2016}))
		if len(again) != len(events) || len(bad) != 0 || end != io.EOF {
			t.Fatalf("written and read again: %d events, %q, %v, want %d", len(again), bad, end, len(events))
		}
		var twice []byte
		for _, e := range again {
			twice = e.AppendTo(twice)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("written again = %q, want %q", twice, once)
		}
	})
}

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
