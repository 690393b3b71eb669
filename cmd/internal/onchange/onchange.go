package onchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/spool"
)

// Flag is the option of negotiate and starter under which a driver runs them.
const Flag = "on-change"

// logName is the name of the file in the spool to which drivers write what goes wrong.
const logName = "negotiate.log"

// LogPath returns the path of the file to which the drivers of the spool in dir write what goes
// wrong.
func LogPath(dir string) string { return filepath.Join(dir, logName) }

// Pool is a pool in which changes start cycles.
type Pool struct {
	Dir string // the spool's
	// Programs is the folder of fairspool's programs, and Prefix the common beginning of
	// their names.
	Programs, Prefix string
	Args             []string // common flags of drivers
	Env              []string // of drivers
	// Notes: this process may only set the flag, and starts no driver.
	Notes bool
	// Beside: a driver becomes a child of this process's parent, and no descendant of this
	// process, which a supervisor would take for its job's.
	Beside bool
}

// Siblings returns the programs of fairspool beside this one, the command of that name: their
// folder, and the common beginning of their names. It returns false if this program has another
// name, as in a test, or if negotiate and starter are missing.
func Siblings(command string) (folder, prefix string, ok bool) {
	self, err := os.Executable()
	if err != nil {
		return "", "", false
	}
	if prefix, ok = strings.CutSuffix(filepath.Base(self), command); !ok {
		prefix = ""
	}
	p := Pool{Programs: filepath.Dir(self), Prefix: prefix}
	return p.Programs, prefix, ok && there(p.Program("negotiate")) && there(p.Program("starter"))
}

func there(program string) bool { return unix.Access(program, unix.X_OK) == nil }

// Program returns the path of one of fairspool's programs.
func (p Pool) Program(command string) string { return filepath.Join(p.Programs, p.Prefix+command) }

// Changed notes that the queue was changed, and starts a driver unless one is at work. The driver
// is nil if none was started; otherwise the caller may Wait for it, if it lives on. In a removed
// spool it makes no file.
func (p Pool) Changed() (driver *exec.Cmd, err error) {
	if spool.Gone(p.Dir) {
		return nil, nil
	}
	f, err := open(p.Dir, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.put(waits, true); err != nil {
		return nil, err
	}
	return p.start(f)
}

// Note notes that the queue was changed, and leaves it to others to start a driver.
func (p Pool) Note() error {
	p.Notes = true
	_, err := p.Changed()
	return err
}

// Left reports whether the spool in dir has a change that waits, or one with an incomplete
// cycle; if a driver is at work, it may be the driver's.
func Left(dir string) bool {
	f, err := open(dir, false)
	if err != nil {
		return false
	}
	defer f.Close()
	w, m, err := f.flags()
	return err == nil && left(w, m)
}

func left(waits, making bool) bool { return waits || making }

// Revive starts a driver if Left reports so and no driver is at work.
func (p Pool) Revive() (driver *exec.Cmd, err error) { return p.startIf(left) }

// startIf starts a driver if the flags are as wanted. A spool without the file has neither flag.
func (p Pool) startIf(wanted func(waits, making bool) bool) (driver *exec.Cmd, err error) {
	f, err := open(p.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, m, err := f.flags()
	if err != nil || !wanted(w, m) {
		return nil, err
	}
	return p.start(f)
}

// start starts a driver unless one is at work.
func (p Pool) start(f file) (*exec.Cmd, error) {
	if p.Notes {
		return nil, nil
	}
	locked, err := f.lock()
	if err != nil || !locked {
		return nil, err
	}
	c, err := p.driver(f)
	if err != nil {
		f.unlock()
		return nil, fmt.Errorf("%s: %w", p.Program("negotiate"), err)
	}
	return c, nil
}

// driver starts a driver, which takes over the lock.
func (p Pool) driver(f file) (*exec.Cmd, error) {
	if err := f.put(making, true); err != nil {
		return nil, err
	}
	c := exec.Command(p.Program("negotiate"), slices.Concat(p.Args, []string{"-" + Flag, "-q"})...)
	c.Dir, c.Env = "/", p.Env // no file system is kept busy for a driver's sake
	c.ExtraFiles = []*os.File{f.File}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.Beside {
		c.SysProcAttr.Cloneflags = unix.CLONE_PARENT
	}
	// For errors before the driver writes to its log itself.
	log, err := os.OpenFile(LogPath(p.Dir), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.Stderr = log
	return c, asuser.Start(c)
}

// Watch sees to it that no change is left behind, and that there is a cycle now and then, in a
// process that stays.
type Watch struct {
	Pool
	Interval time.Duration // NEGOTIATOR_INTERVAL
	due      time.Time     // when the flags and the last cycle are looked at; zero: at once
	seen     time.Time     // when the file was written last, as of the last look
}

// Look starts a driver if a change waits without one, and each Interval, if there was no cycle
// for so long or a flag is set. It returns as Changed does. If nothing has happened it costs
// next to nothing.
func (w *Watch) Look() (driver *exec.Cmd, err error) {
	now := time.Now()
	if !now.Before(w.due) {
		return w.lookAtCycle(now)
	}
	info, err := os.Stat(filepath.Join(w.Dir, fileName))
	if err != nil || info.ModTime().Equal(w.seen) {
		return nil, nil
	}
	if now.Sub(info.ModTime()).Abs() > settled {
		w.seen = info.ModTime()
	}
	return w.startIf(func(waits, making bool) bool { return waits && !making })
}

// See looks, as Look does, if there is a watch, and leaves the driver to itself.
func (w *Watch) See(complain func(error)) {
	if w == nil {
		return
	}
	driver, err := w.Look()
	if err != nil {
		complain(err)
	}
	if driver != nil {
		go driver.Wait()
	}
}

// Due reports whether the last cycle may be Interval ago, so that Look looks at more than changes. It costs nothing.
func (w *Watch) Due() bool { return !time.Now().Before(w.due) }

// settled is the age at which a file's time surely differs from the next write's.
const settled = 100 * time.Millisecond

// lookAtCycle is Look when the last cycle may be long ago.
func (w *Watch) lookAtCycle(now time.Time) (*exec.Cmd, error) {
	if spool.Gone(w.Dir) {
		return nil, nil
	}
	first := w.due.IsZero()
	ago := now.Sub(lastCycle(w.Dir))
	if ago >= 0 && ago < w.Interval { // else it is due, or of a clock that was set
		w.due = now.Add(w.Interval - ago)
		if first {
			return nil, nil
		}
		return w.Revive()
	}
	w.due = now.Add(w.Interval)
	f, err := open(w.Dir, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return w.start(f)
}

// inherited is the descriptor on which a driver finds the file with the lock.
const inherited = 3

// Driver is the lock of a driver.
type Driver struct {
	file
	dir string
}

// Take takes over the lock that this process was started with as the driver of the spool in dir.
// It fails in a process that was not.
func Take(dir string) (*Driver, error) {
	unix.CloseOnExec(inherited)
	f := os.NewFile(inherited, fileName)
	info, err := f.Stat()
	there, missing := os.Stat(filepath.Join(dir, fileName))
	if err != nil || missing != nil || !os.SameFile(info, there) {
		return nil, errors.New("-" + Flag + " is internal: commands that have changed the queue use it")
	}
	d := &Driver{dir: dir}
	if d.file, err = opened(f); err != nil {
		return nil, err
	}
	locked, err := d.lock() // of the open file that has the lock already
	if err == nil && !locked {
		err = errors.New("another driver is at work")
	}
	return d, err
}

// Rest waits until it is so long since the last cycle.
func (d *Driver) Rest(least time.Duration) {
	if ago := time.Since(lastCycle(d.dir)); ago >= 0 && ago < least {
		time.Sleep(least - ago)
	}
}

// Begin notes that a cycle is made for all changes that were committed before.
func (d *Driver) Begin() error {
	if err := d.put(making, true); err != nil {
		return err
	}
	return d.put(waits, false)
}

// Done notes that the cycle and its pass are over.
func (d *Driver) Done() error { return d.put(making, false) }

// Release lets go of the lock. If a change waits by then, this process starts the next driver
// when its command ends, as any would.
func (d *Driver) Release() error { return d.unlock() }

// fileName is the name of the file in the spool.
const fileName = "change.lock"

// The flags, by their places in the file.
const (
	waits  = 0 // a change waits for a cycle
	making = 1 // a driver is making one
)

// The file's content at the flags' places when both are set, and when neither is.
const (
	set   = "wm"
	unset = "--"
)

// file is change.lock, opened.
type file struct {
	*os.File
	own string // what stands behind the flags
}

// open opens the file of the spool in dir. It creates it if make is true; otherwise a missing file
// is fs.ErrNotExist. Another user's spool is fs.ErrNotExist, too, so that root starts no cycle of
// it.
func open(dir string, make bool) (file, error) {
	if !isOurs(dir) {
		return file{}, fs.ErrNotExist
	}
	flag := os.O_RDWR
	if make {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), flag, 0o600)
	if err != nil {
		return file{}, err
	}
	opened, err := opened(f)
	if err == nil && make {
		err = opened.mend()
	}
	if err != nil {
		f.Close()
	}
	return opened, err
}

// isOurs reports whether a spool belongs to this process's effective user.
func isOurs(dir string) bool {
	var s unix.Stat_t
	return unix.Stat(dir, &s) == nil && int(s.Uid) == os.Geteuid()
}

// opened returns a file that is open.
func opened(f *os.File) (file, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return file{}, err
	}
	return file{f, fmt.Sprintf(" %d\n", s.Ino)}, nil
}

// mend makes a valid file without flags of one that is new, a copy, or left by a power cut.
// The caller sets a flag: so none is lost when two processes do this at a time.
func (f file) mend() error {
	text, err := f.text()
	if err != nil || f.sound(text) {
		return err
	}
	_, err = f.WriteAt([]byte(unset+f.own), 0)
	if err == nil {
		err = f.Truncate(int64(len(unset) + len(f.own)))
	}
	return err
}

// sound reports whether a text is one of the file's own.
func (f file) sound(text string) bool {
	if rest, ok := strings.CutSuffix(text, f.own); !ok || len(rest) != len(set) {
		return false
	}
	for i := range set {
		if text[i] != set[i] && text[i] != unset[i] {
			return false
		}
	}
	return true
}

// text returns the beginning of the file, as far as it is read.
func (f file) text() (string, error) {
	var b [32]byte
	n, err := f.ReadAt(b[:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(b[:n]), err
}

// put sets or clears a flag. It leaves the other one alone, which another process may be
// setting at this moment.
func (f file) put(flag int, on bool) error {
	from := unset
	if on {
		from = set
	}
	_, err := f.WriteAt([]byte(from[flag:flag+1]), int64(flag))
	return err
}

// flags returns which flags are set. In a copy of the file neither is: looking at a copy of a
// spool must not start its jobs.
func (f file) flags() (w, m bool, err error) {
	text, err := f.text()
	if err != nil || !f.sound(text) {
		return false, false, err
	}
	return text[waits] == set[waits], text[making] == set[making], nil
}

// lock takes the flock, and reports whether it could.
func (f file) lock() (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// unlock frees the flock, also where another process has the same open file.
func (f file) unlock() error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

// lastCycle returns when a cycle of the spool in dir began or ended last; zero: never.
func lastCycle(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "negotiate.lock"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Trouble returns the last error line of the drivers of the spool in dir, and its time. The line
// is empty if there was no error, and if no change waits for a cycle and the last cycle for one
// was completed.
func Trouble(dir string) (line string, at time.Time, err error) {
	f, err := open(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	w, m, err := f.flags()
	if err != nil || !w && !m {
		return "", at, err
	}
	line, at, err = lastLine(LogPath(dir))
	date, text, _ := strings.Cut(line, " ")
	if dated, bad := time.Parse(time.RFC3339, date); bad == nil {
		return text, dated, err
	}
	return line, at, err // of before the driver had the log
}

// lastLine returns the last line of a file, empty without one, and when the file was written last.
func lastLine(path string) (line string, at time.Time, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", at, err
	}
	const most = 4 << 10
	b := make([]byte, min(most, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return "", at, err
	}
	b = bytes.TrimRight(b, "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:]), info.ModTime(), nil
}
