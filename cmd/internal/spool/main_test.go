package spool

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/internal/testenv"
	"fairspool/spool"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// TestStories runs the stories in testdata/script.
func TestStories(t *testing.T) {
	cmdtest.Stories{Here: []cmdline.Command{
		Command(), negotiate.Command(), prio.Command(), qdel.Command(), qstat.Command(), slots.Command(),
		submit.Command(), userprio.Command(nil),
	}}.Run(t)
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 bytes"}, {1, "1 byte"}, {1023, "1023 bytes"}, {1024, "1.0 KB"}, {1536, "1.5 KB"},
		{1<<20 - 1, "1.0 MB"}, {8 << 20, "8.0 MB"}, {1 << 30, "1.0 GB"}, {math.MaxInt64, "8388608.0 TB"},
	} {
		if got := size(c.bytes); got != c.want {
			t.Errorf("size(%d) = %q, want %q", c.bytes, got, c.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0.0 ms"}, {1250 * time.Microsecond, "1.2 ms"}, {999 * time.Millisecond, "999.0 ms"}, {90 * time.Second, "90.0 s"},
	} {
		if got := span(c.d); got != c.want {
			t.Errorf("span(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}

func TestStatLines(t *testing.T) {
	st := spool.Stat{
		Format: 2, Domain: "x", ID: "abc", Generation: 7, Seq: 42, Next: 13, Journal: 5 << 19, Transactions: 2,
		Segments: 3, SegmentBytes: 12 << 20, TableBytes: 512, Clusters: 1, Jobs: 1000, Slots: 8, Claims: 4, Submitters: 3, Backoffs: 1, Tallies: 9, Marks: 1, Factories: 2, DigestBytes: 3 << 20,
		History: map[string]int64{"2026-11": 1 << 20, "2026-09": 1 << 20}, Log: map[string]int64{"2026-11": 10},
		Samples: map[string]int64{"minute": 1 << 20, "day": 1 << 19},
		Older:   []int{5, 6},
	}
	var b strings.Builder
	for _, l := range statLines("/s", st) {
		b.WriteString(l[0] + ": " + l[1] + "\n")
	}
	const want = "2 7 42 2 2.5 MB 8.0 MB 3 12.0 MB 512 bytes 1000 1 13 8 1 4 3 9 2 3.0 MB 2.0 MB 2 2026 09 2026 11 10 bytes 2026 11 1.5 MB 2 5 6"
	if got := strings.Join(numbers.FindAllString(b.String(), -1), " "); got != want {
		t.Errorf("statLines have %s, want %s, in\n%s", got, want, b.String())
	}
	cmdtest.Printed(t, "spool stat", 0, b.String(), "")
}

// TestStatNames holds that JSON has a member for each field of the library's,
// and none that is null.
func TestStatNames(t *testing.T) {
	b, err := json.Marshal(statusOf("/s", spool.Stat{History: map[string]int64{}, Log: map[string]int64{}, Samples: map[string]int64{}}))
	testenv.OK(t, err)
	const want = `{"Directory":"/s","Format":0,"UidDomain":"","Id":"","Generation":0,"OlderGenerations":[],"LastTransaction":0,` +
		`"NextCluster":0,"JournalTransactions":0,"JournalBytes":0,"FoldedAtBytes":8388608,"Segments":0,"SegmentBytes":0,"TableBytes":0,` +
		`"Clusters":0,"Jobs":0,"Slots":0,"Claims":0,"Submitters":0,"Backoffs":0,"Tallies":0,"Marks":0,"Factories":0,"DigestBytes":0,"HistoryBytes":{},"LogBytes":{},"SampleBytes":{}}`
	if string(b) != want {
		t.Errorf("JSON of nothing =\n%s\nwant\n%s", b, want)
	}
}

func TestTellFolding(t *testing.T) {
	for _, c := range []struct {
		folding spool.Folding
		want    string // its numbers
	}{
		{spool.Folding{Generation: 3}, "3"},
		{spool.Folding{Generation: 3, Folded: 1 << 20, Written: 1, Kept: 2, Bytes: 2048, Locked: 2 * time.Millisecond, Took: 3 * time.Second},
			"1.0 MB 3 1 2.0 KB 2 2.0 ms 3.0 s"},
	} {
		said := tellFolding(c.folding)
		if got := strings.Join(numbers.FindAllString(said, -1), " "); got != c.want {
			t.Errorf("tellFolding(%+v) has %s, want %s, in\n%s", c.folding, got, c.want, said)
		}
		cmdtest.Printed(t, fmt.Sprintf("spool compact (%d segments written)", c.folding.Written), 0, said+"\n", "")
	}
}
