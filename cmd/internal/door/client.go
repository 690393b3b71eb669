package door

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Caller is a command's part at the caller's end.
type Caller struct {
	Stdout, Stderr io.Writer
	// ReadFile returns the contents of a file that the command line names, - for standard input.
	ReadFile func(name string) ([]byte, error)
	// WriteFile writes such a file, and returns how many bytes it has.
	WriteFile func(name string, mode fs.FileMode, text []byte) (int64, error)
	// Words are further words, besides the request's arguments, that may name files.
	Words []string
	// Ready returns what answers the command's own questions; nil: the command asks none. Call runs it while
	// serve makes ready, and also where it cannot connect.
	Ready func() (Answer, error)
	// First is a question that serve is sure to ask: it is answered without being asked. Nil: none is.
	First any
}

// Answer answers a question that serve asks.
type Answer func(question []byte) (answer any, err error)

// ErrCut says that serve ended before the command did.
var ErrCut = errors.New("the connection to serve ended before the answer: the command may or may not have been done: see qstat and spool log")

// connecting is how long a caller waits to be let in.
const connecting = 10 * time.Second

// Dial connects with the door of the spool in a directory. Reading and writing block a thread: a command has no
// other one to wait for, and to be woken through the runtime's poller takes longer.
func Dial(path string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	within := func(d time.Duration) {
		if err == nil {
			limit := unix.NsecToTimeval(int64(d))
			err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
		}
	}
	within(connecting)
	if err == nil {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
	}
	within(0)
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), path), nil
	case unix.EAGAIN:
		err = os.ErrDeadlineExceeded
	}
	unix.Close(fd)
	return nil, err
}

// Call has a command run over the connection that dial makes, and returns the command's exit
// status. An interrupt is handed on to the command.
func (c Caller) Call(dial func() (io.ReadWriteCloser, error), r Request) (status int, err error) {
	if c.First != nil {
		if r.First, err = json.Marshal(c.First); err != nil {
			return 0, err
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	if len(text) > MaxFrame {
		return 0, fmt.Errorf("%d bytes of arguments, at most %d: the door takes no more", len(text), MaxFrame)
	}
	l := &line{Caller: c, request: r}
	if l.conn, err = dial(); err == nil {
		defer l.conn.Close()
		l.in = bufio.NewReaderSize(l.conn, MaxFrame)
		if err = l.send(appendFrame(nil, kindRequest, text)); hasGone(err) {
			err = nil // serve has said why
		}
	}
	if wrong := l.makeReady(); wrong != nil || err != nil {
		return 0, cmp.Or(wrong, err)
	}
	if c.First != nil {
		if err := l.answer(r.First); err != nil && !hasGone(err) {
			return 0, err
		}
	}
	signals := make(chan os.Signal, 1)
	later := time.AfterFunc(short, func() { l.handOn(signals) })
	defer func() {
		later.Stop()
		signal.Stop(signals)
	}()
	return l.heed()
}

// short is how long Call does not listen for signals: until then an interrupt ends the caller, and that ends
// the command. Listening needs a thread of its own, for which short commands would have to wait.
const short = 20 * time.Millisecond

// handOn hands interrupts on to the command from now on.
func (l *line) handOn(signals chan os.Signal) {
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	for s := range signals {
		l.send(appendFrame(nil, kindSignal, strconv.AppendInt(nil, int64(s.(unix.Signal)), 10)))
	}
}

// line is a connection at the caller's end.
type line struct {
	Caller
	conn    io.ReadWriteCloser
	request Request
	in      *bufio.Reader
	reply   Answer // nil: to nothing
}

// makeReady makes ready what answers questions.
func (l *line) makeReady() (err error) {
	if l.Ready != nil {
		l.busy(func() { l.reply, err = l.Ready() })
	}
	return err
}

// send sends whole frames.
func (l *line) send(b []byte) error {
	_, err := l.conn.Write(b)
	return err
}

// hasGone reports whether serve ended during sending. Its output can still be read.
func hasGone(err error) bool { return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) }

// heed does what serve says until the command has ended.
func (l *line) heed() (status int, err error) {
	for {
		kind, payload, err := readFrame(l.in)
		if err != nil {
			return 0, ErrCut
		}
		switch kind {
		case kindOut:
			_, err = l.Stdout.Write(payload)
		case kindErr:
			_, err = l.Stderr.Write(payload)
		case kindRead:
			err = l.sendFile(string(payload))
		case kindWrite:
			err = l.writeFile(string(payload))
		case kindAsk:
			err = l.answer(payload)
		case kindStatus:
			return strconv.Atoi(string(payload))
		default:
			return 0, fmt.Errorf("serve sent a frame %q, which this version of fairspool does not know", kind)
		}
		if err != nil {
			return 0, err
		}
	}
}

// named refuses a file that does not stand on the command line.
func (l *line) named(name string) error {
	if name == "-" {
		return nil
	}
	for _, a := range slices.Concat(l.request.Args, l.Words) {
		_, value, _ := strings.Cut(a, "=")
		if a == name || value == name {
			return nil
		}
	}
	return fmt.Errorf("serve asks for %s, which the command line does not name: it gets nothing", name)
}

// sendFile sends the contents of a file. While it reads, it tells serve that it is at work.
func (l *line) sendFile(name string) error {
	if err := l.named(name); err != nil {
		return err
	}
	var text []byte
	var err error
	l.busy(func() { text, err = l.ReadFile(name) })
	if err != nil {
		return l.send(appendFrame(nil, kindFailed, []byte(err.Error())))
	}
	return l.send(appendAll(nil, kindContents, text))
}

// busy does what may take long, and tells serve meanwhile that it is at work.
func (l *line) busy(work func()) {
	if l.conn == nil {
		work()
		return
	}
	var mu sync.Mutex
	done := false
	var tick *time.Timer
	mu.Lock()
	tick = time.AfterFunc(Patience/6, func() {
		mu.Lock()
		defer mu.Unlock()
		if !done {
			l.send(appendFrame(nil, kindBusy, nil))
			tick.Reset(Patience / 6)
		}
	})
	mu.Unlock()
	work()
	tick.Stop()
	mu.Lock()
	done = true
	mu.Unlock()
}

func (l *line) writeFile(head string) error {
	octal, name, _ := strings.Cut(head, " ")
	mode, err := strconv.ParseUint(octal, 8, 9)
	if err == nil {
		err = l.named(name)
	}
	if err != nil {
		return err
	}
	var text []byte
	for {
		kind, payload, err := readFrame(l.in)
		if err != nil || kind != kindContents {
			return ErrCut
		}
		if len(payload) == 0 {
			break
		}
		text = append(text, payload...)
	}
	n, err := l.WriteFile(name, fs.FileMode(mode), text)
	if err != nil {
		return l.send(appendFrame(nil, kindFailed, []byte(err.Error())))
	}
	return l.send(appendFrame(nil, kindWritten, strconv.AppendInt(nil, n, 10)))
}

func (l *line) answer(question []byte) error {
	if l.reply == nil {
		return errors.New("serve asks what this command does not answer: install the same fairspool for both")
	}
	var answer any
	var err error
	l.busy(func() { answer, err = l.reply(question) })
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return l.send(appendAll(nil, kindAnswer, text))
}
