package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// TestKilledLogs kills commands and supervisors that have changed the spool and are about to
// write that to the log of a job. In the end the log of each job has its end, once and as its
// last event, and qstat -wait of the log ends.
func TestKilledLogs(t *testing.T) {
	t.Parallel()
	f := newLogField(t)
	defer killAll(f.dir)
	const never = "requirements = false\n"
	submit := func(text string) (cluster int) {
		f.submitted++
		f.done(f.jobs(text, 1), "submit", "-")
		return f.submitted
	}
	command := func(stdin string, args ...string) func() (kill func()) {
		return func() func() {
			p := f.begin(call{args: args, stdin: stdin}, nil)
			return func() { p.Process.Kill(); p.answer() }
		}
	}

	cluster := submit("")
	f.done("", "negotiate", "-q")
	f.killAtLog(cluster, func() func() { // event 001
		p := f.begin(call{args: []string{"starter", "-q"}}, nil)
		return func() { f.killSupervisors(); p.answer() }
	})
	f.done("", "starter", "-q", "-wait")

	gate := filepath.Join(f.dir, "gate") // the job waits for a writer to open it
	testenv.OK(t, unix.Mkfifo(gate, 0o666))
	cluster = submit(fmt.Sprintf("arguments = \"-c ': <%s'\"\n", gate))
	f.done("", "negotiate", "-q")
	f.done("", "starter", "-q")
	executed := func() bool {
		return slices.ContainsFunc(f.eventsIn(cluster)[pool.JobID{Cluster: cluster}], func(n int) bool { return n == 1 })
	}
	testenv.Until(t, "the job's log says that it runs", executed)
	f.killAtLog(cluster, func() func() { // event 005
		write(t, gate, "")
		return f.killSupervisors
	})

	f.submitted++
	f.killAtLog(f.submitted, command(f.jobs("", 1), "submit", "-"))
	cluster = submit(never)
	f.killAtLog(cluster, command("", "qdel", strconv.Itoa(cluster)))
	cluster = submit(never + "periodic_remove = JobStatus == 1\n")
	f.killAtLog(cluster, command("", "negotiate", "-q"))
	cluster = submit("")
	f.killAtLog(cluster, command("", "qhold", strconv.Itoa(cluster)))
	testenv.OK(t, f.runOut())
	if jobs := f.logsHaveEnds(); jobs != f.submitted {
		t.Errorf("%d jobs have left the queue, want %d", jobs, f.submitted)
	}
}

// TestSoakKilledLogs kills commands and supervisors with SIGKILL at random moments while jobs
// with logs of their own come and go. The logs end as TestKilledLogs says.
func TestSoakKilledLogs(t *testing.T) {
	length, seed := testenv.Soak(t)
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for i := range 2 {
		f := newLogField(t)
		f.Rand = rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			defer killAll(f.dir)
			for time.Now().Before(end) {
				if err := f.step(); err != nil {
					t.Errorf("spool %d: %v", i, err)
					return
				}
			}
			if err := f.runOut(); err != nil {
				t.Errorf("spool %d: %v", i, err)
				return
			}
			f.logsHaveEnds()
		})
	}
	all.Wait()
}

// logField is a spool with jobs that have logs, whose commands and supervisors are killed.
type logField struct {
	*ground
	*rand.Rand
	life      map[string]time.Duration // of the commands
	killed    map[string]int
	submitted int
}

// do runs a command by the clock, which is killed at some moment of its usual life.
func (f *logField) do(stdin string, kill bool, args ...string) (answer, error) {
	p := f.process(stdin, args...)
	if err := p.Start(); err != nil {
		return answer{}, err
	}
	begun := time.Now()
	if life := f.life[args[0]]; kill && life > 0 {
		moment := time.AfterFunc(time.Duration(f.Int64N(int64(life*3/2))), func() { p.Process.Kill() })
		defer moment.Stop()
	}
	a := p.answer()
	if p.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		f.killed[args[0]]++
	} else {
		f.life[args[0]] += (time.Since(begun) - f.life[args[0]]) / 4 // a mean that forgets
	}
	return a, nil
}

// newLogField returns a spool with slots, and a folder for logs.
func newLogField(t *testing.T) *logField {
	f := &logField{ground: newGround(t), life: map[string]time.Duration{}, killed: map[string]int{}}
	f.env = []string{"FAIRSPOOL_NOW="} // the machine's clock
	testenv.OK(t, os.Mkdir(filepath.Join(f.dir, "logs"), 0o777))
	ads := advertise([]string{slotName(0), slotName(1), slotName(2), slotName(3)}, slot{1, true, 0, false})
	f.done(ads.stdin, ads.args...)
	return f
}

// done runs a command that has to succeed.
func (f *logField) done(stdin string, args ...string) {
	f.Helper()
	if a, err := f.do(stdin, false, args...); err != nil || a.status != 0 {
		f.Fatalf("%v = %+v, %v", args, a, err)
	}
}

// jobs describes so many jobs with a log.
func (f *logField) jobs(text string, n int) string {
	return fmt.Sprintf("executable = /bin/sh\nlog = %s/logs/$(Cluster)\n%squeue %d\n", f.dir, text, n)
}

// killAtLog begins something whose event for the log of a cluster waits for the log's lock, and
// kills it there.
func (f *logField) killAtLog(cluster int, begin func() (kill func())) {
	f.Helper()
	log, err := os.OpenFile(f.logOf(cluster), os.O_RDONLY|os.O_CREATE, 0o666)
	if err != nil {
		f.Fatal(err)
	}
	defer log.Close()
	if err := unix.Flock(int(log.Fd()), unix.LOCK_EX); err != nil {
		f.Fatal(err)
	}
	opened := testenv.Opened(f, log.Name())
	kill := begin()
	opened()
	kill()
}

// runOut lets all jobs run to their end.
func (f *logField) runOut() (err error) {
	var a answer
	if !testenv.Await(func() bool {
		for _, args := range [][]string{{"qrls", "-a"}, {"negotiate", "-q"}, {"starter", "-q", "-wait"}} {
			if _, err = f.do("", false, args...); err != nil {
				return true
			}
		}
		a, err = f.do("", false, "qstat", "-af", "ClusterId")
		return err != nil || a.out == "" && a.status == 0 && !f.pending()
	}) {
		return fmt.Errorf("jobs, or events for logs, are left: %+v", a)
	}
	return err
}

// pending reports whether attempts, or events, are still to be looked after.
func (f *logField) pending() bool {
	files, _ := filepath.Glob(filepath.Join(f.spool, "claims.d", "*"))
	return len(files) > 0
}

// step runs some command, and kills it one time in two, or kills a supervisor.
func (f *logField) step() (err error) {
	recent := fmt.Sprintf("%d.0", max(1, f.submitted-f.IntN(10)))
	kill := f.IntN(2) == 0
	switch n := f.IntN(100); {
	case n < 20:
		text := fmt.Sprintf("arguments = \"-c 'sleep 0.0%d'\"\n", 1+f.IntN(9))
		if f.IntN(4) == 0 { // it waits until a cycle removes it
			text += "requirements = false\nperiodic_remove = JobStatus == 1\n"
		}
		f.submitted++
		_, err = f.do(f.jobs(text, 1+f.IntN(2)), kill, "submit", "-")
	case n < 40:
		_, err = f.do("", kill, "negotiate", "-q")
	case n < 60:
		_, err = f.do("", kill, "starter", "-q")
	case n < 68:
		_, err = f.do("", kill, "qdel", recent)
	case n < 71:
		_, err = f.do("", kill, "qhold", recent)
	case n < 73:
		_, err = f.do("", kill, "qrls", "-a")
	default:
		f.killSupervisor()
	}
	return err
}

// supervisors returns the spool's supervisors.
func (f *logField) supervisors() []remnant {
	return slices.DeleteFunc(processesOf(f.dir), func(r remnant) bool { return !strings.Contains(string(r.command), "\x00-supervise\x00") })
}

// killSupervisors kills them, and waits until they have gone.
func (f *logField) killSupervisors() {
	testenv.Until(f, "no supervisor is left", func() bool {
		all := f.supervisors()
		for _, s := range all {
			unix.Kill(s.id, unix.SIGKILL)
		}
		return len(all) == 0
	})
}

// killSupervisor kills one of the spool's supervisors, if there is one.
func (f *logField) killSupervisor() {
	all := f.supervisors()
	if len(all) > 0 && unix.Kill(all[f.IntN(len(all))].id, unix.SIGKILL) == nil {
		f.killed["supervisor"]++
	}
}

// logsHaveEnds holds that the log of each job that has left the queue has its end, once and as
// the last of its events, and that qstat -wait of the log ends. It returns how many jobs have
// left the queue.
func (f *logField) logsHaveEnds() (jobs int) {
	a, err := f.do("", false, "qstat", "-history", "-af", "ClusterId", "ProcId", "JobStatus")
	if err != nil || a.status != 0 {
		f.Errorf("qstat -history = %+v, %v", a, err)
		return 0
	}
	ends := map[pool.Status]int{pool.Completed: 5, pool.Removed: 9}
	byStatus, logs := map[pool.Status]int{}, map[int]map[pool.JobID][]int{}
	for line := range strings.Lines(a.out) {
		var id pool.JobID
		var status pool.Status
		if _, err := fmt.Sscan(line, &id.Cluster, &id.Proc, &status); err != nil {
			f.Errorf("qstat -history says %q: %v", line, err)
		}
		jobs, byStatus[status] = jobs+1, byStatus[status]+1
		if logs[id.Cluster] == nil {
			logs[id.Cluster] = f.eventsIn(id.Cluster)
		}
		events, over := logs[id.Cluster][id], 0
		for _, e := range events {
			if e == 5 || e == 9 {
				over++
			}
		}
		if over != 1 || events[len(events)-1] != ends[status] {
			f.Errorf("job %v has left the queue with status %d, and its log has the events %v", id, status, events)
		}
	}
	for cluster := range logs {
		if a, err := f.do("", false, "qstat", "-wait", f.logOf(cluster), "-json", "-timeout", "0"); err != nil || strings.Contains(a.out, `"TimedOut"`) || a.out == "" {
			f.Errorf("qstat -wait of the log of cluster %d = %+v, %v, want that all have ended", cluster, a, err)
		}
	}
	f.Logf("%d jobs with %d logs, %d completed, %d removed; killed %v", jobs, len(logs), byStatus[pool.Completed], byStatus[pool.Removed], f.killed)
	return jobs
}

func (f *logField) logOf(cluster int) string {
	return filepath.Join(f.dir, "logs", strconv.Itoa(cluster))
}

// eventsIn returns the numbers of the events in the log of a cluster, by job.
func (f *logField) eventsIn(cluster int) map[pool.JobID][]int {
	numbers := map[pool.JobID][]int{}
	file, err := os.Open(f.logOf(cluster))
	if err != nil {
		f.Error(err)
		return numbers
	}
	defer file.Close()
	r := userlog.NewReader(file, userlog.Options{})
	for {
		e, err := r.Next()
		if err != nil {
			return numbers
		}
		numbers[e.Job] = append(numbers[e.Job], userlog.Number(e.Body))
	}
}
