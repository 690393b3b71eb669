package starter

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func TestRunsToCompletion(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`read line; echo "$line $N $FAIRSPOOL_JOB $_CONDOR_SLOT"; echo bad >&2; umask; exit 3`,
		"In", `"in"`, "Environment", `"N='a b'"`)
	p.write("in", "hello\n")
	p.starter(0, 1, "-wait")
	if got, want := p.read("out"), "hello a b 1.0 slot1\n0022\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	if got, want := p.read("err"), "bad\n"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
	const want = `JobStatus=4 ExitCode=3 ExitBySignal=false NumJobStarts=1`
	if got := p.history(id, "JobStatus", "ExitCode", "ExitBySignal", "NumJobStarts"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.noClaims()
	for _, event := range []string{"001 (001.000.000)", "Job executing on host: <node1>", "SlotName: slot1@node1", "005 (001.000.000)", "return value 3"} {
		if !strings.Contains(p.read("log"), event) {
			t.Errorf("the event log lacks %q:\n%s", event, p.read("log"))
		}
	}
	if got := p.read("spool/starter.log"); got != "" {
		t.Errorf("starter.log = %q, want nothing", got)
	}
	p.starter(0, 0)
	p.starter(0, 0, "-q")
}

func TestSignalIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`kill -SEGV $$`)
	p.starter(0, 0, "-wait", "-q")
	const want = "ExitBySignal=true ExitSignal=11 ExitCode=undefined"
	if got := p.history(id, "ExitBySignal", "ExitSignal", "ExitCode"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if !strings.Contains(p.read("log"), "Abnormal termination (signal 11)") {
		t.Errorf("the event log lacks the signal:\n%s", p.read("log"))
	}
}

// Policy time goes on from -now by as much as really passes.
func TestPolicyTime(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`)
	begun := time.Now()
	p.starter(0, 1, "-wait", "-now", "2026-11-20T12:00:00Z")
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix()
	if got, want := p.history(id, "JobCurrentStartDate"), fmt.Sprintf("JobCurrentStartDate=%d", at); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	var end int64
	if _, err := fmt.Sscanf(p.history(id, "CompletionDate"), "CompletionDate=%d", &end); err != nil {
		t.Fatal(err)
	}
	if took := int64(time.Since(begun)/time.Second) + 1; end < at || end > at+took {
		t.Errorf("CompletionDate = %d, want %d to %d seconds more", end, at, took)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.match(`exit 0`)
	p.match(`exit 0`, "Cmd", `"/no/such"`)
	var got struct {
		Started []string
		Failed  []struct{ Job, Reason string }
		Lost    []string
	}
	if out := p.starter(1, 0, "-json", "-wait"); json.Unmarshal([]byte(out), &got) != nil || len(got.Failed) != 1 || got.Lost == nil || len(got.Lost) > 0 ||
		fmt.Sprint(got.Started) != "[1.0]" || got.Failed[0].Job != "2.0" || got.Failed[0].Reason == "" {
		t.Errorf("starter -json prints %s", out)
	}
}

func TestManyPassesAtOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	const jobs = 6
	for range jobs {
		p.match(`echo x >>starts; exit 0`)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, err := p.command("-wait").CombinedOutput(); err != nil {
				t.Errorf("starter: %v: %s", err, out)
			}
		})
	}
	all.Wait()
	p.noClaims()
	if got, want := p.read("starts"), strings.Repeat("x\n", jobs); got != want {
		t.Errorf("%d jobs started %d times, want once each", jobs, strings.Count(got, "x"))
	}
}

func TestOtherMachinesAreLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node2\"\n")
	p.starter(0, 0, "-wait")
	if got, want := p.queued(id, "JobStatus"), "JobStatus=1"; got != want || len(p.claims()) != 1 {
		t.Errorf("the job: %s with %d claims, want %s with 1", got, len(p.claims()), want)
	}
}

// running starts one job and waits until it says that it is there.
func (p *testPool) running(id pool.JobID) pool.Claim {
	p.Helper()
	p.starter(0, 1)
	for _, c := range p.claims() {
		if c.Job == id && c.State == pool.RunningClaim && alive(c.PID) {
			return c
		}
	}
	p.Fatalf("job %v has no claim with a living supervisor", id)
	return pool.Claim{}
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(linger + ` & echo $! >child; setsid ` + linger + ` & echo $! >daemon; echo $$ >main; wait`)
	c := p.running(id)
	main, child, daemon := p.pid("main"), p.pid("child"), p.pid("daemon")
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGKILL))
	p.until("the supervisor is dead", func() bool { return !alive(c.PID) })
	p.starter(0, 0)
	for name, pid := range map[string]int{"main": main, "child": child, "daemon": daemon} {
		if alive(pid) {
			t.Errorf("%s process %d is alive after the pass, want it dead", name, pid)
		}
	}
	if got, want := p.queued(id, "JobStatus", "VacateReasonCode"), "JobStatus=1 VacateReasonCode=1002"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.noClaims()
	p.logged("007 (001.000.000)", "Shadow exception!\n\t"+p.reason(id, "VacateReason")+"\n", "-004 (")
	p.starter(0, 0)
}

// After a reboot nothing is left but the spool.
func TestReboot(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	idle, removed := p.match(`exit 0`), p.match(`exit 0`)
	p.update(func(tx *spool.Tx) error {
		for _, id := range []pool.JobID{idle, removed} {
			if err := lifecycle.Begin(tx, id, 1, matchedAt, 1<<30, "", params); err != nil {
				return err
			}
		}
		_, err := lifecycle.Remove(tx, removed, "by alice", matchedAt, params)
		return err
	})
	p.starter(0, 0)
	if got, want := p.queued(idle, "JobStatus"), "JobStatus=1"; got != want {
		t.Errorf("the job that ran: %s, want %s", got, want)
	}
	if got, want := p.queued(removed)+" "+p.history(removed, "JobStatus"), "gone JobStatus=3"; got != want {
		t.Errorf("the job that was removed: %s, want %s", got, want)
	}
	p.noClaims()
}

func TestForgottenLockFilesAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	for _, name := range []string{"7.0.1", "notes"} {
		testenv.OK(t, os.WriteFile(p.spool.ClaimLock(name), nil, 0o600))
	}
	p.starter(0, 0, "-q")
	if _, err := os.Stat(p.spool.ClaimLock("7.0.1")); !os.IsNotExist(err) {
		t.Errorf("the file of a claim that is gone: %v, want it gone too", err)
	}
	if _, err := os.Stat(p.spool.ClaimLock("notes")); err != nil {
		t.Errorf("a file that is no claim's: %v, want it left alone", err)
	}
}

func (p *testPool) remove(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("remove", id.String())
		_, err := lifecycle.Remove(tx, id, "removed by alice", matchedAt.Add(time.Minute), params)
		return err
	})
}

func TestRemoval(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`trap "echo leaving; exit 0" USR1; echo $$ >main; `+heed,
		"KillSig", `"SIGHUP"`, "RemoveKillSig", `"SIGUSR1"`)
	p.running(id)
	main := p.pid("main")
	p.remove(id)
	p.noClaims()
	if alive(main) {
		t.Error("the job is alive after its removal")
	}
	if got, want := p.read("out"), "leaving\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	if got, want := p.queued(id)+" "+p.history(id, "JobStatus"), "gone JobStatus=3"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	p.until("the event log has the removal", func() bool {
		log := p.read("log")
		return strings.Contains(log, "009 (001.000.000)") && strings.Contains(log, "removed by alice")
	})
}

func TestKillAfterVacateTime(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`trap "" TERM; echo $$ >main; `+linger+` & `+hang, "JobMaxVacateTime", "0.1")
	p.running(id)
	main := p.pid("main")
	p.remove(id)
	p.noClaims()
	if alive(main) {
		t.Error("the job is alive after its removal")
	}
}

func TestSupervisorIsToldToEnd(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`trap "echo leaving; exit 0" HUP; echo $$ >main; `+heed, "KillSig", "1")
	c := p.running(id)
	p.pid("main")
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGTERM))
	p.noClaims()
	const want = "JobStatus=1 VacateReasonCode=1013 NumJobStarts=1"
	if got := p.queued(id, "JobStatus", "VacateReasonCode", "NumJobStarts"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if got, want := p.read("out"), "leaving\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}

func TestClaimIsGone(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`echo $$ >main; ` + linger)
	c := p.running(id)
	main := p.pid("main")
	p.update(func(tx *spool.Tx) error {
		tx.Op("drop")
		tx.DropClaim(id)
		r, _ := tx.Submitter(submitter)
		tx.PutSubmitter(r.End(matchedAt, c.Weight, params))
		return nil
	})
	p.until("job and supervisor are gone", func() bool { return !alive(main) && !alive(c.PID) })
	log := strings.Split(strings.TrimSpace(p.read("spool/starter.log")), "\n")
	_, said, _ := strings.Cut(log[len(log)-1], "job 1.0, attempt 1: ")
	p.printed("starter (starter.log)", 0, said+"\n")
	p.noClaims()
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, attribute, value, codes string }{
		{"executable", "Cmd", `"/no/such"`, "6 2"},
		{"directory", "Iwd", `"/no/such"`, "14 2"},
		{"input", "In", `"/no/such"`, "8 2"},
		{"output", "Out", `"/no/such/out"`, "7 2"},
		{"arguments", "Arguments", `"'"`, "6 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(`exit 0`, "UserLog", `"`+p.dir+`/log"`, c.attribute, c.value)
			p.starter(1, 0)
			code, subcode, _ := strings.Cut(c.codes, " ")
			want := "JobStatus=5 HoldReasonCode=" + code + " HoldReasonSubCode=" + subcode + " NumJobStarts=0"
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode", "NumJobStarts"); got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			if !strings.Contains(p.read("log"), "012 (001.000.000)") || !strings.Contains(p.read("log"), p.reason(id, "HoldReason")) {
				t.Errorf("the event log lacks the reason:\n%s", p.read("log"))
			}
			p.noClaims()
			p.starter(0, 0)
		})
	}
}

// An ad's attributes may be of any length, what is told of them may not.
func TestVeryLongReason(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`, "Cmd", `"/`+strings.Repeat("x", 200000)+`"`)
	out, _ := p.command("-q").CombinedOutput()
	line, rest, _ := strings.Cut(string(out), "\n")
	if len(line) > 6000 || rest != "" || !strings.HasPrefix(line, "starter: job 1.0: executable /xxx") || !strings.HasSuffix(line, "xxx: file name too long") {
		t.Errorf("starter prints %d bytes, %.50s, want one short line with the reason", len(out), out)
	}
	if got, want := p.queued(id, "JobStatus", "HoldReason"), `JobStatus=5 HoldReason="`+strings.TrimPrefix(line, "starter: job 1.0: ")+`"`; got != want {
		t.Errorf("the job's ad: %.100s, want %.100s", got, want)
	}
}

func TestEventLogCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`, "UserLog", `"/no/such/log"`)
	p.starter(0, 1, "-wait")
	if got, want := p.history(id, "JobStatus"), "JobStatus=4"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if got := p.read("spool/starter.log"); !strings.Contains(got, "/no/such/log: no such file or directory") {
		t.Errorf("starter.log = %q, want it to name the event log", got)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.starter(2, 0, "now")
	for _, name := range []string{"1", "1.0", "1.0.0", "a.0.1", "1.0.x"} {
		p.starter(2, 0, "-supervise", name)
	}
	p.starter(0, 0, "-supervise", "1.0.1") // no such claim: nothing to do
	p.noClaims()
}
