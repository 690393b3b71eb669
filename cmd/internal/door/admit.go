package door

import (
	"errors"
	"fmt"
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
// the process ends. A caller that is not let in is told so.
func Admit(c *net.UnixConn, dir string) error {
	uid, err := peerUID(c)
	if err != nil {
		return fmt.Errorf("who calls: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	for k := range int64(MaxCallers) {
		place := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(uid)*MaxCallers + k, Len: 1}
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &place)
		if err == nil {
			admitted = f
			return nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			f.Close()
			return fmt.Errorf("%s: %w", lockName, err)
		}
	}
	f.Close()
	c.SetWriteDeadline(time.Now().Add(time.Second))
	c.Write(appendFrame(appendFrame(nil, kindErr, fmt.Appendf(nil, "fairspool: %d of your commands are at work already, which is the most: try again\n", MaxCallers)), kindStatus, []byte("75")))
	return errTooMany
}

// admitted keeps the lock until the process ends.
var admitted *os.File

// takenFD is where Next tells that it has a caller.
const takenFD = 3

var errTooMany = errors.New("a user has too many connections")

// Next returns the next caller at a listening socket that is let in. It tells on descriptor 3, if there is
// one, that it has a caller.
func Next(l net.Listener, dir string) (*net.UnixConn, error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return nil, err
		}
		conn, ok := c.(*net.UnixConn)
		if !ok {
			return nil, errors.New("standard input is no Unix socket: serve asks the kernel who calls")
		}
		switch err := Admit(conn, dir); {
		case errors.Is(err, errTooMany):
			conn.Close()
		case err != nil:
			return nil, err
		default:
			unix.Write(takenFD, []byte("t"))
			unix.Close(takenFD)
			return conn, nil
		}
	}
}
