package pilot

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/launch"
	"fairspool/lib/launch/local"
	"fairspool/lib/localdisk"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// bind binds the folder to the pilot of a machine in a pool. It fails while attempts of another pilot are in the
// folder.
func (s State) bind(id, machine string) error {
	text, err := os.ReadFile(s.path("pool"))
	now := id + " " + machine
	if err != nil && !errors.Is(err, fs.ErrNotExist) || string(text) == now {
		return err
	}
	if n := len(s.attempts()); len(text) > 0 && n > 0 {
		was, name, _ := strings.Cut(string(text), " ")
		whose := "another pool"
		if was == id {
			whose = "machine " + name
		}
		return fmt.Errorf("state folder %s: has %s of %s: give each pilot a folder of its own, by STATE or -state", s.Dir, plural.Count(n, "job"), whose)
	}
	return s.write("pool", []byte(now), true)
}

// State is the state folder of a pilot on its machine. It is on a local file system, of mode 0700, and
// belongs to the account of the pilot.
//
//	pool         the id of the spool, and the machine's name there
//	instance     the name that the spool's end knows the pilot by, and which folder this is
//	lock         a record lock: one pilot at a time
//	socket       where supervisors find the pilot
//	settings     of the spool's host, for supervisors
//	term         of the pilot that a batch engine runs
//	heard        when a heartbeat was sent last that was answered
//	claims.d/    the files of attempts: a lock, a pipe (package claimlock), and an end that is not recorded yet
//	execute/     scratch directories
type State struct{ Dir string }

// OpenState returns the state folder at a path, which it makes if it is missing.
func OpenState(dir string) (State, error) {
	s := State{dir}
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	for _, folder := range []string{dir, s.path("claims.d")} {
		if err == nil {
			err = launch.MakeFolder(folder)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: name another one by STATE or -state", err)
	}
	if err != nil {
		return s, fmt.Errorf("state folder: %w", err)
	}
	if err := localdisk.Check(dir); err != nil {
		return s, fmt.Errorf("state folder %s: %w, and name it by STATE or -state", dir, err)
	}
	return s, nil
}

func (s State) path(name string) string { return filepath.Join(s.Dir, name) }

// ClaimFile returns the path of the file of an attempt.
func (s State) ClaimFile(a pool.Attempt) string { return filepath.Join(s.Dir, "claims.d", a.String()) }

// Folder returns the folder of scratch directories; execute is EXECUTE, empty for a folder in the state
// folder.
func (s State) Folder(execute string) local.Folder {
	if execute == "" {
		return local.Folder{Path: s.path("execute"), Above: s.Dir}
	}
	return local.Folder{Path: filepath.Join(execute, "pilot-"+s.name())}
}

// Prefix begins the names of the families of the pilot's jobs.
func (s State) Prefix() string { return "pilot-" + s.name() + "-" }

// name tells the state folders of one machine from each other.
func (s State) name() string {
	text, err := s.instance()
	if err != nil || len(text) < 12 {
		return "none"
	}
	return text[:12]
}

// instance returns the name of the pilot, fs.ErrNotExist before it has one. A copied folder counts as having
// none: its name is another pilot's, and that pilot's jobs would run once more.
func (s State) instance() (string, error) {
	text, err := os.ReadFile(s.path("instance"))
	if err != nil {
		return "", err
	}
	name, which, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	here, err := s.which()
	if err == nil && (name == "" || which != here) {
		err = fs.ErrNotExist
	}
	return name, err
}

// which tells the folder from its copies, on this machine and on others.
func (s State) which() (string, error) {
	var about unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, s.Dir, 0, unix.STATX_INO|unix.STATX_BTIME, &about); err != nil {
		return "", fmt.Errorf("%s: %w", s.Dir, os.NewSyscallError("statx", err))
	}
	machine, _ := os.ReadFile(machineID) // not every machine has one
	which := fmt.Sprintf("%d %d.%09d %s", about.Ino, about.Btime.Sec, about.Btime.Nsec, machine)
	return strings.TrimSpace(which), nil
}

// MakeInstance returns the name of the pilot, which is made the first time. The caller has the lock.
func (s State) MakeInstance() (string, error) {
	name, err := s.instance()
	if !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	which, err := s.which()
	if err != nil {
		return "", err
	}
	name = strings.ToLower(rand.Text())
	return name, s.write("instance", []byte(name+" "+which+"\n"), true)
}

// machineID names the file with this machine's name for machines.
var machineID = "/etc/machine-id"

// write replaces a file of the folder, durably if that is wanted.
func (s State) write(name string, text []byte, durably bool) error {
	path := s.path(name)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && durably {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// Lock takes the lock of the folder, for the life of the process. It waits up to patience for another pilot that has
// the lock. With replace it tells that pilot to end, since its pipe is the older one.
func (s State) Lock(patience time.Duration, replace bool) error {
	f, err := os.OpenFile(s.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		locked, err := spool.LockClaim(f)
		if err != nil || locked {
			locks = append(locks, f) // it stays open
			return err
		}
		held := unix.Flock_t{Type: unix.F_WRLCK}
		if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &held); err == nil && held.Type != unix.F_UNLCK && held.Pid > 0 && replace {
			signal := unix.SIGTERM
			if time.Until(end) < patience/2 { // it is stopped
				signal = unix.SIGKILL
			}
			unix.Kill(int(held.Pid), signal)
		}
		if time.Now().After(end) {
			return fmt.Errorf("state folder %s: another pilot, process %d, has it and does not end: kill it, or name another folder by STATE or -state", s.Dir, held.Pid)
		}
	}
}

// locks are open for as long as the process lives: closing one would free it.
var locks []*os.File

// kept are the settings with the time since the boot at which they came.
type kept struct {
	Settings
	Up time.Duration
}

func (s State) putSettings(of Settings) error {
	text, err := json.Marshal(kept{of, Uptime()})
	if err != nil {
		return err
	}
	return s.write("settings", text, false)
}

// Settings returns the host's settings, as the pilot last had them, and a clock of the pool's time.
func (s State) Settings() (of Settings, now func() time.Time, err error) {
	text, err := os.ReadFile(s.path("settings"))
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	return k.Settings, func() time.Time { return k.Now.Add(Uptime() - k.Up) }, err
}

// putHeard notes when, by the time since the boot, a heartbeat was sent that was answered.
func (s State) putHeard(sent time.Duration) error {
	return s.write("heard", strconv.AppendInt(nil, int64(sent), 10), false)
}

// Heard returns what putHeard noted last; 0 if that is unknown.
func (s State) Heard() time.Duration {
	text, _ := os.ReadFile(s.path("heard"))
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return time.Duration(n)
}

// Uptime returns the time since the boot, including sleep of the machine.
func Uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// attempts returns the attempts that have a file in the folder.
func (s State) attempts() (list []pool.Attempt) {
	entries, _ := os.ReadDir(s.path("claims.d"))
	for _, e := range entries {
		if a, err := pool.ParseAttempt(e.Name()); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// mark notes in an attempt's file that a supervisor has had its lock.
func (s State) mark(f *os.File) error {
	_, err := f.WriteAt([]byte("locked\n"), 0)
	return err
}

// isMarked reports whether a supervisor may have had the lock of an attempt's file. Data written before the
// last boot may be lost.
func (s State) isMarked(f *os.File) bool {
	info, err := f.Stat()
	return err != nil || info.Size() > 0 || beforeBoot(info.ModTime())
}

// beforeBoot reports whether a time is one before the machine was booted.
func beforeBoot(t time.Time) bool { return time.Since(t) > Uptime() }

// heardBeforeBoot returns when putHeard noted something last, if the machine was booted since; else zero.
func (s State) heardBeforeBoot() time.Time {
	info, err := os.Stat(s.path("heard"))
	if err != nil || !beforeBoot(info.ModTime()) {
		return time.Time{}
	}
	return info.ModTime()
}

// putEnd keeps how an attempt has ended until that is recorded.
func (s State) putEnd(a pool.Attempt, r Request) error {
	text, err := json.Marshal(endOf{r, Uptime()})
	if err != nil {
		return err
	}
	return s.write(filepath.Join("claims.d", a.String()+endName), text, true)
}

// endOf is an end with the time since the boot at which it was kept.
type endOf struct {
	Request
	Up time.Duration
}

// endName ends the name of the file with an attempt's end.
const endName = ".end"

// end returns how an attempt has ended; false if that is not known.
func (s State) end(a pool.Attempt) (r Request, ok bool) {
	text, err := os.ReadFile(s.ClaimFile(a) + endName)
	var e endOf
	if err != nil || json.Unmarshal(text, &e) != nil || e.How == nil || e.Attempt != a {
		return r, false
	}
	if now := Uptime(); now > e.Up { // else the machine was booted since
		e.Ago += now - e.Up
	}
	return e.Request, true
}

// forgetEnd removes what putEnd kept.
func (s State) forgetEnd(a pool.Attempt) { os.Remove(s.ClaimFile(a) + endName) }
