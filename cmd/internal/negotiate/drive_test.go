package negotiate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// dies names the file with the step at which a driver kills itself. The first that does renames it.
const dies = "NEGOTIATE_TEST_DIES"

// dieAsTold has this process kill itself when it has reached the step that is told then.
func dieAsTold() {
	told := os.Getenv(dies)
	if told == "" {
		return
	}
	reached = func(s step) {
		if at, err := os.ReadFile(told); err != nil || string(at) != string(s) || os.Rename(told, told+".done") != nil {
			return
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// drivenPool is a pool that drives itself, with programs of its own: negotiate is this test.
type drivenPool struct {
	*testing.T
	dir, bin    string
	environment []string // of its programs
}

// programs makes a folder with the commands that a driven pool needs.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	testenv.OK(t, err)
	copyFile(t, self, filepath.Join(dir, "negotiate"))
	for _, name := range []string{"submit", "starter", "qstat", "slots"} {
		copyFile(t, filepath.Join(testenv.Commands(t), name), filepath.Join(dir, name))
	}
	return dir
}

// copyFile copies a program. A link would not do: a program looks for the others beside the file
// that it is.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	testenv.OK(t, err)
	testenv.WriteProgram(t, to, text)
}

// newDrivenPool makes a pool of two slots of this machine, with a configuration. Its files are to
// be named by HERE in shell commands.
func newDrivenPool(t *testing.T, bin, config string) *drivenPool {
	t.Helper()
	p := &drivenPool{T: t, dir: t.TempDir(), bin: bin}
	t.Cleanup(p.end)
	p.environment = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HERE="+p.dir,
		"FAIRSPOOL_DIR="+p.path("spool"), "FAIRSPOOL_CONFIG="+p.path("config"), dies+"="+p.path("dies"))
	p.write("config", "UID_DOMAIN = \"example.org\"\nNETWORK_HOSTNAME = \"node1\"\nNEGOTIATOR_MIN_INTERVAL = 0\n"+config)
	p.write("slots.ads", slot("a")+"\n"+slot("b"))
	p.run([]string{"FAIRSPOOL_CYCLE_ON_CHANGE=false"}, "slots", "advertise", p.path("slots.ads"))
	for _, pipe := range []string{"go", "on"} {
		testenv.OK(t, unix.Mkfifo(p.path(pipe), 0o600))
	}
	return p
}

// slot returns the ad of a slot of this machine, which takes any job.
func slot(name string) string {
	return fmt.Sprintf("Name = \"%s@node1\"\nMachine = \"node1\"\nMemory = 1024\nRequirements = true\n", name)
}

func (p *drivenPool) path(name string) string { return filepath.Join(p.dir, name) }

func (p *drivenPool) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// run runs a program that is to succeed, with further variables.
func (p *drivenPool) run(variables []string, args ...string) {
	p.Helper()
	c := exec.Command(filepath.Join(p.bin, args[0]), args[1:]...)
	c.Env = slices.Concat(p.environment, variables)
	if out, err := c.CombinedOutput(); err != nil {
		p.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// on is the variable by which changes start cycles.
var on = []string{"FAIRSPOOL_CYCLE_ON_CHANGE=true"}

// submit submits a job that runs a shell command.
func (p *drivenPool) submit(command string) {
	p.Helper()
	p.run(on, "submit", "shell="+strings.ReplaceAll(command, "HERE", p.dir), "-queue", "1")
}

// submitDying submits a job whose driver dies at a step, whoever starts it, and waits until it is dead
// and the kernel has freed its lock, which takes a moment longer.
func (p *drivenPool) submitDying(at step, command string) {
	p.Helper()
	p.none("driver is at work", "-on-change") // which would make the cycle instead
	p.write("told", string(at))
	if err := os.Rename(p.path("told"), p.path("dies")); err != nil {
		p.Fatal(err)
	}
	p.submit(command)
	testenv.Until(p, "a driver is "+string(at), func() bool {
		_, err := os.Stat(p.path("dies.done"))
		return err == nil && !p.locked()
	})
}

// locked reports whether a process has the lock of drivers, as the kernel lists it: to try would be
// to have it.
func (p *drivenPool) locked() bool {
	info, err := os.Stat(p.path("spool/change.lock"))
	list, e := os.ReadFile("/proc/locks")
	if err != nil || e != nil {
		p.Fatal(err, e)
	}
	return bytes.Contains(list, fmt.Appendf(nil, ":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

func (p *drivenPool) has(name, text string) {
	p.Helper()
	testenv.Until(p, name+" is "+strconv.Quote(text), func() bool {
		b, _ := os.ReadFile(p.path(name))
		return string(b) == text
	})
}

// firstLeaves waits until the first job has left its slot.
func (p *drivenPool) firstLeaves() {
	p.Helper()
	testenv.Until(p, "the first job has left", func() bool {
		_, err := os.Stat(p.path("spool/claims.d/1.0.1"))
		return os.IsNotExist(err)
	})
}

// none waits until no process of the pool has a text in its command line. A list of processes is
// old when it has been read, and one may have left another behind: so it takes several.
func (p *drivenPool) none(what, text string) {
	p.Helper()
	none := func() bool {
		for _, line := range p.processes() {
			if strings.Contains(line, text) {
				return false
			}
		}
		return true
	}
	lists := 0
	testenv.Until(p, "no "+what, func() bool {
		if lists++; !none() {
			lists = 0
		}
		return lists == 3
	})
}

// processes returns the command lines of processes that have to do with the pool.
func (p *drivenPool) processes() (list []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if bytes.Contains(line, []byte(p.dir)) {
			list = append(list, name+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return list
}

// over waits until no change waits and no process of the pool is left.
func (p *drivenPool) over() {
	p.Helper()
	testenv.Until(p, "no change is left", func() bool {
		text, err := os.ReadFile(p.path("spool/change.lock"))
		return err == nil && strings.HasPrefix(string(text), "-- ")
	})
	p.none("process is left", "")
}

// end ends what is left.
func (p *drivenPool) end() {
	lists := 0 // as in none
	testenv.Await(func() bool {
		left := p.processes()
		for _, line := range left {
			kill(line)
			lists = -1
		}
		lists++
		return lists == 10
	})
}

// steps are all of a driver.
var steps = []step{stepTaken, stepRested, stepBegun, stepCycled, stepPassed, stepDone, stepReleased}

// TestDriverKilledAfterEachStep holds that the next command, which changes nothing, has the job run
// whose driver was killed, and once.
func TestDriverKilledAfterEachStep(t *testing.T) {
	bin := programs(t)
	t.Parallel()
	for _, at := range steps {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			p := newDrivenPool(t, bin, "")
			p.submitDying(at, "echo ran >>HERE/out")
			p.run(on, "qstat")
			p.has("out", "ran\n")
			p.over()
			p.has("out", "ran\n")
		})
	}
}

// TestDriverRunsGlidein holds that a driver runs glidein if there are engines, and that jobs run
// whatever becomes of it.
func TestDriverRunsGlidein(t *testing.T) {
	const engine = "[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1']\n"
	for _, c := range []struct{ name, config, script, glidein string }{
		{"no engine", "", "", ""},
		{"an engine", engine, "exit 1\n", "-q\n"},
		{"killed", engine, "kill -9 $$\n", "-q\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newDrivenPool(t, programs(t), c.config)
			testenv.WriteProgram(t, filepath.Join(p.bin, "glidein"), []byte("#!/bin/sh\nfor last; do :; done\necho $last >"+p.path("glidein")+"\n"+c.script))
			p.submit("echo ran >>HERE/out")
			p.has("out", "ran\n")
			p.has("glidein", c.glidein)
			p.end() // with an engine there is always something to do
		})
	}
}

// TestDriverKilledWhileJobsRun holds that a supervisor sees to a change whose driver was killed, and
// that what it starts is not taken for its job's.
func TestDriverKilledWhileJobsRun(t *testing.T) {
	bin := programs(t)
	t.Parallel()
	for _, at := range steps {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			p := newDrivenPool(t, bin, "NEGOTIATOR_INTERVAL = 1\n")
			p.submit("echo begins >>HERE/first; read word <HERE/go; echo ends >>HERE/first")
			p.has("first", "begins\n")
			p.submitDying(at, "echo begins >>HERE/second; read word <HERE/on; echo ends >>HERE/second")
			p.has("second", "begins\n")
			p.write("go", "go\n")
			p.has("first", "begins\nends\n")
			p.firstLeaves()
			p.write("on", "go\n")
			p.has("second", "begins\nends\n")
			p.over()
		})
	}
}

// TestCyclesAmongShortJobs holds that there are cycles while short jobs follow one another in their slots, none of which lasts until its
// supervisor looks.
func TestCyclesAmongShortJobs(t *testing.T) {
	bin := programs(t) // before others fork, which would have its files open for writing
	t.Parallel()
	p := newDrivenPool(t, bin, "NEGOTIATOR_INTERVAL = 1\n")
	p.write("job.sub", "executable = /bin/sleep\narguments = 0.1\nqueue 1000\n")
	p.run(on, "submit", p.path("job.sub"))
	cycles := func() int {
		var last struct{ Cycle int }
		text, _ := os.ReadFile(p.path("spool/cycle.json"))
		json.Unmarshal(text, &last)
		return last.Cycle
	}
	testenv.Until(t, "there are more cycles than those that the submission starts", func() bool { return cycles() >= 6 })
	if out, err := exec.Command(filepath.Join(p.bin, "qstat"), "-spool", p.path("spool"), "-config", p.path("config"), "-af", "ProcId").Output(); err != nil || len(out) == 0 {
		t.Errorf("all jobs have ended before: %s, %v", out, err)
	}
}

// TestChangesOfJobs holds that what a job submits is run while it runs, and outlives it.
func TestChangesOfJobs(t *testing.T) {
	bin := programs(t) // before others fork, which would have its files open for writing
	t.Parallel()
	p := newDrivenPool(t, bin, "")
	p.write("inner", "shell = echo begins >>"+p.dir+"/second; read word <"+p.path("on")+"; echo ends >>"+p.dir+"/second\nqueue\n")
	p.submit("PATH=" + p.bin + ":" + os.Getenv("PATH") + " FAIRSPOOL_DIR=HERE/spool FAIRSPOOL_CONFIG=HERE/config submit HERE/inner >HERE/said 2>&1; read word <HERE/go; echo ends >>HERE/first")
	p.has("said", "1 job submitted to cluster 2.\n")
	p.has("second", "begins\n")
	p.write("go", "go\n")
	p.has("first", "ends\n")
	p.firstLeaves()
	p.write("on", "go\n")
	p.has("second", "begins\nends\n")
	p.over()
}

// TestDriversKilled kills drivers and their passes at moments that are drawn while jobs are
// submitted.
func TestDriversKilled(t *testing.T) {
	bin := programs(t)
	t.Parallel()
	killDrivers(t, bin, 12, 1)
}

func TestSoakDriversKilled(t *testing.T) {
	length, seed := testenv.Soak(t)
	for end := time.Now().Add(length); time.Now().Before(end); seed++ {
		killDrivers(t, programs(t), 1000, seed)
	}
}

// killDrivers submits jobs until so many drivers and passes were killed, while a job runs. Then
// each job is run, without another command, and once.
func killDrivers(t *testing.T, bin string, kills int, seed uint64) {
	p := newDrivenPool(t, bin, "NEGOTIATOR_INTERVAL = 1\n")
	p.submit("echo begins >>HERE/first; read word <HERE/go")
	p.has("first", "begins\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		draw := rand.New(rand.NewPCG(seed, 0))
		for begun := time.Now(); kills > 0 && time.Since(begun) < 20*testenv.Longest; {
			for _, line := range p.processes() {
				driver := strings.Contains(line, "-on-change")
				pass := strings.Contains(line, "/starter ") && strings.HasSuffix(line, " -q ")
				if (driver || pass) && draw.IntN(2) == 0 && kill(line) {
					kills--
				}
			}
		}
	}()
	jobs := 0
	for running := true; running; jobs++ {
		p.submit(fmt.Sprintf("echo %d >>HERE/out", jobs))
		select {
		case <-done:
			running = false
		default:
		}
	}
	if kills > 0 {
		t.Fatalf("%d kills were left to do when %d jobs had been submitted", kills, jobs)
	}
	testenv.Until(t, fmt.Sprintf("%d jobs have run", jobs), func() bool { return len(p.ran()) >= jobs })
	p.write("go", "go\n")
	p.over()
	ran := p.ran()
	slices.Sort(ran)
	if n := len(slices.Compact(slices.Clone(ran))); n != jobs || len(ran) != jobs {
		t.Errorf("%d jobs ran %d times, want %d jobs, once each", n, len(ran), jobs)
	}
}

// ran returns what the jobs of killDrivers have written.
func (p *drivenPool) ran() []string {
	text, _ := os.ReadFile(p.path("out"))
	return strings.Fields(string(text))
}

// kill kills a process of a list of processes, and reports whether it was there.
func kill(line string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "/proc/"), "/")
	pid, err := strconv.Atoi(name)
	return err == nil && pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil
}
