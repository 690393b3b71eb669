package onchange

import (
	"errors"
	"fmt"
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

// Pool is a pool whose cycles changes start.
type Pool struct {
	Dir string // the spool's
	// Programs is the folder of fairspool's programs, and Prefix is what the names of all of
	// them begin with.
	Programs, Prefix string
	Args             []string // common flags of drivers
	Env              []string // of drivers
	// Notes: this process may only set the flag, and starts no driver.
	Notes bool
	// Beside: a driver becomes a child of this process's parent, so that it is no descendant
	// of this process, which a supervisor would take for one of its job.
	Beside bool
}

// Siblings returns where the programs of fairspool are that stand beside this one, whose command
// has that name: their folder, and what their names begin with. It returns false if this program
// is not called so, as in a test, or if negotiate and starter are not there.
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
// is nil if none was started; otherwise the caller may Wait for it, if it lives on. In a spool that
// was removed nothing is made anew.
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

// Left reports whether the spool in dir has a change that waits, or one whose cycle was not
// completed; if a driver is at work, it may be the driver's.
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
	// What is wrong before the driver writes to its log itself.
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

// Look starts a driver if a change waits for which none was started, and each Interval, if there
// was no cycle for so long or a flag is set. It returns as Changed does. If nothing has happened
// it costs next to nothing.
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

// settled is how old a file's time has to be to be told from that of the next write.
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
