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

// Spare is how many processes wait for callers where none is served, and most how many there are at a time.
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

// Keep keeps processes of serve waiting at a listening socket until ctx is over, and returns when the
// last of all has ended: Spare while no caller is served, half of that at least while some are. start makes
// one, with the socket as its standard input and note as its descriptor 3, where it says that it has a
// caller, or waits for another one. tell is called with the error of a process that could not be started
// or ended without having had a caller; then Keep pauses.
func Keep(ctx context.Context, socket *os.File, start func(socket, note *os.File) (*exec.Cmd, error), tell func(error)) {
	const pause = time.Second
	events := make(chan event)
	idle, running := 0, 0
	over := ctx.Done()
	for {
		// While callers are served, few need be there for the next ones: starting takes what serving needs.
		for over != nil && (idle < Spare/2 || idle < Spare && idle == running) && running < most {
			idle, running = idle+1, running+1
			go one(ctx, socket, start, events)
		}
		if over == nil && running == 0 {
			return
		}
		select {
		case e := <-events:
			idle, running = idle+e.idle, running+e.running
			if e.err != nil && over != nil {
				tell(e.err)
				select {
				case <-time.After(pause):
				case <-over:
				}
			}
		case <-over:
			over = nil
		}
	}
}

// event is what has become of a process.
type event struct {
	idle, running int   // by how many there are more
	err           error // it had no caller
}

// errNoCaller says that a process has ended well without having had a caller.
var errNoCaller = errors.New("serve ended before it had a caller")

// one starts a process, and tells of it.
func one(ctx context.Context, socket *os.File, start func(socket, note *os.File) (*exec.Cmd, error), events chan<- event) {
	r, w, err := os.Pipe()
	if err != nil {
		events <- event{-1, -1, err}
		return
	}
	defer r.Close()
	p, err := start(socket, w)
	w.Close()
	if err != nil {
		events <- event{-1, -1, err}
		return
	}
	had, idle := false, 1
	stop := context.AfterFunc(ctx, func() { p.Process.Kill() }) // unless it has a caller
	for note := []byte{0}; ; {
		if n, _ := r.Read(note); n == 0 {
			break
		}
		switch {
		case note[0] == taken && idle == 1:
			stop()
			had, idle = true, 0
			events <- event{idle: -1}
		case note[0] == waiting && idle == 0:
			idle = 1
			events <- event{idle: 1}
			stop = context.AfterFunc(ctx, func() { p.Process.Kill() })
		}
	}
	stop()
	err = p.Wait()
	switch {
	case had:
		err = nil
	case err == nil:
		err = errNoCaller
	}
	events <- event{-idle, -1, err}
}
