package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fairspool/spool"
)

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
	const want = `Spool: /s
Format: 2, UID_DOMAIN x, id abc
Generation: 7
Transactions: 42, 2 of them in the journal
Journal: 2.5 MB; negotiate folds it at 8.0 MB
Segments: 3, 12.0 MB; tables 512 bytes
Jobs: 1000 in 1 cluster; the next cluster is 13
Slots: 8 advertised, 1 left alone for a while
Claims: 4
Submitters: 3
Tallies: 9
Factories: 2, digests 3.0 MB
History: 2.0 MB, 2 months from 2026-09 to 2026-11
Log: 10 bytes, of 2026-11
Samples: 1.5 MB
Kept: 2 old generations (5 6), as long as somebody reads them
`
	if b.String() != want {
		t.Errorf("statLines =\n%s\nwant\n%s", b.String(), want)
	}
}

// TestStatNames holds that JSON has a member for each field of the library's,
// and none that is null.
func TestStatNames(t *testing.T) {
	b, err := json.Marshal(statusOf("/s", spool.Stat{History: map[string]int64{}, Log: map[string]int64{}, Samples: map[string]int64{}}))
	if err != nil {
		t.Fatal(err)
	}
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
		want    string
	}{
		{spool.Folding{Generation: 3}, "The journal is empty: generation 3 stays."},
		{spool.Folding{Generation: 3, Folded: 1 << 20, Written: 1, Kept: 2, Bytes: 2048, Locked: 2 * time.Millisecond, Took: 3 * time.Second},
			"1.0 MB of journal folded into generation 3: 1 segment written (2.0 KB), 2 kept as they were.\nWriters had to wait 2.0 ms; the whole took 3.0 s."},
	} {
		if got := tellFolding(c.folding); got != c.want {
			t.Errorf("tellFolding(%+v) = %q, want %q", c.folding, got, c.want)
		}
	}
}
