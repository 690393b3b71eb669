package joblog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

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
