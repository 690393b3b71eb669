package pilot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/link"
)

// Stdio returns the pipe that standard input and output are. Nothing else may use them then.
func Stdio() (io.ReadWriteCloser, error) {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		return nil, errors.New("standard input is a terminal, not a link to another machine: glidein makes one; see glidein(8)")
	}
	in, err := pollable(0)
	if err != nil {
		return nil, err
	}
	out, err := pollable(1)
	if err != nil {
		return nil, err
	}
	return pair{in, out}, nil
}

// pollable returns a duplicate of a descriptor; its Close ends a Read of it.
func pollable(fd int) (*os.File, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(own, true)
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(own), "pipe")
	widen(f)
	return f, nil
}

// widen lets a pipe hold as much as an ordinary process may have it hold, so that its ends wake each other less often.
func widen(f *os.File) {
	const most = 1 << 20
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, most) }) // it is no pipe, or stays as it is
	}
}

type pair struct {
	io.ReadCloser
	out io.WriteCloser
}

func (p pair) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p pair) Close() error { return errors.Join(p.ReadCloser.Close(), p.out.Close()) }

// Run starts a command with the other end of a pipe as standard input and output. Told closes the pipe
// and returns the result of the command.
func Run(c *exec.Cmd) (pipe io.ReadWriteCloser, told func() Told, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	widen(in)
	widen(out)
	c.Stdin, c.Stdout = theirIn, theirOut
	defer theirIn.Close()
	defer theirOut.Close()
	words := &lastWords{}
	c.Stderr = words
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		return nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	p := &commandPipe{pair: pair{out, in}, command: c, ended: make(chan struct{})}
	go func() {
		p.command.Wait() // standard error is read by then
		close(p.ended)
	}()
	told = func() Told {
		p.Close()
		return Told{Status: c.ProcessState.ExitCode(), Words: words.last()}
	}
	return p, told, nil
}

// Told is what came of a command.
type Told struct {
	Status int    // its exit status; negative if a signal has ended it
	Words  string // the last line that it said on standard error; empty: none
}

// Exit statuses of a shell that cannot run a program, or does not find it.
const (
	notRun   = 126
	notFound = 127
)

// Why returns the error of a link over the command's pipe. It prefers the command's words, which explain better why the
// other end is gone, unless the ends refuse each other. Install is the advice if the program could not be run there.
func (t Told) Why(err error, install string) error {
	var version *link.VersionError
	var refused *RefusedError
	switch {
	case err == nil || errors.Is(err, ErrStopped) || errors.As(err, &version) || errors.As(err, &refused):
		return err
	case (t.Status == notRun || t.Status == notFound) && t.Words != "":
		return fmt.Errorf("%s: %s", t.Words, install)
	case t.Words != "":
		return errors.New(t.Words)
	}
	return err
}

// commandPipe is a pipe to a command, which ends with the pipe.
type commandPipe struct {
	pair
	command *exec.Cmd
	ended   chan struct{}
	once    sync.Once
}

// Parting is how long a command may take to end when its pipe is closed.
const Parting = 2 * time.Second

func (p *commandPipe) Close() (err error) {
	p.once.Do(func() {
		err = p.pair.out.Close()
		select {
		case <-p.ended:
		case <-time.After(Parting):
			p.command.Process.Kill()
			<-p.ended
		}
		p.pair.ReadCloser.Close()
	})
	return err
}

// lastWords keeps the end of its input.
type lastWords struct {
	sync.Mutex
	text []byte
}

// mostWords is how much of that is kept.
const mostWords = 4 << 10

func (w *lastWords) Write(b []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	w.text = append(w.text, b...)
	w.text = w.text[max(0, len(w.text)-mostWords):]
	return len(b), nil
}

// last returns the last line that says anything.
func (w *lastWords) last() string {
	w.Lock()
	defer w.Unlock()
	lines := bytes.Split(bytes.TrimSpace(w.text), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
