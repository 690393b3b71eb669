package cmdline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"fairspool/lib/clean"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// outputBuffer is how many bytes of standard output are written at a time:
// listings have many.
const outputBuffer = 64 << 10

// output is the only way out. It removes what could steer a terminal (package clean), as texts of jobs
// and slots may come from anybody; see Raw for the exceptions. Standard output is buffered. output
// keeps the first error, so that a full disk is noticed even if no caller looks at each write.
type output struct {
	to     io.Writer
	buffer *bufio.Writer // nil: nothing is buffered
	json   bool          // bad news is JSON

	mu   sync.Mutex
	part []byte // of a character that is not whole yet
	err  error
}

// standardOutput returns the output for a command's good news.
func standardOutput(to io.Writer) *output {
	return &output{to: to, buffer: bufio.NewWriterSize(to, outputBuffer)}
}

// Cleaned returns a writer that cleans what a command prints to w.
func Cleaned(w io.Writer) io.Writer { return &output{to: w} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	whole := p
	if len(o.part) > 0 {
		whole = append(o.part, p...)
	}
	n := beginning(whole)
	if err := o.put(clean.Lines(whole[:n])); err != nil {
		return 0, err
	}
	o.part = append([]byte(nil), whole[n:]...)
	return len(p), nil
}

// beginning returns how long a text is without a character at its end that is not whole.
func beginning(text []byte) int {
	for n := len(text) - 1; n >= 0 && n > len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if !utf8.FullRune(text[n:]) {
				return n
			}
			break
		}
	}
	return len(text)
}

// put writes as it is.
func (o *output) put(p []byte) error {
	switch {
	case o.err != nil:
	case o.buffer != nil:
		_, err := o.buffer.Write(p)
		o.err = lost(err)
	default:
		_, o.err = o.to.Write(p)
	}
	return o.err
}

// flush writes the rest of the buffer and returns the first error of all writes.
func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(clean.Lines(o.part))
	o.part = nil
	if o.err == nil && o.buffer != nil {
		o.err = lost(o.buffer.Flush())
	}
	return o.err
}

// raw is an output that does not clean.
type raw struct{ *output }

func (r raw) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.put(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Raw returns what writes to the same place as w, and cleans nothing. It is for sequences of
// our own that steer a terminal, and for bytes that the caller asks for as they are.
func Raw(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return raw{o}
	}
	return w
}

// Data returns standard output for what programs read, such as ads: it is cleaned on a
// terminal, and written as it is elsewhere.
func (c *Call) Data() io.Writer {
	if c.Terminal() {
		return c.Stdout
	}
	return Raw(c.Stdout)
}

// under returns the writer below an output, and any other writer itself.
func under(w io.Writer) io.Writer {
	switch o := w.(type) {
	case *output:
		return o.to
	case raw:
		return o.to
	}
	return w
}

// lost words the error of a write to standard output, which is the last thing
// that a command does.
func lost(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("standard output: %w: the output is lost, everything else is done", Cause(err))
}

// Flush writes what the command has printed so far, for commands that go on for a while.
// Its errors are worded like those at the end of a command.
func (c *Call) Flush() error {
	if o, ok := c.Stdout.(*output); ok {
		return o.flush()
	}
	return nil
}

// Coloured reports whether standard output may be coloured: it is a terminal and
// NO_COLOR is not set.
func (c *Call) Coloured() bool { return coloured(c.Stdout) }

// Screen returns the width and height of standard output in characters: from COLUMNS and
// LINES, else from the terminal, else 80 by 24.
func (c *Call) Screen() (width, height int) {
	width, height = 80, 24
	if f := fileOf(c.Stdout); f != nil {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
			width, height = int(size.Col), int(size.Row)
		}
	}
	if t := callersOf(c.Stdout); t != nil {
		if w, h, _ := t.Terminal(); w > 0 && h > 0 {
			width, height = w, h
		}
	}
	for name, side := range map[string]*int{"COLUMNS": &width, "LINES": &height} {
		if n, err := strconv.ParseUint(os.Getenv(name), 10, 16); err == nil && n > 0 {
			*side = int(n)
		}
	}
	return width, height
}

// coloured reports whether output to w may be coloured: w is a terminal and NO_COLOR is
// not set.
func coloured(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && terminal(w) }

// callers is a stream of a caller's through the door: it knows of the terminal there.
type callers interface {
	Terminal() (width, height int, is bool)
}

// callersOf returns the stream of a caller that w leads to; nil: it leads to none.
func callersOf(w io.Writer) callers {
	t, _ := under(w).(callers)
	return t
}

// terminal reports whether w leads to a terminal.
func terminal(w io.Writer) bool {
	if t := callersOf(w); t != nil {
		_, _, is := t.Terminal()
		return is
	}
	f := fileOf(w)
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// fileOf returns the file that w leads to, nil for none.
func fileOf(w io.Writer) *os.File {
	f, _ := under(w).(*os.File)
	return f
}

// Column is one column of a table.
type Column = table.Column

// Table writes rows to standard output under a heading, see table.Write; on a terminal the heading
// is bold.
func (c *Call) Table(columns []Column, rows [][]string) error {
	return table.Write(c.Stdout, columns, rows)
}

// WriteHeading writes the heading of a table, on a terminal in bold.
func (o *output) WriteHeading(line string) error {
	const bold, usual = "\x1b[1m", "\x1b[0m"
	if !coloured(o) {
		_, err := io.WriteString(o, line+"\n")
		return err
	}
	io.WriteString(raw{o}, bold)
	io.WriteString(o, line)
	io.WriteString(raw{o}, usual)
	_, err := io.WriteString(o, "\n")
	return err
}

// Progress shows on a terminal how far long work has come, on one line of
// standard error that goes when the work is done. Elsewhere, and on work that is
// not long, it shows nothing.
type Progress struct {
	to    io.Writer // nil: shows nothing
	what  string
	clock func() time.Time
	next  time.Time // not before
	shown bool
}

const (
	progressAfter = 300 * time.Millisecond // work that takes so long is long
	progressEvery = 100 * time.Millisecond

	restOfLine = "\x1b[K" // clears it
)

// Progress begins to show the progress of an activity, such as "folding".
func (c *Call) Progress(what string) *Progress {
	p := &Progress{what: what, clock: time.Now}
	if terminal(c.Stderr) {
		p.to = c.Stderr
	}
	p.next = p.clock().Add(progressAfter)
	return p
}

// Step tells that so many of all are done.
func (p *Progress) Step(done, all int) {
	p.show(func() string { return fmt.Sprintf("%d%%", 100*min(done, all)/max(all, 1)) })
}

// Count shows how many things are done, if their total is unknown.
func (p *Progress) Count(done int, things string) {
	p.show(func() string { return fmt.Sprintf("%d %s", done, things) })
}

// End takes the line away.
func (p *Progress) End() {
	if p.shown {
		io.WriteString(Raw(p.to), "\r"+restOfLine)
	}
	p.to, p.shown = nil, false
}

func (p *Progress) show(far func() string) {
	if p.to == nil || p.clock().Before(p.next) {
		return
	}
	p.next = p.clock().Add(progressEvery)
	p.shown = true
	io.WriteString(Raw(p.to), "\r")
	fmt.Fprintf(p.to, "%s: %s", p.what, far())
	io.WriteString(Raw(p.to), restOfLine)
}

// The exit statuses of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitLocked = ExitLocked
)

// ExitLocked is the exit status of a command that gave up because the spool
// stayed locked, EX_TEMPFAIL: cron may simply try again.
const ExitLocked = 75

// ErrReported makes a command fail without another message: Run has printed what is
// wrong, or there is nothing to report. Joined with spool.ErrLocked it keeps that error's
// exit status.
var ErrReported = errors.New("reported already")

// ErrDone is an error of Command.Before: the command is done, and serve is not needed.
var ErrDone = errors.New("done already")

type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// Usagef returns an error about how the command was called: exit status 2.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// Refusal is an option with the options that have no meaning together with it.
type Refusal struct {
	Option string
	Others []string
	Why    string // more of the message
}

// Refuse returns a usage error for the first two options that were given and do not go together.
func Refuse(given func(option string) bool, list ...Refusal) error {
	for _, r := range list {
		for _, o := range r.Others {
			if given(r.Option) && given(o) {
				return Usagef("-%s and -%s: only one of them at a time%s", r.Option, o, r.Why)
			}
		}
	}
	return nil
}

// report prints err on w, in the name of a command, and returns its exit status.
func report(w *output, name string, err error) int {
	var usage *usageError
	var exit *exitError
	status := exitFailed
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		return exit.status
	case errors.Is(err, ErrReported) && errors.Is(err, spool.ErrLocked):
		return exitLocked
	case errors.Is(err, ErrReported), errors.Is(err, syscall.EPIPE):
		return exitFailed
	case errors.As(err, &usage):
		status = exitUsage
	case errors.Is(err, spool.ErrLocked):
		status = exitLocked
	}
	if w.json {
		var f Failure
		f.Error.Told = Told{name, oneLine(err.Error())}
		f.Error.Excerpt, f.Error.Status = excerpt(err), status
		w.object(f)
	} else {
		fmt.Fprintf(w, "%s: %s\n%s", name, oneLine(err.Error()), excerpt(err))
	}
	return status
}

// object writes bad news as a line of JSON.
func (o *output) object(v any) {
	line, err := Line(v)
	if err == nil {
		o.Write(line)
	}
}

// excerpt returns what an error shows of the text that is wrong, as lines of their
// own; most show nothing.
func excerpt(err error) string {
	var shows interface{ Excerpt() string }
	if !errors.As(err, &shows) {
		return ""
	}
	text := shows.Excerpt()
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// oneLine keeps a message on one line whatever it quotes.
func oneLine(s string) string { return clean.Escaped(strings.TrimRight(s, "\n")) }

// exitError ends a command with an exit status that is not the command's own.
type exitError struct{ status int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// ExitStatus returns an error that gives the command this exit status, from 1 to
// 255, without another word: Run has told what there is to tell. It is for
// commands that wait for something and exit as that did. For 0 it is nil.
func ExitStatus(status int) error {
	if status == exitDone {
		return nil
	}
	return &exitError{status}
}
