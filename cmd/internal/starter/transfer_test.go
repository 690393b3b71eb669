package starter

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// nothingLeft holds that no scratch directory and no kept files are left.
func (p *testPool) nothingLeft() {
	p.Helper()
	p.noClaims()
	left, _ := filepath.Glob(filepath.Join(p.dir, "spool/execute/*"))
	if len(left) > 0 {
		p.Errorf("scratch directories are left: %q", left)
	}
}

// in returns a text with the folder of the pool where it says DIR.
func (p *testPool) in(text string) string { return strings.ReplaceAll(text, "DIR", p.dir) }

func TestTransfer(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("data", "some data\n")
	id := p.match(`cat data; pwd; echo "$_CONDOR_SCRATCH_DIR $TMPDIR"; echo result >result; mkdir ro; echo x >ro/x; chmod 500 ro`,
		"TransferInput", `"data"`, "TransferOutput", `"result,ro"`, "TransferOutputRemaps", `"result = final"`)
	p.starter(0, 1, "-wait")
	scratch := filepath.Join(p.spool.Dir(), "execute/1.0.1")
	if got, want := p.read("out"), "some data\n"+scratch+"\n"+scratch+" "+scratch+"\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	if got := p.read("final") + p.read("ro/x"); got != "result\nx\n" {
		t.Errorf("what came back = %q, want %q", got, "result\nx\n")
	}
	if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.nothingLeft()
	os.Chmod(filepath.Join(p.dir, "ro"), 0o700)
	if got := p.read("spool/starter.log"); got != "" {
		t.Errorf("starter.log = %q, want nothing", got)
	}
}

// scratchIn returns the pool's own folder in a directory that EXECUTE names.
func (p *testPool) scratchIn(execute string) string {
	p.Helper()
	found, _ := filepath.Glob(filepath.Join(execute, "spool-*"))
	if len(found) != 1 {
		p.Fatalf("%s has the folders %v, want one", execute, found)
	}
	return found[0]
}

func TestTransferElsewhere(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	execute := filepath.Join(p.dir, "scratch")
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nEXECUTE = \""+execute+"\"\n")
	id := p.match(`pwd`, "ShouldTransferFiles", `"YES"`)
	p.starter(1, 0)
	if got, want := p.queued(id, "JobStatus", "NumJobStarts"), "JobStatus=1 NumJobStarts=0"; got != want {
		t.Errorf("without EXECUTE the job's ad has %s, want %s", got, want)
	}
	testenv.OK(t, os.Mkdir(execute, 0o755))
	p.rematch()
	p.starter(0, 1, "-wait")
	if got, want := p.read("out"), filepath.Join(p.scratchIn(execute), "1.0.2")+"\n"; got != want {
		t.Errorf("the job runs in %q, want %q", got, want)
	}
	if left, _ := os.ReadDir(p.scratchIn(execute)); len(left) > 0 {
		t.Errorf("scratch directories are left: %v", left)
	}
}

func TestTransferFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		pairs        []string
		says         bool // to the pass: the job has not begun
		code, sub    string
		starts       string
	}{
		{"input is missing", `exit 0`, []string{"TransferInput", `"gone"`}, true, "13", "2", "0"},
		{"input is a URL", `exit 0`, []string{"TransferInput", `"http://x/y"`}, true, "13", "0", "0"},
		{"output leads out", `exit 0`, []string{"TransferOutput", `"../x"`}, true, "12", "0", "0"},
		{"output is missing", `echo n >new; exit 3`, []string{"TransferOutput", `"gone,new"`}, false, "12", "2", "1"},
		{"output has no place", `echo n >new; echo g >gone`, []string{"TransferOutput", `"gone,new"`, "TransferOutputRemaps", `"gone = no/such"`}, false, "12", "2", "1"},
		{"slot has no such attribute", `exit 0`, []string{"Environment", `"A=$$(Nothing)"`}, true, "6", "0", "0"},
		{"container", `exit 0`, []string{"WantContainer", "true"}, true, "6", "0", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(c.script, c.pairs...)
			if c.says {
				p.starter(1, 0)
			} else {
				p.starter(0, 1, "-wait")
			}
			p.noClaims()
			want := "JobStatus=5 HoldReasonCode=" + c.code + " HoldReasonSubCode=" + c.sub + " NumJobStarts=" + c.starts
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode", "NumJobStarts"); got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			p.reason(id, "HoldReason")
			if c.says {
				p.nothingLeft()
				return
			}
			if got := p.read("new"); got != "n\n" {
				t.Errorf("the output that is there = %q, want it copied", got)
			}
			if got := p.read("spool/execute/1.0.kept/new"); got != "n\n" {
				t.Errorf("what was kept = %q, want all that the job left", got)
			}
			p.update(func(tx *spool.Tx) error { tx.Op("remove"); tx.Leave(id, matchedAt); return nil })
			p.starter(0, 0, "-q")
			p.nothingLeft()
		})
	}
}

// With ON_SUCCESS nothing comes back of a job that fails, or that a signal ends.
func TestOutputOfFailure(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`echo n >new; exit 3`:     "JobStatus=4 ExitBySignal=false ExitCode=3 ExitSignal=undefined",
		`echo n >new; kill -9 $$`: "JobStatus=4 ExitBySignal=true ExitCode=undefined ExitSignal=9",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(script, "ShouldTransferFiles", `"YES"`, "WhenToTransferOutput", `"ON_SUCCESS"`)
			p.starter(0, 1, "-wait")
			if got := p.history(id, "JobStatus", "ExitBySignal", "ExitCode", "ExitSignal"); got != want || p.read("new") != "" {
				t.Errorf("the job's ad: %s, output %q, want %s and none", got, p.read("new"), want)
			}
			p.nothingLeft()
		})
	}
}

// A job that is made to go leaves nothing, or what it has for its next attempt.
func TestTransferEvicted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ when, want string }{
		{"ON_EXIT", "in,3"}, {"ON_EXIT_OR_EVICT", "in,1,2,3"},
	} {
		t.Run(c.when, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("state", "in")
			id := p.match(p.in(`printf ",$(cat DIR/n)" >>state; test $(cat DIR/n) = 3 && exit 0; echo $$ >DIR/pid; `+linger),
				"TransferInput", `"state"`, "WhenToTransferOutput", `"`+c.when+`"`)
			for _, n := range []string{"1", "2"} {
				os.Remove(filepath.Join(p.dir, "pid"))
				p.write("n", n)
				claim := p.running(id)
				p.pid("pid")
				testenv.OK(t, syscall.Kill(claim.PID, syscall.SIGTERM))
				p.noClaims()
				if got := p.read("state"); got != "in" {
					t.Errorf("after an eviction the output is %q, want none", got)
				}
				p.rematch()
			}
			p.write("n", "3")
			p.starter(0, 0, "-q", "-wait")
			if got := p.read("state"); got != c.want {
				t.Errorf("output = %q, want %q", got, c.want)
			}
			p.nothingLeft()
		})
	}
}

// A job that is removed leaves nothing behind.
func TestTransferRemoved(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(p.in(`echo n >new; echo $$ >DIR/pid; `+linger), "TransferOutput", `"new"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	p.running(id)
	p.pid("pid")
	p.remove(id)
	p.nothingLeft()
	if got := p.read("new"); got != "" {
		t.Errorf("output of a job that was removed = %q, want none", got)
	}
}

// What a supervisor that was killed has left is removed; the job runs again.
func TestTransferSupervisorKilled(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(p.in(`echo n >new; mkdir ro; echo x >ro/x; chmod 500 ro; echo $$ >DIR/pid; `+awaitGo),
		"TransferOutput", `"new"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	claim := p.running(id)
	p.pid("pid")
	p.until("the job has left something", func() bool { return p.read("spool/execute/1.0.1/ro/x") != "" })
	testenv.OK(t, syscall.Kill(claim.PID, syscall.SIGKILL))
	p.until("the supervisor is gone", func() bool { return !alive(claim.PID) })
	p.starter(0, 0)
	p.nothingLeft()
	p.open()
	p.rematch()
	p.starter(0, 1, "-wait")
	if got, want := p.history(id, "JobStatus", "NumJobStarts"), "JobStatus=4 NumJobStarts=2"; got != want || p.read("new") != "n\n" {
		t.Errorf("the job's ad: %s, output %q, want %s, output n", got, p.read("new"), want)
	}
	p.nothingLeft()
}

// A pass removes what nobody needs any more, and nothing else.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`)
	for _, name := range []string{"1.0.7", "1.0.kept", "9.0.1", "9.0.kept", "other", "9.0.1.x", "x.kept"} {
		testenv.OK(t, os.MkdirAll(filepath.Join(p.dir, "spool/execute", name, "in"), 0o700))
		testenv.OK(t, os.Chmod(filepath.Join(p.dir, "spool/execute", name), 0o500))
	}
	p.write("config.toml", "NETWORK_HOSTNAME = \"node2\"\n")
	p.starter(0, 0, "-q")
	entries, _ := os.ReadDir(filepath.Join(p.dir, "spool/execute"))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		os.Chmod(filepath.Join(p.dir, "spool/execute", e.Name()), 0o700)
	}
	if got, want := strings.Join(got, " "), "1.0.kept 9.0.1.x other x.kept"; got != want {
		t.Errorf("after a pass there is %s, want %s", got, want)
	}
	if got, want := p.queued(id, "JobStatus"), "JobStatus=1"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}

func TestSlotIsExpanded(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	slot, err := classad.ParseAd(`[Name = "slot1@node1"; Machine = "node1"; Memory = 1024; Cpus = 4; OpSys = "LINUX"; PartitionableSlot = true]`)
	testenv.OK(t, err)
	p.update(func(tx *spool.Tx) error { tx.Op("advertise"); tx.PutSlot("slot1@node1", slot); return nil })
	whole := p.match(`echo "$A"`, "Environment", `"A=$$(OpSys)/$$(Memory)/$$([TARGET.Cpus * MY.ClusterId])/$$(Extra:none)"`)
	p.starter(0, 1, "-wait")
	if got, want := p.read("out"), "LINUX/1024/4/none\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
	want := `MATCH_EXP_Environment="A=LINUX/1024/4/none" MATCH_Memory=1024 MATCH_OpSys="LINUX" Environment="A=$$(OpSys)/$$(Memory)/$$([TARGET.Cpus * MY.ClusterId])/$$(Extra:none)"`
	if got := p.history(whole, "MATCH_EXP_Environment", "MATCH_Memory", "MATCH_OpSys", "Environment"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	part := p.match(`echo "$A"`, "Environment", `"A=$$(Memory)/$$(Cpus)/$$(Name)"`)
	p.update(func(tx *spool.Tx) error {
		tx.Op("match a part")
		c, _ := tx.Claim(part)
		c.Slot, c.Piece = "slot1_1@node1", pool.Piece{Of: "slot1@node1", Takes: "Cpus=1 Memory=256"}
		tx.PutClaim(c)
		return nil
	})
	p.starter(0, 1, "-wait")
	if got, want := p.read("out"), "256/1/slot1_1@node1\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}
