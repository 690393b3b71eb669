package local

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// linger is a program that never ends by itself, for processes beside the shell.
const linger = `tail -f /dev/null`

// player is a process that plays a supervisor: what it has started is its job's.
type player struct {
	supervisor int // its process id
	dir        int // of the job's control group; 0: it has none
}

func (p player) Processes() []int { return descendants(p.supervisor) }

func (p player) FD() (int, bool) { return p.dir, p.dir > 0 }

// sleepers is a job of three processes in two sessions.
const sleepers = `setsid sh -c '` + linger + ` & setsid sh -c "echo ready; exec ` + linger + `" & wait' & wait`

// play starts a supervisor whose job has started what it needs when it says so.
func play(t *testing.T, script string) player {
	t.Helper()
	ordinary(t)
	runtime.LockOSThread() // Pdeathsig is of the thread that starts the process
	t.Cleanup(runtime.UnlockOSThread)
	c := exec.Command("/bin/sh", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	testenv.OK(t, err)
	testenv.OK(t, c.Start())
	p := player{supervisor: c.Process.Pid}
	t.Cleanup(func() {
		for _, pid := range append(p.Processes(), c.Process.Pid) {
			unix.Kill(pid, unix.SIGKILL)
		}
		c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: says %q, %v", script, line, err)
	}
	return p
}

// values returns the nice values of all threads of a job's processes, and of their
// autogroups, each once.
func (p player) values() (nice []int) {
	for _, pid := range p.Processes() {
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err != nil {
			continue
		}
		nice = append(nice, 20-raw)
		if name, group := autogroup(pid); name != "" {
			nice = append(nice, group)
		}
	}
	slices.Sort(nice)
	return slices.Compact(nice)
}

// stage is a queue of which played supervisors run the jobs.
type stage struct {
	*testing.T
	folder Folder
	clock  float64 // seconds since the machine was started
	jobs   []player
	queue  []Runner
	// tickets: one of the jobs has some.
	tickets bool
	gone    bool // the queue is
	each    []*Nice
	mu      sync.Mutex // guards told
	told    []string
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, clock: 1000, tickets: true, folder: Folder{Path: filepath.Join(t.TempDir(), "execute")}}
	testenv.OK(t, s.folder.Make())
	return s
}

// ordinary skips a test of nice values where processes do not begin with 0.
func ordinary(t *testing.T) {
	t.Helper()
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || raw != 20 {
		t.Skipf("the nice value of this process is %d (%v), and it takes 0 to tell what others are given", 20-raw, err)
	}
}

// run has another job run, with so many tickets.
func (s *stage) run(tickets float64) {
	s.Helper()
	p := play(s.T, sleepers)
	a := pool.Attempt{Job: pool.JobID{Cluster: len(s.jobs) + 1}, Number: 1}
	s.jobs, s.queue = append(s.jobs, p), append(s.queue, Runner{a.String(), p.supervisor, tickets, 1})
	s.each = append(s.each, &Nice{
		RunTime: RunTime{Interval: time.Minute, Worst: 20}, attempt: a, job: p, host: "Node1", folder: s.folder,
		queue: func() ([]Runner, bool, error) {
			if s.gone {
				return nil, false, fs.ErrNotExist
			}
			return s.queue, s.tickets, nil
		},
		clock: func() float64 { return s.clock },
		tell: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, err.Error())
		},
	})
}

// apply has all supervisors apply at once, until none has to wait for another.
func (s *stage) apply() {
	s.Helper()
	var all sync.WaitGroup
	for _, r := range s.each {
		all.Go(func() { s.settled(r) })
	}
	all.Wait()
}

// settled has a supervisor apply until it is done.
func (s *stage) settled(r *Nice) {
	if !testenv.Await(func() bool { return r.adjust() == 0 }) {
		s.Errorf("adjust = %v for %v, want 0", r.adjust(), testenv.Longest)
	}
}

// has checks what the jobs' processes have, by job.
func (s *stage) has(when string, want ...int) {
	s.Helper()
	for i, p := range s.jobs {
		if got := p.values(); !slices.Equal(got, []int{want[i]}) {
			s.Errorf("%s: job %d has the nice values %v, want %d alone", when, i+1, got, want[i])
		}
	}
}

// What Grid Engine did with these tickets, done to real processes: all of a job's, in
// whatever session.
func TestReprioritize(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, tickets := range []float64{500000, 300000.9, 150000, 50000} {
		s.run(tickets)
	}
	s.has("before the first delivery", 0, 0, 0, 0)
	s.apply()
	s.has("after it", 0, 0, 2, 19)

	s.run(1)
	s.queue[3].Tickets = 1000000
	s.clock += 19 // 1000 to 1019 are of one minute
	s.apply()
	s.has("in the same interval", 0, 0, 2, 19, 0)
	if os.Geteuid() != 0 {
		t.Skip("only root may give a process a smaller nice value than it has")
	}
	s.clock++
	s.apply()
	s.has("in the next one", 0, 0, 0, 0, 19)
	if len(s.told) > 0 {
		t.Errorf("the supervisors complain: %q", s.told)
	}
}

// One supervisor reads the queue, and the others what it has written: they agree even
// where they would see something else.
func TestReprioritizeAgrees(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run(600000)
	s.run(400000)
	s.settled(s.each[0])
	s.queue[1].Tickets = 900000
	s.settled(s.each[1])
	s.has("after the first one's delivery", 0, 11)
}

// What keeps a delivery from being read does no harm.
func TestReprioritizeAnew(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"damaged":     `{"At": 1000, "Jobs": {"1.0.1"`,
		"empty":       "",
		"not ours":    "[1, 2]",
		"of a former": `{"At": 1000.5, "Jobs": {"2.0.1": {"Nice": 3}}}`,
		"of before":   `{"At": 959.9, "Jobs": {"2.0.1": {"Nice": 3}}}`,
		"of no jobs":  `{"At": 999}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.run(600000)
			s.run(400000)
			testenv.OK(t, os.WriteFile(filepath.Join(s.folder.Path, "nice.node1"), []byte(left), 0o600))
			s.apply()
			s.has("with the file "+name, 0, 11)
		})
	}
}

// Without tickets no process is touched.
func TestReprioritizeNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tickets = false
	s.run(0)
	s.run(0)
	for _, p := range s.jobs {
		for _, pid := range p.Processes() {
			testenv.OK(t, unix.Setpriority(unix.PRIO_PROCESS, pid, 3))
		}
	}
	before := [][]int{s.jobs[0].values(), s.jobs[1].values()}
	s.apply()
	for i, p := range s.jobs {
		if got := p.values(); !slices.Equal(got, before[i]) {
			t.Errorf("job %d has the nice values %v, want %v as before", i+1, got, before[i])
		}
	}
	s.clock += 60
	s.tickets, s.queue[0].Tickets, s.queue[1].Tickets = true, 1, 9
	if os.Geteuid() != 0 {
		t.Skip("only root may give a process a smaller nice value than it has")
	}
	s.apply()
	s.has("with tickets", 19, 0)
}

// While another makes the delivery nobody waits for it.
func TestReprioritizeBusy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run(1)
	r := s.each[0]
	f, err := os.Create(r.deliveryPath())
	testenv.OK(t, err)
	defer f.Close()
	testenv.OK(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	if got := r.adjust(); got != deliveryRetry {
		t.Errorf("adjust = %v while another has the lock, want %v", got, deliveryRetry)
	}
	if r.Apply(); r.Next() == nil {
		t.Error("it does not try again")
	}
}

// Nothing is written where there is no folder or no queue any more, and what cannot be done is told.
func TestReprioritizeTrouble(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run(1)
	r := s.each[0]
	testenv.OK(t, os.Chmod(s.folder.Path, 0o777))
	s.settled(r)
	if want := "its run-time priority: " + s.folder.Path + ": others may write there"; len(s.told) != 1 || !strings.HasPrefix(s.told[0], want) {
		t.Errorf("it says %q, want %q", s.told, want)
	}
	testenv.OK(t, os.Chmod(s.folder.Path, 0o700))
	s.gone = true
	s.settled(r)
	if text, _ := os.ReadFile(r.deliveryPath()); len(text) > 0 || len(s.told) != 1 {
		t.Errorf("without a queue it writes %q, and says %q", text, s.told)
	}
	testenv.OK(t, os.RemoveAll(s.folder.Path))
	s.settled(r)
	if _, err := os.Stat(s.folder.Path); err == nil || len(s.told) != 1 {
		t.Errorf("without a folder it makes one, or says %q", s.told)
	}
}

// By default nothing is ever due; else it is at the multiples of the interval.
func TestReprioritizeNext(t *testing.T) {
	t.Parallel()
	if r := (&Nice{}); r.Next() != nil {
		t.Error("with the interval 0 something becomes due")
	}
	s := newStage(t)
	s.run(1)
	r := s.each[0]
	r.Interval, r.clock = 20*time.Millisecond, sinceBoot
	r.plan()
	for range 3 {
		began := r.begun()
		select {
		case <-r.Next():
		case <-time.After(testenv.Longest):
			t.Fatal("nothing becomes due in an interval of 20 ms")
		}
		if now := r.begun(); now <= began {
			t.Errorf("due in the interval that begins at %v, want one after %v", now, began)
		}
		r.Apply()
	}
	s.clock, r.clock, r.Interval = 1000.25, func() float64 { return s.clock }, time.Minute
	if got := r.begun(); got != 960 {
		t.Errorf("begun = %v, want 960", got)
	}
}

// TestDeliveryNext plays deliveries one after the other.
func TestDeliveryNext(t *testing.T) {
	t.Parallel()
	job := func(name string, tickets float64, live, reaped float64) load {
		return load{Runner{name, 1, tickets, 1}, live, reaped}
	}
	d := delivery{}
	for i, c := range []struct {
		loads   []load
		tickets bool
		want    string
	}{
		{nil, false, ""},
		{[]load{job("1.0.1", 0, 30, 0)}, false, "1.0.1 cpu 30 usage 30 nice -; "},
		{[]load{job("1.0.1", 5, 50, 0), job("2.0.1", 5, 2, 100)}, true, "1.0.1 cpu 50 usage 23 nice 18; 2.0.1 cpu 102 usage 2 nice 0; "},
		{[]load{job("2.0.1", 5, 1, 105), job("1.0.1", 5, 50, 0)}, true, "1.0.1 cpu 50 usage 2.3 nice 0; 2.0.1 cpu 106 usage 4.2 nice 9; "},
		{[]load{job("1.0.1", 5, 20, 0), job("2.0.1", 5, 0, 106)}, true, "1.0.1 cpu 20 usage 0.23 nice 0; 2.0.1 cpu 106 usage 0.42 nice 0; "},
		{[]load{job("1.0.2", 5, 7, 20)}, true, "1.0.2 cpu 27 usage 7 nice 0; "},
	} {
		d = d.next(float64(i), c.loads, c.tickets, RunTime{Worst: 20})
		if got := d.text(); got != c.want || d.At != float64(i) {
			t.Errorf("delivery %d: %s at %v, want %s", i, got, d.At, c.want)
		}
	}
}

// text returns the delivery in a form to be compared.
func (d delivery) text() string {
	var b strings.Builder
	for _, name := range []string{"1.0.1", "1.0.2", "2.0.1"} {
		if job, ok := d.Jobs[name]; ok {
			nice := "-"
			if job.Nice != nil {
				nice = fmt.Sprint(*job.Nice)
			}
			fmt.Fprintf(&b, "%s cpu %v usage %.4g nice %s; ", name, job.CPU, job.Usage, nice)
		}
	}
	return b.String()
}

// What a job has used is what its processes have, and those that its supervisor has
// reaped; a job without a supervisor is none.
func TestMeasured(t *testing.T) {
	t.Parallel()
	p := play(t, `sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done'; (i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo ready; `+linger+`) & wait`)
	loads := measured([]Runner{{Name: "1.0.1", PID: p.supervisor}, {Name: "2.0.1", PID: math.MaxInt32}, {Name: "3.0.1"}})
	if len(loads) != 1 || loads[0].Name != "1.0.1" || !(loads[0].live > 0.02) || !(loads[0].reaped > 0.02) {
		t.Errorf("measured = %+v, want one job, of which some hundredths of a second are the processes' and some its dead children's", loads)
	}
	own, _, ok := cpuOf(os.Getpid())
	if !ok || own < 0 {
		t.Errorf("cpuOf(self) = %v, %v", own, ok)
	}
}
