package cmd

import (
	"context"
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

	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// TestKilledLogs kills commands and supervisors with SIGKILL at random moments while jobs
// with logs of their own come and go. In the end the log of each job has its end, once and as
// its last event, and qstat -wait of the log ends. FAIRSPOOL_LOG_KILLS is the number of kills.
func TestKilledLogs(t *testing.T) {
	t.Parallel()
	kills, spools := 50, 2
	if n, err := strconv.Atoi(os.Getenv("FAIRSPOOL_LOG_KILLS")); err == nil {
		kills = n
	}
	var all sync.WaitGroup
	for i := range spools {
		f := &logField{ground: newGround(t), Rand: rand.New(rand.NewPCG(2, uint64(i))), life: map[string]time.Duration{}, killed: map[string]int{}}
		all.Go(func() {
			defer killAll(f.dir)
			if err := f.killSome(kills / spools); err != nil {
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
	c, cancel := context.WithTimeout(context.Background(), patience)
	p := &process{Cmd: f.command(c, args...), cancel: cancel}
	p.Env = append(p.Env, "FAIRSPOOL_NOW=")
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(stdin), &p.out, &p.bad
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

// killSome has jobs come and go until so many processes were killed, and then lets all run out.
func (f *logField) killSome(kills int) error {
	if err := os.Mkdir(filepath.Join(f.dir, "logs"), 0o777); err != nil {
		return err
	}
	names := []string{slotName(0), slotName(1), slotName(2), slotName(3)}
	ads := advertise(names, slot{1, true, 0, false})
	if _, err := f.do(ads.stdin, false, ads.args...); err != nil {
		return err
	}
	for total := 0; total < kills; {
		total = 0
		for _, n := range f.killed {
			total += n
		}
		if err := f.step(); err != nil {
			return err
		}
	}
	for end := time.Now().Add(patience); ; {
		for _, args := range [][]string{{"qrls", "-a"}, {"negotiate", "-q"}, {"starter", "-q", "-wait"}} {
			if _, err := f.do("", false, args...); err != nil {
				return err
			}
		}
		a, err := f.do("", false, "qstat", "-af", "ClusterId")
		if err != nil || a.out == "" && a.status == 0 && !f.pending() {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("jobs, or events for logs, are left: %+v", a)
		}
	}
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
		text := fmt.Sprintf("executable = /bin/sleep\narguments = 0.0%d\nlog = %s/logs/$(Cluster)\n", 1+f.IntN(9), f.dir)
		if f.IntN(4) == 0 { // it waits until a cycle removes it
			text += "requirements = false\nperiodic_remove = JobStatus == 1\n"
		}
		f.submitted++
		_, err = f.do(fmt.Sprintf("%squeue %d\n", text, 1+f.IntN(2)), kill, "submit", "-")
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

// killSupervisor kills one of the spool's supervisors, if there is one.
func (f *logField) killSupervisor() {
	all := slices.DeleteFunc(processesOf(f.dir), func(r remnant) bool { return !strings.Contains(string(r.command), "\x00-supervise\x00") })
	if len(all) > 0 && unix.Kill(all[f.IntN(len(all))].id, unix.SIGKILL) == nil {
		f.killed["supervisor"]++
	}
}

// logsHaveEnds holds that the log of each job that has left the queue has its end, once and as
// the last of its events, and that qstat -wait of the log ends.
func (f *logField) logsHaveEnds() {
	a, err := f.do("", false, "qstat", "-history", "-af", "ClusterId", "ProcId", "JobStatus")
	if err != nil || a.status != 0 {
		f.Errorf("qstat -history = %+v, %v", a, err)
		return
	}
	ends := map[pool.Status]int{pool.Completed: 5, pool.Removed: 9}
	jobs, byStatus, logs := 0, map[pool.Status]int{}, map[int]map[pool.JobID][]int{}
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
		if a, err := f.do("", false, "qstat", "-wait", f.logOf(cluster), "-timeout", "10"); err != nil || strings.Contains(a.bad, "timed out") {
			f.Errorf("qstat -wait of the log of cluster %d = %+v, %v, want that all have ended", cluster, a, err)
		}
	}
	f.Logf("%d jobs with %d logs, %d completed, %d removed; killed %v", jobs, len(logs), byStatus[pool.Completed], byStatus[pool.Removed], f.killed)
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
