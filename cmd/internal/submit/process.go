package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/submitfile"
)

const (
	// maxOutput bounds a command's output, in bytes.
	maxOutput = 256 << 20
	// keptStderr is how much of the end of its standard error is kept.
	keptStderr = 8 << 10
)

var (
	errTooLong     = errors.New("ran too long")
	errTooMuch     = fmt.Errorf("prints more than %d MB", maxOutput>>20)
	errInterrupted = errors.New("interrupted")
)

// runner runs the commands of a description.
type runner struct {
	timeout time.Duration
	// watch begins to show that submit waits for a command; the returned function ends
	// that.
	watch func(command string) (end func())
}

// run returns the standard output of a command. There is no shell. The command is a
// process group of its own, which is killed when it takes too long or when submit is
// interrupted. An exit status that is not 0 is an error.
func (r runner) run(words []string) (string, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer interrupt(cancel)()
	defer time.AfterFunc(r.timeout, func() { cancel(errTooLong) }).Stop()
	defer r.watch(words[0])()

	from, to, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer from.Close()
	complaints, stderr, err := listen()
	if err != nil {
		to.Close()
		return "", err
	}
	p := exec.Command(whereabouts(words[0]), words[1:]...)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Stdout, p.Stderr = to, stderr
	err = p.Start()
	to.Close()
	stderr.Close()
	if err != nil {
		complaints.last()
		return "", startError(err)
	}
	defer context.AfterFunc(ctx, func() {
		syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
		from.SetReadDeadline(time.Now()) // whoever left the group may keep it open
	})()
	var out strings.Builder
	if n, _ := io.Copy(&out, io.LimitReader(from, maxOutput+1)); n > maxOutput {
		cancel(errTooMuch)
	}
	err = p.Wait()
	cause := context.Cause(ctx) // what comes later comes too late
	if err = r.verdict(cause, err, complaints.last()); err != nil {
		return "", err
	}
	return out.String(), nil
}

// whereabouts returns what to start for a command's first word: a script of the folder
// that submit is run in needs no ./ before its name, as in the examples of HTCondor's
// manual, unless PATH has a command of that name.
func whereabouts(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	here := "./" + name
	if _, err := exec.LookPath(here); err != nil {
		return name
	}
	return here
}

// verdict words the failure of a command: why it was killed, if it was, else how it ended
// and its last words.
func (r runner) verdict(cause, err error, last string) error {
	switch {
	case errors.Is(cause, errTooLong):
		return fmt.Errorf("takes longer than %v s, killed (SUBMIT_COMMAND_TIMEOUT)", r.timeout.Seconds())
	case cause != nil:
		return cause
	case err != nil && last != "":
		return fmt.Errorf("%w: %s", err, submitfile.Shorten(last))
	}
	return err
}

// interrupt cancels when a signal is to end submit. The returned function ends the
// listening.
func interrupt(cancel func(error)) (end func()) {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

func startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such command")
	}
	var start *exec.Error
	if errors.As(err, &start) {
		return start.Err
	}
	return cmdline.Cause(err)
}

// listener reads a command's standard error and keeps the end of it.
type listener struct {
	from *os.File
	done chan struct{}
	text []byte
}

// listen returns a listener and where the command is to write.
func listen() (l *listener, to *os.File, err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	l = &listener{from: from, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		io.Copy(l, from)
	}()
	return l, to, nil
}

func (l *listener) Write(p []byte) (int, error) {
	l.text = append(l.text, p[max(0, len(p)-keptStderr):]...)
	if len(l.text) > 2*keptStderr {
		l.text = append(l.text[:0], l.text[len(l.text)-keptStderr:]...)
	}
	return len(p), nil
}

// last ends the listening, when the command has ended, and returns the last line. It does
// not wait for background processes that keep the command's standard error open: all that
// the command itself wrote is in the pipe.
func (l *listener) last() string {
	l.from.SetReadDeadline(time.Now())
	<-l.done
	l.drain()
	l.from.Close()
	text := bytes.TrimSpace(l.text)
	return strings.TrimSpace(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}

// drain reads the present content of the pipe, and no more than a pipe holds: background
// processes of the command may go on writing.
func (l *listener) drain() {
	l.from.SetReadDeadline(time.Time{})
	pipe, err := l.from.SyscallConn()
	if err != nil {
		return
	}
	b := make([]byte, 64<<10)
	pipe.Read(func(fd uintptr) bool {
		n, err := syscall.Read(int(fd), b)
		for err == syscall.EINTR {
			n, err = syscall.Read(int(fd), b)
		}
		l.Write(b[:max(0, n)])
		return true
	})
}
