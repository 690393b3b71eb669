package qstat

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sys "golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/spool"
)

// terminal is a terminal of a test's own: what commands write to tty comes to be seen, and what
// is typed they read from it.
type terminal struct {
	master, tty *os.File
	mu          sync.Mutex
	out         bytes.Buffer
}

func newTerminal(t *testing.T, width int) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|sys.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	fd := int(master.Fd())
	number, err := sys.IoctlGetInt(fd, sys.TIOCGPTN)
	if err == nil {
		err = sys.IoctlSetPointerInt(fd, sys.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = sys.IoctlSetWinsize(fd, sys.TIOCSWINSZ, &sys.Winsize{Row: 30, Col: uint16(width)})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|sys.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &terminal{master: master, tty: tty}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			m.mu.Lock()
			m.out.Write(b[:n])
			m.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { tty.Close(); <-done; master.Close() })
	return m
}

// shown returns what was written so far, with the ends of lines as they were written.
func (m *terminal) shown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.ReplaceAll(m.out.String(), "\r\n", "\n")
}

func (m *terminal) mode(t *testing.T) sys.Termios {
	t.Helper()
	mode, err := sys.IoctlGetTermios(int(m.tty.Fd()), sys.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

// TestTerminalLayout holds that a terminal gets the brief list, as wide as it is, unless
// another layout is chosen.
func TestTerminalLayout(t *testing.T) {
	briefKinds(t)
	t.Setenv("COLUMNS", "")
	for _, c := range []struct{ variable, args, like string }{
		{"", "-u frieda", "-brief -u frieda"},
		{"", "-u frieda -w", "-brief -w -u frieda"},
		{"", "-u frieda -sge -w", "-sge -w -u frieda"},
		{"", "-u frieda -xml", "-xml -u frieda"},
		{"sge", "-u frieda -w", "-sge -w -u frieda"},
		{"sge", "-u frieda -brief", "-brief -u frieda"},
	} {
		t.Setenv("FAIRSPOOL_QSTAT", "")
		t.Setenv("COLUMNS", "72")
		_, want, _ := qstat(strings.Fields(c.like)...)
		t.Setenv("COLUMNS", "")
		t.Setenv("FAIRSPOOL_QSTAT", c.variable)
		m := newTerminal(t, 72)
		var bad bytes.Buffer
		if status := cmdline.Execute(Command(), strings.Fields(c.args), m.tty, m.tty, &bad); status != 0 {
			t.Errorf("qstat %s = %d, %s", c.args, status, &bad)
		}
		testenv.Until(t, fmt.Sprintf("FAIRSPOOL_QSTAT=%s qstat %s on a terminal is %s", c.variable, c.args, want), func() bool { return m.shown() == want })
	}
}

// TestWatchKeys holds that -watch on a terminal needs no number, reads single keys, and ends
// with q and with signals, the terminal as it was: also where serve draws the display.
func TestWatchKeys(t *testing.T) {
	t.Run("private", func(t *testing.T) { watchKeys(t, false) })
	t.Run("door", func(t *testing.T) { watchKeys(t, true) })
}

// served has a new serve answer the command that p is going to be.
func served(t *testing.T, p *exec.Cmd) {
	t.Helper()
	fds, err := sys.Socketpair(sys.AF_UNIX, sys.SOCK_STREAM|sys.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "serve"), os.NewFile(uintptr(fds[1]), "caller")
	defer ours.Close()
	t.Cleanup(func() { theirs.Close() })
	s := exec.Command(filepath.Join(testenv.Commands(t), "serve"))
	s.Stdin, s.Stderr = ours, os.Stderr
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Wait() })
	p.ExtraFiles, p.Env = []*os.File{theirs}, append(os.Environ(), cmdline.DoorVariable+"=3")
}

func watchKeys(t *testing.T, door bool) {
	cmdtest.Spool(t, func(tx *spool.Tx) { tx.AddCluster(job(t, "alice", ""), []spool.NewRun{{Count: 1}}) })
	program := filepath.Join(testenv.Commands(t), "qstat")
	for _, c := range []struct {
		how  string
		ends func(*terminal, *exec.Cmd) error
	}{
		{"x and q", func(m *terminal, _ *exec.Cmd) error { _, err := m.master.WriteString("xq"); return err }},
		{"^C", func(m *terminal, _ *exec.Cmd) error { _, err := m.master.WriteString("\x03"); return err }},
		{"SIGTERM", func(_ *terminal, p *exec.Cmd) error { return p.Process.Signal(sys.SIGTERM) }},
		{"SIGHUP", func(_ *terminal, p *exec.Cmd) error { return p.Process.Signal(sys.SIGHUP) }},
	} {
		m := newTerminal(t, 80)
		before := m.mode(t)
		p := exec.Command(program, "-watch")
		p.Stdin, p.Stdout, p.Stderr = m.tty, m.tty, m.tty
		p.SysProcAttr = &sys.SysProcAttr{Setsid: true, Setctty: true}
		if door {
			served(t, p)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		for _, f := range p.ExtraFiles {
			f.Close()
		}
		testenv.Until(t, "the queue is shown", func() bool { return strings.Contains(m.shown(), "1 job: 1 waits") })
		during := m.mode(t)
		if during.Lflag&(sys.ICANON|sys.ECHO) != 0 || during.Lflag&sys.ISIG == 0 || !strings.Contains(m.shown(), "every 2s, q ends it") {
			t.Errorf("while it watches, the terminal's flags are %#o, and it shows %q", during.Lflag, m.shown())
		}
		if err := c.ends(m, p); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%s: qstat -watch ends with %v, want status 0", c.how, err)
		}
		if after := m.mode(t); after != before {
			t.Errorf("%s: the terminal's mode is %+v, want it as it was, %+v", c.how, after, before)
		}
	}
}
