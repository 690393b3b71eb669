package launch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Rlimit is a limit of setrlimit(2), in its units. Either part may be Same.
type Rlimit struct {
	Resource   int // RLIMIT_...
	Soft, Hard uint64
}

// Same, as a part of a limit, is the supervisor's own value.
const Same uint64 = math.MaxUint64 - 1

// forking guards the limits of this process, which are those of all its threads: a process that is
// forked while a job's limits are in force has them, too.
var forking sync.RWMutex

// fork starts the command under the limits, nice value and processors of the job. The caller
// gives it a thread of its own, and ends the thread afterwards if bent is true.
//
// A forked process has the limits of this process, and the nice value and the processors of the
// thread that forks it. So the thread takes on these two before, and this process the soft limits,
// which it restores after the fork. Four limits would disturb this process or Go's runtime: see
// afterwards. fork sets these, and all hard limits, on the job's process by tracing it while it is
// stopped before its first instruction. If tracing is not allowed, or the program takes on other
// rights, which a traced program would not get, fork sets them a moment later, when the program may
// have run already.
func (j Job) fork(cmd *exec.Cmd) (bent bool, err error) {
	if bent, err = j.bend(); err != nil {
		return bent, err
	}
	limits := j.limits()
	if len(limits) == 0 {
		forking.RLock()
		defer forking.RUnlock()
		return bent, cmd.Start()
	}
	restore, err := lower(limits)
	if err == nil {
		err = startStill(cmd)
	}
	restore()
	if err != nil {
		return bent, err
	}
	pid := cmd.Process.Pid
	if cmd.SysProcAttr.Ptrace {
		awaitStop(pid)
		defer unix.PtraceDetach(pid)
	}
	if err = j.settle(pid, limits); err != nil {
		unix.Kill(-pid, unix.SIGKILL) // and processes that it may have started
		cmd.Wait()
	}
	return bent, err
}

// startStill starts a command that stops before its first instruction, if that is possible: then Ptrace
// is set.
func startStill(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Ptrace = !takesRights(cmd.Path)
	if err := cmd.Start(); !cmd.SysProcAttr.Ptrace || !errors.Is(err, unix.EPERM) {
		return err
	}
	cmd.SysProcAttr.Ptrace = false
	return cmd.Start()
}

// takesRights reports whether a program has other rights than the process that starts it.
func takesRights(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return true
	}
	size, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0
}

// awaitStop waits until a process that this thread traces has stopped, which
// it soon does by itself, or was killed. Limits that are set before do not last: the
// kernel sets the limit of the stack once more when it has loaded a program. awaitStop does not use
// wait(2): code that reaps children might get the change of state first.
func awaitStop(pid int) {
	for wait := time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		if _, err := unix.PtraceGetEventMsg(pid); err != unix.ESRCH {
			return
		}
		var ended unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD || ended.Signo != 0 {
			return
		}
		time.Sleep(wait)
	}
}

// bend gives the nice value and the processors of the job to the calling thread alone.
func (j Job) bend() (bent bool, err error) {
	if nice := j.Nice; nice != 0 {
		bent = true
		if left, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && os.Geteuid() != 0 {
			nice = max(nice, 20-left) // as the system call has it; only root takes more than it had
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, min(max(nice, -20), 19)); err != nil {
			return bent, startError(HoldStart, fmt.Sprintf("nice value %d", nice), err)
		}
	}
	if len(j.CPUs) == 0 {
		return bent, nil
	}
	var set unix.CPUSet
	for _, cpu := range j.CPUs {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return true, startError(HoldStart, "processors "+processors(j.CPUs), err)
	}
	return true, nil
}

func processors(cpus []int) string {
	var names []string
	for _, cpu := range cpus {
		names = append(names, strconv.Itoa(cpu))
	}
	return strings.Join(names, ",")
}

// limits returns the job's limits, one for each resource, sorted.
func (j Job) limits() []Rlimit {
	all := slices.Clone(j.Limits)
	if j.Core >= 0 {
		all = append(all, Rlimit{unix.RLIMIT_CORE, uint64(j.Core), uint64(j.Core)})
	}
	slices.SortStableFunc(all, func(a, b Rlimit) int { return cmp.Compare(a.Resource, b.Resource) })
	var one []Rlimit
	for _, l := range all {
		if n := len(one); n > 0 && one[n-1].Resource == l.Resource {
			one[n-1].Soft, one[n-1].Hard = lowest(one[n-1].Soft, l.Soft), lowest(one[n-1].Hard, l.Hard)
			continue
		}
		one = append(one, l)
	}
	return one
}

// lowest returns the lower of two parts of limits.
func lowest(a, b uint64) uint64 {
	switch {
	case a == Same:
		return b
	case b == Same:
		return a
	}
	return min(a, b)
}

// over returns the limit to set for a process with the limit now.
func (l Rlimit) over(now unix.Rlimit) unix.Rlimit {
	next := now
	if l.Hard != Same {
		next.Max = l.Hard
	}
	if l.Soft != Same {
		next.Cur = l.Soft
	}
	next.Cur = min(next.Cur, next.Max)
	return next
}

// afterwards are the limits that are not set before the fork. With the first three this process could
// not get memory or write files meanwhile. Go gives its children the original limit of open files, unless
// this process has ever set that.
var afterwards = []int{unix.RLIMIT_AS, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE}

// lower sets soft limits of this process, and returns a function that restores them, which the caller must
// call in any case. Until then no other thread forks.
func lower(limits []Rlimit) (restore func(), err error) {
	forking.Lock()
	var before []Rlimit
	restore = func() {
		for _, l := range before {
			unix.Prlimit(0, l.Resource, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}, nil)
		}
		forking.Unlock()
	}
	for _, l := range limits {
		if slices.Contains(afterwards, l.Resource) {
			continue
		}
		var now unix.Rlimit
		if err = unix.Prlimit(0, l.Resource, nil, &now); err != nil {
			return restore, limitError(l, err)
		}
		before = append(before, Rlimit{l.Resource, now.Cur, now.Max})
		// A soft limit above this process's hard one is set on the job's process.
		next := unix.Rlimit{Cur: min(l.over(now).Cur, now.Max), Max: now.Max}
		if err = unix.Prlimit(0, l.Resource, &next, nil); err != nil {
			return restore, limitError(l, err)
		}
	}
	return restore, nil
}

// settle sets the limits of a process of the job that was just started.
func (j Job) settle(pid int, limits []Rlimit) error {
	all := func() error {
		for _, l := range limits {
			var now unix.Rlimit
			err := unix.Prlimit(pid, l.Resource, nil, &now)
			if err == nil {
				err = setLimit(pid, l.Resource, l.over(now), now)
			}
			if err != nil && !errors.Is(err, unix.EPERM) {
				return limitError(l, err)
			}
			// This process may not limit a program that has taken on other rights.
		}
		return nil
	}
	if j.Account.Other() && !mayLimit(pid) {
		return j.Account.user().DoToProcesses(all)
	}
	return all()
}

// mayLimit reports whether this process may set the limits of another with its present rights. Otherwise it
// takes the rights of the other's user, who may send signals to a thread with these.
func mayLimit(pid int) bool {
	var now unix.Rlimit
	return unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now) != unix.EPERM
}

// setLimit sets a limit of a process, 0 for this one, that has had now. A limit that this process may not
// raise stays as low as it is. The limit of open files has no "unlimited".
func setLimit(pid, resource int, to, now unix.Rlimit) error {
	if resource == unix.RLIMIT_NOFILE {
		most := mostFiles()
		to.Cur, to.Max = min(to.Cur, most), min(to.Max, most)
	}
	err := unix.Prlimit(pid, resource, &to, nil)
	if errors.Is(err, unix.EPERM) && to.Max > now.Max {
		to.Cur, to.Max = min(to.Cur, now.Max), now.Max
		err = unix.Prlimit(pid, resource, &to, nil)
	}
	return err
}

func mostFiles() uint64 {
	b, _ := os.ReadFile("/proc/sys/fs/nr_open")
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 1 << 20 // the kernel's own default
	}
	return n
}

func limitError(l Rlimit, err error) *StartError {
	what := strconv.Itoa(l.Resource)
	for name, it := range items {
		if it.resource == l.Resource {
			what = name // there is one
		}
	}
	return startError(HoldStart, "limit of "+what, err)
}

// Where limits.conf(5) is, and what adds to it.
const (
	confFile  = "/etc/security/limits.conf"
	confFiles = "/etc/security/limits.d/*.conf"
)

// confTexts returns the texts of the files, in the order of precedence. It skips a file
// that cannot be read.
func confTexts() (texts []string) {
	more, _ := filepath.Glob(confFiles) // sorted
	for _, name := range append([]string{confFile}, more...) {
		if b, err := os.ReadFile(name); err == nil {
			texts = append(texts, string(b))
		}
	}
	return texts
}

// conf reads limits.conf(5) for an account. Group finds the id of a group.
type conf struct {
	account Account
	group   func(name string) (gid int, known bool)
}

// item is the meaning of a name in limits.conf. The name "locks" is left out: Linux ignores
// that limit since 2.4.25, and lib/family marks the job's processes with it.
type item struct {
	resource int
	unit     uint64
}

var items = map[string]item{
	"core": {unix.RLIMIT_CORE, 1 << 10}, "data": {unix.RLIMIT_DATA, 1 << 10}, "fsize": {unix.RLIMIT_FSIZE, 1 << 10},
	"memlock": {unix.RLIMIT_MEMLOCK, 1 << 10}, "nofile": {unix.RLIMIT_NOFILE, 1}, "rss": {unix.RLIMIT_RSS, 1 << 10},
	"stack": {unix.RLIMIT_STACK, 1 << 10}, "cpu": {unix.RLIMIT_CPU, 60}, "nproc": {unix.RLIMIT_NPROC, 1},
	"as": {unix.RLIMIT_AS, 1 << 10}, "rtprio": {unix.RLIMIT_RTPRIO, 1},
	"sigpending": {unix.RLIMIT_SIGPENDING, 1}, "msgqueue": {unix.RLIMIT_MSGQUEUE, 1}, "nice": {unix.RLIMIT_NICE, 1},
}

// How closely a line matches a user: a line for the user overrides one for a group of the
// user, and that overrides one for all. 0: it does not match.
const (
	everybody = 1 + iota
	ofGroup
	ofUser
)

// limits returns the limits that the texts set for the account, by resource, and the nice
// value that they give it. Of lines that match equally closely the last holds. A line
// that cannot be read is ignored, as by pam_limits(8), and maxlogins and its like do not
// concern a job. A line with a user or a group and "-" alone removes all limits.
func (c conf) limits(texts []string) (limits []Rlimit, priority int) {
	s := settings{found: map[int]*Rlimit{}, closest: map[[2]int]int{}}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(strings.TrimSpace(line))
		switch {
		case len(words) == 2 && words[1] == "-" && c.means(words[0]) > everybody:
			return nil, 0
		case len(words) == 4:
			s.set(c.means(words[0]), strings.ToLower(words[1]), strings.ToLower(words[2]), strings.ToLower(words[3]))
		}
	}
	for _, l := range s.found {
		limits = append(limits, *l)
	}
	slices.SortFunc(limits, func(a, b Rlimit) int { return a.Resource - b.Resource })
	return limits, s.priority
}

// settings is the result of the lines read so far.
type settings struct {
	found    map[int]*Rlimit
	priority int
	// closest is how closely a line meant the account that set something: a resource,
	// and which part of its limit.
	closest map[[2]int]int
}

// Which part of a limit a line sets.
const (
	soft = iota
	hard
	thePriority
)

// set takes over a line that means the account so closely.
func (s *settings) set(near int, kind, name, value string) {
	if near == 0 {
		return
	}
	if name == "priority" {
		n, err := strconv.Atoi(value)
		if part := [2]int{0, thePriority}; err == nil && near >= s.closest[part] {
			s.closest[part], s.priority = near, min(max(n, -20), 19)
		}
		return
	}
	it, known := items[name]
	n, ok := it.read(value)
	if !known || !ok {
		return
	}
	l := s.found[it.resource]
	if l == nil {
		l = &Rlimit{it.resource, Same, Same}
		s.found[it.resource] = l
	}
	if part := [2]int{it.resource, soft}; (kind == "-" || kind == "soft") && near >= s.closest[part] {
		s.closest[part], l.Soft = near, n
	}
	if part := [2]int{it.resource, hard}; (kind == "-" || kind == "hard") && near >= s.closest[part] {
		s.closest[part], l.Hard = near, n
	}
}

// read reads a value in the item's unit.
func (it item) read(text string) (uint64, bool) {
	if it.resource == unix.RLIMIT_NICE {
		n, err := strconv.Atoi(text)
		return uint64(20 - min(max(n, -20), 19)), err == nil
	}
	if text == "-1" || text == "unlimited" || text == "infinity" {
		return unix.RLIM_INFINITY, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > (math.MaxUint64-2)/max(it.unit, 1) {
		return unix.RLIM_INFINITY, true
	}
	return n * it.unit, err == nil
}

// means returns how closely a domain means the account.
func (c conf) means(domain string) int {
	a := c.account
	group, isGroup := strings.CutPrefix(domain, "@")
	first, last, isRange := strings.Cut(group, ":")
	yes, near := false, ofUser
	switch {
	case domain == "*":
		return everybody
	case !isGroup:
		yes = domain == a.Name || isRange && within(a.UID, first, last)
	case !isRange:
		gid, known := c.group(group)
		yes, near = known && slices.Contains(a.Groups, gid), ofGroup
	case first == "": // one group, also if it is not the user's first
		gid, err := strconv.Atoi(last)
		yes, near = err == nil && slices.Contains(a.Groups, gid), ofGroup
	default:
		yes, near = within(a.GID, first, last), ofGroup
	}
	if !yes {
		return 0
	}
	return near
}

// within reports whether an id lies in a range: "first:last", "first:" or ":only".
func within(id int, first, last string) bool {
	low, err1 := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	switch {
	case first == "" && err2 == nil:
		return id == high
	case last == "" && err1 == nil:
		return id >= low
	}
	return err1 == nil && err2 == nil && low <= id && id <= high
}
