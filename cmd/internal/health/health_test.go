package health

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// at is the time of the looks, by either clock.
var at = time.Unix(1_800_000_000, 0)

// open makes a spool that a transaction fills.
func open(t *testing.T, fill func(tx *spool.Tx)) *spool.Spool {
	t.Helper()
	s, err := spool.Open(t.TempDir(), spool.Options{Program: "test", UIDDomain: "pool"})
	testenv.OK(t, err)
	t.Cleanup(func() { s.Close() })
	if err := s.Update(func(tx *spool.Tx) error { tx.Op("test"); fill(tx); return nil }); err != nil {
		t.Fatal(err)
	}
	return s
}

func slot(tx *spool.Tx, name, machine string) {
	ad := classad.New()
	ad.SetString(pool.AttrName, name)
	if machine != "" {
		ad.SetString(pool.AttrMachine, machine)
	}
	tx.PutSlot(name, ad)
}

// job adds a cluster of jobs that have been in a state for so long.
func job(tx *spool.Tx, count int, status pool.Status, age time.Duration) int {
	ad := classad.New()
	ad.SetInt(pool.AttrJobStatus, int64(status))
	ad.SetInt(pool.AttrEnteredStatus, at.Add(-age).Unix())
	return tx.AddCluster(ad, []spool.NewRun{{Count: count}})
}

func claim(tx *spool.Tx, cluster, proc int, machine string, state pool.ClaimState, age time.Duration) {
	tx.PutClaim(pool.Claim{
		Job: pool.JobID{Cluster: cluster, Proc: proc}, Attempt: 1, Slot: fmt.Sprintf("slot%d@%s", cluster, machine), Machine: machine,
		Submitter: "a@pool", State: state, Weight: 1000, MatchedAt: at.Add(-age), StartedAt: at.Add(-age),
	})
}

func pilot(tx *spool.Tx, id int, machine string, s pool.PilotState) {
	spool.Pilots.Put(tx, pool.Pilot{ID: id, Machine: machine, State: s})
}

// silent has machines not be heard of for so long.
func silent(d time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Silence = func(string) lifecycle.Silence { return lifecycle.Silence{For: d, Lease: 40 * time.Minute} }
	}
}

// facts are those of a pool in which all is well.
func facts() Facts {
	return Facts{
		At: accountant.Reading{Now: at}, Clock: at, Host: "here", Patience: 10 * time.Minute, ClaimTimeout: 2 * time.Minute,
		Cycled: at.Add(-time.Minute), Disk: Disk{Size: 1 << 40, Free: 1 << 39, Files: 1 << 20, FreeFiles: 1 << 19},
	}
}

// lookAt returns the findings as their severities and codes, and how many more say that they
// keep jobs waiting.
func lookAt(t *testing.T, s *spool.Spool, f Facts) ([]Finding, string) {
	t.Helper()
	var found []Finding
	if err := s.View(func(v *spool.View) (err error) { found, err = Look(v, f); return err }); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, x := range found {
		word := fmt.Sprintf("%v %s", x.Severity, x.Code)
		if x.Stops {
			word += " stops"
		}
		words = append(words, word)
	}
	return found, strings.Join(words, ", ")
}

func TestLook(t *testing.T) {
	t.Parallel()
	const minutes = time.Minute
	here := func(tx *spool.Tx) { slot(tx, "slot1@here", "here") }
	for _, c := range []struct {
		what string
		fill func(tx *spool.Tx)
		set  func(f *Facts)
		want string
	}{
		{"all is well", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Idle, time.Hour) }, nil, ""},
		{"no cycle", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Idle, time.Hour) },
			func(f *Facts) { f.Cycled = at.Add(-11 * minutes) }, "CRITICAL NoCycle stops"},
		{"the job is younger", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Idle, 9*minutes) },
			func(f *Facts) { f.Cycled = time.Time{} }, ""},
		{"no job is idle", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Held, time.Hour) },
			func(f *Facts) { f.Cycled = time.Time{} }, ""},
		{"all idle jobs have claims", func(tx *spool.Tx) {
			here(tx)
			n := job(tx, 2, pool.Idle, time.Hour)
			claim(tx, n, 0, "here", pool.Matched, minutes)
			claim(tx, n, 1, "there", pool.Matched, minutes)
		}, func(f *Facts) { f.Cycled = time.Time{} }, ""},
		{"one has none", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 2, pool.Idle, time.Hour), 0, "here", pool.Matched, minutes)
		}, func(f *Facts) { f.Cycled = time.Time{} }, "CRITICAL NoCycle stops"},
		{"cycles on change have seen the job", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Idle, time.Hour) },
			func(f *Facts) { f.Cycled, f.OnChange = at.Add(-50*minutes), true }, ""},
		{"and have not", func(tx *spool.Tx) { here(tx); job(tx, 2, pool.Idle, time.Hour) },
			func(f *Facts) { f.Cycled, f.OnChange = at.Add(-70*minutes), true }, "CRITICAL NoCycle stops"},
		{"and should go on while a job runs", func(tx *spool.Tx) {
			here(tx)
			job(tx, 2, pool.Idle, time.Hour)
			claim(tx, job(tx, 1, pool.Running, time.Hour), 0, "here", pool.RunningClaim, time.Hour)
		}, func(f *Facts) { f.Cycled, f.OnChange = at.Add(-50*minutes), true }, "CRITICAL NoCycle stops"},
		{"a cycle failed that a change started", here, func(f *Facts) {
			f.Trouble, f.Troubled = "negotiate: no", at.Add(-2*minutes)
			f.Cycled = at.Add(-time.Hour)
		}, "WARNING CycleFailed"},
		{"and a later one did not", here, func(f *Facts) { f.Trouble, f.Troubled = "negotiate: no", at.Add(-2*minutes) }, ""},
		{"one at work complains", here, func(f *Facts) {
			f.Trouble, f.Troubled = "negotiate: no", at.Add(-time.Second)
			f.Cycled = at.Add(-time.Hour)
		}, ""},
		{"no slots", func(tx *spool.Tx) { job(tx, 1, pool.Idle, time.Hour) },
			func(f *Facts) { f.Cycled = at.Add(-time.Hour) }, "CRITICAL NoCycle stops, CRITICAL NoSlots stops"},
		{"no slots and no jobs", func(tx *spool.Tx) { job(tx, 1, pool.Held, time.Hour) }, nil, ""},
		{"a slot with a name for its machine", func(tx *spool.Tx) { slot(tx, "here", "") }, nil, ""},
		{"in whose name case does not matter", func(tx *spool.Tx) { slot(tx, "slot1@HERE", "Here") }, nil, ""},
		{"slots of another machine", func(tx *spool.Tx) { slot(tx, "slot1@there", "there") }, nil, "CRITICAL OtherMachine"},
		{"by the slot's own word", func(tx *spool.Tx) { slot(tx, "slot1@there", "here") }, nil, ""},
		{"where a starter runs", func(tx *spool.Tx) { slot(tx, "slot1@There", "There") },
			func(f *Facts) { f.Served = map[string]time.Time{"there": at.Add(-9 * minutes)} }, ""},
		{"where one ran", func(tx *spool.Tx) { slot(tx, "slot1@There", "There") },
			func(f *Facts) { f.Served = map[string]time.Time{"there": at.Add(-11 * minutes)} }, "CRITICAL OtherMachine"},
		{"some slots of another", func(tx *spool.Tx) { here(tx); slot(tx, "slot1@there", "there") }, nil, "WARNING NoStarter"},
		{"with matches", func(tx *spool.Tx) {
			here(tx)
			slot(tx, "slot1@there", "there")
			claim(tx, job(tx, 1, pool.Idle, time.Hour), 0, "there", pool.Matched, 3*minutes)
		}, nil, "WARNING NoStarter stops"},
		{"a match that waits", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 1, pool.Idle, time.Hour), 0, "here", pool.Matched, 3*minutes)
		}, nil, "CRITICAL MatchNotTaken stops"},
		{"beside a job that runs", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 1, pool.Idle, time.Hour), 0, "here", pool.Matched, 3*minutes)
			claim(tx, job(tx, 1, pool.Running, time.Hour), 0, "here", pool.RunningClaim, time.Hour)
		}, nil, "WARNING MatchNotTaken stops"},
		{"for ever, by the configuration", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 1, pool.Idle, time.Hour), 0, "here", pool.Matched, 3*minutes)
		}, func(f *Facts) { f.ClaimTimeout = 0 }, ""},
		{"slots that are left alone", func(tx *spool.Tx) {
			here(tx)
			tx.PutBackoff(pool.Backoff{Slot: "slot1@here", Failures: 2, Until: at.Add(minutes)})
		}, nil, "CRITICAL MatchNotTaken stops"},
		{"that were, or once", func(tx *spool.Tx) {
			here(tx)
			slot(tx, "slot2@here", "here")
			tx.PutBackoff(pool.Backoff{Slot: "slot1@here", Failures: 3, Until: at.Add(-minutes)})
			tx.PutBackoff(pool.Backoff{Slot: "slot2@here", Failures: 1, Until: at.Add(minutes)})
		}, nil, ""},
		{"a dead supervisor", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 1, pool.Running, time.Hour), 0, "here", pool.RunningClaim, time.Hour)
		}, func(f *Facts) { f.Died = map[string]bool{"1.0.1": true} }, "WARNING SupervisorDied"},
		{"a later attempt", func(tx *spool.Tx) {
			here(tx)
			claim(tx, job(tx, 1, pool.Running, time.Hour), 0, "here", pool.RunningClaim, time.Hour)
		}, func(f *Facts) { f.Died = map[string]bool{"1.0.0": true} }, ""},
		{"a machine with a pilot", func(tx *spool.Tx) { here(tx); slot(tx, "slot1@there", "There"); pilot(tx, 1, "there", pool.Live) }, silent(time.Second), ""},
		{"of which nothing is heard", func(tx *spool.Tx) { here(tx); slot(tx, "slot1@there", "There"); pilot(tx, 1, "there", pool.Leaving) }, silent(minutes), "WARNING NotHeardOf"},
		{"never", func(tx *spool.Tx) { here(tx); pilot(tx, 1, "there", pool.Live) }, silent(-1), "WARNING NotHeardOf"},
		{"or of two", func(tx *spool.Tx) {
			here(tx)
			pilot(tx, 1, "there", pool.Live)
			pilot(tx, 2, "elsewhere", pool.Live)
		}, silent(minutes), "WARNING NotHeardOf"},
		{"where it has not come yet", func(tx *spool.Tx) { here(tx); pilot(tx, 1, "there", pool.Asked) }, silent(-1), ""},
		{"where it is gone, and its slot is not", func(tx *spool.Tx) { here(tx); slot(tx, "slot1@there", "there"); pilot(tx, 1, "there", pool.Gone) }, silent(-1), "WARNING NoStarter"},
		{"a lock held for long", here, func(f *Facts) {
			f.Holders = []spool.Holder{{Lock: "lock", PID: 7, Program: "submit", Since: at.Add(-2 * minutes)}}
		}, "CRITICAL LockHeld stops"},
		{"a cycle that takes a while", here, func(f *Facts) {
			f.Holders = []spool.Holder{{Lock: "negotiate.lock", PID: 7, Program: "negotiate", Since: at.Add(-2 * minutes)}}
		}, ""},
		{"a fold that is stopped", here, func(f *Facts) {
			f.Holders = []spool.Holder{{Lock: "fold.lock", PID: 7, Program: "spool", Since: at, Stopped: true}}
		}, "WARNING LockHeld"},
		{"a lock in other hands", here, func(f *Facts) { f.Holders = []spool.Holder{{Lock: "lock", PID: 7}} }, ""},
		{"that are stopped", here, func(f *Facts) { f.Holders = []spool.Holder{{Lock: "lock", PID: 7, Stopped: true}} }, "CRITICAL LockHeld stops"},
		{"a disk that is nearly full", here, func(f *Facts) { f.Disk.Free = 900 << 20 }, "WARNING DiskFull"},
		{"a small one", here, func(f *Facts) { f.Disk.Size, f.Disk.Free = 2<<30, 900<<20 }, ""},
		{"a full one", here, func(f *Facts) { f.Disk.Free = 15 << 20 }, "CRITICAL DiskFull stops"},
		{"one without inodes", here, func(f *Facts) { f.Disk.FreeFiles = 0 }, "CRITICAL DiskFull stops"},
		{"one with few", here, func(f *Facts) { f.Disk.FreeFiles = 9000 }, "WARNING DiskFull"},
		{"one that has no number of them", here, func(f *Facts) { f.Disk.Files, f.Disk.FreeFiles = 0, 0 }, ""},
		{"a command for events failed", here, func(f *Facts) {
			f.Hook, f.Hooked = "job 1.0, ended: EVENT_COMMAND x: exit status 1", at.Add(-time.Hour)
		},
			"WARNING EventCommandFailed"},
		{"long ago", here, func(f *Facts) {
			f.Hook, f.Hooked = "job 1.0, ended: EVENT_COMMAND x: exit status 1", at.Add(-61*minutes)
		}, ""},
		{"events that are not written", here, func(f *Facts) { f.Events = []joblog.Pending{{Since: at.Add(-time.Hour)}} }, "WARNING EventsUnwritten"},
		{"that will be", here, func(f *Facts) { f.Events = []joblog.Pending{{Since: at.Add(-minutes)}} }, ""},
		{"a report that does not read", here, func(f *Facts) { f.Report = spool.ErrOutdated }, "WARNING ReportUnreadable"},
		{"the worst is first", func(tx *spool.Tx) { slot(tx, "slot1@there", "there") },
			func(f *Facts) { f.Report, f.Disk.Free = spool.ErrOutdated, 900<<20 }, "CRITICAL OtherMachine, WARNING DiskFull, WARNING ReportUnreadable"},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, f := open(t, c.fill), facts()
			if c.set != nil {
				c.set(&f)
			}
			found, got := lookAt(t, s, f)
			if got != c.want {
				t.Errorf("Look = %s, want %s", got, c.want)
			}
			for _, x := range found {
				if line := x.Line(); strings.Contains(line, "\n") || x.Remedy == "" {
					t.Errorf("%q is no line with a remedy", line)
				}
			}
		})
	}
}

// TestUnwritten holds that events are reported that a killed process has kept for a log, and no
// others.
func TestUnwritten(t *testing.T) {
	t.Parallel()
	s := open(t, func(tx *spool.Tx) { slot(tx, "slot1@here", "here") })
	path := s.ClaimLock("1.0.1")
	testenv.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	kept, err := os.Create(path)
	testenv.OK(t, err)
	log := joblog.Log{Path: filepath.Join(t.TempDir(), "gone", "log")}
	event := userlog.Event{Job: pool.JobID{Cluster: 1}, At: at, Body: userlog.Terminated{}}
	testenv.OK(t, joblog.Keep(kept, log, event))
	kept.Close() // as when the process is killed
	testenv.OK(t, os.Chtimes(path, at, at.Add(-time.Hour)))
	f := facts()
	f.Events = joblog.Unwritten(s)
	found, got := lookAt(t, s, f)
	if got != "WARNING EventsUnwritten" || !strings.Contains(found[0].What, log.Path) || !strings.Contains(found[0].What, "60 minutes") {
		t.Errorf("Look = %s, %+v, want one hour old events of %s", got, found, log.Path)
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 seconds", time.Second: "1 second", 119 * time.Second: "119 seconds", 2 * time.Minute: "2 minutes",
		119 * time.Minute: "119 minutes", 2 * time.Hour: "2 hours", 47 * time.Hour: "47 hours", 12 * 24 * time.Hour: "12 days",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "a", 2: "a and b", 4: "a, b, c and d", 5: "a, b, c and 2 more machines",
	} {
		if got := names([]string{"a", "b", "c", "d", "e"}[:n]); got != want {
			t.Errorf("names of %d = %s, want %s", n, got, want)
		}
	}
}

func TestTimeOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`{"Cycle": 3, "Time": 1800000000, "Submitters": []}`: 1800000000,
		`{"Cycle": 3}`: 0, `[]`: 0, `{"Time": "now"}`: 0, ``: 0,
	} {
		got, err := timeOf([]byte(text))
		if (err == nil) != (want != 0) || want != 0 && got.Unix() != want {
			t.Errorf("timeOf(%s) = %v, %v, want %d", text, got, err, want)
		}
	}
}
