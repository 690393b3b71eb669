package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/spool"
)

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
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
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

// stage is a pool in which played supervisors run jobs on node1.
type stage struct {
	*testPool
	clock float64 // seconds since the machine was started
	jobs  []player
	each  []*reprioritizer
	mu    sync.Mutex // guards told
	told  []string
}

func newStage(t *testing.T) *stage { return &stage{testPool: newPool(t), clock: 1000} }

// ordinary skips a test of nice values where processes do not begin with 0.
func ordinary(t *testing.T) {
	t.Helper()
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || raw != 20 {
		t.Skipf("the nice value of this process is %d (%v), and it takes 0 to tell what others are given", 20-raw, err)
	}
}

// run has another job run, with attributes of its ad.
func (s *stage) run(pairs ...string) {
	s.Helper()
	p := play(s.T, sleepers)
	id := s.match("", pairs...)
	s.update(func(tx *spool.Tx) error {
		claim, _ := tx.Claim(id)
		claim.State, claim.StartedAt, claim.PID = pool.RunningClaim, matchedAt, p.supervisor
		tx.Op("run")
		tx.PutClaim(claim)
		return nil
	})
	s.jobs, s.each = append(s.jobs, p), append(s.each, s.reprioritizer(id, p))
}

func (s *stage) reprioritizer(id pool.JobID, job relatives) *reprioritizer {
	return &reprioritizer{
		RunTime: config.RunTime{Interval: time.Minute, Worst: 20},
		spool:   s.opened(), attempt: pool.Attempt{Job: id, Number: 1}, job: job, machine: "Node1", folder: s.dir + "/execute",
		now: func() time.Time { return matchedAt }, clock: func() float64 { return s.clock },
		tell: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, err.Error())
		},
	}
}

// opened opens the spool anew: a supervisor has one of its own.
func (s *stage) opened() *spool.Spool {
	s.Helper()
	sp, err := spool.Open(s.spool.Dir(), spool.Options{Program: "test", LockWait: testenv.Longest, Now: matchedAt})
	if err != nil {
		s.Fatal(err)
	}
	return sp
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
func (s *stage) settled(r *reprioritizer) {
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

// set sets an attribute of a job.
func (s *stage) set(job int, name, expr string) {
	s.Helper()
	e, err := classad.ParseExpr(expr)
	if err != nil {
		s.Fatal(err)
	}
	s.update(func(tx *spool.Tx) error {
		tx.Op("set")
		tx.Set(pool.JobID{Cluster: job}, name, e)
		return nil
	})
}

// What Grid Engine did with these tickets, done to real processes: all of a job's, in
// whatever session.
func TestReprioritize(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, tickets := range []string{"500000", "300000.9", "100000 + 50000"} {
		s.run("Tickets", tickets, "OverrideTickets", "7")
	}
	s.run("OverrideTickets", "50000")
	s.has("before the first delivery", 0, 0, 0, 0)
	s.apply()
	s.has("after it", 0, 0, 2, 19)

	s.run("Tickets", "1")
	s.set(4, "OverrideTickets", "1000000")
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
	s.run("Tickets", "600000")
	s.run("Tickets", "400000")
	s.settled(s.each[0])
	s.set(2, "Tickets", "900000")
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
			s.run("Tickets", "600000")
			s.run("Tickets", "400000")
			if err := makeFolder(s.each[0].folder); err != nil {
				t.Fatal(err)
			}
			s.write("execute/nice.node1", left)
			s.apply()
			s.has("with the file "+name, 0, 11)
		})
	}
}

// Without tickets nobody is touched, nor is what does not run here.
func TestReprioritizeNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run()
	s.run("Tickets", "undefined", "OverrideTickets", `"many"`)
	s.match("", "Tickets", "1000000")
	other, elsewhere := s.match("", "Tickets", "1000000"), play(t, sleepers)
	s.update(func(tx *spool.Tx) error {
		claim, _ := tx.Claim(other)
		claim.State, claim.StartedAt, claim.PID, claim.Machine = pool.RunningClaim, matchedAt, elsewhere.supervisor, "node2"
		tx.Op("run elsewhere")
		tx.PutClaim(claim)
		return nil
	})
	for _, p := range s.jobs {
		for _, pid := range p.Processes() {
			if err := unix.Setpriority(unix.PRIO_PROCESS, pid, 3); err != nil {
				t.Fatal(err)
			}
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
	s.set(1, "Tickets", "1")
	s.set(2, "Tickets", "9")
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
	s.run("Tickets", "1")
	r := s.each[0]
	if err := makeFolder(r.folder); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(r.deliveryPath())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := r.adjust(); got != deliveryRetry {
		t.Errorf("adjust = %v while another has the lock, want %v", got, deliveryRetry)
	}
	if r.Apply(); r.Next() == nil {
		t.Error("it does not try again")
	}
}

// Nothing is written where there is no spool any more, and what cannot be done is told.
func TestReprioritizeTrouble(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("Tickets", "1")
	r := s.each[0]
	if err := os.Mkdir(r.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	s.settled(r)
	if want := "its run-time priority: " + r.folder + ": others may write there"; len(s.told) != 1 || !strings.HasPrefix(s.told[0], want) {
		t.Errorf("it says %q, want %q", s.told, want)
	}
	if err := os.RemoveAll(r.folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.spool.Dir(), s.dir+"/elsewhere"); err != nil {
		t.Fatal(err)
	}
	s.settled(r)
	if _, err := os.Stat(r.folder); err == nil || len(s.told) != 1 {
		t.Errorf("without a spool it makes a folder, or says %q", s.told)
	}
	if err := os.Rename(s.dir+"/elsewhere", s.spool.Dir()); err != nil {
		t.Fatal(err)
	}
}

// By default nothing is ever due; else it is at the multiples of the interval.
func TestReprioritizeNext(t *testing.T) {
	t.Parallel()
	if r := (&reprioritizer{}); r.Next() != nil {
		t.Error("with the interval 0 something becomes due")
	}
	s := newStage(t)
	s.run("Tickets", "1")
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

func TestTicketsAndSlots(t *testing.T) {
	t.Parallel()
	c := &classad.Context{Now: matchedAt}
	for _, x := range []struct {
		pairs   []string
		tickets float64
		has     bool
		slots   int
	}{
		{nil, 0, false, 1},
		{[]string{"Tickets", "5", "OverrideTickets", "6", "RequestCpus", "4"}, 5, true, 4},
		{[]string{"OverrideTickets", "6", "RequestCpus", "2.9"}, 6, true, 2},
		{[]string{"Tickets", `"x"`, "OverrideTickets", "0", "RequestCpus", "0"}, 0, true, 1},
		{[]string{"Tickets", "-1.5", "RequestCpus", "-7"}, -1.5, true, 1},
		{[]string{"RequestCpus", "TARGET.Cpus"}, 0, false, 1},
		{[]string{"RequestCpus", "1e300"}, 0, false, 1 << 20},
		{[]string{"RequestCpus", `real("NaN")`, "Tickets", "undefined"}, 0, false, 1},
	} {
		ad := adOf(t, x.pairs...)
		tickets, has := ticketsOf(c, ad)
		if slots := slotsOf(c, ad); tickets != x.tickets || has != x.has || slots != x.slots {
			t.Errorf("%q: %v tickets (%v) and %d slots, want %v (%v) and %d", x.pairs, tickets, has, slots, x.tickets, x.has, x.slots)
		}
	}
}

// TestDeliveryNext plays deliveries one after the other.
func TestDeliveryNext(t *testing.T) {
	t.Parallel()
	job := func(name string, tickets float64, live, reaped float64) load {
		return load{runner{name, 1, tickets, 1}, live, reaped}
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
		d = d.next(float64(i), c.loads, c.tickets, config.RunTime{Worst: 20})
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
	loads := measured([]runner{{name: "1.0.1", pid: p.supervisor}, {name: "2.0.1", pid: math.MaxInt32}, {name: "3.0.1"}})
	if len(loads) != 1 || loads[0].name != "1.0.1" || !(loads[0].live > 0.02) || !(loads[0].reaped > 0.02) {
		t.Errorf("measured = %+v, want one job, of which some hundredths of a second are the processes' and some its dead children's", loads)
	}
	own, _, ok := cpuOf(os.Getpid())
	if !ok || own < 0 {
		t.Errorf("cpuOf(self) = %v, %v", own, ok)
	}
}
