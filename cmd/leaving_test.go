package cmd

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// batch is a farm whose pilots are jobs of a batch engine of its own.
type batch struct {
	*farmHere
	kind string // slurm or sge
	site string // the folder of the engine
	env  []string
}

// newBatch starts an engine, and makes a pool whose machines p1, p2 and so on are pilots there.
func newBatch(t *testing.T, kind string) *batch {
	t.Helper()
	up := engineScript(t, kind)
	if kind == "sge" && os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOTHING IS TESTED: a private Grid Engine is root's")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.OK(t, err)
	b := &batch{farmHere: &farmHere{T: t, bin: testenv.Commands(t), dir: dir}, kind: kind}
	var machines []string
	for i := range 100 {
		machines = append(machines, fmt.Sprintf("\"p%d\"", i+1))
	}
	b.config = fmt.Sprintf("NETWORK_HOSTNAME = \"head\"\nUID_DOMAIN = \"pool\"\nJOB_LEASE = 10\nMACHINE_MAX_VACATE_TIME = 20\nDETECT_SLOTS = false\n[engine.hpc]\nKIND = \"ssh\"\nLINK = \"home\"\nFILESYSTEM_DOMAIN = \"head\"\nHOSTS = [%s]\n", strings.Join(machines, ", "))
	write(t, b.path("fairspool.toml"), b.config)
	testenv.WriteProgram(t, b.path("home"), []byte(fmt.Sprintf("#!/bin/sh\nexport HOME='%s' FAIRSPOOL_DIR='%s' FAIRSPOOL_CONFIG='%s' FAIRSPOOL_CYCLE_ON_CHANGE=false\nexec '%s/serve' -pilot\n", dir, b.path("spool"), b.path("fairspool.toml"), b.bin)))
	t.Cleanup(b.end)
	b.start(up)
	return b
}

// engineScript returns the script that starts an engine of its own. The test is skipped where that or the engine is not there.
func engineScript(t *testing.T, kind string) string {
	t.Helper()
	up := filepath.Join(os.Getenv("FAIRSPOOL_SHARED"), "engines", kind+"-up.sh")
	for _, path := range []string{up, map[string]string{"slurm": "/usr/bin/sbatch", "sge": "/usr/bin/qsub"}[kind]} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("SKIPPED, NOTHING IS TESTED: %s: %v", kind, err)
		}
	}
	return up
}

// start starts the engine.
func (b *batch) start(up string) {
	b.Helper()
	var err error
	if b.site, err = os.MkdirTemp("/tmp", "fs"); err != nil { // sockets have short paths
		b.Fatal(err)
	}
	testenv.OK(b, os.Chmod(b.site, 0o755))
	port := freePorts(b.T, 4)
	args := map[string][]string{"slurm": {b.site, "2", strconv.Itoa(port)}, "sge": {b.site, strconv.Itoa(port)}}[b.kind]
	c := exec.Command("/bin/bash", append([]string{up}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "USER=" + os.Getenv("USER")}
	b.Cleanup(b.stopEngine)
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", up, err, out)
	}
	b.env = []string{"SLURM_CONF=" + b.site + "/slurm.conf"}
	if b.kind != "sge" {
		return
	}
	b.env = []string{"SGE_ROOT=" + b.site + "/root", "SGE_CELL=cell", fmt.Sprint("SGE_QMASTER_PORT=", port), fmt.Sprint("SGE_EXECD_PORT=", port+1), "SGE_ND=1"}
	// When a job is over its daemon kills all that have the group of that job, and must not find those of another engine there.
	b.must("sh", "-c", fmt.Sprintf("mkdir -p '%[1]s/c' && qconf -sconf | sed 's/^min_uid.*/min_uid 0/; s/^min_gid.*/min_gid 0/; s/^gid_range.*/gid_range %[2]d00-%[2]d99/' >'%[1]s/c/global' && qconf -Mconf '%[1]s/c/global'", b.site, port))
	// Its daemon learns of the new ranges of ids later, and refuses root's jobs until then, and its queue all that come next.
	probe := b.must("qsub", "-terse", "-b", "y", "-j", "y", "-o", "/dev/null", "/bin/true")
	testenv.Until(b.T, "Grid Engine runs a job of root's", func() bool {
		lasts(200 * time.Millisecond)
		b.engine("qmod", "-c", "*").Run()
		return !strings.Contains(b.must("qstat", "-u", "*"), probe+" ")
	})
}

// freePorts returns the first of n ports that are free.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(10000)
		free := true
		for i := range n {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+i))
			if free = free && err == nil; err == nil {
				l.Close()
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("no ports are free")
	return 0
}

// daemons returns the process ids of the engine's processes.
func (b *batch) daemons() (list []int) {
	files, _ := filepath.Glob(b.site + "/*.mypid")
	for _, path := range files {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// stopEngine ends the engine and all that runs there.
func (b *batch) stopEngine() {
	if b.Failed() && b.kind == "slurm" {
		for _, args := range [][]string{{"squeue", "--states=all"}, {"sinfo", "-R"}} {
			out, _ := b.engine(args...).CombinedOutput()
			b.Logf("%s", out)
		}
	}
	b.end()
	for _, pid := range b.daemons() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs { // shepherds, stepds, those that were started again
		line, _ := os.ReadFile(proc + "/cmdline")
		env, _ := os.ReadFile(proc + "/environ")
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && pid != os.Getpid() && (strings.Contains(string(line), b.site+"/") || strings.Contains(string(env), b.site+"/")) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	os.RemoveAll(b.site)
}

// engine returns a command of the engine's.
func (b *batch) engine(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + b.dir, "USER=root"}, b.env...)
	c.Dir = "/"
	return c
}

// must runs a command of the engine's, and returns what it prints.
func (b *batch) must(args ...string) string {
	b.Helper()
	out, err := b.engine(args...).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// pilot submits a pilot for a machine, with more arguments of sbatch or qsub, and returns the engine's name for it.
func (b *batch) pilot(machine string, idle, length int, more ...string) string {
	b.Helper()
	token := b.run("glidein", "-token", machine)
	testenv.OK(b, os.WriteFile(b.path("token."+machine), []byte(token), 0o600))
	script := fmt.Sprintf("#!/bin/sh\nexec env -i PATH=\"$PATH\" HOME='%[1]s' CMD_TEST_THERE='%[1]s' SLURM_JOB_ID=\"$SLURM_JOB_ID\" SGE_TASK_ID=\"$SGE_TASK_ID\" '%[2]s/starter' -pilot -state '%[1]s/state.%[3]s' -home '%[1]s/home' -token '%[1]s/token.%[3]s' -idle %[4]d -time %[5]d\n",
		b.dir, b.bin, machine, idle, length)
	args := []string{"sbatch", "--parsable", "-J", machine, "-n", "1", "-t", "60", "-o", b.path("out." + machine), "--open-mode=append"}
	if b.kind == "sge" {
		args = []string{"qsub", "-terse", "-N", machine, "-S", "/bin/sh", "-j", "y", "-o", b.path("out." + machine), "-notify"}
	}
	c := b.engine(append(args, more...)...)
	c.Stdin = strings.NewReader(script)
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %v: %s", c.Args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// told counts the lines of what jobs have told that begin with a word.
func (b *batch) told(what string) int {
	text, _ := os.ReadFile(b.path("told.d/told"))
	return strings.Count("\n"+string(text), "\n"+what+" ")
}

// until waits for a condition, and says what there is if it does not come.
func (b *batch) until(what string, met func() bool) {
	b.Helper()
	if !testenv.Await(func() bool { lasts(50 * time.Millisecond); return met() }) {
		outs, _ := filepath.Glob(b.path("out.*"))
		for _, path := range outs {
			text, _ := os.ReadFile(path)
			b.Logf("%s: %s", path, text)
		}
		b.Fatalf("it does not come: %s\n%s\n%s\n%s", what, b.run("qstat", "-j"), b.run("slots", "list", "-pilots"), b.run("slots", "list"))
	}
}

// reasons returns why jobs have left their slots last, a line each.
func (b *batch) reasons() string {
	return b.run("qstat", "-constraint", "VacateReason isnt undefined && JobStatus == 1", "-af", "VacateReason")
}

// state returns the state of a machine's pilot.
func (b *batch) state(machine string) string {
	for line := range strings.Lines(b.run("slots", "list", "-pilots")) {
		if strings.Contains(line, machine+" ") {
			return line
		}
	}
	return ""
}

// TestPilotsLeave ends pilots by each of the engine's own means while jobs run that do not mind their signals: the jobs are idle again, with the
// engine and the pilot in their reason, and run to their ends in a later pilot.
func TestPilotsLeave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind string
		length     int
		more       []string
		end        func(b *batch, ref string)
		why        string
	}{
		{"scancel", "slurm", 600, nil, func(b *batch, ref string) { b.must("scancel", ref) }, "its pilot hpc-1 leaves: Slurm sent SIGTERM"},
		{"warning of Slurm", "slurm", 600, nil, func(b *batch, ref string) { b.must("scancel", "--signal=USR1", "--batch", ref) }, "its pilot hpc-1 leaves: Slurm sent SIGUSR1"},
		{"own time", "slurm", 25, nil, func(*batch, string) {}, "its pilot hpc-1 leaves: Slurm gave it 25s"},
		{"requeue", "slurm", 600, []string{"--requeue"}, func(b *batch, ref string) { b.must("scontrol", "requeue", ref) }, "its pilot hpc-1 leaves: Slurm sent SIGTERM"},
		{"qdel", "sge", 600, nil, func(b *batch, ref string) { b.must("qdel", ref) }, "its pilot hpc-1 leaves: Grid Engine sent SIGUSR2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBatch(t, c.kind)
			b.submit(2, "20")
			ref := b.pilot("p1", 600, c.length, c.more...)
			b.cron()
			b.until("two jobs run", func() bool { return b.told("begin") == 2 })
			c.end(b, ref)
			b.until("the pilot is gone", func() bool { return strings.Contains(b.state("p1"), "Gone") })
			b.until("both jobs are idle again", func() bool { return strings.Count(b.reasons(), c.why+"\n") == 2 })
			if n := b.told("end"); n != 0 {
				t.Errorf("%d jobs have ended", n)
			}
			write(t, b.path("told.d/short"), "")
			b.pilot("p2", 600, 600)
			b.ended(2)
		})
	}
}

// TestPilotTerm has a pilot that has had no job for long leave, and jobs run there only if they say that they end before it has to.
func TestPilotTerm(t *testing.T) {
	t.Parallel()
	b := newBatch(t, "slurm")
	b.run("submit", "-name", "long", "-time", "1h", "-output", b.path("long"), "--", "true")
	b.run("submit", "-name", "any", "-output", b.path("any"), "--", "true")
	b.run("submit", "-name", "short", "-time", "5m", "-output", b.path("short"), "--", "true")
	b.pilot("p1", 8, 1200)
	b.until("the machine is there", func() bool { return b.run("slots", "list", "-af", "PilotEnds > time() + 300") == "true\n" })
	b.cron()
	b.until("the pilot is gone", func() bool { return strings.Contains(b.state("p1"), "Gone") })
	b.stop()
	if left := b.run("qstat", "-af", "ClusterId"); left != "1\n" {
		t.Errorf("jobs %q are left, want that which takes an hour", left)
	}
	if why := b.state("p1"); !strings.Contains(why, "it had no job for 8s") {
		t.Errorf("the pilot says %s", why)
	}
	b.until("Slurm has the job no more", func() bool { return b.must("squeue", "-h") == "" })
}
