package userlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is how long Append waits for others that append. A process that holds the lock
// longer is not fairspool's, and must not keep a command waiting.
const Patience = 2 * time.Second

// Append appends events to the log at path in one write: all of them or, when the disk is
// full, none. A missing file is made with mode 0644 less the umask, a missing folder is
// an error. If the file ends in the middle of an event, that event is ended first, so
// that it spoils no other. Errors read "path: why" and wrap the system's. Without events
// the file stays as it is.
//
// A log that is no regular file, such as a pipe, gets the events as far as that takes no
// more than Patience.
func Append(path string, events ...Event) error {
	left := Patience
	return AppendWithin(&left, path, events...)
}

// AppendWithin is Append with a remaining patience, from which it subtracts the time that
// it waited: many logs of one call share it. When nothing is left it still writes what
// can be written at once.
func AppendWithin(left *time.Duration, path string, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := write(left, path, Text(events...), false); err != nil {
		return cause(path, err)
	}
	return nil
}

// Text returns events as they stand in a log, one behind the other.
func Text(events ...Event) (b []byte) {
	for i, e := range events {
		b = e.AppendTo(b)
		if i == 0 {
			b = slices.Grow(b, len(b)*len(events)) // most are as long as the first
		}
	}
	return b
}

// AppendMissing appends those events of a text that the log does not have, as AppendWithin does with all of them: for a
// process that finds events that another was to append, and may have appended. It looks for them from the last event
// 001 of their job on, as two attempts may end alike in one second, and in the last 16 MB of the log. Events 001 of a
// job are the same if they have one date. A file that is not regular, or may not be read, gets all of them.
func AppendMissing(left *time.Duration, path string, text []byte) error {
	if err := write(left, path, text, true); err != nil {
		return cause(path, err)
	}
	return nil
}

// AppendText appends events in the form that Text returns, as AppendWithin does.
func AppendText(left *time.Duration, path string, text []byte) error {
	if err := write(left, path, text, false); err != nil {
		return cause(path, err)
	}
	return nil
}

// write appends events to a log: all of them, or only those that are missing there.
func write(left *time.Duration, path string, b []byte, missing bool) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		err = appendWhole(left, f, path, b, missing)
	default:
		const least = time.Millisecond // a deadline that is over would keep it from trying
		begun := time.Now()
		f.SetWriteDeadline(begun.Add(max(*left, least))) // those that cannot have one do not block
		_, err = f.Write(b)
		*left -= time.Since(begun)
	}
	if err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// open opens a log for appending. Without O_NONBLOCK a named pipe without a reader would
// keep us here. The log is made only if it is not there: of others' files in a folder
// like /tmp some systems refuse to open any that might have to be made.
func open(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_APPEND | unix.O_NONBLOCK | unix.O_NOCTTY
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, flags|os.O_CREATE, 0o644)
	}
	return f, err
}

// appendWhole writes all of b behind a regular file, or nothing; of events that are to be
// there once, those that are missing. The lock goes with the file's descriptor.
func appendWhole(left *time.Duration, f *os.File, path string, b []byte, missing bool) error {
	locked := lock(f, left)
	if missing {
		if b = without(b, f, path); len(b) == 0 {
			return nil
		}
	}
	if locked {
		if s := separator(f, path); s != nil {
			b = append(s, b...)
		}
	}
	before, err := f.Stat()
	if err != nil {
		return err
	}
	n, err := f.Write(b)
	if err != nil && n > 0 && locked {
		err = errors.Join(err, takeBack(f, before.Size(), n))
	}
	return err
}

// takeBack removes the beginning of an event that could not be finished, unless a writer
// without the lock has written after it.
func takeBack(f *os.File, size int64, n int) error {
	now, err := f.Stat()
	if err != nil || now.Size() != size+int64(n) {
		return err
	}
	return f.Truncate(size)
}

// lock waits for the lock of a log, and reports whether it got it. A write without the
// lock is still one write: only incomplete events of others are not removed.
func lock(f *os.File, left *time.Duration) bool {
	begun := time.Now()
	defer func() { *left -= time.Since(begun) }()
	deadline := begun.Add(*left)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return true
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			return false
		}
		time.Sleep(wait)
	}
}

// separator returns the text that ends a torn event at the end of the log: empty, if
// there is no such event or if we may write but not read.
func separator(f *os.File, path string) []byte {
	const end = "...\n"
	tail, ok := lastBytes(f, path, len("\n"+end))
	switch {
	case !ok || tail == "" || tail == end || strings.HasSuffix(tail, "\n"+end) || strings.HasSuffix(tail, "...\r\n"):
		return nil
	case strings.HasSuffix(tail, "\n"):
		return []byte(end)
	case tail == "..." || strings.HasSuffix(tail, "\n..."):
		return []byte("\n")
	}
	return []byte("\n" + end)
}

// without returns those events of a text that the log does not have.
func without(text []byte, f *os.File, path string) (missing []byte) {
	const most = 16 << 20
	const end = "\n...\n"
	tail, _ := lastBytes(f, path, most)
	there := map[string][]string{} // by job
	for event := range strings.SplitAfterSeq(tail, end) {
		job, text, executing := told(event)
		if executing {
			there[job] = nil
		}
		there[job] = append(there[job], text)
	}
	for event := range strings.SplitAfterSeq(string(text), end) {
		job, text, executing := told(event)
		if slices.Contains(there[job], text) {
			continue
		}
		if executing {
			there[job] = nil
		}
		missing = append(missing, event...)
	}
	return missing
}

// told returns the job of an event, and what makes it another event than others of the job: its text, but of an event 001 the
// first line.
func told(event string) (job, text string, executing bool) {
	number, rest, _ := strings.Cut(event, " ")
	job, _, _ = strings.Cut(rest, " ")
	if number == executingNumber {
		first, _, _ := strings.Cut(event, "\n")
		return job, first, true
	}
	return job, event, false
}

const executingNumber = "001"

// lastBytes returns the last bytes of a log that is open for writing only.
func lastBytes(f *os.File, path string, n int) (string, bool) {
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return "", false
	}
	defer reader.Close()
	mine, err := f.Stat()
	if err != nil {
		return "", false
	}
	other, err := reader.Stat()
	if err != nil || !os.SameFile(mine, other) {
		return "", false
	}
	from := max(other.Size()-int64(n), 0)
	b := make([]byte, min(other.Size(), int64(n)))
	read, err := reader.ReadAt(b, from)
	return string(b[:read]), err == nil || errors.Is(err, io.EOF)
}
