package userlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Options supply what a log omits.
type Options struct {
	// Year is the year of the first date without one. A later date that lies more than
	// half a year before the last is of the next year.
	Year int
	// Zone is the zone of the times; nil is UTC.
	Zone *time.Location
}

// SyntaxError is an event that cannot be read.
type SyntaxError struct {
	Line int // of the event's first, from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// maxEvent is how many bytes an event may have: a reader holds so much of a log
// in memory, and no more.
const maxEvent = 1 << 20

// Reader reads a log event by event.
type Reader struct {
	from *bufio.Reader
	o    Options

	line []byte // that has not ended yet
	text []byte // of the event that has not ended yet: its lines, each with a line break
	size int    // of these, with the overhead of a line
	long bool   // and of some that were dropped

	lines   []string // room for the lines of an event
	written []byte   // reused for the rewritten event

	at    int // lines that were read
	first int // the first line of the event
	month int // of the last old date
}

// NewReader returns a reader of a log from its beginning.
func NewReader(r io.Reader, o Options) *Reader {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &Reader{from: bufio.NewReader(r), o: o}
}

// Next returns the next event. If it cannot be read, the error is a *SyntaxError, and the
// following call returns the one behind it; the same holds for an event that breaks off
// where another begins, and for one that is longer than a megabyte. At the end the error
// is io.EOF, or io.ErrUnexpectedEOF if the last event has not ended. When there is more
// by then, a later call goes on. Other errors are those of the log's own reader.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		switch {
		case isEnd(line) && len(r.text) == 0 && !r.long: // nothing has ended
		case isEnd(line):
			return r.finish()
		case len(r.text) == 0 && !r.long && len(bytes.TrimSpace(line)) == 0:
		case len(r.text) > 0 && isHeader(line):
			torn := &SyntaxError{r.first, "the event breaks off where the next begins"}
			r.drop()
			r.add(line)
			return Event{}, torn
		default:
			r.add(line)
		}
	}
}

// readLine returns the next line without its line break; it is good until the
// next call. At the end of the log the last one needs no break to end an event.
func (r *Reader) readLine() ([]byte, error) {
	for {
		part, err := r.from.ReadSlice('\n')
		if err == nil && len(r.line) == 0 { // whole, as nearly all are
			r.at++
			return bytes.TrimRight(part[:len(part)-1], "\r"), nil
		}
		if len(r.line)+len(part) <= maxEvent {
			r.line = append(r.line, part...)
		} else {
			r.long = true
			if err == nil {
				r.line = append(r.line[:0], '\n')
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && isEnd(bytes.TrimRight(r.line, "\r")):
		case errors.Is(err, io.EOF) && (len(r.line) > 0 || len(r.text) > 0 || r.long):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
		line := bytes.TrimRight(r.line, "\r\n")
		r.line = r.line[:0]
		r.at++
		return line, nil
	}
}

// add keeps a line of the event, as long as there is room.
func (r *Reader) add(line []byte) {
	if len(r.text) == 0 {
		r.first = r.at
	}
	const each = 16 // the overhead of a line
	if r.size += len(line) + each; r.size > maxEvent {
		r.long = true
	}
	if !r.long {
		r.text = append(append(r.text, line...), '\n')
	}
}

// drop forgets the event.
func (r *Reader) drop() { r.text, r.size, r.long = r.text[:0], 0, false }

// finish returns the event with the complete lines. They share one string with all that
// is kept of them.
func (r *Reader) finish() (Event, error) {
	text, long := string(r.text), r.long
	r.drop()
	if long {
		return Event{}, &SyntaxError{r.first, fmt.Sprintf("the event is longer than %d bytes", maxEvent)}
	}
	first, rest, _ := strings.Cut(text, "\n")
	h, err := parseHeader(first)
	if err != nil {
		return Event{}, &SyntaxError{r.first, err.Error()}
	}
	r.lines = append(r.lines[:0], h.head)
	for len(rest) > 0 {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		r.lines = append(r.lines, line)
	}
	e := Event{Job: h.job, Subproc: h.subproc, At: h.date.in(r.year(h.date), r.o.Zone), Stamp: h.date.stamp}
	var more []string
	if e.Body, more = readBody(h.number, h.head, r.lines[1:]); len(more) > 0 {
		e.More = slices.Clone(more)
	}
	if r.written = e.appendLines(r.written[:0]); string(r.written) != text[len(first)-len(h.head):] {
		e.AsRead = slices.Clone(r.lines)
	}
	return e, nil
}

// year returns the year of a date that may name none.
func (r *Reader) year(d date) int {
	if !d.stamp.Old {
		return d.year
	}
	const half = 6
	if r.month-d.month > half {
		r.o.Year++
	}
	r.month = d.month
	return r.o.Year
}

// Follower reads a log that grows, is emptied, or is replaced by another of its
// name.
type Follower struct {
	path   string
	o      Options
	stat   func(string) (fs.FileInfo, error)
	file   *os.File // nil before there is one
	read   int64    // so much of it
	reader *Reader
}

// Follow begins to follow the log at path, which need not be there.
func Follow(path string, o Options) *Follower { return &Follower{path: path, o: o, stat: os.Stat} }

// Read passes every event that was completed since the last call to each, in their order.
// For an event that cannot be read it passes the error instead, a *SyntaxError. A log
// that was emptied or replaced is read from its beginning, after the rest of the old one.
// A log that has disappeared has nothing new; if it never existed the error is
// fs.ErrNotExist.
func (f *Follower) Read(each func(Event, error)) error {
	if f.file != nil {
		if err := f.drain(each); err != nil {
			return err
		}
	}
	there, err := f.stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.file != nil:
		return nil
	case err != nil:
		return cause(f.path, err)
	case f.file != nil && f.same(there):
		return nil
	}
	if f.file != nil { // it may have got more before the other took its name
		if err := f.drain(each); err != nil {
			return err
		}
	}
	if err := f.open(); err != nil {
		return cause(f.path, err)
	}
	return f.drain(each)
}

// Close ends the following.
func (f *Follower) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// same reports whether the open file is the one at the path and is not shorter than the
// part already read.
func (f *Follower) same(there fs.FileInfo) bool {
	mine, err := f.file.Stat()
	return err == nil && os.SameFile(mine, there) && there.Size() >= f.read
}

func (f *Follower) open() error {
	// Without O_NONBLOCK a named pipe without a writer would keep us here.
	file, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file: only such a log can be followed")
	}
	if err != nil {
		file.Close()
		return err
	}
	f.Close()
	f.file, f.read, f.reader = file, 0, NewReader(counted{file, &f.read}, f.o)
	return nil
}

// drain reads the open file to its end.
func (f *Follower) drain(each func(Event, error)) error {
	for {
		e, err := f.reader.Next()
		var bad *SyntaxError
		switch {
		case err == nil:
			each(e, nil)
		case errors.As(err, &bad):
			each(Event{}, err)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		default:
			return cause(f.path, err)
		}
	}
}

// counted counts the bytes read.
type counted struct {
	from io.Reader
	n    *int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	*c.n += int64(n)
	return n, err
}

// cause words a file's error as Append does.
func cause(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
