package cmd

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// isPipe has the test binary be what ssh is to a machine that is this one: it runs the command, and carries bytes
// both ways. It names the folder of the test, in which the file weather says how.
const isPipe = "CMD_TEST_IS_PIPE"

// pipe is the life of such a process. What weather may hold:
//
//	down       it ends at once
//	stall      no byte gets through, and none is lost
//	delay N    each piece takes up to N milliseconds
//	cut N      it ends when N bytes have got through, wherever that is
//	drop N     it swallows what comes then, until the weather changes, and ends
func pipe() int {
	dir := os.Getenv(isPipe)
	w := &weather{path: filepath.Join(dir, "weather")}
	if what, _ := w.now(); what == "down" {
		fmt.Fprintln(os.Stderr, "ssh: connect to host n1 port 22: Connection refused")
		return 255
	}
	c := exec.Command("/bin/sh", "-c", strings.Join(os.Args[2:], " "))
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CMD_TEST_THERE=" + dir}
	in, err := c.StdinPipe()
	if err != nil {
		return 255
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return 255
	}
	go func() {
		w.carry(in, os.Stdin)
		in.Close()
	}()
	w.carry(os.Stdout, out)
	return 0
}

// weather is that on the way of a pipe.
type weather struct {
	path    string
	mu      sync.Mutex
	through int // bytes
}

func (w *weather) now() (what string, n int) {
	text, _ := os.ReadFile(w.path)
	what, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, _ = strconv.Atoi(number)
	return what, n
}

// carry carries bytes until one end is gone.
func (w *weather) carry(to io.Writer, from io.Reader) {
	b := make([]byte, 4<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && !w.pass(to, b[:n]) || err != nil {
			return
		}
	}
}

func (w *weather) pass(to io.Writer, b []byte) bool {
	for {
		switch what, n := w.now(); what {
		case "stall":
			lasts(5 * time.Millisecond)
			continue
		case "down":
			os.Exit(255)
		case "delay":
			lasts(time.Duration(rand.IntN(n+1)) * time.Millisecond)
		case "cut", "drop":
			w.mu.Lock()
			left := n - w.through
			w.through += len(b)
			w.mu.Unlock()
			if left >= len(b) {
				break
			}
			to.Write(b[:max(left, 0)])
			for what == "drop" {
				lasts(5 * time.Millisecond)
				what, _ = w.now()
			}
			os.Exit(255)
		}
		_, err := to.Write(b)
		return err == nil
	}
}

// lasts returns when a fault has lasted so long. Nothing is waited for by that.
func lasts(d time.Duration) { <-time.After(d) }

// farmHere is a pool with machines that are all this one, at the other ends of pipes. What cron does is done all the time.
type farmHere struct {
	*testing.T
	bin, dir string
	config   string
	mu       sync.Mutex
	glidein  *os.Process // that runs now
	stop     func()
	pause    time.Duration // between what cron does
	// as is whose processes run; nil: this one's user's.
	as *syscall.Credential
}

// newFarmHere makes such a farm, in which jobs see the submitter's files if domain is head.
func newFarmHere(t *testing.T, domain string, more string, machines ...string) *farmHere {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.OK(t, err)
	f := &farmHere{T: t, bin: testenv.Commands(t), dir: dir}
	self, err := os.Executable()
	testenv.OK(t, err)
	testenv.WriteProgram(t, f.path("ssh"), []byte("#!/bin/sh\n"+isPipe+"='"+dir+"' exec '"+self+"' \"$@\"\n"))
	f.config = fmt.Sprintf("NETWORK_HOSTNAME = \"head\"\nUID_DOMAIN = \"pool\"\nJOB_LEASE = 10\n%s\n[engine.farm]\nKIND = \"ssh\"\nHOSTS = [\"%s\"]\nSSH = [\"%s\"]\nSTARTER = \"%s\"\nSTATE = \"%s\"\n",
		more, strings.Join(machines, `", "`), f.path("ssh"), filepath.Join(f.bin, "starter"), f.path("state"))
	if domain != "" {
		f.config += "FILESYSTEM_DOMAIN = \"" + domain + "\"\n"
	}
	write(t, f.path("fairspool.toml"), f.config)
	t.Cleanup(f.end)
	return f
}

func (f *farmHere) path(name string) string { return filepath.Join(f.dir, name) }

func (f *farmHere) weather(text string) {
	f.Helper()
	write(f.T, f.path("weather.new"), text)
	if err := os.Rename(f.path("weather.new"), f.path("weather")); err != nil {
		f.Fatal(err)
	}
}

func (f *farmHere) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(f.bin, args[0]), args[1:]...)
	c.Dir = f.dir
	c.Env = []string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH"), "FAIRSPOOL_DIR=" + f.path("spool"), "FAIRSPOOL_CONFIG=" + f.path("fairspool.toml"), "FAIRSPOOL_CYCLE_ON_CHANGE=false"}
	c.WaitDelay = testenv.Longest
	if f.as != nil {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: f.as}
	}
	return c
}

// run runs a command that has to succeed, and returns what it prints.
func (f *farmHere) run(args ...string) string {
	f.Helper()
	c := f.command(context.Background(), args...)
	var bad strings.Builder
	c.Stderr = &bad
	out, err := c.Output()
	if err != nil {
		f.Errorf("%v: %v: %s%s", args, err, out, bad.String())
	}
	return string(out)
}

// cron does what cron does until stop is called, but all the time, and glidein leaves no machine alone.
func (f *farmHere) cron() {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			f.links()
			f.command(ctx, "negotiate", "-q").Run()
			f.command(ctx, "starter", "-q").Run()
			select {
			case <-ctx.Done():
			case <-time.After(max(f.pause, 30*time.Millisecond)):
			}
		}
	})
	f.stop = func() {
		cancel()
		all.Wait()
		f.stop = func() {}
	}
}

// links runs glidein, which leaves no machine alone.
func (f *farmHere) links() {
	logs, _ := filepath.Glob(f.path("spool/pilot.*.log"))
	engines, _ := filepath.Glob(f.path("spool/engine.*.log"))
	for _, path := range append(logs, engines...) {
		text, _ := os.ReadFile(path)
		if log, err := os.OpenFile(f.path("links.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			log.Write(text)
			log.Close()
		}
		os.Remove(path)
	}
	c := f.command(context.Background(), "glidein", "-q")
	c.WaitDelay = 0
	if c.Start() != nil {
		return
	}
	f.mu.Lock()
	f.glidein = c.Process
	f.mu.Unlock()
	c.Wait()
	f.mu.Lock()
	f.glidein = nil
	f.mu.Unlock()
}

// end ends all processes of the farm's.
func (f *farmHere) end() {
	if f.stop != nil {
		f.stop()
	}
	if f.Failed() {
		for _, name := range []string{"links.log", "spool/starter.log", "state/log"} {
			text, _ := os.ReadFile(f.path(name))
			if n := len(text); n > 8000 {
				text = text[n-8000:]
			}
			f.Logf("%s:\n%s", name, text)
		}
	}
	for range 3 { // one may start another
		for _, p := range f.processes() {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		lasts(10 * time.Millisecond)
	}
}

// victim is a process of a farm's.
type victim struct {
	pid  int
	kind string // supervisor, pilot, serve, negotiate, pipe; else other
	args string
}

// processes returns the processes of the farm's.
func (f *farmHere) processes() (list []victim) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		pid, _ := strconv.Atoi(filepath.Base(proc))
		env, err := os.ReadFile(proc + "/environ")
		line, _ := os.ReadFile(proc + "/cmdline")
		if err != nil || pid == os.Getpid() || !strings.Contains(string(env)+string(line), f.dir) {
			continue
		}
		if len(line) == 0 {
			continue // a zombie
		}
		args := strings.ReplaceAll(string(line), "\x00", " ")
		v := victim{pid, "other", args}
		switch {
		case strings.Contains(string(env), "\x00"+isPipe+"=") || strings.HasPrefix(string(env), isPipe+"="):
			v.kind = "pipe"
		case strings.Contains(args, " -supervise "):
			v.kind = "supervisor"
		case strings.HasPrefix(args, filepath.Join(f.bin, "serve")+" "):
			v.kind = "serve"
		case strings.HasPrefix(args, filepath.Join(f.bin, "negotiate")+" "):
			v.kind = "negotiate"
		case strings.HasPrefix(args, filepath.Join(f.bin, "starter")+" -pilot"):
			v.kind = "pilot"
		}
		list = append(list, v)
	}
	return list
}

// faults are what is done to a process.
var faults = []string{"KILL", "STOP and CONT", "STOP and KILL"}

// victims are the kinds of processes to which faults are done.
var victims = []string{"supervisor", "pilot", "pipe", "serve", "glidein"}

// strike does a fault to a process of a kind, and reports whether there was one.
func (f *farmHere) strike(kind, fault string, draw *rand.Rand) bool {
	pid := 0
	if kind == "glidein" {
		f.mu.Lock()
		if f.glidein != nil {
			pid = f.glidein.Pid
		}
		f.mu.Unlock()
	} else {
		list := slices.DeleteFunc(f.processes(), func(v victim) bool { return v.kind != kind })
		if len(list) > 0 {
			pid = list[draw.IntN(len(list))].pid
		}
	}
	if pid == 0 {
		return false
	}
	if fault != "KILL" {
		if syscall.Kill(pid, syscall.SIGSTOP) != nil {
			return false
		}
		lasts(time.Duration(draw.IntN(300)) * time.Millisecond)
	}
	if fault == "STOP and CONT" {
		return syscall.Kill(pid, syscall.SIGCONT) == nil
	}
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

// toldJob is a program that tells of its beginning and its end, and whether another attempt of its job is there:
// a lock is freed by the death of all that have it. It leaves a process behind, and a file. When an engine ends it and its
// sleep by a signal, and the sleep first, it has not come to its end.
const toldJob = `#!/bin/sh
exec 8>>"$1/lock.$2"
flock -n 8 || echo "overlap $2" >>"$1/told"
echo "begin $2" >>"$1/told"
setsid sleep 1000 &
echo "$2" >result.$2
if [ -e "$1/short" ]; then sleep 0.1; else sleep $3$(($2 % 7)) || exit; fi
echo "end $2" >>"$1/told"
`

// submit submits n jobs that tell, and take up to 6 units of time, as "0." for tenths of a second.
func (f *farmHere) submit(n int, unit string) {
	f.Helper()
	if err := os.MkdirAll(f.path("told.d"), 0o755); err != nil {
		f.Fatal(err)
	}
	testenv.WriteProgram(f, f.path("job"), []byte(toldJob))
	write(f.T, f.path("job.sub"), fmt.Sprintf("executable = %s\narguments = %s $(Process) %s\ninitialdir = %s\ntransfer_output_files = result.$(Process)\nshould_transfer_files = IF_NEEDED\nrequirements = Machine != \"head\"\nlog = %s\nqueue %d\n",
		f.path("job"), f.path("told.d"), unit, f.path("told.d"), f.path("log"), n))
	f.ours()
	f.run("submit", "job.sub")
}

// queued returns how many jobs are queued.
func (f *farmHere) queued() int {
	out, err := f.command(context.Background(), "qstat", "-af", "ProcId").Output()
	if err != nil {
		return -1
	}
	return strings.Count(string(out), "\n")
}

// ended waits until all of n jobs have ended, and holds that each has done so once, that no two attempts of one were there at
// the same time, that the spool is whole and that nothing is left.
func (f *farmHere) ended(n int) (begun int) {
	f.Helper()
	if !testenv.Await(func() bool {
		lasts(100 * time.Millisecond)
		left := f.queued()
		return left == 0 || left > 0 && f.run("qstat", "-constraint", "JobStatus == 5", "-af", "ProcId") != ""
	}) || f.queued() != 0 {
		f.Fatalf("jobs are left: %s", f.run("qstat", "-j"))
	}
	f.stop()
	times, ends := map[string]int{}, map[string]int{}
	for _, line := range strings.Split(f.run("qstat", "-history", "-af", "ProcId", "JobStatus", "ExitCode"), "\n") {
		times[strings.Join(strings.Fields(line), ",")]++
	}
	told, _ := os.ReadFile(f.path("told.d/told"))
	for line := range strings.Lines(string(told)) {
		what, job, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "overlap":
			f.Errorf("two attempts of job %s were there at once", job)
		case "begin":
			begun++
		case "end":
			ends[job]++
		}
	}
	for i := range n {
		job := strconv.Itoa(i)
		if times[job+",4,0"] != 1 || ends[job] == 0 {
			f.Errorf("job %d has left the queue %d times with success, and told of its end %d times", i, times[job+",4,0"], ends[job])
		}
		if text, err := os.ReadFile(f.path("told.d/result." + job)); string(text) != job+"\n" {
			f.Errorf("job %d has left %q (%v), as are the pool's settings\n%s", i, text, err, f.config)
		}
	}
	f.run("spool", "check")
	f.clean()
	return begun
}

// clean waits until of the processes and files of attempts nothing is left.
func (f *farmHere) clean() {
	f.Helper()
	var left []string
	if !testenv.Await(func() bool {
		left = nil
		for _, v := range f.processes() {
			if v.kind == "supervisor" || v.kind == "other" {
				left = append(left, fmt.Sprint(v.pid, " ", v.args))
			}
		}
		for _, pattern := range []string{"state/claims.d/*", "state/execute/*", "spool/claims.d/*", "spool/execute/*"} {
			names, _ := filepath.Glob(f.path(pattern))
			left = append(left, names...)
		}
		return len(left) == 0
	}) {
		f.Errorf("there are left: %s", strings.Join(left, "\n"))
	}
}

// TestFaultsOfPilots does each fault to each kind of process while jobs run, in place and with files that travel.
func TestFaultsOfPilots(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"head", ""} {
		t.Run("domain "+domain, func(t *testing.T) {
			t.Parallel()
			const rounds = 2
			faultsOfPilots(t, domain, 60, rand.New(rand.NewPCG(1, 1)), func(done int) bool { return done < rounds*len(victims)*len(faults) })
		})
	}
}

// TestSoakFaultsOfPilots does faults at random, until so much time is over.
func TestSoakFaultsOfPilots(t *testing.T) {
	length, seed := testenv.Soak(t)
	const atOnce = 3
	var all sync.WaitGroup
	total := make([]map[string]int, atOnce)
	for i := range atOnce {
		total[i] = map[string]int{}
		all.Go(func() {
			draw := rand.New(rand.NewPCG(seed, uint64(i)))
			for begun := time.Now(); time.Since(begun) < length && !t.Failed(); {
				t.Run("batch", func(t *testing.T) {
					domain := []string{"head", ""}[draw.IntN(2)]
					for what, n := range faultsOfPilots(t, domain, 200, draw, func(int) bool { return time.Since(begun) < length }) {
						total[i][what] += n
					}
				})
			}
		})
	}
	all.Wait()
	n := 0
	for _, part := range total {
		for _, k := range part {
			n += k
		}
	}
	t.Logf("%d faults: %v", n, total)
}

// faultsOfPilots does faults while so many jobs run, as long as goesOn says so, and counts them.
func faultsOfPilots(t *testing.T, domain string, jobs int, draw *rand.Rand, goesOn func(done int) bool) map[string]int {
	f := newFarmHere(t, domain, "", "n1")
	f.submit(jobs, "0.")
	f.cron()
	n := f.strikes(draw, goesOn)
	begun := f.ended(jobs)
	t.Logf("%v; %d jobs were begun %d times", n, jobs, begun)
	return n
}

// strikes does faults as long as goesOn says so and jobs are left, and counts them.
func (f *farmHere) strikes(draw *rand.Rand, goesOn func(done int) bool) map[string]int {
	n := map[string]int{}
	for done := 0; goesOn(done) && f.queued() != 0; done++ {
		kind, fault := victims[done%len(victims)], faults[done/len(victims)%len(faults)]
		struck := false
		for end := time.Now().Add(5 * time.Second); !struck && time.Now().Before(end); {
			lasts(time.Duration(draw.IntN(40)) * time.Millisecond)
			struck = f.strike(kind, fault, draw)
		}
		if struck {
			n[kind+" "+fault]++
		}
		if done%len(victims) == 0 {
			n[f.storm(draw)]++
		}
	}
	f.weather("")
	return n
}

// storm has another weather on the way of the pipe for a while, and returns which.
func (f *farmHere) storm(draw *rand.Rand) string {
	f.Helper()
	what := []string{"down", "stall", "delay", "cut", "drop"}[draw.IntN(5)]
	size := map[string]int{"delay": 30, "cut": 20000, "drop": 20000}[what]
	f.weather(fmt.Sprint(what, " ", draw.IntN(size+1)))
	lasts(time.Duration(draw.IntN(300)) * time.Millisecond)
	f.weather("")
	return what
}

// TestTwinPilots has state folders that are copied while jobs run, and others under the same name: each job runs once.
func TestTwinPilots(t *testing.T) {
	t.Parallel()
	twins(t, 100)
}

// TestSoakTwinPilots is TestTwinPilots with more jobs.
func TestSoakTwinPilots(t *testing.T) {
	testenv.SoakWhole(t)
	twins(t, 1000)
}

func twins(t *testing.T, jobs int) {
	f := newFarmHere(t, "head", "", "n1")
	f.submit(jobs, "0.0")
	f.cron()
	draw := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for turn := 0; f.queued() > 0; turn++ {
		state := []string{"state", "state.copy", "state", "state.other"}[turn%4]
		if state == "state.copy" {
			os.RemoveAll(f.path("state.copy.new"))
			if out, err := exec.Command("cp", "-a", f.path("state"), f.path("state.copy.new")).CombinedOutput(); err != nil {
				t.Logf("%s", out) // of what was removed meanwhile
			}
			if os.Rename(f.path("state.copy.new"), f.path(state)) != nil { // the earlier one goes on
				os.RemoveAll(f.path("state.copy.new"))
			}
		}
		write(t, f.path("fairspool.toml.new"), strings.ReplaceAll(f.config, `state"`, state+`"`))
		testenv.OK(t, os.Rename(f.path("fairspool.toml.new"), f.path("fairspool.toml")))
		f.strike("serve", "KILL", draw)
		f.turns()
		lasts(time.Duration(draw.IntN(300)) * time.Millisecond)
		for _, v := range f.processes() {
			if v.kind == "supervisor" {
				seen[state]++
			}
		}
	}
	begun := f.ended(jobs)
	if begun != jobs {
		t.Errorf("%d jobs were begun %d times", jobs, begun)
	}
	t.Logf("%d jobs were begun %d times; supervisors seen: %v", jobs, begun, seen)
}

// turns waits until jobs have ended over the link that comes now, or its pilot was refused; a second if neither is so.
func (f *farmHere) turns() {
	f.Helper()
	refusals := func() int {
		text, _ := os.ReadFile(f.path("links.log"))
		return strings.Count(string(text), "another pilot on")
	}
	queued, refused := f.queued(), refusals()
	for range 20 {
		if lasts(50 * time.Millisecond); f.queued() < queued || refusals() > refused {
			return
		}
	}
}

// TestBrokenLink has links that break, and are down for a part of a lease: the jobs that run go on, and none is begun twice.
func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for _, weather := range []string{"down", "stall", "drop"} {
		t.Run(weather, func(t *testing.T) {
			t.Parallel()
			if n := broken(t, weather, 30, 5*time.Second); n != 2 {
				t.Errorf("2 jobs were begun %d times", n)
			}
		})
	}
}

// TestSoakBrokenLink has links that are down for three leases: the jobs there are ended, and begun again only when they are gone.
func TestSoakBrokenLink(t *testing.T) {
	testenv.SoakWhole(t)
	for _, weather := range []string{"down", "stall", "drop"} {
		t.Run(weather, func(t *testing.T) {
			t.Parallel()
			if n := broken(t, weather, 10, 60*time.Second); n != 4 {
				t.Errorf("2 jobs were begun %d times, want 4: their machine was not heard of for longer than its lease", n)
			}
		})
	}
}

// TestLeaseOverWhileFilesTravel has a job end whose output cannot travel until its lease is over on its machine, and its claim be
// there still when it can: it runs again, and its output comes.
func TestLeaseOverWhileFilesTravel(t *testing.T) {
	t.Parallel()
	f := newFarmHere(t, "", "", "n1")
	f.submit(1, "2.")
	f.links()
	told := func(what string) bool {
		text, _ := os.ReadFile(f.path("told.d/told"))
		return strings.Contains(string(text), what)
	}
	testenv.Until(t, "the job runs", func() bool {
		lasts(100 * time.Millisecond)
		f.run("negotiate", "-q")
		return told("begin")
	})
	f.weather("down")
	testenv.Until(t, "the job has ended", func() bool { return told("end") })
	supervisors := func() (n int) {
		for _, v := range f.processes() {
			if v.kind == "supervisor" {
				n++
			}
		}
		return n
	}
	lasts(12 * time.Second) // JOB_LEASE and more
	f.weather("")
	testenv.Until(t, "the supervisor has told of the end", func() bool {
		lasts(100 * time.Millisecond)
		f.links()
		return supervisors() == 0
	})
	f.cron()
	if begun := f.ended(1); begun != 2 {
		t.Errorf("the job was begun %d times, want twice", begun)
	}
}

// TestSoakLongSilence has links that are down for as long as the soak takes, and for 30 minutes at most, while jobs end that have a longer
// lease.
func TestSoakLongSilence(t *testing.T) {
	length, _ := testenv.Soak(t)
	for _, weather := range []string{"down", "stall", "drop"} {
		t.Run(weather, func(t *testing.T) {
			t.Parallel()
			f := newFarmHere(t, "", "", "n1")
			write(t, f.path("fairspool.toml"), strings.Replace(f.config, "JOB_LEASE = 10", "JOB_LEASE = 2400", 1))
			f.pause = 2 * time.Second
			if n := f.silent(weather, min(length, 30*time.Minute)); n != 2 {
				t.Errorf("2 jobs were begun %d times", n)
			}
		})
	}
}

// broken has two jobs run, with a lease of so many seconds, while the link is down for so long, and returns how often they were begun.
func broken(t *testing.T, weather string, lease int, length time.Duration) int {
	f := newFarmHere(t, "head", "", "n1")
	write(t, f.path("fairspool.toml"), strings.Replace(f.config, "JOB_LEASE = 10", fmt.Sprint("JOB_LEASE = ", lease), 1))
	return f.silent(weather, length)
}

// silent has two jobs run while the link is down for so long, and returns how often they were begun.
func (f *farmHere) silent(weather string, length time.Duration) int {
	f.Helper()
	f.submit(2, "1")
	f.cron()
	testenv.Until(f.T, "the jobs run", func() bool {
		told, _ := os.ReadFile(f.path("told.d/told"))
		return strings.Count(string(told), "begin") == 2
	})
	f.weather(weather)
	lasts(length)
	f.weather("")
	return f.ended(2)
}
