package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestSpentOver(t *testing.T) {
	t.Parallel()
	u := spent{wall: 10 * time.Second, user: 2 * time.Second, sys: time.Second / 2, rssKB: 1025}
	names := []string{"RemoteWallClockTime", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize", "MemoryUsage", "Owner"}
	for _, c := range []struct {
		name  string
		used  spent
		pairs []string
		want  string
	}{
		{"the first attempt", u, []string{"Owner", `"a"`}, `10.0 2.0 0.5 1025 2 "a"`},
		{"a later one", u, []string{"RemoteWallClockTime", "5.0", "RemoteUserCpu", "1", "ResidentSetSize", "7"}, "15.0 3.0 0.5 1025 2 undefined"},
		{"its own memory usage", u, []string{"MemoryUsage", "ResidentSetSize * 2"}, "10.0 2.0 0.5 1025 2050 undefined"},
		{"nothing measured yet", spent{}, []string{"ResidentSetSize", "7"}, "0.0 0.0 0.0 7 undefined undefined"},
	} {
		got := attributes(c.used.over(adOf(t, c.pairs...)), names)
		for _, name := range names {
			got = strings.Replace(got, name+"=", "", 1)
		}
		if got != c.want {
			t.Errorf("%s: the ad reads %s, want %s", c.name, got, c.want)
		}
	}
}

// A limit that is over while the spool is locked is seen to when it is not any more.
func TestLimitWhileLocked(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(forever, "AllowedExecuteDuration", "1")
	p.starter(0, 1, "-lock-wait", "0")
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	p.until("the supervisor complains", func() bool {
		return strings.Contains(p.read("spool/starter.log"), "job 1.0, attempt 1: the spool is locked")
	})
	if got, want := p.queued(id, "JobStatus"), "JobStatus=2"; got != want {
		t.Errorf("while the spool is locked: %s, want %s", got, want)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "HoldReasonCode"), "JobStatus=5 HoldReasonCode=47"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	if got := strings.Count(p.read("spool/starter.log"), "\n"); got != 1 {
		t.Errorf("starter.log has %d lines, want one:\n%s", got, p.read("spool/starter.log"))
	}
}

// A job that the kernel has stopped for its limit while the spool is locked is held when it is
// not any more.
func TestStoppedWhileLocked(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nSTARTD_ENFORCE_DISK_LIMITS = true\n")
	id := p.match(`echo $$ >main; `+awaitGo+`; exec head -c 2000000 /dev/zero >"$_CONDOR_SCRATCH_DIR/file"`, "RequestDisk", "1000")
	p.starter(0, 1, "-lock-wait", "0")
	p.pid("main")
	lock := flock.New(p.dir + "/spool/lock")
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("TryLock = %v, %v", ok, err)
	}
	p.open()
	p.until("the supervisor complains of the end", func() bool {
		return strings.Contains(p.read("spool/starter.log"), "is not recorded yet: the spool is locked")
	})
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode"), "JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=104"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
}
