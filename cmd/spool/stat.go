package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// stat says what the spool holds.
func stat(c *cmdline.Call, args []string) error {
	if err := noMore("stat", args); err != nil {
		return err
	}
	s, err := c.ExistingSpool(true)
	if err != nil {
		return err
	}
	st, err := s.Stat()
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(statusOf(s.Dir(), st))
	}
	for _, l := range statLines(s.Dir(), st) {
		if _, err := fmt.Fprintf(c.Stdout, "%-13s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// statLines returns what people want to know, each with a heading.
func statLines(dir string, st spool.Stat) [][2]string {
	lines := [][2]string{
		{"Spool", dir},
		{"Format", fmt.Sprintf("%d, UID_DOMAIN %s, id %s", st.Format, st.Domain, st.ID)},
		{"Generation", fmt.Sprint(st.Generation)},
		{"Transactions", fmt.Sprintf("%d, %d of them in the journal", st.Seq, st.Transactions)},
		{"Journal", fmt.Sprintf("%s; negotiate folds it at %s", size(st.Journal), size(spool.JournalSize))},
		{"Segments", fmt.Sprintf("%d, %s; tables %s", st.Segments, size(st.SegmentBytes), size(st.TableBytes))},
		{"Jobs", fmt.Sprintf("%d in %s; the next cluster is %d", st.Jobs, plural.Count(st.Clusters, "cluster"), st.Next)},
		{"Slots", fmt.Sprintf("%d advertised, %d left alone for a while", st.Slots, st.Backoffs)},
		{"Claims", fmt.Sprint(st.Claims)},
		{"Submitters", fmt.Sprint(st.Submitters)},
		{"Tallies", fmt.Sprint(st.Tallies)},
		{"Factories", factories(st)},
		{"History", months(st.History)},
		{"Log", months(st.Log)},
		{"Samples", samples(st.Samples)},
	}
	if len(st.Older) > 0 {
		numbers := strings.Trim(fmt.Sprint(st.Older), "[]")
		lines = append(lines, [2]string{"Kept", plural.Count(len(st.Older), "old generation") + " (" + numbers + "), as long as somebody reads them"})
	}
	return lines
}

// factories says what clusters are made a few procs at a time.
func factories(st spool.Stat) string {
	if st.Factories == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, digests %s", st.Factories, size(st.DigestBytes))
}

// months sums up files of months.
func months(files map[string]int64) string {
	if len(files) == 0 {
		return "none"
	}
	total := int64(0)
	for _, n := range files {
		total += n
	}
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 1 {
		return fmt.Sprintf("%s, of %s", size(total), names[0])
	}
	return fmt.Sprintf("%s, %s from %s to %s", size(total), plural.Count(len(names), "month"), names[0], names[len(names)-1])
}

// samples sums up the tiers.
func samples(tiers map[string]int64) string {
	if len(tiers) == 0 {
		return "none"
	}
	total := int64(0)
	for _, n := range tiers {
		total += n
	}
	return size(total)
}

// status is what JSON shows of a spool. Sizes are in bytes.
type status struct {
	Directory           string
	Format              int
	UIDDomain           string `json:"UidDomain"`
	ID                  string `json:"Id"`
	Generation          int
	OlderGenerations    []int // that somebody still reads
	LastTransaction     uint64
	NextCluster         int
	JournalTransactions int
	JournalBytes        int64
	FoldedAtBytes       int64 // by negotiate
	Segments            int
	SegmentBytes        int64
	TableBytes          int64
	Clusters, Jobs      int
	Slots               int // advertised
	Claims, Submitters  int
	Backoffs            int // slots that are left alone
	Tallies, Marks      int
	Factories           int              // clusters whose procs are made a few at a time
	DigestBytes         int64            // of the factories
	HistoryBytes        map[string]int64 // by month
	LogBytes            map[string]int64 // by month
	SampleBytes         map[string]int64 // by tier
}

func statusOf(dir string, st spool.Stat) status {
	return status{
		Directory: dir, Format: st.Format, UIDDomain: st.Domain, ID: st.ID,
		Generation: st.Generation, OlderGenerations: append([]int{}, st.Older...),
		LastTransaction: st.Seq, NextCluster: st.Next,
		JournalTransactions: st.Transactions, JournalBytes: st.Journal, FoldedAtBytes: spool.JournalSize,
		Segments: st.Segments, SegmentBytes: st.SegmentBytes, TableBytes: st.TableBytes,
		Clusters: st.Clusters, Jobs: st.Jobs, Slots: st.Slots, Claims: st.Claims, Submitters: st.Submitters, Backoffs: st.Backoffs,
		Tallies: st.Tallies, Marks: st.Marks, Factories: st.Factories, DigestBytes: st.DigestBytes,
		HistoryBytes: st.History, LogBytes: st.Log, SampleBytes: st.Samples,
	}
}
