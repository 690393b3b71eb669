package lifecycle

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Who was started for an earlier attempt has no say in a later one, whatever has
// become of that.
func TestEarlierAttempt(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	var earlier pool.Claim
	b.view(func(v *spool.View) { earlier, _ = v.Claim(first) })
	late := noon.Add(5 * time.Minute)
	b.negotiate(late, nil)
	again := late.Add(time.Hour)
	b.negotiate(again, nil)
	unchanged := func(what string, want pool.ClaimState) {
		t.Helper()
		b.view(func(v *spool.View) {
			if c, ok := v.Claim(first); !ok || c.Attempt != 2 || c.State != want {
				t.Errorf("after %s of attempt 1 the claim is %+v, want attempt 2, %v", what, c, want)
			}
		})
		if r := b.alice(again); r.ResourcesUsed != 2 {
			t.Errorf("after %s of attempt 1 alice is charged for %d slots, want 2", what, r.ResourcesUsed)
		}
	}
	b.update(func(tx *spool.Tx) error {
		if GiveUp(tx, earlier, again, params) {
			t.Error("GiveUp of attempt 1 = true")
		}
		if err := Begin(tx, first, 1, again, 1, "", params); !errors.Is(err, pool.ErrGone) {
			t.Errorf("Begin of attempt 1 = %v, want ErrGone", err)
		}
		return nil
	})
	unchanged("Begin", pool.Matched)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 2, again, 1, "", params) })
	b.update(func(tx *spool.Tx) error {
		if err := Finish(tx, first, 1, again, pool.Ending{}, params); !errors.Is(err, pool.ErrGone) {
			t.Errorf("Finish of attempt 1 = %v, want ErrGone", err)
		}
		return nil
	})
	unchanged("Finish", pool.RunningClaim)
}

// says compares attributes of the first job with "Name=value" each; "none" is that
// there is no such attribute.
func (b bench) says(when string, want ...string) {
	b.t.Helper()
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		if got := b.attribute(first, name); got != value {
			b.t.Errorf("%s: %s = %s, want %s", when, name, got, value)
		}
	}
}

// start matches the first job, and begins that attempt.
func (b bench) start(at time.Time) (attempt int) {
	b.t.Helper()
	b.negotiate(at, nil)
	b.view(func(v *spool.View) { c, _ := v.Claim(first); attempt = c.Attempt })
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, attempt, at, 4711, "", params) })
	return attempt
}

func (b bench) endFirst(attempt int, at time.Time, how pool.Ending) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error { return Finish(tx, first, attempt, at, how, params) })
}

// TestAttempts follows a job through an attempt that is evicted, one that never ran, one
// that leaves checkpoints, and one that comes to its end. Its slot weighs 2.
func TestAttempts(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("x")
		for _, s := range tx.SlotsNamed([]string{"slot1@here", "slot2@here"}) {
			ad := s.Ad.Clone()
			ad.SetInt("SlotID", 7)
			ad.SetString("Arch", "X86_64")
			tx.PutSlot(s.Name, ad)
		}
		for name, v := range map[string]classad.Value{
			"JobMachineAttrs": classad.String("Arch, Cpus, no/name"), "JobMachineAttrsHistoryLength": classad.Int(2), "LeaveJobInQueue": classad.Bool(true),
		} {
			tx.Set(first, name, classad.Literal(v))
		}
		return nil
	})
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	unix := func(minutes int) string { return classad.Int(at(minutes).Unix()).String() }

	n := b.start(noon)
	b.says("first attempt", "JobStatus=2", "LastJobStatus=1", "NumShadowStarts=1", "NumJobStarts=1", "JobRunCount=1", "NumJobMatches=1",
		"JobStartDate="+unix(0), "JobCurrentStartDate="+unix(0), "JobLastStartDate=none", "ShadowBday="+unix(0), "LastMatchTime="+unix(0),
		"CurrentHosts=1", `RemoteHost="slot1@here"`, "RemoteSlotID=7", "JobCurrentStartExecutingDate=none",
		`MachineAttrArch0="X86_64"`, "MachineAttrCpus0=2", "MachineAttrCpus1=none", "MachineAttrno/name0=none")
	b.update(func(tx *spool.Tx) error {
		tx.Op("vacate")
		Vacate(tx, first, pool.Reason{Text: "better", Code: PreemptedByPriority}, at(10), params)
		return nil
	})
	b.endFirst(n, at(11), pool.Ending{Lost: "ignored", Signal: 15, Wall: 10 * time.Minute, UserCPU: 5 * time.Minute, MaxRSSKB: 2048, DiskKB: 9})
	b.says("evicted", "JobStatus=1", "LastJobStatus=2", "EnteredCurrentStatus="+unix(11), "CurrentHosts=0", "ShadowBday=none", "RemoteHost=none",
		"RemoteSlotID=none", `LastRemoteHost="slot1@here"`, "LastVacateTime="+unix(11), `VacateReason="better"`, "VacateReasonCode=1019",
		"VacateReasonSubCode=0", "RemoteWallClockTime=600.0", "CumulativeSlotTime=1200.0", "CommittedTime=none", "WastedTime=600.0",
		"LastRemoteWallClockTime=600.0", "RemoteUserCpu=300.0", "CpusUsage=0.5", "DiskUsage=9", "ImageSize=2048", "ResidentSetSize=2048",
		"JobCurrentStartExecutingDate="+unix(1), "ExitBySignal=none", "WallClockCheckpoint=none")

	n = b.start(at(20))
	b.says("second attempt", "NumShadowStarts=2", "NumJobStarts=2", "JobLastStartDate="+unix(0), "JobStartDate="+unix(0), "MachineAttrCpus1=2",
		"JobCurrentStartExecutingDate=none")
	b.endFirst(n, at(21), pool.Ending{Lost: "no room", NotStarted: true})
	b.says("never started", "NumShadowStarts=2", "NumJobStarts=1", "JobRunCount=2", "VacateReasonCode=1003", "RemoteWallClockTime=600.0", "WastedTime=600.0",
		"LastRemoteWallClockTime=600.0")

	n = b.start(at(40))
	first5 := pool.Progress{Wall: 5 * time.Minute, UserCPU: time.Minute, RSSKB: 1000, PeakKB: 5000, DiskKB: 3}
	b.update(func(tx *spool.Tx) error { return Checkpointed(tx, first, n, first5, pool.Progress{}, at(45), params) })
	b.says("checkpoint", "JobStatus=2", "NumCkpts=1", "LastCkptTime="+unix(45), "RemoteWallClockTime=900.0", "CommittedTime=300.0", "CommittedSlotTime=600.0",
		"WastedTime=600.0", "WallClockCheckpoint=300.0", "ResidentSetSize=5000", "ImageSize=5000", "DiskUsage=9", "JobCurrentStartExecutingDate="+unix(40), "CpusUsage=0.2")
	then := pool.Progress{Wall: 7 * time.Minute, UserCPU: 2 * time.Minute, PeakKB: 5000}
	b.update(func(tx *spool.Tx) error { return Report(tx, first, n, then, first5, at(47), params) })
	b.says("report", "RemoteWallClockTime=1020.0", "CommittedTime=300.0", "WastedTime=600.0", "WallClockCheckpoint=420.0", "RemoteUserCpu=420.0")
	b.endFirst(n, at(60), pool.Ending{Lost: "its supervisor died", Died: true})
	b.says("supervisor died", "JobStatus=1", "VacateReasonCode=1002", "RemoteWallClockTime=1800.0", "CommittedTime=300.0", "WastedTime=1500.0",
		"LastRemoteWallClockTime=1200.0", "WallClockCheckpoint=none", "CumulativeSlotTime=3600.0", "CommittedSlotTime=600.0", "CpusUsage=0.286")

	n = b.start(at(80))
	b.endFirst(n, at(90), pool.Ending{Lost: "drained", VacateCode: MachineDrained, Checkpointed: true, Wall: 10 * time.Minute})
	b.says("left with a checkpoint", "VacateReasonCode=1014", "NumCkpts=2", "LastCkptTime="+unix(90), "CommittedTime=900.0", "WastedTime=1500.0")

	n = b.start(at(100))
	b.endFirst(n, at(101), pool.Ending{Signal: 9, Wall: time.Minute, Executed: at(100).Add(time.Second), Sent: 7, Received: 5})
	b.says("end", "JobStatus=4", "NumJobStarts=4", "CommittedTime=960.0", "CommittedSlotTime=1920.0", "WastedTime=1500.0", "RemoteWallClockTime=2460.0",
		"ExitBySignal=true", "ExitSignal=9", "BytesSent=7.0", "BytesRecvd=5.0", "JobCurrentStartExecutingDate="+unix(100)[:len(unix(100))-1]+"1")
}

// What the attempt of a removed job took is wasted, also when the job came to its end.
func TestRemovedAttemptIsWasted(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("x")
		tx.Set(first, "LeaveJobInQueue", classad.Literal(classad.Bool(true)))
		return nil
	})
	n := b.start(noon)
	b.update(func(tx *spool.Tx) error {
		tx.Op("remove")
		_, err := Remove(tx, first, "gone", noon.Add(time.Minute), params)
		return err
	})
	b.endFirst(n, noon.Add(2*time.Minute), pool.Ending{Wall: 2 * time.Minute})
	b.says("removed", "JobStatus=3", "RemoteWallClockTime=120.0", "CommittedTime=none", "WastedTime=120.0")
}

// Who has nothing to say of a claim reports nothing.
func TestReportGone(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	for name, report := range map[string]func(tx *spool.Tx, id pool.JobID, attempt int, p, before pool.Progress, at time.Time, params accountant.Params) error{
		"Report": Report, "Checkpointed": Checkpointed,
	} {
		for what, c := range map[string]struct {
			id      pool.JobID
			attempt int
		}{"not started": {first, 1}, "another attempt": {first, 2}, "no job": {pool.JobID{Cluster: 9}, 1}} {
			b.update(func(tx *spool.Tx) error {
				if err := report(tx, c.id, c.attempt, pool.Progress{Wall: time.Hour}, pool.Progress{}, noon, params); !errors.Is(err, pool.ErrGone) {
					t.Errorf("%s, %s = %v, want ErrGone", name, what, err)
				}
				return nil
			})
		}
	}
	b.says("after that", "RemoteWallClockTime=none")
}

// drawProgress draws what an attempt has used at moments one after the other; a
// process that ends takes along what it used now and then.
func drawProgress(t *rapid.T) (list []pool.Progress) {
	var p pool.Progress
	for range rapid.IntRange(0, 4).Draw(t, "reports") {
		more := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(-10, 1e6).Draw(t, name)) * time.Millisecond
		}
		p.Wall += max(more("wall"), 0)
		p.UserCPU, p.SysCPU = max(p.UserCPU+more("user"), 0), max(p.SysCPU+more("sys"), 0)
		p.RSSKB = rapid.Int64Range(0, 1<<30).Draw(t, "rss")
		p.PeakKB = max(p.PeakKB, p.RSSKB)
		p.DiskKB, p.IOBytes = rapid.Int64Range(0, 1<<30).Draw(t, "disk"), p.IOBytes+rapid.Int64Range(0, 1<<40).Draw(t, "io")
		list = append(list, p)
	}
	return list
}

func (b bench) number(name string) (x float64) {
	b.t.Helper()
	b.view(func(v *spool.View) {
		if ad, ok := v.Job(first); ok {
			x, _ = ad.EvalNumber(&classad.Context{}, name)
		}
	})
	return x
}

// TestReportsAddUp: however often an attempt is reported, its totals, and what the
// accounts have of it, are those of its end alone; and all that the attempts of a job
// took is either committed or wasted.
func TestReportsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		often, once := newBench(t), newBench(t)
		for _, b := range []bench{often, once} {
			b.update(func(tx *spool.Tx) error {
				tx.Op("x")
				tx.Set(first, "LeaveJobInQueue", classad.Literal(classad.Bool(true)))
				tx.Set(first, "Project", classad.Literal(classad.String("atlas")))
				return nil
			})
		}
		at := noon
		for range rapid.IntRange(1, 3).Draw(rt, "attempts") {
			at = at.Add(time.Hour)
			n := often.start(at)
			if m := once.start(at); m != n {
				rt.Fatalf("attempts %d and %d", n, m)
			}
			var known pool.Progress
			saved := false
			for _, p := range drawProgress(rt) {
				report := Report
				if rapid.Bool().Draw(rt, "checkpoint") {
					report, saved = Checkpointed, true
				}
				often.update(func(tx *spool.Tx) error { return report(tx, first, n, p, known, at, params) })
				known = p.After(known)
			}
			how := pool.Ending{Lost: "x", Checkpointed: rapid.Bool().Draw(rt, "left a checkpoint")}
			end := pool.Ending{Wall: known.Wall, UserCPU: known.UserCPU, SysCPU: known.SysCPU, MaxRSSKB: known.PeakKB, DiskKB: known.DiskKB, IOBytes: known.IOBytes}
			end.Lost, end.Checkpointed = how.Lost, how.Checkpointed
			once.endFirst(n, at, end)
			if died := rapid.Bool().Draw(rt, "died"); died && !how.Checkpointed {
				how.Died = true
				often.endFirst(n, at, how)
			} else {
				end.Reported = known
				often.endFirst(n, at, end)
			}
			for _, b := range []bench{often, once} {
				if wall, sum := b.number(pool.AttrWallClock), b.number(pool.AttrCommittedTime)+b.number(pool.AttrWastedTime); math.Abs(wall-sum) > 1e-6 {
					rt.Fatalf("committed and wasted = %v, want RemoteWallClockTime, %v", sum, wall)
				}
				if slot, wall := b.number(pool.AttrCumulativeSlot), b.number(pool.AttrWallClock); math.Abs(slot-2*wall) > 1e-6 {
					rt.Fatalf("CumulativeSlotTime = %v, want twice %v", slot, wall)
				}
				if slot, time := b.number(pool.AttrCommittedSlotTime), b.number(pool.AttrCommittedTime); math.Abs(slot-2*time) > 1e-6 {
					rt.Fatalf("CommittedSlotTime = %v, want twice %v", slot, time)
				}
			}
			same := []string{pool.AttrWallClock, pool.AttrUserCPU, pool.AttrSysCPU, pool.AttrCumulativeSlot, pool.AttrResidentSetSize, pool.AttrImageSize, pool.AttrDiskUsage, pool.AttrLastWallClock}
			if !saved {
				same = append(same, pool.AttrCommittedTime, pool.AttrWastedTime)
			} else {
				return // from here on the checkpoint makes a difference
			}
			for _, name := range same {
				if got, want := often.number(name), once.number(name); math.Abs(got-want) > 1e-6 {
					rt.Fatalf("%s = %v with reports, %v without", name, got, want)
				}
			}
			usage := func(b bench) (r accountant.Recent) {
				b.view(func(v *spool.View) {
					y, _ := v.Tally(accountant.Key{Kind: accountant.KindProject, Name: "atlas"})
					r = y.LongTerm
				})
				return r
			}
			got, want := usage(often), usage(once)
			if near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }; !near(got.CPU, want.CPU) || !near(got.Memory, want.Memory) || !near(got.IO, want.IO) {
				rt.Fatalf("the accounts have %+v with reports, %+v without", got, want)
			}
		}
	})
}
