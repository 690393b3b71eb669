package desk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

func TestWithUsed(t *testing.T) {
	t.Parallel()
	u := pool.Progress{Wall: 10 * time.Second, UserCPU: 2 * time.Second, SysCPU: time.Second / 2, PeakKB: 1025}
	names := []string{"RemoteWallClockTime", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize", "MemoryUsage", "Owner"}
	for _, c := range []struct {
		name  string
		used  pool.Progress
		pairs []string
		want  string
	}{
		{"the first attempt", u, []string{"Owner", `"a"`}, `10.0 2.0 0.5 1025 2 "a"`},
		{"a later one", u, []string{"RemoteWallClockTime", "5.0", "RemoteUserCpu", "1", "ResidentSetSize", "7"}, "15.0 3.0 0.5 1025 2 undefined"},
		{"its own memory usage", u, []string{"MemoryUsage", "ResidentSetSize * 2"}, "10.0 2.0 0.5 1025 2050 undefined"},
		{"nothing measured yet", pool.Progress{}, []string{"ResidentSetSize", "7"}, "0.0 0.0 0.0 7 undefined undefined"},
	} {
		got := cmdtest.Attributes(withUsed(adOf(t, c.pairs...), c.used, pool.Progress{}), names)
		for _, name := range names {
			got = strings.Replace(got, name+"=", "", 1)
		}
		if got != c.want {
			t.Errorf("%s: the ad reads %s, want %s", c.name, got, c.want)
		}
	}
}

// An update that cannot be committed is complained of, and the next one tells what it
// would have told.
func TestUpdateFails(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match()
	d := p.desk(id)
	defer d.Close()
	if err := d.Report(pool.Progress{Wall: time.Minute}); err == nil || d.reported != (pool.Progress{}) {
		t.Errorf("Report = %v, reported = %+v of a claim that is not running, want an error and nothing", err, d.reported)
	}
	p.begin(id)
	testenv.OK(t, d.Report(pool.Progress{Wall: 2 * time.Minute, PeakKB: 10, RSSKB: 5}))
	testenv.OK(t, d.Checkpointed(pool.Progress{Wall: 3 * time.Minute, PeakKB: 10}, 77))
	if got, want := p.queued(id, "RemoteWallClockTime", "CommittedTime", "NumCkpts"), "RemoteWallClockTime=180.0 CommittedTime=180.0 NumCkpts=1"; got != want {
		t.Errorf("the ad: %s, want %s", got, want)
	}
	p.logged("006 (001", "003 (001", "\t77  -  Run Bytes Sent By Job For Checkpoint\n")
}

// A spool that is gone counts as that when some looks in a row have found it so.
func TestGone(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	d := p.desk(pool.JobID{Cluster: 1})
	defer d.Close()
	dir, elsewhere := p.spool.Dir(), p.dir+"/elsewhere"
	for i, c := range []struct {
		from, to string // a folder that is renamed before the looks
		looks    int
		want     error
	}{
		{"", "", 2 * d.GoneLooks, nil},
		{dir, elsewhere, d.GoneLooks, nil},
		{elsewhere, dir, 1, nil},
		{dir, elsewhere, d.GoneLooks, nil},
		{"", "", 2, ErrSpoolGone},
		{elsewhere, dir, 1, nil}, // what was not recorded yet can be
		{filepath.Join(dir, "VERSION"), elsewhere, d.GoneLooks, nil},
		{"", "", 1, ErrSpoolGone},
		{elsewhere, filepath.Join(dir, "VERSION"), 1, nil},
		{d.lock.Path, elsewhere, 1, errLockGone},
	} {
		if c.from != "" {
			testenv.OK(t, os.Rename(c.from, c.to))
		}
		for look := range c.looks {
			if got := d.lost(); got != c.want {
				t.Fatalf("row %d, look %d: lost() = %v, want %v", i, look, got, c.want)
			}
		}
	}
}
