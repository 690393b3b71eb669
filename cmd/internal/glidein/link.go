package glidein

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/clean"
)

// How long a machine is left alone after a start of its link: about leastWait, and twice as long
// after each further start, about mostWait at most. A link that wrote its last line so long after its start as
// longLink was up: after that the machine is left alone for leastWait again.
const (
	leastWait = 10 * time.Second
	mostWait  = 10 * time.Minute
	longLink  = 5 * time.Minute
)

// link is the record of the link to a machine: a file in the spool with a line of its last
// start, and what serve has written to standard error since.
type link struct {
	file   *os.File // locked: one glidein at a time looks after a machine
	path   string
	start  time.Time     // of serve; zero: never
	tries  int           // in a row
	wait   time.Duration // from start on
	wrote  time.Time     // when a line was written last
	reason string        // the last line that serve wrote; empty: none
}

// errBusy says that another process looks after a machine.
var errBusy = errors.New("another glidein looks after it")

// linkPath returns the path of a machine's file in the spool in dir.
func linkPath(dir, machine string) string {
	return filepath.Join(dir, "pilot."+strings.ToLower(machine)+".log")
}

// openLink reads the file of a machine (linkPath) or a batch engine, which is made if make is true. It fails with errBusy while
// another process looks after that, and without a file it is zero.
func openLink(path string, make bool) (*link, error) {
	l := &link{path: path}
	flag := os.O_RDWR
	if make {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(l.path, flag, 0o600)
	if !make && errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	l.file = f
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		err = errBusy
	}
	if err == nil {
		err = l.read()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// close lets others look after the machine.
func (l *link) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// header is the first line of a machine's file: when, which try, and how long to leave it alone.
const header = "%s try %d, the next after %d s\n"

// read reads the file. A file in another format counts as none.
func (l *link) read() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	var begin, end [2048]byte
	n, err := l.file.ReadAt(begin[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first, _, _ := bytes.Cut(begin[:n], []byte("\n"))
	var at string
	var seconds int
	if _, err := fmt.Sscanf(string(first)+"\n", header, &at, &l.tries, &seconds); err != nil {
		return nil
	}
	if l.start, err = time.Parse(time.RFC3339, at); err != nil {
		return nil
	}
	l.wait, l.wrote = time.Duration(seconds)*time.Second, info.ModTime()
	from := max(int64(len(first)), info.Size()-int64(len(end)))
	n, err = l.file.ReadAt(end[:], from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	last := bytes.TrimSpace(end[:n])
	l.reason = clean.Line(strings.TrimPrefix(string(last[bytes.LastIndexByte(last, '\n')+1:]), "serve: "))
	return err
}

// left returns how long the machine is still left alone: 0 or less if a link may be started now. A
// start that is yet to come, by a clock that was set back, does not count.
func (l *link) left(now time.Time) time.Duration {
	if l.start.After(now) {
		return 0
	}
	return l.start.Add(l.wait).Sub(now)
}

// note begins the file anew: a link is started now, or the machine is left alone for another reason.
func (l *link) note(now time.Time, tries int, wait time.Duration, text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt(fmt.Appendf(nil, header+"%s", now.UTC().Format(time.RFC3339), tries, int(wait.Seconds()), text), 0)
	return err
}

// startServe starts a command that is, or becomes, serve, detached, and notes it.
func (l *link) startServe(c *exec.Cmd, now time.Time) (pid int, err error) {
	if l.tries++; l.wrote.Sub(l.start) >= longLink {
		l.tries = 1
	}
	if err := l.note(now, l.tries, waitAfter(l.tries, chance()), ""); err != nil {
		return 0, err
	}
	// A file of its own: the lock is not to live on with serve.
	said, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	defer said.Close()
	c.Dir, c.Stderr = "/", said // no file system is kept busy for its sake
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Root's serve takes the account's rights itself.
	if e := asuser.Root(func() { err = c.Start() }); e != nil || err != nil {
		return 0, errors.Join(e, err)
	}
	pid = c.Process.Pid
	return pid, c.Process.Release()
}

// chance draws a number from 0 to 1.
var chance = rand.Float64

// waitAfter returns how long a machine is left alone after so many starts in a row. chance, from 0 to
// 1, spreads machines that failed at once over a quarter of that.
func waitAfter(tries int, chance float64) time.Duration {
	wait := leastWait
	for range tries - 1 {
		if wait = min(2*wait, mostWait); wait == mostWait {
			break
		}
	}
	return wait + time.Duration(chance*float64(wait)/4).Round(time.Second)
}
