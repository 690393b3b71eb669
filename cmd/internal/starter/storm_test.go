package starter

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestSoakStorm has jobs of every kind run on a few slots while passes, the watch, supervisors,
// cycles and the jobs' own processes are killed at random moments, jobs are held and released,
// and the machine seems to be booted now and then. When all has been let run out the laws
// hold that stormlaws_test.go has.
func TestSoakStorm(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	s := newStorm(t, seed)
	const often = 100 * time.Millisecond // looks at the queue cost
	fed, end := time.Time{}, time.Now().Add(length)
	for tick := time.Tick(5 * time.Millisecond); time.Now().Before(end) || !s.enough(); <-tick {
		if time.Since(fed) > often {
			fed = time.Now()
			s.feed()
			s.steer()
		}
		s.attend()
		s.strike()
	}
	s.calm()
	s.laws()
}

const stormSlots = 4

// Users of the storm: all of them run as whom the test's users are.
var stormUsers = []string{"alice", "bob", "carol"}

// storm is a pool in which processes are killed.
type storm struct {
	*testPool
	*rand.Rand
	began   time.Time
	booted  time.Time
	kinds   []string            // of the jobs, by their cluster less one
	helpers []*helper           // what is started again when it has ended
	hit     map[pool.JobID]bool // jobs of which a process was killed
	killed  map[string]int
	next    time.Time // when somebody is killed next
}

// helper is a command that is started again and again.
type helper struct {
	name    string
	command func() *exec.Cmd
	rest    int // up to so many milliseconds between two of them

	process *exec.Cmd // nil: none runs
	ended   chan struct{}
	again   time.Time
}

func newStorm(t *testing.T, seed uint64) *storm {
	p := newPool(t)
	p.write("config.toml", `NETWORK_HOSTNAME = "node1"
UID_DOMAIN = "example.org"
MACHINE_MAX_VACATE_TIME = 1
STARTER_INITIAL_UPDATE_INTERVAL = 0.1
STARTER_UPDATE_INTERVAL = 0.1
`)
	p.write("data", strings.Repeat("0123456789abcdef", 1<<14))
	now := reading(t)
	p.spool.At(time.Now())
	p.slot(stormSlots)
	s := &storm{
		testPool: p, Rand: rand.New(rand.NewPCG(seed, 1)), began: time.Now(), booted: now.Clock.Booted(),
		hit: map[pool.JobID]bool{}, killed: map[string]int{},
	}
	byTheClock := func(c *exec.Cmd) *exec.Cmd { c.Env = append(c.Env, "FAIRSPOOL_NOW="); return c }
	pass := func() *exec.Cmd { return byTheClock(p.command("-q")) }
	testenv.Commands(t) // they are built before anything begins
	s.helpers = []*helper{
		{name: "watch", command: func() *exec.Cmd { return byTheClock(p.command("-watch", "-q")) }, rest: 100},
		{name: "pass", command: pass, rest: 300},
		{name: "pass", command: pass, rest: 300},
		{name: "negotiate", command: func() *exec.Cmd { return byTheClock(p.negotiator()) }, rest: 100},
	}
	t.Cleanup(s.endAll)
	return s
}

// kindsOfJobs are what the jobs do besides recording their attempts.
var kindsOfJobs = []struct {
	name, script string
	pairs        []string
}{
	{"plain", aMoment + `; over`, nil},
	{"forking", linger + ` & (` + linger + `; ` + linger + `) & ` + aMoment + `; over`, nil},
	{"daemon", `setsid sh -c "exec 3>&-; exec ` + linger + `" & ` + aMoment + `; over`, nil},
	{"transfer", `cat data >result || kill -9 $$; ` + aMoment + `; over`, []string{"TransferInput", `"data"`}}, // no output is missed of one that was killed early
	{
		"checkpointing", `[ -e two ] && over; ` + aMoment + `; [ -e one ] && { >two; exit 85; }; >one; exit 85`,
		[]string{"ShouldTransferFiles", `"YES"`, "TransferOutput", `""`, "CheckpointExitCode", "85", "Environment", `"CHECKPOINTS=1"`},
	},
	{"standard", aMoment + `; over`, []string{"JobUniverse", "1"}},
	{"slow", `trap "` + aMoment + `; exit 1" TERM; ` + aMoment + `; over`, nil},
	{"stubborn", `trap "" TERM; ` + aMoment + `; ` + aMoment + `; over`, []string{"JobMaxVacateTime", "0.1"}},
}

// feed sees to it that jobs wait.
func (s *storm) feed() {
	s.Helper()
	const wanted = 10
	for n := len(s.queue()); n < wanted; n++ {
		cluster := len(s.kinds) + 1
		k := kindsOfJobs[len(s.kinds)%len(kindsOfJobs)]
		pairs := append([]string{
			"Requirements", "true", "UserLog", fmt.Sprintf(`"log.%d"`, cluster), "Owner", strconv.Quote(stormUsers[cluster%len(stormUsers)]),
			"Out", fmt.Sprintf(`"out.%d"`, cluster), "Err", fmt.Sprintf(`"err.%d"`, cluster),
		}, k.pairs...)
		if k.name == "transfer" {
			pairs = append(pairs, "TransferOutputRemaps", fmt.Sprintf(`"result = result.%d"`, cluster))
		}
		s.spool.At(time.Now())
		if id := s.submit(s.job(s.recorded(k.script), pairs...)); id.Cluster != cluster {
			s.Fatalf("the job is %v, want cluster %d", id, cluster)
		}
		s.kinds = append(s.kinds, k.name)
	}
}

// attend starts what has ended, or never began, when its time has come.
func (s *storm) attend() {
	s.Helper()
	for _, h := range s.helpers {
		if h.process != nil {
			select {
			case <-h.ended:
				h.process, h.again = nil, time.Now().Add(time.Duration(s.IntN(h.rest))*time.Millisecond)
			default:
			}
		}
		if h.process == nil && time.Now().After(h.again) {
			c, ended := h.command(), make(chan struct{})
			if err := c.Start(); err != nil {
				s.Fatal(err)
			}
			go func() { c.Wait(); close(ended) }() // what it says depends on what was hit
			h.process, h.ended = c, ended
		}
	}
}

// steer holds a job now and then, and releases what is held.
func (s *storm) steer() {
	s.Helper()
	if s.IntN(4) > 0 {
		return
	}
	for _, id := range s.queue() {
		if s.IntN(10) == 0 {
			s.holdNow(id)
		} else {
			s.releaseNow(id)
		}
	}
}

// holdNow holds a job if it is there and is not held.
func (s *storm) holdNow(id pool.JobID) {
	s.Helper()
	now := time.Now()
	s.spool.At(now)
	s.update(func(tx *spool.Tx) error {
		if ad, there := tx.Job(id); !there || statusOf(ad) == pool.Held {
			return nil
		}
		tx.Op("hold", id.String())
		_, err := lifecycle.Hold(tx, pool.Only(id), pool.Reason{Text: "held by alice", Code: jobpolicy.ByUser}, now, params)
		return err
	})
}

// releaseNow releases a job if it is held, which nobody but the test has a reason for.
func (s *storm) releaseNow(id pool.JobID) {
	s.Helper()
	now := time.Now()
	s.spool.At(now)
	s.update(func(tx *spool.Tx) error {
		ad, there := tx.Job(id)
		if !there || statusOf(ad) != pool.Held {
			return nil
		}
		if why := cmdtest.Attributes(ad, []string{"HoldReasonCode", "HoldReason"}); why != `HoldReasonCode=1 HoldReason="held by alice"` {
			s.Errorf("job %v, %s: %s, want it held by alice alone", id, s.kinds[id.Cluster-1], why)
		}
		tx.Op("release", id.String())
		_, err := lifecycle.Release(tx, pool.Only(id), "released by alice", now)
		return err
	})
}

// strike kills somebody when it is time for that.
func (s *storm) strike() {
	s.Helper()
	if time.Now().Before(s.next) {
		return
	}
	s.next = time.Now().Add(time.Duration(5+s.IntN(30)) * time.Millisecond)
	switch n := s.IntN(100); {
	case n < 1:
		s.reboot()
	case n < 35:
		s.killOne("supervisor", s.supervisors())
	case n < 50:
		s.killJob()
	case n < 55:
		s.killOne("told", s.supervisors())
	default:
		s.killHelper()
	}
}

// killHelper kills a command that runs, if one does.
func (s *storm) killHelper() {
	first := s.IntN(len(s.helpers))
	for i := range s.helpers {
		h := s.helpers[(first+i)%len(s.helpers)]
		if h.process != nil && h.process.Process.Kill() == nil {
			s.killed[h.name]++
			return
		}
	}
}

// supervisors returns the processes that supervise jobs of the pool.
func (s *storm) supervisors() (pids []int) {
	for _, pid := range s.processes() {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(b), "\x00-supervise\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killOne kills one of some processes of the pool; one that is told is sent SIGTERM.
func (s *storm) killOne(what string, pids []int) (victim int) {
	if len(pids) == 0 {
		return 0
	}
	sig := unix.SIGKILL
	if what == "told" {
		sig = unix.SIGTERM
	}
	victim = pids[s.IntN(len(pids))]
	if !s.send(victim, sig) {
		return 0
	}
	s.killed[what]++
	return victim
}

// send sends a signal to a process that still is one of the pool.
func (s *storm) send(pid int, sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	ours := strings.Contains(string(cmdline), s.spool.Dir()) || strings.Contains(string(environ), s.mark())
	return ours && unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// killJob kills a process of some job.
func (s *storm) killJob() {
	of := map[int]pool.JobID{}
	var pids []int
	for _, pid := range s.relatives() {
		if id := s.jobOf(pid); id.Cluster > 0 { // it is still there
			pids, of[pid] = append(pids, pid), id
		}
	}
	if victim := s.killOne("job", pids); victim > 0 {
		s.hit[of[victim]] = true
	}
}

// jobOf returns the job to which a process belongs.
func (s *storm) jobOf(pid int) (id pool.JobID) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	_, name, _ := strings.Cut(string(b), s.mark())
	name, _, _ = strings.Cut(name, "\x00")
	if a, err := pool.ParseAttempt(name); err == nil {
		id = a.Job
	}
	return id
}

// reboot ends all processes of the pool at once, and has the last signs of life be from
// before the machine was booted.
func (s *storm) reboot() {
	s.Helper()
	s.endAll()
	s.killed["reboot"]++
	files, _ := filepath.Glob(s.spool.ClaimLock("*"))
	for _, file := range files {
		if err := os.Chtimes(file, time.Time{}, s.booted.Add(-time.Minute)); err != nil {
			s.Error(err)
		}
	}
}

// endAll kills all processes of the pool.
func (s *storm) endAll() {
	for _, h := range s.helpers {
		if h.process != nil {
			h.process.Process.Kill()
			<-h.ended
			h.process = nil
		}
	}
	s.endEvery(s.supervisors) // first: none of them sees its job die
	s.endEvery(s.relatives)
}

// endEvery kills processes until two looks in a row find none.
func (s *storm) endEvery(find func() []int) {
	none := 0
	if !testenv.Await(func() bool {
		none++
		for _, pid := range find() {
			s.send(pid, unix.SIGKILL)
			none = 0
		}
		return none == 2
	}) {
		s.Error("processes of the pool do not die")
	}
}

// calm lets everything run out.
func (s *storm) calm() {
	s.Helper()
	if !testenv.Await(func() bool {
		s.attend()
		for _, id := range s.queue() {
			s.releaseNow(id)
		}
		return len(s.queue()) == 0
	}) {
		s.Fatalf("%d jobs are left after %v: %v; starter.log: %s", len(s.queue()), testenv.Longest, s.claims(), s.read("spool/starter.log"))
	}
	for _, h := range s.helpers {
		if h.process != nil {
			if h.name == "watch" {
				h.process.Process.Signal(unix.SIGTERM)
			}
			<-h.ended
			h.process = nil
		}
	}
	if bad := s.byTheClock("-q"); bad != "" { // removes the files of attempts that were killed late
		s.Errorf("the last pass complains %q, want nothing", bad)
	}
}

// number64 returns a number of an ad, 0 for none.
func number64(ad *classad.Ad, name string) float64 {
	x, _ := ad.EvalNumber(&classad.Context{}, name)
	return x
}
