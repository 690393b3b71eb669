package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/spool/internal/files"
)

// segmented is a spool of several clusters and slots, in one segment each.
func segmented(t *testing.T) (dir string, whole []string) {
	t.Helper()
	dir = fixture(t)
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("submit", "many")
		for n := range 6 {
			own := classad.New()
			own.SetInt("Own", int64(n))
			tx.AddCluster(jobAd("dave"), []NewRun{{Count: 2}, {Count: 1, Ad: own}})
			tx.PutSlot(fmt.Sprintf("slot%d", n), own)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	foldAll(t, dir)
	return dir, holdings(t, dir)
}

// onlySegment returns the name of the one segment in a folder, and its bytes.
func onlySegment(t *testing.T, dir, folder string) (name string, b []byte) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, folder, "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("segments in %s = %v, %v, want one", folder, list, err)
	}
	b, err = os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return list[0], b
}

// TestSalvageCutSegment cuts a segment off at many places, and holds that the
// blocks before the cut are saved as they were, the last one excepted; that each
// is told as taken unproven or as lost; and that none is made up.
func TestSalvageCutSegment(t *testing.T) {
	t.Parallel()
	dir, whole := segmented(t)
	for _, folder := range []string{"jobs", "slots"} {
		name, good := onlySegment(t, dir, folder)
		begin := "\nC "
		if folder == "slots" {
			begin = "\nS "
		}
		for at := 0; at < len(good); at += 1 + len(good)/40 {
			cut := good[:at]
			if err := os.WriteFile(name, cut, 0o600); err != nil {
				t.Fatal(err)
			}
			saved, lost := cutSalvaged(t, dir, whole, fmt.Sprintf("%s cut at %d", folder, at))
			things := map[string]bool{} // that begin before the cut
			for line := range strings.SplitSeq("\n"+string(cut), "\n") {
				if strings.HasPrefix("\n"+line, begin) && strings.Count(line, " ") > 1 || folder == "slots" && strings.HasPrefix(line, `S "`) {
					things[strings.Fields(line)[1]] = true
				}
			}
			indexed := bytes.Contains(cut, []byte("\nI "))
			if want := max(len(things)-1, 0); !indexed && saved < want {
				t.Fatalf("%s cut at %d: %d saved, want %d and the rest told; %d are told as lost", folder, at, saved, want, lost)
			}
			if total := len(things); indexed && saved < total {
				t.Fatalf("%s cut in the index at %d: %d of %d saved", folder, at, saved, total)
			}
		}
		if err := os.WriteFile(name, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// cutSalvaged salvages and returns how many clusters or slots were taken
// unproven or proven, and how many were told as lost.
func cutSalvaged(t *testing.T, dir string, whole []string, what string) (taken, lost int) {
	t.Helper()
	to, told, holds, s := salvaged(t, dir)
	if s.Lost == 0 {
		t.Fatalf("%s: nothing is lost: %s", what, told)
	}
	if report, sound := checkOf(t, to); !sound {
		t.Fatalf("%s: what was saved is not sound: %s", what, report)
	}
	for _, line := range holds {
		if !slices.Contains(whole, line) {
			t.Fatalf("%s: made up: %s\n%s", what, line, told)
		}
	}
	if all := s.Clusters; strings.HasPrefix(what, "jobs") {
		return all, strings.Count(told, " is lost: ")
	}
	return s.Slots, strings.Count(told, " is lost: ")
}

// TestSalvagePieces damages a segment whose index is gone in ways of which one
// can see that a block is not what it was.
func TestSalvagePieces(t *testing.T) {
	t.Parallel()
	dir, whole := segmented(t)
	name, good := onlySegment(t, dir, "jobs")
	blocks := good[:bytes.Index(good, []byte("\nI "))+1]
	third := bytes.Index(blocks, []byte("\nC 3 ")) + 1
	fourth := bytes.Index(blocks, []byte("\nC 4 ")) + 1
	half := (third + fourth) / 2
	half += bytes.IndexByte(blocks[half:], '\n') + 1
	put := func(at int, text string) []byte {
		return slices.Concat(blocks[:at], []byte(text), blocks[at:])
	}
	without := func(at, to int) []byte { return slices.Concat(blocks[:at], blocks[to:]) }
	for _, c := range []struct {
		what  string
		bytes []byte
		lost  []int // the last one is always
	}{
		{"nothing", blocks, nil},
		{"a line that is none", put(half, "garbage\n"), []int{3}},
		{"a line that is none between two", put(third, "\xff\xff\n"), []int{2, 3}},
		{"a line of another cluster", put(half, "C 5 A = 1\n"), []int{3, 5}},
		{"a line of a cluster that is not there", put(half, "N 99 0-4\n"), []int{3}},
		{"procs without an ad", put(fourth, "N 99 0-4\n"), []int{4}},
		{"an expression that is none", put(half, "C 3 A = (\n"), []int{3}},
		{"a block twice", put(fourth, string(blocks[third:fourth])), []int{3}},
		{"a block at another place", append(without(third, fourth), blocks[third:fourth]...), []int{3}},
		{"a block away", without(third, fourth), []int{3}},
		{"the first half of a block away", without(third, half), nil},
		{"no byte left", nil, []int{1, 2, 3, 4, 5, 6, 7}},
	} {
		if err := os.WriteFile(name, c.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		_, told, holds, _ := salvaged(t, dir)
		for id := 1; id <= 6; id++ {
			prefix := fmt.Sprintf("job %d.", id)
			want := matches(whole, prefix)
			if slices.Contains(c.lost, id) {
				want = nil
			}
			got := matches(holds, prefix)
			if c.what == "the first half of a block away" && id == 3 {
				continue // nothing tells of that
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: cluster %d = %q, want %q\n%s", c.what, id, got, want, told)
			}
			if len(got) > 0 && !strings.Contains(told, fmt.Sprintf("cluster %d is taken as it reads, unverified", id)) {
				t.Errorf("%s: it is not told that nothing proves cluster %d: %s", c.what, id, told)
			}
		}
		if got := append(matches(holds, "job 7."), matches(holds, "job 99.")...); len(got) > 0 {
			t.Errorf("%s: the last cluster, which may be cut, or none at all was taken: %q", c.what, got)
		}
	}
}

// TestSalvageLostWords holds that a lost transaction is told without saying its
// number twice.
func TestSalvageLostWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, last uint64
		why, want   string
	}{
		{7, 7, "transaction 7: its checksum is 00000001, recorded is 00000002", "transaction 7 is lost: its checksum is 00000001, recorded is 00000002"},
		{7, 7, "no transaction 7 here", "transaction 7 is lost: it does not stand here"},
		{7, 7, "the transaction has no end", "transaction 7 is lost: the transaction has no end"},
		{7, 9, "transaction 7: its end line does not check", "transactions 7 to 9 are lost: transaction 7: its end line does not check"},
	} {
		told := ""
		v := salvage{each: func(f Finding) { told += f.What }}
		v.lostOnes("journal.1", 1, c.first, c.last, errors.New(c.why))
		if told != c.want {
			t.Errorf("%d to %d lost, %s: told %q, want %q", c.first, c.last, c.why, told, c.want)
		}
	}
}
