package pilot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/link"
	"fairspool/lib/pool"
)

// errDown says that there is no link to the spool's host now.
var errDown = errors.New("there is no link to the spool's host now")

// dial connects to the pilot of the state folder. The folder's path may be longer than a socket's may
// be.
func (s State) dial() (net.Conn, error) {
	folder, err := os.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.Dial("unix", "/proc/self/fd/"+strconv.Itoa(int(folder.Fd()))+"/socket")
}

// listen returns the socket for supervisors, in the place of one that a dead pilot left.
func (s State) listen() (net.Listener, error) {
	os.Remove(s.path("socket"))
	folder, err := os.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	l, err := net.Listen("unix", "/proc/self/fd/"+strconv.Itoa(int(folder.Fd()))+"/socket")
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it may be the next pilot's by then
	return l, nil
}

// asker makes requests by a connection to the pilot, which it keeps.
type asker struct {
	State
	mu   sync.Mutex
	conn net.Conn
}

// askTime is how long a request may take.
const askTime = 5 * time.Minute

// ask makes a request once. errDown: there is no link, and nothing was done; any other error leaves open whether it was.
func (k *asker) ask(r Request) (a Answer, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		conn, err := k.dial()
		if err == nil {
			err = link.WriteMessage(conn, opening{Attempt: r.Attempt, For: requests})
		}
		if err != nil {
			return a, fmt.Errorf("%w: %w", errDown, err)
		}
		k.conn = conn
	}
	k.conn.SetDeadline(time.Now().Add(askTime))
	if err = link.WriteMessage(k.conn, r); err == nil {
		err = link.ReadMessage(k.conn, &a)
	}
	if err != nil {
		k.conn.Close()
		k.conn = nil
		return a, err
	}
	if a.Down {
		return a, errDown
	}
	return a, nil
}

// insist makes a request until it is answered.
func (k *asker) insist(r Request, unless func() error) (Answer, error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		a, err := k.ask(r)
		if err == nil {
			return a, nil
		}
		if err := unless(); err != nil {
			return a, err
		}
		r.Again = r.Again || !errors.Is(err, errDown)
		time.Sleep(wait)
	}
}

// carry makes a request with files once, as ask does. Send writes what follows it, and receive reads what follows the
// answer; one of them is nil.
func (s State) carry(ctx context.Context, r Request, send func(io.Writer) error, receive func(io.Reader) error) (a Answer, err error) {
	conn, err := s.dial()
	if err != nil {
		return a, fmt.Errorf("%w: %w", errDown, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := link.WriteMessage(conn, opening{Attempt: r.Attempt, For: carries}); err != nil {
		return a, fmt.Errorf("%w: %w", errDown, err)
	}
	var way carried
	if err := link.ReadMessage(conn, &way); err != nil || way.Down {
		return a, errors.Join(errDown, err)
	}
	return exchange(conn, r, send, receive)
}

// exchange makes a request on a stream of its own.
func exchange(conn io.ReadWriter, r Request, send func(io.Writer) error, receive func(io.Reader) error) (a Answer, err error) {
	if err := link.WriteMessage(conn, r); err != nil {
		return a, err
	}
	var sent error
	if send != nil {
		body := link.NewBody(conn)
		if sent = send(body); sent != nil {
			body.Fail(sent.Error())
		} else if err := body.Close(); err != nil {
			return a, err
		}
	}
	if err := link.ReadMessage(conn, &a); err != nil {
		return a, errors.Join(sent, err)
	}
	if sent == nil && receive != nil && a.Failed == nil && !a.Gone {
		return a, receive(link.ReadBody(conn))
	}
	return a, sent
}

// err returns the error of an answer; nil for a good one.
func (a Answer) err() error {
	if a.Gone {
		return pool.ErrGone
	}
	return a.Failed.Err()
}

// Waits between two tries of a request.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 5 * time.Second
)

// follower tells a supervisor what the pilot knows of its claim.
type follower struct {
	state State
	of    pool.Attempt

	mu     sync.Mutex
	told   word      // the last word of the pilot
	gone   bool      // it said so once
	since  time.Time // since when there has been no pilot; zero: there is one
	closed bool
	conn   net.Conn
}

// follow begins to follow the claim of an attempt.
func (s State) follow(a pool.Attempt) *follower {
	f := &follower{state: s, of: a, since: time.Now()}
	go f.run()
	return f
}

// run reads what pilots say, one after the other.
func (f *follower) run() {
	for wait := firstWait; !f.over(); wait = min(2*wait, lastWait) {
		if f.read() {
			wait = firstWait
		}
		if !f.over() {
			time.Sleep(wait)
		}
	}
}

// read reads the pilot's words until they end, and reports whether there were any.
func (f *follower) read() (said bool) {
	conn, err := f.state.dial()
	if err != nil {
		return false
	}
	defer conn.Close()
	f.mu.Lock()
	f.conn, f.since = conn, time.Time{}
	closed := f.closed
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.since = time.Now()
		f.mu.Unlock()
	}()
	if closed || link.WriteMessage(conn, opening{Attempt: f.of, For: follows}) != nil {
		return false
	}
	for {
		var w word
		if link.ReadMessage(conn, &w) != nil {
			return said
		}
		said = true
		f.mu.Lock()
		f.told, f.gone = w, f.gone || w.Gone
		f.mu.Unlock()
	}
}

func (f *follower) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// look returns the last word of the pilot, and for how long there has been no pilot. Once Gone, w stays
// Gone.
func (f *follower) look() (w word, without time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w = f.told
	w.Gone = f.gone
	if !f.since.IsZero() {
		without = time.Since(f.since)
	}
	return w, without
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.conn != nil {
		f.conn.Close()
	}
}

// isOurs reports whether the process at the other end of a socket has our rights, or root's.
func isOurs(conn net.Conn) bool {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	ours := false
	raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		ours = err == nil && (int(peer.Uid) == os.Geteuid() || peer.Uid == 0)
	})
	return ours
}
