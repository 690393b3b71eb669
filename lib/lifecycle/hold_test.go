package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

var byAlice = pool.Reason{Text: "by alice", Code: jobpolicy.ByUser, Subcode: 0}

// shown tells what became of jobs.
func shown(all []Done) string {
	var list []string
	for _, d := range all {
		list = append(list, fmt.Sprintf("%v %d", d.Procs, d.Outcome))
	}
	return strings.Join(list, ", ")
}

// hold and free hold and release procs of cluster 1.
func (b bench) hold(from, to int, at time.Time) (text string) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error {
		tx.Op("hold")
		done, err := Hold(tx, pool.Procs{Cluster: 1, First: from, Last: to}, byAlice, at, params)
		text = shown(done)
		return err
	})
	return text
}

func (b bench) free(from, to int, at time.Time) (text string) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error {
		tx.Op("release")
		done, err := Release(tx, pool.Procs{Cluster: 1, First: from, Last: to}, "enough", at)
		text = shown(done)
		return err
	})
	return text
}

// states tells of the four jobs what state they are in, and of those with a
// claim its state.
func (b bench) states() string {
	claims := map[pool.JobID]pool.ClaimState{}
	b.view(func(v *spool.View) {
		for _, c := range v.Claims() {
			claims[c.Job] = c.State
		}
	})
	var all []string
	for p := range 4 {
		id := pool.JobID{Cluster: 1, Proc: p}
		text := b.attribute(id, "JobStatus")
		if state, ok := claims[id]; ok {
			text += state.String()
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// TestHold is the table of the package page for qhold and qrls: 1.0 runs, 1.1
// is matched, the others are idle.
func TestHold(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
	minute := noon.Add(time.Minute)
	expect := func(what, got, want, states string) {
		t.Helper()
		if now := b.states(); got != want || now != states {
			t.Errorf("%s: %s, states %s, want %s, states %s", what, got, now, want, states)
		}
	}
	expect("before", "", "", "2Running 1Matched 1 1")
	expect("hold", b.hold(0, 3, minute), "1.0 5, 1.1 4, 1.2-3 4", "5Vacating 5 5 5")
	// The match was given back, and the minute of the one that ran is charged.
	if r := b.alice(minute); r.InUse != 0 || r.Weighted.Seconds() != 120 {
		t.Errorf("in use %v, used %v weight-seconds, want 0 and 120", r.InUse, r.Weighted.Seconds())
	}
	if got, want := b.attribute(first, "HoldReason")+b.attribute(first, "HoldReasonCode")+b.attribute(first, "NumHolds")+b.attribute(first, "NumSystemHolds"), `"by alice"11none`; got != want {
		t.Errorf("reason, code, holds, system's holds = %s, want %s", got, want)
	}
	expect("hold again", b.hold(0, 3, minute), "1.0 3, 1.1-3 3", "5Vacating 5 5 5")
	expect("release", b.free(0, 2, minute), "1.0 6, 1.1-2 6", "2Vacating 1 1 5")
	expect("release again", b.free(0, 2, minute), "1.0 7, 1.1-2 7", "2Vacating 1 1 5")
	expect("release the last", b.free(3, 3, minute), "1.3 6", "2Vacating 1 1 1")
	if got, want := b.attribute(first, "LastHoldReason")+b.attribute(first, "HoldReason")+b.attribute(first, "ReleaseReason"), `"by alice"none"enough"`; got != want {
		t.Errorf("last reason, reason, reason of the release = %s, want %s", got, want)
	}
	b.update(func(tx *spool.Tx) error {
		return Finish(tx, first, 1, minute.Add(time.Minute), pool.Ending{Lost: "held: by alice", Signal: 15}, params)
	})
	expect("a released one has left", "", "", "1 1 1 1")
	if got, want := b.attribute(first, "VacateReason"), `"held: by alice"`; got != want {
		t.Errorf("VacateReason = %s, want %s", got, want)
	}
}

// A job that is held while it runs stays held when it has left its slot, or ends
// if it had ended before it was told.
func TestHeldEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		how  pool.Ending
		want string
	}{
		{"as it was told", pool.Ending{Lost: "held: by alice", Signal: 15}, "5"},
		{"with its supervisor", pool.Ending{Lost: "its supervisor died"}, "5"},
		{"it could not be started", pool.Ending{StartFailed: "no such file"}, "5"},
		{"before it was told", pool.Ending{Code: 3}, "gone"},
	} {
		b := newBench(t)
		b.negotiate(noon, nil)
		b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
		b.hold(0, 0, noon)
		b.update(func(tx *spool.Tx) error { return Finish(tx, first, 1, noon.Add(time.Minute), c.how, params) })
		if got := b.attribute(first, "JobStatus"); got != c.want {
			t.Errorf("%s: JobStatus = %s, want %s", c.name, got, c.want)
		}
		if got := b.attribute(first, "HoldReason"); c.want == "5" && got != `"by alice"` {
			t.Errorf("%s: HoldReason = %s, want that of the hold", c.name, got)
		}
		if past := b.history(); c.want == "gone" && (!strings.Contains(past, "ExitCode = 3\n") || strings.Contains(past, "\nHoldReason =")) {
			t.Errorf("%s: the history has %s", c.name, past)
		}
	}
}

// set changes an attribute of the first job.
func (b bench) set(name, expr string) {
	b.t.Helper()
	e, err := classad.ParseExpr(expr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.update(func(tx *spool.Tx) error { tx.Op("set"); tx.Set(first, name, e); return nil })
}

// run runs the first job to its end.
func (b bench) run(at time.Time, how pool.Ending) {
	b.t.Helper()
	b.negotiate(at, nil)
	var n int
	b.view(func(v *spool.View) { c, _ := v.Claim(first); n = c.Attempt })
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, n, at, 1, "", params) })
	b.update(func(tx *spool.Tx) error { return Finish(tx, first, n, at.Add(time.Minute), how, params) })
}

// What becomes of a job that ended by itself its expressions have a say in.
func TestOnExit(t *testing.T) {
	b := newBench(t)
	b.set("OnExitRemove", "NumJobCompletions > 2 || ExitCode =?= 0")
	b.set("OnExitHold", "ExitBySignal")
	for i, c := range []struct {
		how  pool.Ending
		want string
	}{{pool.Ending{Code: 1}, "1 none 1"}, {pool.Ending{Signal: 9}, "5 3 none"}, {pool.Ending{Code: 2}, "gone gone gone"}} {
		if i == 2 {
			b.free(0, 0, noon.Add(2*time.Hour))
		}
		b.run(noon.Add(time.Duration(i)*time.Hour), c.how)
		got := b.attribute(first, "JobStatus") + " " + b.attribute(first, "HoldReasonCode") + " " + b.attribute(first, "ExitCode")
		if got != c.want {
			t.Errorf("end %d: status, hold code, exit code = %s, want %s", i, got, c.want)
		}
	}
}

// LeaveJobInQueue keeps jobs that have ended or were removed, until they are
// removed once more.
func TestLeaveInQueue(t *testing.T) {
	b := newBench(t)
	b.set("LeaveJobInQueue", "true")
	b.run(noon, pool.Ending{Code: 3})
	remove := func() (text string) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			done, err := RemoveAll(tx, pool.Procs{Cluster: 1, First: 0, Last: 0}, "by alice", noon, params)
			text = shown(done)
			return err
		})
		return text
	}
	if got := b.attribute(first, "JobStatus") + b.attribute(first, "ExitCode"); got != "43" {
		t.Errorf("status and exit code = %s, want 43", got)
	}
	if got := b.negotiate(noon.Add(time.Hour), nil); len(got) != 1 || got[0].Job == first {
		t.Errorf("the next matches = %v, want none of 1.0", got)
	}
	if got := b.hold(0, 0, noon) + ", " + remove() + ", " + b.attribute(first, "JobStatus"); got != "1.0 8, 1.0 1, gone" {
		t.Errorf("hold, remove, status = %s", got)
	}
	b = newBench(t)
	b.set("LeaveJobInQueue", "true")
	if got := remove() + ", " + b.attribute(first, "JobStatus") + ", " + remove() + ", " + b.attribute(first, "JobStatus"); got != "1.0 1, 3, 1.0 1, gone" {
		t.Errorf("remove, status, remove, status = %s", got)
	}
}

// Vacate makes only running jobs leave.
func TestVacate(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
	for p, want := range []bool{true, false, false} {
		b.update(func(tx *spool.Tx) error {
			tx.Op("vacate")
			if got := Vacate(tx, pool.JobID{Cluster: 1, Proc: p}, pool.Reason{Text: "its time is over"}, noon, params); got != want {
				t.Errorf("Vacate(1.%d) = %v, want %v", p, got, want)
			}
			return nil
		})
	}
	if got, want := b.states(), "2Vacating 1Matched 1 1"; got != want {
		t.Errorf("states = %s, want %s", got, want)
	}
}

// However jobs are held, released, removed, matched, started and ended, at most
// what runs or is matched is charged, and each job is in one place.
func TestSteerLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t)
		at := noon
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			at = at.Add(time.Minute)
			p := rapid.IntRange(0, 3).Draw(r, "proc")
			id := pool.JobID{Cluster: 1, Proc: p}
			claim, claimed := pool.Claim{}, false
			b.view(func(v *spool.View) { claim, claimed = v.Claim(id) })
			gone := b.attribute(id, "JobStatus") == "gone"
			switch what := rapid.SampledFrom([]string{"cycle", "begin", "hold", "release", "remove", "end", "lost"}).Draw(r, "what"); {
			case what == "cycle":
				b.negotiate(at, nil)
			case gone:
			case what == "hold":
				b.hold(p, p, at)
			case what == "release":
				b.free(p, p, at)
			case what == "remove":
				b.update(func(tx *spool.Tx) error { tx.Op("remove"); _, err := Remove(tx, id, "x", at, params); return err })
			case !claimed:
			case what == "begin" && claim.State == pool.Matched:
				b.update(func(tx *spool.Tx) error { return Begin(tx, id, claim.Attempt, at, 1, "", params) })
			case claim.State == pool.RunningClaim || claim.State == pool.Vacating:
				how := pool.Ending{Code: 1}
				if what == "lost" {
					how = pool.Ending{Lost: "x"}
				}
				b.update(func(tx *spool.Tx) error { return Finish(tx, id, claim.Attempt, at, how, params) })
			}
			b.consistent(r, at)
		}
	})
}

// consistent holds the charge and the jobs' states against the claims.
func (b bench) consistent(r *rapid.T, at time.Time) {
	var charged accountant.Weight
	var claims []pool.Claim
	b.view(func(v *spool.View) { claims = v.Claims() })
	for _, c := range claims {
		if c.State.Charged() {
			charged += c.Weight
		}
		status := b.attribute(c.Job, "JobStatus")
		ok := map[pool.ClaimState]string{pool.Matched: "1", pool.RunningClaim: "2", pool.Vacating: "235"}[c.State]
		if !strings.Contains(ok, status) {
			r.Errorf("job %v has status %s and a claim %v", c.Job, status, c.State)
		}
	}
	if got := b.alice(at).InUse; got != charged {
		r.Errorf("alice is charged for %v, want %v", got, charged)
	}
}
