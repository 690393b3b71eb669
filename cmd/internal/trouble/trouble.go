// Package trouble is where processes without a terminal tell what goes wrong: a file of the
// spool, one line each.
package trouble

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/clean"
	"fairspool/spool"
)

// Log is such a file, as one process writes to it. It is not for several goroutines at once.
type Log struct {
	Path string
	// About begins the lines of this process, behind the time: "job 12.0, attempt 1"; empty:
	// nothing does.
	About string
	// Again is how long the log has to be without a line before that is written again, by
	// whichever process; 0: processes do not heed what others have written.
	Again time.Duration
	last  string
	rest  []byte // of a line that Write has only the beginning of
}

// open opens the log for appending: each line is one write, so that several processes can write
// at once.
func (l *Log) open() (*os.File, error) {
	return os.OpenFile(l.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
}

// Add appends err to the log. It leaves out an error that equals the one before. An error that
// cannot be written is lost; in a spool that was removed Add makes no file.
func (l *Log) Add(err error) {
	if err.Error() == l.last {
		return
	}
	l.last = err.Error()
	if spool.Gone(filepath.Dir(l.Path)) {
		return
	}
	f, e := l.open()
	if e != nil {
		return
	}
	defer f.Close()
	line := clean.Line(strings.ReplaceAll(l.last, "\n", `\n`))
	if l.About != "" {
		line = l.About + ": " + line
	}
	now := time.Now().UTC()
	if l.Again == 0 || !has(f, line, now.Add(-l.Again)) {
		fmt.Fprintf(f, "%s %s\n", now.Format(time.RFC3339), line)
	}
}

// has reports whether the end of a log has a line that was written after some time.
func has(f *os.File, line string, after time.Time) bool {
	const end = 4 << 10
	info, err := f.Stat()
	if err != nil {
		return false
	}
	b := make([]byte, min(end, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return false
	}
	for written := range strings.Lines(string(b)) {
		at, text, _ := strings.Cut(strings.TrimSuffix(written, "\n"), " ")
		if t, err := time.Parse(time.RFC3339, at); err == nil && text == line && t.After(after) {
			return true
		}
	}
	return false
}

// Last returns the last line of a log that is about something and has a word, without its time and what it is about, and when
// it was written. The line is empty if the end of the log has none, or cannot be read.
func Last(path, about, word string) (line string, at time.Time) {
	f, err := os.Open(path)
	if err != nil {
		return "", at
	}
	defer f.Close()
	const end = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return "", at
	}
	b := make([]byte, min(end, info.Size()))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	for written := range strings.Lines(string(b[:n])) {
		date, text, _ := strings.Cut(strings.TrimSuffix(written, "\n"), " ")
		text, ours := strings.CutPrefix(text, about+": ")
		if t, err := time.Parse(time.RFC3339, date); err == nil && ours && strings.Contains(text, word) {
			line, at = text, t
		}
	}
	return line, at
}

// Write adds the lines of a text, and keeps an unfinished last one for the next Write. It never
// fails.
func (l *Log) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		l.Add(errors.New(string(line)))
		l.rest = rest
	}
}

// Detach makes standard output lead nowhere and standard error, on which the Go runtime would
// speak its last words, to the log: no process reads its output from now on.
func (l *Log) Detach() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		l.Add(err)
		return
	}
	defer null.Close()
	l.lead(1, null)
	log, err := l.open()
	if err != nil {
		l.lead(2, null)
		return
	}
	defer log.Close()
	l.lead(2, log)
}

// lead makes a standard descriptor lead to f.
func (l *Log) lead(fd int, f *os.File) {
	if err := unix.Dup3(int(f.Fd()), fd, 0); err != nil {
		l.Add(err)
	}
}
