package starter

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/lib/config"
)

// daemon is a script that leaves the job's process group and lets go of the
// claim's lock, and goes on when the daemon is there.
const daemon = `mkfifo up; setsid sh -c 'exec 3>&-; echo $$ >daemon; echo >up; exec ` + linger + `' &
read x <up; `

// What a job leaves behind does not outlive its attempt, however it hides.
func TestDaemonsEndWithTheJob(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(daemon + `exit 4`)
	p.starter(0, 1, "-wait")
	if pid := p.pid("daemon"); alive(pid) {
		t.Errorf("daemon %d is alive after the job, want it dead", pid)
	}
	if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=4"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if got := p.read("spool/starter.log"); got != "" {
		t.Errorf("starter.log = %q, want nothing", got)
	}
}

func TestDaemonsEndWithAnEviction(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(daemon + hang)
	c := p.running(id)
	pid := p.pid("daemon")
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGTERM))
	p.noClaims()
	if alive(pid) {
		t.Errorf("daemon %d is alive when the job may be matched again, want it dead", pid)
	}
}

// The next pass ends the processes that a job with a dead supervisor leaves behind, even
// if they let go of the claim's lock.
func TestDaemonsEndWithTheLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, conf, script string }{
		{"by its mark", `BASE_CGROUP = ""`, daemon},
		{"by its limit", `BASE_CGROUP = ""`, strings.Replace(daemon, "setsid sh", "setsid env -i sh", 1)},
		{"by its cgroup", `BASE_CGROUP = "fairspool-test"`, strings.Replace(daemon, "setsid sh", "setsid env -i sh", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\n"+c.conf+"\n")
			id := p.match(c.script + `echo >there; ` + hang)
			claim := p.running(id)
			p.until("the job is there", func() bool { return p.read("there") != "" })
			pid := p.pid("daemon")
			groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
			testenv.OK(t, err)
			if in := strings.Contains(string(groups), "/fairspool-test/"); in != strings.Contains(c.conf, "test") {
				if in {
					t.Fatalf("the daemon is in a cgroup: %s", groups)
				}
				syscall.Kill(pid, syscall.SIGKILL)
				t.Skip("this machine gives us no cgroup")
			}
			testenv.OK(t, syscall.Kill(claim.PID, syscall.SIGKILL))
			p.until("the supervisor is dead", func() bool { return !alive(claim.PID) })
			p.starter(0, 0)
			if alive(pid) {
				t.Errorf("daemon %d is alive when the job may be matched again, want it dead", pid)
			}
			p.noClaims()
		})
	}
}

// Orphans that end while the job runs do not stay as zombies.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`mkfifo adopted; sh -c 'sh -c "echo \$\$ >orphan; read x <adopted" & exit' ; echo >adopted; ` + awaitGo)
	p.running(id)
	pid := p.pid("orphan")
	p.until("the orphan is reaped", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	p.open()
	p.noClaims()
	if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}

// KILLING_TIMEOUT bounds how long a pass waits for what a dead supervisor's
// job has left; the next pass finds it gone.
func TestKillingTimeout(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nKILLING_TIMEOUT = 0\n")
	id := p.match(`setsid ` + linger + ` & echo $! >child; echo $$ >main; wait`)
	c := p.running(id)
	main, child := p.pid("main"), p.pid("child")
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGKILL))
	p.until("supervisor and job are dead", func() bool { return !alive(c.PID) && !alive(main) })
	p.starter(1, 0)
	p.until("the child is dead", func() bool { return !alive(child) })
	p.starter(0, 0)
	p.noClaims()
}

// A job has its standard files and the lock open and nothing else, and heeds
// all signals, whatever starter was called with.
func TestWhatJobsInherit(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`echo $$ >main
for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do if [ -e /proc/$$/fd/$n ]; then echo $n; fi; done
while read name mask; do case $name in SigIgn:) echo $name $mask; esac; done </proc/$$/status
readlink /proc/$$/fd/3 >lock`)
	c := p.command("-wait")
	sh := exec.Command("/bin/sh", append([]string{"-c", `trap "" HUP INT QUIT TERM PIPE USR1 CHLD TSTP TTIN TTOU CONT ALRM; exec "$0" "$@"`}, c.Args...)...)
	sh.Env = c.Env
	for range 5 {
		f, err := os.Create(filepath.Join(p.dir, "lock of the caller"))
		testenv.OK(t, err)
		defer f.Close()
		sh.ExtraFiles = append(sh.ExtraFiles, f)
	}
	if out, err := sh.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "1 ") {
		t.Fatalf("starter = %q, %v, want 1 job started", out, err)
	}
	files, mask, _ := strings.Cut(p.read("out"), "SigIgn: ")
	if want := "0\n1\n2\n3\n"; files != want {
		t.Errorf("the job's open files = %q, want %q", files, want)
	}
	// Signals from 32 on are the C library's and nobody else's to reset.
	if ignored, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err != nil || ignored&0x7fffffff != 0 {
		t.Errorf("the job's ignored signals = %q, want none of the first 31", mask)
	}
	if got := strings.TrimSuffix(p.read("lock"), " (deleted)\n"); !strings.HasPrefix(got, p.spool.ClaimLock("1.0.1")) {
		t.Errorf("the job's descriptor 3 = %q, want the lock of its claim", got)
	}
	if got, want := p.history(id, "ExitCode"), "ExitCode=0"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}

// A supervisor, too, keeps nothing of its caller's open.
func TestCallersLockIsFree(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.match(awaitGo)
	c := p.command()
	f, err := os.Create(filepath.Join(p.dir, "cron.lock"))
	testenv.OK(t, err)
	testenv.OK(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	c.ExtraFiles = []*os.File{f}
	if out, err := c.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "1 ") {
		t.Fatalf("starter = %q, %v, want 1 job started", out, err)
	}
	f.Close()
	again, err := os.Open(f.Name())
	testenv.OK(t, err)
	defer again.Close()
	// Other tests' children have it until they are executed.
	testenv.Until(t, "the caller's lock is free while the job runs", func() bool {
		return syscall.Flock(int(again.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	})
	p.open()
	p.noClaims()
}

// A pass that comes late to an attempt, which another pass has ended, leaves the job's next
// attempt alone, also in the standard universe, where both are known by the same name.
func TestLateToTheLost(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`echo $$ >main; `+hang, "JobUniverse", "1")
	lost := p.running(id)
	p.pid("main")
	testenv.OK(t, syscall.Kill(lost.PID, syscall.SIGKILL))
	p.until("the supervisor is dead", func() bool { return !alive(lost.PID) })
	p.starter(0, 0)
	p.write("main", "")
	p.rematch()
	p.running(id)
	main := p.pid("main")
	var bad bytes.Buffer
	c := &cmdline.Call{Name: "starter", Config: &config.Config{KillingTimeout: testenv.Longest}, Stderr: &bad, Now: matchedAt}
	n, err := desksOf(c, p.spool, c.Reading, nil)
	testenv.OK(t, err)
	r := newReport()
	r.lookAfter(c, n, lost)
	if !alive(main) || len(r.Lost)+len(r.Failed) > 0 || bad.Len() > 0 {
		t.Errorf("the next attempt's job is alive: %v, the report is %+v, the complaint %q, want it alive and nothing said", alive(main), r, bad.String())
	}
	p.remove(id)
	p.noClaims()
}
