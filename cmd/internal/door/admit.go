package door

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// MaxCallers is how many connections of one user are served at a time.
const MaxCallers = 32

// lockName is a file of locks in the spool: each connection that is served holds one of its
// caller's MaxCallers bytes.
const lockName = "door.lock"

// Admit lets a caller in whose user has not MaxCallers connections already. The place is taken until
// it is closed, or the process ends. A caller that is not let in is told so.
func Admit(c *net.UnixConn, dir string) (place io.Closer, err error) {
	uid, err := peerUID(c)
	if err != nil {
		return nil, fmt.Errorf("who calls: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for k := range int64(MaxCallers) {
		place := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(uid)*MaxCallers + k, Len: 1}
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &place)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			f.Close()
			return nil, fmt.Errorf("%s: %w", lockName, err)
		}
	}
	f.Close()
	c.SetWriteDeadline(time.Now().Add(time.Second))
	c.Write(appendFrame(appendFrame(nil, kindErr, fmt.Appendf(nil, "fairspool: %d of your commands are at work already, which is the most: try again\n", MaxCallers)), kindStatus, []byte("75")))
	return nil, errTooMany
}

var errTooMany = errors.New("a user has too many connections")

// A process that takes its callers from a listening socket ends after the longest of these: so
// nothing that one of them made it keep stays for long.
const (
	mostCallers = 100
	leisure     = 10 * time.Second // without another caller
)

// noteFD is where such a process tells Keep, if it has started it, that it has a caller or
// waits for one again.
const (
	noteFD  = 3
	taken   = 't'
	waiting = 'w'
)

// Callers are those that come to a listening socket.
type Callers struct {
	l   *net.UnixListener
	dir string
	had int
}

// CallersAt returns the callers at a listening Unix socket in a spool.
func CallersAt(socket *os.File, dir string) (*Callers, error) {
	l, err := net.FileListener(socket)
	if err != nil {
		return nil, err
	}
	local, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, errNetwork
	}
	return &Callers{l: local, dir: dir}, nil
}

var errNetwork = errors.New("standard input is no Unix socket: serve asks the kernel who calls")

// Next returns the next caller that is let in, with its place; io.EOF: the process has had enough of
// them, or waited long enough for another one.
func (c *Callers) Next() (*net.UnixConn, io.Closer, error) {
	if c.had == mostCallers {
		return nil, nil, io.EOF
	}
	if c.had > 0 {
		unix.Write(noteFD, []byte{waiting})
		c.l.SetDeadline(time.Now().Add(leisure))
	}
	for {
		conn, err := c.l.AcceptUnix()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, nil, io.EOF
		case err != nil:
			return nil, nil, err
		}
		switch place, err := Admit(conn, c.dir); {
		case errors.Is(err, errTooMany):
			conn.Close()
		case err != nil:
			return nil, nil, err
		default:
			unix.Write(noteFD, []byte{taken})
			c.had++
			return conn, place, nil
		}
	}
}
