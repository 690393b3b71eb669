package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/jobprio"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// Nice keeps the nice value of an attempt's processes, its run-time priority, as the tickets
// of all jobs that run on the machine require (jobprio.NiceValues). It is a supervise.Chore.
//
// All supervisors of a spool on a machine wake at the same moments, the whole multiples
// of the interval since the boot. The first makes the delivery: it asks the queue, measures the usage of
// all jobs, and writes the nice value of each job to a file, which the others read. So they agree, and
// the queue is read once, however many jobs run. Each supervisor changes the processes of its own job
// alone.
type Nice struct {
	RunTime
	attempt pool.Attempt
	folder  Folder // where the deliveries are
	host    string
	queue   Queue
	clock   func() float64 // seconds since the machine was started
	tell    func(error)
	job     relatives

	due  <-chan time.Time
	told bool // it was reported that the value cannot be set
}

// RunTime is how the nice values of jobs are adjusted.
type RunTime struct {
	Interval time.Duration // 0: never
	// Best and Worst are the nice values of the best and the worst off of the jobs of a machine, -20 to 20.
	Best, Worst int
}

// Queue returns the jobs that run on the machine, and whether one of them has tickets. fs.ErrNotExist: there is no
// queue any more.
type Queue func() (jobs []Runner, tickets bool, err error)

// Runner is a job that runs on this machine, by the queue.
type Runner struct {
	Name    string // of the attempt
	PID     int    // its supervisor
	Tickets float64
	Slots   int // processors that it asked for, at least 1
}

// relatives are the processes of a job, and its control group, if it has one, with FD as
// the open directory: a family.Family.
type relatives interface {
	Processes() (pids []int)
	FD() (fd int, ok bool)
}

// Nice returns what keeps the nice value of the attempt's processes, which are prepared. Claims call the machine
// host.
func (m *Machine) Nice(host string, queue Queue) *Nice {
	n := &Nice{
		RunTime: m.RunTime, attempt: m.Attempt, folder: m.Folder, host: host, queue: queue, clock: sinceBoot, tell: m.complain, job: m.family,
	}
	if n.Interval > 0 {
		n.plan()
	}
	return n
}

// sinceBoot returns the seconds since the boot, which are the same for all processes and cannot be set.
func sinceBoot() float64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// Next fires when Apply is to be called; nil: never.
func (n *Nice) Next() <-chan time.Time { return n.due }

// plan sets the alarm to a moment after the next multiple of the interval.
func (n *Nice) plan() {
	n.due = time.After(seconds(n.begun()+n.Interval.Seconds()-n.clock()) + time.Millisecond)
}

// begun returns the beginning of the present interval.
func (n *Nice) begun() float64 {
	every := n.Interval.Seconds()
	return math.Floor(n.clock()/every) * every
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Waits for another supervisor that makes the delivery, and for the kernel, which lets all
// ordinary users together change autogroups ten times a second.
const (
	deliveryRetry = 200 * time.Millisecond
	kernelRetry   = 300 * time.Millisecond
)

// Apply gives the job's processes their nice value. It does not wait for other supervisors, but lets
// Next fire again.
func (n *Nice) Apply() {
	if wait := n.adjust(); wait > 0 {
		n.due = time.After(wait)
	} else {
		n.plan()
	}
}

// adjust does what Apply says, and returns when to try again; 0: it is done for this
// interval.
func (n *Nice) adjust() (retry time.Duration) {
	d, err := n.delivered()
	switch {
	case errors.Is(err, errBusy):
		return deliveryRetry
	case errors.Is(err, fs.ErrNotExist):
		return 0 // the folder is gone, or the queue
	case err != nil:
		n.tell(fmt.Errorf("its run-time priority: %w", err))
		return 0
	}
	job, ok := d.Jobs[n.attempt.String()]
	if !ok || job.Nice == nil {
		return 0 // the job began after the delivery, or no job has tickets
	}
	s := settle{want: min(*job.Nice, 19)} // Linux has no 20
	if err := asuser.Root(func() { s.all(n.job) }); err != nil {
		s.failed = err
	}
	if s.failed != nil && !n.told {
		n.told = true
		n.tell(fmt.Errorf("its run-time priority: %w", s.failed))
	}
	if s.again {
		return kernelRetry
	}
	return 0
}

// errBusy says that another supervisor makes the delivery.
var errBusy = errors.New("another supervisor makes the delivery")

// deliveryPath returns the file of this machine's deliveries. Several machines may share the folder.
func (n *Nice) deliveryPath() string {
	return filepath.Join(n.folder.Path, "nice."+url.PathEscape(strings.ToLower(n.host)))
}

// delivery is usage and nice values of all jobs of a machine at one moment.
type delivery struct {
	At   float64              // seconds since the machine was started
	Jobs map[string]delivered // by the name of the attempt
}

// delivered is a job's part in a delivery.
type delivered struct {
	CPU   float64 // seconds: usage of its processes and its supervisor's children so far
	Usage float64 // seconds: recent usage
	Nice  *int    `json:",omitempty"` // nil: no job has tickets
}

// delivered returns the delivery of the present interval, and makes it if no other supervisor has; it
// returns errBusy while another makes it.
//
// The file is written in place, as it is its own lock. A file that a crash has damaged, or that is older
// than the boot, counts as missing.
func (n *Nice) delivered() (d delivery, err error) {
	if err := launch.OwnFolder(n.folder.Path); err != nil {
		return d, err
	}
	f, err := os.OpenFile(n.deliveryPath(), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return d, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
	case unix.EWOULDBLOCK, unix.EINTR:
		return d, errBusy
	default:
		return d, fmt.Errorf("%s: flock: %w", f.Name(), err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return d, err
	}
	now := n.clock()
	if json.Unmarshal(text, &d) != nil || d.At > now {
		d = delivery{}
	}
	if d.At >= n.begun() && d.Jobs != nil {
		return d, nil
	}
	return n.deliver(f, d, now)
}

// deliver makes the delivery of now, the one after d, and writes it to the file.
func (n *Nice) deliver(f *os.File, d delivery, now float64) (delivery, error) {
	jobs, tickets, err := n.queue()
	if err != nil {
		return d, err
	}
	var loads []load
	if err := asuser.Root(func() { loads = measured(jobs) }); err != nil {
		return d, err
	}
	d = d.next(now, loads, tickets, n.RunTime)
	text, err := json.Marshal(d)
	if err != nil {
		return d, err
	}
	if err := f.Truncate(0); err != nil {
		return d, err
	}
	_, err = f.WriteAt(text, 0)
	return d, err
}

// load is a job with its usage so far.
type load struct {
	Runner
	live   float64 // seconds: its processes, with their children that have ended
	reaped float64 // seconds: the children of its supervisor that have ended, maybe of a job before it
}

// measured returns the jobs with living supervisors, with their usage so far.
func measured(jobs []Runner) (loads []load) {
	for _, job := range jobs {
		_, reaped, ok := cpuOf(job.PID)
		if !ok {
			continue // the next pass ends the claim
		}
		l := load{Runner: job, reaped: reaped}
		for _, pid := range descendants(job.PID) {
			own, children, _ := cpuOf(pid)
			l.live += own + children
		}
		loads = append(loads, l)
	}
	return loads
}

// next returns the delivery that follows d. A job's recent usage is its usage since d and the rest of
// its recent usage at d after decay. For a job that is not in d it is the whole usage of its processes.
func (d delivery) next(at float64, loads []load, tickets bool, run RunTime) delivery {
	after := delivery{At: at, Jobs: map[string]delivered{}}
	runners := make([]jobprio.Runner, len(loads))
	for i, l := range loads {
		one := delivered{CPU: l.live + l.reaped, Usage: l.live}
		if before, ok := d.Jobs[l.Name]; ok {
			one.Usage = jobprio.Forget(before.Usage) + max(one.CPU-before.CPU, 0)
		}
		after.Jobs[l.Name] = one
		runners[i] = jobprio.Runner{Tickets: l.Tickets, Usage: one.Usage, Procs: l.Slots}
	}
	if !tickets {
		return after
	}
	for i, nice := range jobprio.NiceValues(runners, run.Best, run.Worst) {
		one := after.Jobs[loads[i].Name]
		one.Nice = &nice
		after.Jobs[loads[i].Name] = one
	}
	return after
}

// settle gives all processes of a job the same nice value.
//
// Linux shares processor time by three values: within a session by the nice
// value of each thread; between sessions, of which each job has its own, by the nice
// value of their autogroups (sched(7)), if the kernel has these; and between control
// groups with the controller cpu by their weight (cgroups(7)). settle sets all three.
// A session that a process of the job begins later has 0 until the next interval.
type settle struct {
	want   int   // -20 to 19
	failed error // the first value that could not be set
	again  bool  // the kernel said EAGAIN
}

// settleRounds is the number of rounds over the processes: a process inherits the old value from a
// parent that has not been changed yet.
const settleRounds = 3

// all sets the three values.
func (s *settle) all(job relatives) {
	ours, _ := autogroup(os.Getpid())
	for range settleRounds {
		changed := false
		for _, pid := range job.Processes() {
			now, err := s.process(pid)
			grouped := s.session(pid, ours)
			if err != nil && !grouped {
				s.failed = err
			}
			changed = changed || now
		}
		if !changed {
			break
		}
	}
	s.weigh(job)
}

// process sets the nice values of a process's threads, and reports whether one has changed.
// The error names a value that could not be set.
func (s *settle) process(pid int) (changed bool, failed error) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			continue
		}
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		has := 20 - raw // the system call's own scale
		if err != nil || has == s.want {
			continue // it has ended, or has the value
		}
		got := s.thread(tid, has)
		changed = changed || got != has
		if got != s.want {
			failed = fmt.Errorf("the nice value %d is due to it, and it keeps %d: only root may give a process a smaller one than it has", s.want, got)
		}
	}
	return changed, failed
}

// thread sets the nice value of a thread, or the nearest value that it may
// have, and returns the thread's value then.
func (s *settle) thread(tid, has int) int {
	err := unix.Setpriority(unix.PRIO_PROCESS, tid, s.want)
	if err != unix.EACCES && err != unix.EPERM {
		return s.want // also if it has ended
	}
	var limit unix.Rlimit
	if unix.Prlimit(tid, unix.RLIMIT_NICE, nil, &limit) != nil {
		return has
	}
	least := 20 - int(min(limit.Cur, 40)) // getrlimit(2)
	if next := max(s.want, least); next < has && unix.Setpriority(unix.PRIO_PROCESS, tid, next) == nil {
		return next
	}
	return has
}

// session sets the nice value of the autogroup of a process, and reports whether
// it has one: then the nice values of its threads do not affect other sessions. It leaves the autogroup
// ours unchanged, which a process is in until it has a session of its own.
func (s *settle) session(pid int, ours string) bool {
	name, nice := autogroup(pid)
	if name == "" || name == ours || nice == s.want {
		return name != "" && name != ours
	}
	err := setAutogroup(pid, s.want)
	if errors.Is(err, unix.EPERM) && s.want < 0 && nice != 0 {
		err = setAutogroup(pid, 0)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		s.again = true
	case errors.Is(err, unix.EPERM):
		s.failed = fmt.Errorf("the nice value %d is due to its session: only root may give a session less than 0", s.want)
	}
	return true
}

func setAutogroup(pid, nice int) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/autogroup", pid), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strconv.Itoa(nice))
	return err
}

// autogroup returns the name and the nice value of a process's autogroup; no name if the process has
// ended or the kernel has no autogroups.
func autogroup(pid int) (name string, nice int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if n, err := fmt.Sscanf(string(text), "%s nice %d", &name, &nice); n != 2 || err != nil {
		return "", 0
	}
	return name, nice
}

// weigh sets the weight of the job's control group.
func (s *settle) weigh(job relatives) {
	fd, ok := job.FD()
	if !ok {
		return
	}
	file, err := unix.Openat(fd, "cpu.weight.nice", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return // the group has no controller cpu
	}
	if err == nil {
		_, err = unix.Write(file, []byte(strconv.Itoa(s.want)))
		unix.Close(file)
	}
	if err != nil {
		s.failed = &fs.PathError{Op: "write", Path: "cpu.weight.nice", Err: err}
	}
}

// mostDescendants bounds a look at a job that starts processes faster than they are counted.
const mostDescendants = 10000

// descendants returns the ids of all descendants of a process. One may be missing if another ends at
// that moment.
func descendants(pid int) (pids []int) {
	todo := []int{pid}
	for len(todo) > 0 && len(pids) < mostDescendants {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", todo[len(todo)-1]))
		todo = todo[:len(todo)-1]
		for _, file := range files {
			list, _ := os.ReadFile(file) // empty for a thread that has ended
			for _, word := range strings.Fields(string(list)) {
				if child, err := strconv.Atoi(word); err == nil {
					todo, pids = append(todo, child), append(pids, child)
				}
			}
		}
	}
	return pids
}

// cpuOf returns the seconds of processor time of a process, and of the
// children that it has waited for (proc(5), /proc/PID/stat); false for a process that has ended.
func cpuOf(pid int) (own, children float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(text, ')') // the name before it may have any bytes
	if err != nil || i < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(text[i+1:])) // from field 3 on
	if len(fields) < 15 {
		return 0, 0, false
	}
	number := func(field int) float64 {
		n, _ := strconv.ParseFloat(fields[field-3], 64)
		return n
	}
	const utime, stime, cutime, cstime, perSecond = 14, 15, 16, 17, 100
	return (number(utime) + number(stime)) / perSecond, (number(cutime) + number(cstime)) / perSecond, true
}
