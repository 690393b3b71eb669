package qstat

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"time"

	sys "golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
)

// keys reads single keys from the terminal that is standard input. While it does, the terminal
// neither waits for the end of a line nor shows what is typed; ^C and ^Z mean what they always
// do.
type keys struct {
	fd  int
	was *sys.Termios // the terminal as it was found
}

// keysOf returns the keys of the terminal that standard input is, and nil if standard input is no terminal.
func keysOf(c *cmdline.Call) *keys {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return nil
	}
	was, err := sys.IoctlGetTermios(int(f.Fd()), sys.TCGETS)
	if err != nil {
		return nil
	}
	return &keys{int(f.Fd()), was}
}

// endingKey says which key ends -watch.
const endingKey = ", q ends it"

// before reads the keys of -watch that runs in serve: q interrupts it.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	k := keysOf(c)
	if !c.Has("watch") || !c.Terminal() || k == nil {
		return nil, nil
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sys.SIGINT, sys.SIGTERM, sys.SIGHUP, sys.SIGQUIT)
	ended := make(chan struct{})
	// What hands signals on to serve may not listen yet: so it is sent one until all has ended.
	const again = 100 * time.Millisecond
	interrupt := sync.OnceFunc(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			sys.Kill(sys.Getpid(), sys.SIGINT)
			select {
			case <-ended:
			case <-time.After(again):
			}
		}
	})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == sys.SIGHUP || s == sys.SIGQUIT {
					go interrupt()
				} else {
					time.AfterFunc(again, interrupt)
				}
			case <-ended:
				return
			}
		}
	}()
	end := k.listen(interrupt)
	c.AtEnd(func() {
		close(ended)
		end()
		signal.Stop(signals)
	})
	return nil, nil
}

// listen calls quit once q is typed. The returned function puts the terminal back to what it
// was, which ^Z does too until the process goes on in the foreground.
func (k *keys) listen(quit func()) (end func()) {
	k.enter()
	jobControl := make(chan os.Signal, 1)
	signal.Notify(jobControl, sys.SIGTSTP, sys.SIGCONT)
	go func() {
		for s := range jobControl {
			if s == sys.SIGTSTP {
				k.leave()
				sys.Kill(sys.Getpid(), sys.SIGSTOP)
			}
			k.enter()
		}
	}()
	go func() {
		if k.typed() {
			quit()
		}
	}()
	return func() {
		signal.Stop(jobControl)
		k.leave()
	}
}

// foreground reports whether the process may use the terminal: in the background that would
// stop it.
func (k *keys) foreground() bool {
	group, err := sys.IoctlGetInt(k.fd, sys.TIOCGPGRP)
	return err == nil && group == sys.Getpgrp()
}

func (k *keys) enter() {
	mode := *k.was
	mode.Lflag &^= sys.ICANON | sys.ECHO
	mode.Cc[sys.VMIN], mode.Cc[sys.VTIME] = 1, 0
	k.set(&mode)
}

func (k *keys) leave() { k.set(k.was) }

// set changes the terminal. Where that fails, -watch goes on without keys.
func (k *keys) set(mode *sys.Termios) {
	if k.foreground() {
		sys.IoctlSetTermios(k.fd, sys.TCSETS, mode)
	}
}

// typed waits until q is typed. It returns false when nothing will be any more.
func (k *keys) typed() bool {
	const backgroundWait = 500 // milliseconds
	for {
		fds := []sys.PollFd{{Fd: int32(k.fd), Events: sys.POLLIN}}
		n, err := sys.Poll(fds, -1)
		switch {
		case errors.Is(err, sys.EINTR), n == 0:
			continue
		case err != nil || fds[0].Revents&sys.POLLIN == 0:
			return false
		case !k.foreground(): // what is typed is for another process
			sys.Poll(nil, backgroundWait)
			continue
		}
		var key [1]byte
		if n, err := sys.Read(k.fd, key[:]); err != nil && !errors.Is(err, sys.EINTR) || n == 0 {
			return false
		}
		if key[0] == 'q' || key[0] == 'Q' {
			return true
		}
	}
}
