package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
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

// event is a change of a process.
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

// MaxCallers is how many connections of one user are served at a time.
const MaxCallers = 32

// lockName is a file of locks in the spool: each connection that is served holds one of its
// caller's MaxCallers bytes.
const lockName = "door.lock"

// Admit admits a caller if its user has fewer than MaxCallers connections. The place is taken until
// it is closed, or the process ends. A refused caller gets a message.
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
	c.Write(appendFrame(appendFrame(nil, kindErr, fmt.Appendf(nil, "fairspool: %d of your commands are running already, the maximum: try again\n", MaxCallers)), kindStatus, []byte("75")))
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

// Callers are the callers of a listening socket.
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

// Peer is the user at the other end of a connection, as the kernel names it.
type Peer struct {
	UID    int
	Name   string   // the login name
	Groups []string // names of its Unix groups, those without a name left out
}

// peerUID returns the uid of the process that connected.
func peerUID(c *net.UnixConn) (uid int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			uid = int(cred.Uid)
		}
		return err
	})
	return uid, err
}

// peerOf returns the user of the process that connected. A uid without a name on this machine is an
// error.
func peerOf(c *net.UnixConn) (p Peer, err error) {
	if p.UID, err = peerUID(c); err != nil {
		return p, err
	}
	u, known, err := asuser.LookUpID(p.UID)
	switch {
	case err != nil:
		return p, err
	case !known:
		return p, fmt.Errorf("uid %d has no login name on this machine", p.UID)
	}
	p.Name = u.Name
	numbers, err := peerGroups(c)
	if err != nil {
		return p, err
	}
	for _, n := range numbers {
		if name, ok := asuser.GroupName(n); ok && !slices.Contains(p.Groups, name) {
			p.Groups = append(p.Groups, name)
		}
	}
	return p, nil
}

// peerGroups returns the ids of the groups that the process had when it connected: its own and the further ones.
func peerGroups(c *net.UnixConn) (ids []int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return err
		}
		further, err := groupsOf(fd)
		ids = append([]int{int(cred.Gid)}, further...)
		return err
	})
	return ids, err
}

func control(c *net.UnixConn, look func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = look(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// groupsOf asks the kernel for SO_PEERGROUPS of a socket, as package unix has no call for it.
func groupsOf(fd int) ([]int, error) {
	const most = 65536 // NGROUPS_MAX of Linux
	for n := uint32(64); ; n = most {
		ids := make([]uint32, n)
		size := n * 4
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&size)), 0)
		if e == unix.ERANGE && n < most {
			continue
		}
		if e != 0 {
			return nil, os.NewSyscallError("getsockopt SO_PEERGROUPS", e)
		}
		var list []int
		for _, id := range ids[:size/4] {
			list = append(list, int(id))
		}
		return list, nil
	}
}
