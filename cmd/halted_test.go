package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// change is a kind of command that changes the spool, and its n-th call, for an n of 0 or 1,
// on a ground that prepare has filled. Each call finds something to change.
type change struct {
	name string
	call func(n int) call
}

var changes = []change{
	{"submit", func(int) call { return submit(3, "alice", true) }},
	{"prio", func(n int) call { return prioritise(1+n, true, []string{"1.0", "2.0"}) }},
	{"qdel", func(n int) call { return remove([]string{"4.0", "4.1"}[n]) }},
	{"qhold", func(n int) call { return steer("qhold", []string{"4.2", "4.3"}[n], (*model).hold) }},
	{"qrls", func(n int) call { return steer("qrls", []string{"5.0", "5.1"}[n], (*model).release) }},
	{"slots advertise", func(n int) call { return advertise([]string{slotName(10 + n)}, slot{1, true, 0, false}) }},
	{"slots advertise " + divided, func(n int) call { return advertise([]string{divided}, slot{1 + n, true, 3, false}) }},
	{"slots withdraw", func(n int) call { return withdraw([]string{slotName(20 + n)}) }},
	{"userprio", func(n int) call { return edit("-setfactor", "fair0@pool", float64(2+n)) }},
	{"negotiate", func(int) call { return negotiation }},
	{"spool compact", func(int) call { return compaction }},
}

// prepare fills a new spool with what changes change: idle jobs of cluster 3, resting ones of
// cluster 4, held ones of cluster 5, and two slots that take no jobs.
func (g *ground) prepare() *model {
	g.Helper()
	m := g.furnish()
	for _, c := range []call{
		submit(30, "alice", false), submit(4, "bob", true), submit(2, "bob", true), steer("qhold", "5", (*model).hold),
		advertise([]string{slotName(20), slotName(21)}, slot{1, false, 0, false}),
	} {
		m = g.sure(m, c)
	}
	return m
}

// haltAtLock starts a command and stops it where it asks for the writers' lock, which the
// caller has.
func (g *ground) haltAtLock(c call) *process {
	g.Helper()
	p := g.begin(c, nil)
	testenv.UntilWaiting(g, p.Process.Pid, filepath.Join(g.spool, "lock"))
	g.halt(p)
	return p
}

// haltWithLock starts a command and stops it where it has the writers' lock and opens the
// journal.
func (g *ground) haltWithLock(c call) *process {
	g.Helper()
	opens, release := g.lease(g.journal())
	defer release()
	p := g.begin(c, nil)
	testenv.Until(g, "a writer opens the journal", opens)
	g.halt(p)
	return p
}

// startUnheard starts a command and waits until what it does is committed. It cannot say so:
// its standard output is a pipe that is full.
func (g *ground) startUnheard(c call) *process {
	g.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { r.Close() })
	defer w.Close()
	fd := int(w.Fd())
	for unix.SetNonblock(fd, true); err == nil; {
		_, err = unix.Write(fd, make([]byte, os.Getpagesize()))
	}
	if unix.SetNonblock(fd, false); !errors.Is(err, unix.EAGAIN) {
		g.Fatal(err)
	}
	committed := func() string { return g.text("spool/CURRENT") + g.text("spool/"+g.journal()) }
	before := committed()
	p := g.begin(c, w)
	testenv.Until(g, "the change is committed", func() bool { return committed() != before && g.unlocked() })
	return p
}

// begin starts a command that the end of the test kills, if it still runs by then.
func (g *ground) begin(c call, stdout *os.File) *process {
	g.Helper()
	p := g.process(c.stdin, c.args...)
	if stdout != nil {
		p.Stdout = stdout
	}
	if err := p.Start(); err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { p.Process.Kill() })
	return p
}

// halt stops a process with SIGSTOP.
func (g *ground) halt(p *process) {
	g.Helper()
	p.Process.Signal(syscall.SIGSTOP)
	testenv.Until(g, "the process has stopped", func() bool { return processState(p.Process.Pid) == "T" })
}

// resume lets a process go on that was stopped.
func (p *process) resume() { p.Process.Signal(syscall.SIGCONT) }

// kill kills a process and holds that it was there and had said nothing.
func (p *process) kill(g *ground) {
	g.Helper()
	p.Process.Kill()
	if a := p.answer(); a.status != -1 || a.out != "" {
		g.Fatalf("%v that was killed = %+v", p.Args, a)
	}
}

// lock takes the lock of the writers, as flock(1) does, until release is called.
func (g *ground) lock() (release func()) {
	g.Helper()
	f := g.open("lock")
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		g.Fatal(err)
	}
	return sync.OnceFunc(func() { f.Close() })
}

// unlocked reports whether no process has the lock of the writers.
func (g *ground) unlocked() bool {
	f := g.open("lock")
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// lease makes each process wait that opens a file of the spool to write to it, until release
// is called. opens reports whether one does.
func (g *ground) lease(name string) (opens func() bool, release func()) {
	g.Helper()
	f := g.open(name)
	g.Cleanup(func() { f.Close() })
	lease := func(command, kind int) int {
		held, err := unix.FcntlInt(f.Fd(), command, kind)
		if err != nil {
			g.Fatal(os.NewSyscallError("fcntl", err))
		}
		return held
	}
	lease(unix.F_SETLEASE, unix.F_RDLCK)
	return func() bool { return lease(unix.F_GETLEASE, 0) == unix.F_UNLCK }, func() { lease(unix.F_SETLEASE, unix.F_UNLCK) }
}

// open opens a file of the spool for reading, which is enough for flock and a lease.
func (g *ground) open(name string) *os.File {
	g.Helper()
	f, err := os.Open(filepath.Join(g.spool, name))
	if err != nil {
		g.Fatal(err)
	}
	return f
}

// journal returns the name of the journal in force.
func (g *ground) journal() string {
	g.Helper()
	text := strings.Fields(g.text("spool/CURRENT"))
	if len(text) < 2 {
		g.Fatalf("CURRENT is %q", text)
	}
	return "journal." + text[1]
}

// processState returns the letter for a process's state, "-" for one that is
// not there.
func processState(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "-"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}
