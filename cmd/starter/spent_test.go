package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// What /proc says of this process lies between what the kernel says before and after.
func TestReadStat(t *testing.T) {
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
		_ = strings.Repeat("x", 1000)
	}
	total := func() time.Duration {
		var sum time.Duration
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		return sum
	}
	before := total()
	got := readStat(strconv.Itoa(os.Getpid()))
	after := total()
	const unit = 4 * ticks // each of four numbers is cut
	if cpu := got.user + got.sys; cpu < before-unit || cpu > after+unit {
		t.Errorf("readStat = %v of processor time, want %v to %v", cpu, before, after)
	}
	if got.rssKB < 1000 {
		t.Errorf("readStat = %d KB, want 1000 at least", got.rssKB)
	}
	if got := readStat("0"); got != (spent{}) {
		t.Errorf("readStat of no process = %+v, want nothing", got)
	}
}

func TestSpentOver(t *testing.T) {
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
	p := newPool(t)
	id := p.match(forever, "AllowedExecuteDuration", "1")
	p.starter(0, started, "", "-lock-wait", "0")
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
