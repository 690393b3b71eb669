package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/spool/internal/endline"
)

// TestPage holds that the examples of the pages on the format are true: who writes a reader
// from the pages tries it on them.
func TestPage(t *testing.T) {
	t.Parallel()
	var pages []byte
	for _, name := range []string{"spool-format.5", "spool-journal.5", "spool-files.5"} {
		text, err := os.ReadFile(filepath.Join("../man", name))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, text...)
	}
	example := func(begins string) []byte {
		t.Helper()
		for _, text := range bytes.Split(pages, []byte(".Bd -literal"))[1:] {
			_, text, _ = bytes.Cut(text, newline)
			text, _, _ = bytes.Cut(text, []byte(".Ed"))
			if bytes.HasPrefix(text, []byte(begins)) {
				return text
			}
		}
		t.Fatalf("no example begins with %q", begins)
		return nil
	}
	want := version{Domain: "example.org", ID: "8a1d4b2c90e7f631"}.text()
	if got := example("fairspool spool\n"); string(got) != want {
		t.Errorf("VERSION is\n%swant\n%s", got, want)
	}
	y := accountant.Tally{Key: accountant.Key{Kind: accountant.KindUser, Name: "bob"}, Windows: []accountant.Window{
		{Dedicated: accountant.Usage{Millis: 5000}, Equivalent: accountant.Usage{Millis: 5859, Rest: 375}, Utilized: accountant.Usage{Millis: 400, Rest: 3}},
		{Dedicated: accountant.Usage{Millis: 9000}, Equivalent: accountant.Usage{Millis: 9000}},
	}}
	table := endline.Append(tallyKind.appendLine(nil, y))
	if got := example("W [ "); !bytes.Equal(got, table) {
		t.Errorf("the table is\n%swant\n%s", got, table)
	}
	digest := []byte("123456789")
	made := factory{Factory{Cluster: 12, Owner: "alice", Next: 10, Jobs: 9000}, int64(len(digest)), blockSums(digest)}
	if got, want := example("F [ "), (record{Kind: 'F', Row: made}).append(nil); !bytes.Equal(got, want) {
		t.Errorf("the factory is\n%swant\n%s", got, want)
	}
	ad := example("ClusterId = 12")
	if before, _, ok := footerOf(ad); !ok || before != checksum(ad[:len(ad)-footerSize]) {
		t.Errorf("the ad of the history is\n%swant\n%s", ad, appendFooter(ad[:len(ad)-footerSize], checksum(ad[:len(ad)-footerSize])))
	}
	journal := example("T 42 ")
	f, err := parseFrame(journal, 42)
	if err != nil || f.Size != len(journal) {
		t.Errorf("the transaction of %d bytes: %d, %v", len(journal), f.Size, err)
	}
	segmentText := example("C 12 ")
	at := strings.Index(string(segmentText), "\nI ") + 1
	c, err := clusterOf(newWorker(), 12, []chunk{{text: segmentText[:at]}})
	if err != nil {
		t.Fatal(err)
	}
	if got := clusterBlock(nil, c); !bytes.Equal(got, segmentText[:at]) {
		t.Errorf("the block is\n%swant\n%s", segmentText[:at], got)
	}
	e := clusterEntry(c)
	e.size, e.crc = int64(at), checksum(segmentText[:at])
	index := fmt.Appendf(e.append(nil, clusterKeys), "X %d 1 ", at)
	if got := fmt.Appendf(index, "%08x\n", checksum(index)); !bytes.Equal(got, segmentText[at:]) {
		t.Errorf("the index is\n%swant\n%s", segmentText[at:], got)
	}
}
