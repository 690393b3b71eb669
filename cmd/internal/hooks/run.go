package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/asuser"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// How many commands run at the same time: of one account, and in all.
const (
	mostOfAccount = 4
	most          = 32
)

const (
	// tryFor is for how long after an event its command may still be started.
	tryFor = time.Hour
	// lookEvery is how often a runner that waits for commands looks for new files.
	lookEvery = 200 * time.Millisecond
	// mostQueued bounds the events that a runner has read: newer files wait until it has fewer.
	mostQueued = 10_000
	// mostWarnings bounds the warnings of a runner.
	mostWarnings = 20
)

// Settings are a runner's settings.
type Settings struct {
	Folder  string        // claims.d
	Timeout time.Duration // after which a command is killed
	Nobody  string        // NOBODY_SLOT_USER
	Warn    func(format string, args ...any)
}

const (
	about      = "commands for events"
	ofOperator = "EVENT_COMMAND"
)

// Log returns where a runner of the spool in dir writes what goes wrong: the log of the supervisors.
func Log(dir string) *trouble.Log {
	return &trouble.Log{Path: filepath.Join(dir, "starter.log"), About: about}
}

// Failed returns how an EVENT_COMMAND of the spool in dir failed last, and when; empty: none did lately.
func Failed(dir string) (line string, at time.Time) {
	l := Log(dir)
	return trouble.Last(l.Path, l.About, ": "+ofOperator+" ")
}

// Run runs the commands that wait in the folder, until none is left. It does nothing
// while another runner is at work.
func Run(s Settings) error {
	for len(Due(s.Folder)) > 0 {
		lock, err := lockRunner(s.Folder)
		if err != nil || lock == nil {
			return err
		}
		r := runner{Settings: s, files: map[string]*file{}, queues: map[string][]*task{}, busy: map[pool.JobID]bool{}, ofAccount: map[string]int{}, done: make(chan *task)}
		r.loop()
		lock.Close()
	}
	return nil
}

// lockRunner takes the lock of the runner; nil if another process has it.
func lockRunner(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, "hooks.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		f.Close()
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, nil
	case err != nil:
		return nil, os.NewSyscallError("flock", err)
	}
	return f, nil
}

// file is one with commands to run.
type file struct {
	*os.File
	left int // commands that have not ended
}

// task is the command for one job of an order.
type task struct {
	*file
	*Order
	order, proc int // numbers of the order in the file, and of the proc
	pid         int // of a process that an earlier runner has started; 0: none has
	ticks       uint64
	late        bool // it is too old to be started
	account     string
	err         error // of the command, once it has ended
}

func (t *task) job() pool.JobID { return pool.JobID{Cluster: t.Procs.Cluster, Proc: t.proc} }

type runner struct {
	Settings
	files     map[string]*file   // by path
	queues    map[string][]*task // by account
	accounts  []string           // in order of first use
	queued    int
	busy      map[pool.JobID]bool // jobs with a running command: their next ones wait
	ofAccount map[string]int      // commands that run
	running   int
	done      chan *task // those that have ended
	warned    int
}

// loop runs all commands that wait.
func (r *runner) loop() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		r.read()
		r.startAll()
		if r.running == 0 {
			break
		}
		select {
		case t := <-r.done:
			r.ended(t)
		case <-look.C:
		}
	}
	if r.warned > mostWarnings {
		r.Warn("%s failed", plural.Count(r.warned-mostWarnings, "more command"))
	}
}

// warn reports what went wrong with a command.
func (r *runner) warn(t *task, err error) {
	if r.warned++; r.warned > mostWarnings {
		return
	}
	key := ofOperator
	if t.AsOwner {
		key = "notify_command"
	}
	r.Warn("job %v, %v: %s %s: %v", t.job(), t.Kind, key, t.Words[0], err)
}

// read reads new files.
func (r *runner) read() {
	for _, path := range Due(r.Folder) {
		if r.files[path] != nil {
			continue
		}
		if r.queued >= mostQueued {
			return
		}
		if err := r.open(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Warn("%s: %v", path, err)
			os.Remove(path)
		}
	}
}

// open reads a file, and queues its commands.
func (r *runner) open(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	var orders []Order
	var notes []byte
	if err == nil {
		orders, notes, err = ordersOf(text)
	}
	if err != nil {
		f.Close()
		return err
	}
	into := &file{File: f}
	r.files[path] = into
	started := startedIn(notes)
	late := time.Since(NamedAt(path, duePrefix)) > tryFor
	for i := range orders {
		o := &orders[i]
		account := ""
		if o.AsOwner {
			account = o.Owner
		}
		for id := range o.Procs.Jobs() {
			t := &task{file: into, Order: o, order: i, proc: id.Proc, late: late, account: account}
			if n, known := started[note{order: i, proc: id.Proc}]; known {
				if !n.alive() {
					continue
				}
				t.pid, t.ticks = n.pid, n.ticks
			}
			into.left++
			r.queue(t)
		}
	}
	r.close(into)
	return nil
}

func (r *runner) queue(t *task) {
	if _, known := r.queues[t.account]; !known {
		r.accounts = append(r.accounts, t.account)
	}
	r.queues[t.account] = append(r.queues[t.account], t)
	r.queued++
}

// close removes a file after all of its commands have ended.
func (r *runner) close(f *file) {
	if f.left > 0 {
		return
	}
	if err := os.Remove(f.Name()); err != nil {
		r.Warn("%v", err)
	}
	f.Close()
	delete(r.files, f.Name())
}

// startAll starts the commands that may run now: a job's one after the other.
func (r *runner) startAll() {
	for _, account := range r.accounts {
		queue := r.queues[account]
		rest := queue[:0]
		for i, t := range queue {
			if r.running >= most || r.ofAccount[account] >= mostOfAccount {
				rest = append(rest, queue[i:]...)
				break
			}
			if r.busy[t.job()] {
				rest = append(rest, t)
				continue
			}
			r.queued--
			r.start(t)
		}
		r.queues[account] = rest
	}
}

// start starts a command, or goes on with one that an earlier runner has started.
func (r *runner) start(t *task) {
	switch {
	case t.pid > 0:
		go func() { t.err = r.adopt(t); r.done <- t }()
	case t.late:
		r.warn(t, fmt.Errorf("not started within %v of the event; it is given up", tryFor))
		r.over(t)
		return
	default:
		p, err := start(t, r.Nobody)
		r.note(t, p)
		if err != nil {
			r.warn(t, err)
			r.over(t)
			return
		}
		go func() { t.err = p.wait(r.Timeout); r.done <- t }()
	}
	r.running++
	r.busy[t.job()] = true
	r.ofAccount[t.account]++
}

func (r *runner) ended(t *task) {
	r.running--
	r.ofAccount[t.account]--
	delete(r.busy, t.job())
	if t.err != nil {
		r.warn(t, t.err)
	}
	r.over(t)
}

func (r *runner) over(t *task) {
	t.left--
	r.close(t.file)
}

// note is a line of a file: a command was started as a process, which is known by its id and its start. The
// process 0 could not be started.
type note struct {
	order, proc, pid int
	ticks            uint64
}

const noteForm = "started %d %d %d %d\n"

// note notes that a command was started.
func (r *runner) note(t *task, p *process) {
	n := note{order: t.order, proc: t.proc}
	if p != nil {
		n.pid, n.ticks = p.pid, p.ticks
	}
	if _, err := fmt.Fprintf(t.file, noteForm, n.order, n.proc, n.pid, n.ticks); err != nil {
		r.Warn("%v: the command runs again if the runner is killed", err)
	}
}

// startedIn returns the notes of a file, by order and proc.
func startedIn(text []byte) map[note]note {
	found := map[note]note{}
	for line := range bytes.Lines(text) {
		var n note
		if _, err := fmt.Sscanf(string(line), noteForm, &n.order, &n.proc, &n.pid, &n.ticks); err == nil {
			found[note{order: n.order, proc: n.proc}] = n
		}
	}
	return found
}

// alive reports whether the process still runs.
func (n note) alive() bool { return n.pid > 0 && n.ticks > 0 && ticksOf(n.pid) == n.ticks }

// adopt waits for a process of an earlier runner, and kills it when its time is over.
func (r *runner) adopt(t *task) error {
	n := note{pid: t.pid, ticks: t.ticks}
	for end := time.Now().Add(r.Timeout); n.alive(); time.Sleep(lookEvery / 4) {
		if time.Now().After(end) {
			kill(t.pid)
			return tookLonger(r.Timeout)
		}
	}
	return nil
}

// ticksOf returns the start of a process, in clock ticks since the boot; 0 if it has ended.
func ticksOf(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, start = 0, 19 // behind the name
	if len(fields) <= start || fields[state] == "Z" {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[start], 10, 64)
	return ticks
}

// Flag is the option of starter with which it is a runner.
const Flag = "hooks"

// Start starts a runner for a pool, unless one is at work, which will find earlier files, or this process is a job's,
// which starts no process that is to outlive the job. If root serves the account of the spool, the runner is root's,
// too. The caller may Wait for it, if it lives on.
func Start(p onchange.Pool) (runner *exec.Cmd, err error) {
	if p.Notes {
		return nil, nil
	}
	lock, err := lockRunner(filepath.Join(p.Dir, "claims.d"))
	if err != nil || lock == nil {
		return nil, err
	}
	lock.Close() // a runner that finds it locked meanwhile leaves its files to the one to come
	c := exec.Command(p.Program("starter"), slices.Concat(p.Args, []string{"-" + Flag})...)
	c.Dir, c.Env = "/", p.Env // no file system is kept busy for a runner's sake
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.Beside {
		c.SysProcAttr.Cloneflags = unix.CLONE_PARENT
	}
	if e := asuser.Root(func() { err = c.Start() }); e != nil {
		err = e
	}
	return c, err
}
