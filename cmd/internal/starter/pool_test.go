package starter

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/joblog"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// The test binary is starter itself when this is set in the environment. Its
// supervisors inherit that.
const isStarter = "STARTER_TEST_IS_STARTER"

// users names the folder with the programs by which a starter looks up users.
const users = "STARTER_TEST_USERS"

func TestMain(m *testing.M) {
	goneLooks, lookEvery, measureEvery = 2, 10*time.Millisecond, 50*time.Millisecond
	if os.Getenv(isStarter) != "" {
		joblog.Patience = timeAsTold(patient, testenv.Longest)
		stopLag = timeAsTold(lags, 0)
		dieAsTold()
		stopAsTold()
		countAsTold()
		dallyAsTold()
		cmdtest.LookIn(os.Getenv(users))
		cmdline.Main(Command())
		return
	}
	os.Exit(runTests(m))
}

// runTests runs the tests, in whose processes alice is known. They mostly wait for other processes:
// more of them run at a time than there are processors.
func runTests(m *testing.M) (status int) {
	dir, err := os.MkdirTemp("", "starter")
	if err == nil {
		defer os.RemoveAll(dir)
		if err = cmdtest.UsersIn(dir); err == nil {
			cmdtest.LookIn(dir)
			err = os.Setenv(users, dir)
		}
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if err == nil && !chosen {
		err = flag.Set("test.parallel", "8")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Unsetenv("FAIRSPOOL_NOW") // tests of the machine's clock read it
	return testenv.Run(m)
}

const (
	// patient names how long a starter waits for others that write a job's log; by default for what no
	// test waits for in vain.
	patient = "STARTER_TEST_PATIENT"
	// lags names how long a supervisor waits for the signal that ended its job; by default not at all.
	lags = "STARTER_TEST_LAGS"
)

// timeAsTold returns a time that the environment names, or else usual.
func timeAsTold(name string, usual time.Duration) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil {
		return usual
	}
	return d
}

// The policy time that the tests' jobs were matched at.
var matchedAt = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

var params = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, RemoteFactor: 1e4}

const submitter = "alice@example.org"

// testPool is a spool with jobs of alice's, in a folder with their files.
type testPool struct {
	*testing.T
	dir, config string
	gate        *os.File
	spool       *spool.Spool
}

// newPool makes an empty pool, in which this machine is called node1.
func newPool(t *testing.T) *testPool {
	t.Helper()
	dir := t.TempDir()
	p := &testPool{T: t, dir: dir, config: filepath.Join(dir, "config.toml")}
	cmdtest.Share(t, dir)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\n")
	p.pipes()
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{
		Program: "test", UIDDomain: "example.org", LockWait: testenv.Longest, Now: matchedAt,
	})
	testenv.OK(t, err)
	p.spool = sp
	t.Cleanup(p.end)
	return p
}

// end ends what a failed test has left running.
func (p *testPool) end() {
	for _, c := range p.claims() {
		if c.PID > 0 {
			syscall.Kill(c.PID, syscall.SIGKILL)
		}
	}
	if p.Failed() {
		for _, pid := range p.relatives() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// What jobs wait with, in shell.
const (
	// awaitGo waits until the test calls open or letGo.
	awaitGo = `until read x <HERE/go; do :; done`
	// hang never ends by itself.
	hang = `while :; do read x <>HERE/never; done`
	// heed does as hang, and a shell that traps a signal does so at once: it may come just
	// before read waits, but not just before wait does.
	heed = `setsid ` + linger + ` & while :; do wait; done`
	// linger is a program that never ends by itself, for processes beside the shell.
	linger = `tail -f /dev/null`
)

// pipes makes the pipes from which jobs read that wait.
func (p *testPool) pipes() {
	p.Helper()
	for _, name := range []string{"go", "never"} {
		path := filepath.Join(p.dir, name)
		if err := unix.Mkfifo(path, 0o600); err != nil {
			p.Fatal(err)
		}
		cmdtest.Share(p, path)
	}
	var err error
	if p.gate, err = os.OpenFile(filepath.Join(p.dir, "go"), os.O_RDWR, 0); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { p.gate.Close() })
}

// open has all jobs go on that wait with awaitGo, now or later.
func (p *testPool) open() {
	p.Helper()
	const most = 64 // readings of a test, which any pipe holds
	p.letGo(most)
}

// letGo has so many jobs go on that wait with awaitGo, now or later.
func (p *testPool) letGo(n int) {
	p.Helper()
	if _, err := p.gate.WriteString(strings.Repeat("\n", n)); err != nil {
		p.Fatal(err)
	}
}

func (p *testPool) write(name, text string) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		p.Fatal(err)
	}
	cmdtest.Share(p, path)
	return path
}

func (p *testPool) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(b)
}

func (p *testPool) update(fn func(tx *spool.Tx) error) {
	p.Helper()
	if err := p.spool.Update(fn); err != nil {
		p.Fatal(err)
	}
}

// match puts a job that runs a shell script into the queue and matches it to
// a slot of node1. The further attributes are name, expression, ...
func (p *testPool) match(script string, pairs ...string) pool.JobID {
	p.Helper()
	ad := p.job(script, pairs...)
	var id pool.JobID
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit and match")
		id.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		tx.PutClaim(pool.Claim{
			Job: id, Attempt: 1, Slot: fmt.Sprintf("slot%d@node1", id.Cluster), Machine: "node1",
			Submitter: submitter, State: pool.Matched, Weight: accountant.One, MatchedAt: matchedAt,
		})
		r, _ := tx.Submitter(submitter)
		tx.PutSubmitter(r.Start(matchedAt, accountant.One, params))
		return nil
	})
	return id
}

// job returns the ad of a job that runs a shell script.
func (p *testPool) job(script string, pairs ...string) *classad.Ad {
	p.Helper()
	ad := classad.New()
	for name, value := range map[string]string{
		"Owner": "alice", "Iwd": p.dir, "Cmd": "/bin/sh", "Out": "out", "Err": "err", "UserLog": "log",
		"Arguments": "-c '" + strings.ReplaceAll(p.here(script), "'", "''") + "'",
	} {
		ad.SetString(name, value)
	}
	ad.SetInt("JobStatus", int64(pool.Idle))
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		if err != nil {
			p.Fatal(err)
		}
		ad.Set(pairs[i], e)
	}
	return ad
}

// here returns a script with the folder of the pool where it says HERE.
func (p *testPool) here(script string) string { return strings.ReplaceAll(script, "HERE", p.dir) }

// command returns a starter that works on the pool.
func (p *testPool) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"-spool", p.spool.Dir(), "-config", p.config}, args...)...)
	c.Env = append(os.Environ(), isStarter+"=1", "FAIRSPOOL_NOW="+matchedAt.Add(time.Minute).Format(time.RFC3339))
	return c
}

// starter runs a pass and checks its exit status, how many jobs it says that it started, 0
// where it is silent, and its messages by the golden page. It returns its output.
func (p *testPool) starter(status, jobs int, args ...string) string {
	p.Helper()
	c := p.command(args...)
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	c.Run()
	if got := c.ProcessState.ExitCode(); got != status {
		p.Errorf("starter %s: exit status %d, want %d", strings.Join(args, " "), got, status)
	}
	said, _, _ := strings.Cut(out.String(), " ")
	if n, err := strconv.Atoi(said); n != jobs || err != nil && strings.HasSuffix(out.String(), ".\n") {
		p.Errorf("starter %s prints %q, want %d jobs started", strings.Join(args, " "), out.String(), jobs)
	}
	if bad.Len() > 0 {
		p.printed(strings.TrimSpace("starter "+strings.Join(args, " ")), c.ProcessState.ExitCode(), bad.String())
	}
	return out.String()
}

// printed compares what starter says with the golden page. The scratch folder's name follows
// from the spool's.
func (p *testPool) printed(call string, status int, text string) {
	p.Helper()
	text = regexp.MustCompile(`spool-[0-9a-f]{12}`).ReplaceAllString(strings.ReplaceAll(text, p.dir, "$DIR"), "spool-N")
	cmdtest.Printed(p.T, call, status, "", text)
}

// reason returns a reason of a job in the queue, HoldReason or another, which the golden page
// has.
func (p *testPool) reason(id pool.JobID, name string) string {
	p.Helper()
	text, err := strconv.Unquote(strings.TrimPrefix(p.queued(id, name), name+"="))
	if err != nil {
		p.Errorf("the job's ad: %s, want a string", p.queued(id, name))
	}
	p.printed(fmt.Sprintf("starter (%s of %v)", name, id), 0, text+"\n")
	return text
}

func (p *testPool) claims() (claims []pool.Claim) {
	p.Helper()
	err := p.spool.View(func(v *spool.View) error { claims = slices.Clone(v.Claims()); return nil })
	if err != nil {
		p.Error(err)
	}
	return claims
}

// queued returns attributes of a job in the queue as text, "gone" when it is
// not there.
func (p *testPool) queued(id pool.JobID, names ...string) string {
	p.Helper()
	return cmdtest.Queued(p, p.spool, id, names...)
}

// allHistory returns the ads of the jobs that have left, of all months: the pool's time is the test's or the machine's.
func (p *testPool) allHistory() string {
	p.Helper()
	var ads strings.Builder
	months, err := filepath.Glob(filepath.Join(p.dir, "spool/history/*.ads"))
	testenv.OK(p, err)
	for _, month := range months {
		text, err := os.ReadFile(month)
		testenv.OK(p, err)
		ads.Write(text)
	}
	return ads.String()
}

// history returns attributes of a job that has left the queue as text, "not
// there" when none has.
func (p *testPool) history(id pool.JobID, names ...string) string {
	p.Helper()
	r := classad.NewReader(strings.NewReader(p.allHistory()), "history")
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return "not there"
		}
		if err != nil {
			p.Fatal(err)
		}
		if n, _ := ad.EvalInt(&classad.Context{}, "ClusterId"); int(n) == id.Cluster {
			return cmdtest.Attributes(ad, names)
		}
	}
}

// statusOf returns the state that a job's ad says.
func statusOf(ad *classad.Ad) pool.Status {
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	return pool.Status(status)
}

// until waits for something that other processes bring about.
func (p *testPool) until(what string, done func() bool) {
	p.Helper()
	if !testenv.Await(done) {
		p.Fatalf("waited in vain: %s; starter.log: %s", what, p.read("spool/starter.log"))
	}
}

// pid waits until a job has written a process id to a file of its own.
func (p *testPool) pid(name string) int {
	p.Helper()
	p.until(name+" is written", func() bool { return strings.HasSuffix(p.read(name), "\n") })
	var pid int
	if _, err := fmt.Sscan(p.read(name), &pid); err != nil {
		p.Fatal(err)
	}
	return pid
}

// alive reports whether a process still runs: it waits to be reaped when it has
// ended, and its first thread may do so while others still hold its locks.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(b, ')')
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && (len(threads) > 1 || !bytes.HasPrefix(b[i+1:], []byte(" Z")))
}

// noClaims waits until all attempts have ended and nothing is left of them.
func (p *testPool) noClaims() {
	p.Helper()
	p.until("no claim is left", func() bool { return len(p.claims()) == 0 })
	p.until("no lock file is left", func() bool {
		names, _ := filepath.Glob(p.spool.ClaimLock("*"))
		commands := hooks.Due(p.spool.ClaimLock("")) // no runner is here, to which they are left
		return len(names) == len(commands)
	})
	err := p.spool.View(func(v *spool.View) error {
		if r, _ := v.Submitter(submitter); r.ResourcesUsed != 0 {
			p.Errorf("ResourcesUsed = %d, want 0", r.ResourcesUsed)
		}
		return nil
	})
	if err != nil {
		p.Error(err)
	}
}

// drain runs passes until all jobs have ended.
func (p *testPool) drain() {
	p.Helper()
	p.until("all jobs have ended", func() bool {
		p.rematch()
		p.command("-q", "-wait").Run()
		return len(p.queue()) == 0
	})
}

// The steps of a supervisor and its desk.
const (
	stepPlacing      = supervise.Placing
	stepPlaced       = supervise.Placed
	stepExecuted     = supervise.Executed
	stepLogged       = supervise.Logged
	stepTold         = supervise.Told
	stepKilled       = supervise.Killed
	stepEnded        = supervise.Ended
	stepAlone        = supervise.Alone
	stepStored       = supervise.Stored
	stepCheckpointed = supervise.Checkpointed
	stepResuming     = supervise.Resuming
	stepTidied       = supervise.Tidied
	stepLocked       = desk.Locked
	stepBegun        = desk.Begun
	stepKept         = desk.Kept
	stepFinished     = desk.Finished
	stepConcluded    = desk.Concluded
	stepUnlocked     = desk.Unlocked
)
