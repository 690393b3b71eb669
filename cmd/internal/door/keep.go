package door

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Spare is how many processes wait for a caller, and most how many there are at a time.
const (
	Spare = 4
	most  = 256
)

// Listen returns the listening socket of the spool in a directory, which all users may connect to.
// One that a dead process has left there is replaced; whether the other is dead is for the caller to know.
func Listen(dir string) (*net.UnixListener, error) {
	path := filepath.Join(dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Keep keeps Spare processes of serve waiting at a listening socket until ctx is over, and returns when
// the last of all has ended. start makes one, with the socket as its standard input and
// taken as its descriptor 3, to which it writes a byte when it has a caller. tell is called with the error of a process that
// could not be started or ended without having had a caller; then there is a pause.
func Keep(ctx context.Context, socket *os.File, start func(socket, taken *os.File) (*exec.Cmd, error), tell func(error)) {
	const pause = time.Second
	ended := make(chan struct{}) // one for each process that has ended
	free := make(chan error)     // one for each process that no longer waits for a caller; an error: it had none
	waiting, running := 0, 0
	over := ctx.Done()
	for {
		for over != nil && waiting < Spare && running < most {
			waiting, running = waiting+1, running+1
			go one(ctx, socket, start, free, ended)
		}
		if over == nil && running == 0 {
			return
		}
		select {
		case err := <-free:
			waiting--
			if err != nil && over != nil {
				tell(err)
				select {
				case <-time.After(pause):
				case <-over:
				}
			}
		case <-ended:
			running--
		case <-over:
			over = nil
		}
	}
}

// errNoCaller says that a process has ended well without having had a caller.
var errNoCaller = errors.New("serve ended before it had a caller")

// one starts a process, and tells of it.
func one(ctx context.Context, socket *os.File, start func(socket, taken *os.File) (*exec.Cmd, error), free chan<- error, ended chan<- struct{}) {
	err := func() error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		p, err := start(socket, w)
		w.Close()
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { p.Process.Kill() })
		n, _ := r.Read(make([]byte, 1))
		stop()
		if n == 1 {
			free <- nil
			p.Wait()
		} else {
			err := p.Wait()
			if err == nil {
				err = errNoCaller
			}
			free <- err
		}
		ended <- struct{}{}
		return nil
	}()
	if err != nil {
		free <- err
		ended <- struct{}{}
	}
}
