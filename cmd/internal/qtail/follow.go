package qtail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// every is the interval of looks at the spool, and at a file for which the system reports
// no changes, as on a network.
const every = 500 * time.Millisecond

// atOnce is how long output is gathered, so that a job which writes in small pieces costs
// little.
const atOnce = 20 * time.Millisecond

// follow writes the last n lines of the file, and the job's further output until it has
// ended.
func (f *file) follow(n int) error {
	t := &trail{file: f, lines: n, notify: -1}
	defer t.close()
	for {
		// Output before the job's end is read after that end was seen.
		over := f.stage == ended
		if err := t.show(); err != nil {
			return err
		}
		if err := f.call.Flush(); err != nil || over {
			return err
		}
		if unread := t.pause(); unread {
			return nil
		}
		if err := f.look(); err != nil {
			return err
		}
	}
}

// look looks how far the job has come.
func (f *file) look() error {
	if f.stage == ended || time.Since(f.looked) < every {
		return nil
	}
	f.looked = time.Now()
	var ad *classad.Ad
	err := f.spool.View(func(v *spool.View) (err error) {
		var ok bool
		if ad, ok = v.Job(f.job); ok {
			f.see(v, ad)
			return nil
		}
		f.stage, f.away = ended, ""
		ad, err = f.past(v)
		return err
	})
	switch {
	case err != nil:
		return err
	case ad == nil:
		return fmt.Errorf("%v: is gone from the queue and the history", f.job)
	}
	return f.read(ad)
}

// trail is how far a file was shown.
type trail struct {
	*file
	in     *os.File
	end    int64  // what stands before is shown
	lines  int    // to be shown of a file that was not looked at
	held   string // why the job was held when that was told
	away   string // where the file was when that was told
	notify int    // the system's reports on the file; -1: none
}

// show writes the new part of the file. A job that is started again empties it, or makes
// another.
func (t *trail) show() error {
	if t.file.held != t.held && t.file.held != "" {
		t.call.Warn("%v is held (%s); still waiting", t.job, t.file.held)
	}
	t.held = t.file.held
	if t.file.away != t.away {
		t.tellAway("; still waiting")
	}
	t.away = t.file.away
	if t.in != nil && t.replaced() {
		if err := t.more(); err != nil {
			return err
		}
		t.close()
		t.lines = -1
	}
	if t.in == nil {
		in, err := t.open()
		switch {
		case err != nil && t.stage == waiting, errors.Is(err, fs.ErrNotExist) && t.stage != ended:
			return nil // it is to come
		case err != nil:
			return err
		}
		t.in = in
		t.watch()
		if t.lines >= 0 {
			t.end, err = last(cmdline.Raw(t.call.Stdout), in, t.lines)
			return named(t.path, err)
		}
		t.end = 0
	}
	return t.more()
}

// more writes the part of the file behind the shown one.
func (t *trail) more() error {
	now, err := size(t.in)
	if err == nil && now < t.end {
		t.call.Warn("%s: has become shorter: shown from its beginning", t.path)
		t.end = 0
	}
	if err == nil && now != t.end {
		t.end, err = copyFrom(cmdline.Raw(t.call.Stdout), t.in, t.end)
	}
	return named(t.path, err)
}

// replaced reports whether another file has the path by now.
func (t *trail) replaced() bool {
	was, err := t.in.Stat()
	if err != nil {
		return false
	}
	is, err := os.Stat(t.path)
	return err == nil && !os.SameFile(was, is)
}

// watch asks the system to tell when the file is written to. Where it cannot, the file is looked
// at now and then.
func (t *trail) watch() {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return
	}
	// The file that is open, whatever file has its path by now.
	if _, err := unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", t.in.Fd()), unix.IN_MODIFY); err != nil {
		unix.Close(fd)
		return
	}
	t.notify = fd
}

func (t *trail) close() {
	if t.in != nil {
		t.in.Close()
		t.in = nil
	}
	if t.notify >= 0 {
		unix.Close(t.notify)
		t.notify = -1
	}
}

// pause waits until the file grows, and at most for the time from one look to the next.
// It reports whether standard output has lost its reader.
func (t *trail) pause() (unread bool) {
	output := unix.PollFd{Fd: int32(os.Stdout.Fd())}
	written := unix.PollFd{Fd: int32(t.notify), Events: unix.POLLIN}
	for _, wait := range []struct {
		fds  []unix.PollFd
		long time.Duration
	}{{[]unix.PollFd{output}, atOnce}, {[]unix.PollFd{output, written}, every - atOnce}} {
		unix.Poll(wait.fds, int(wait.long/time.Millisecond))
		if wait.fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			return true
		}
	}
	if t.notify >= 0 {
		var events [4096]byte
		unix.Read(t.notify, events[:])
	}
	return false
}
