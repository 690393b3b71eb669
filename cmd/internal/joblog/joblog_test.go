package joblog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	ad := func(log string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrIwd, dir)
		if log != "" {
			a.SetString(pool.AttrUserLog, log)
		}
		return a
	}
	var v Events
	v.Add(pool.JobID{Cluster: 1}, ad("a.log"), userlog.Released{})
	v.Add(pool.JobID{Cluster: 2}, ad(""), userlog.Released{})
	v.Add(pool.JobID{Cluster: 3}, ad(filepath.Join(dir, "a.log")), userlog.Aborted{Reason: "why"})
	v.Add(pool.JobID{Cluster: 4}, ad("no/such/folder.log"), userlog.Released{})
	var bad bytes.Buffer
	c := &cmdline.Call{Name: "toy", Stderr: &bad, Now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	v.Write(c)
	got, err := os.ReadFile(filepath.Join(dir, "a.log"))
	want := "013 (001.000.000) 2026-11-20 10:00:00 Job was released.\n...\n" +
		"009 (003.000.000) 2026-11-20 10:00:00 Job was aborted.\n\twhy\n...\n"
	if err != nil || string(got) != want {
		t.Errorf("log = %q, %v, want %q", got, err, want)
	}
	want = fmt.Sprintf("toy: job log: %s: no such file or directory; all else is done\n", filepath.Join(dir, "no/such/folder.log"))
	if bad.String() != want {
		t.Errorf("warning = %q, want %q", bad.String(), want)
	}
}

// logs notes an event of a job for each of so many logs in a folder.
func logs(dir string, n int) (v Events) {
	for proc := range n {
		ad := classad.New()
		ad.SetString(pool.AttrIwd, dir)
		ad.SetString(pool.AttrUserLog, fmt.Sprintf("%d.log", proc))
		v.Add(pool.JobID{Cluster: 1, Proc: proc}, ad, userlog.Released{})
	}
	return v
}

// Of many logs that cannot be written a few are named.
func TestWriteManyBad(t *testing.T) {
	var bad bytes.Buffer
	v := logs(filepath.Join(t.TempDir(), "nowhere"), 1000)
	v.Write(&cmdline.Call{Name: "toy", Stderr: &bad})
	lines := strings.SplitAfter(bad.String(), "\n")
	if last := "toy: job log: 990 more cannot be written either\n"; len(lines) != 12 || lines[10] != last {
		t.Errorf("%d lines of warnings, the last of them %q, want 11 with %q", len(lines)-1, lines[max(0, len(lines)-2)], last)
	}
}

// The locks of all logs take one patience together, not one each.
func TestWriteBesideForeignLocks(t *testing.T) {
	dir := t.TempDir()
	const n = 4
	for proc := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.log", proc)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	var bad bytes.Buffer
	v, left := logs(dir, n), 20*time.Millisecond
	v.writeWithin(&left, &cmdline.Call{Name: "toy", Stderr: &bad})
	if left > 0 || bad.Len() > 0 {
		t.Errorf("Write has %v left of its patience and said %q, want neither", left, bad.String())
	}
	for proc := range n {
		if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.log", proc))); err != nil || !strings.HasSuffix(string(text), "\n...\n") {
			t.Errorf("log %d = %q, %v, want an event", proc, text, err)
		}
	}
}
