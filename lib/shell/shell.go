// Package shell carries a terminal to a program that runs beside a job, and back: the shell of qshell.
//
// The end at the job (Serve) makes a pseudo-terminal with the rights of the job's owner, has a program started on it,
// and carries bytes; the end at the user's terminal (Attach) puts that into raw mode, so that ^C and ^Z reach the
// program. Between them is a stream of bytes, a Unix socket or one stream of a link (package link). The first message
// is a Request. Packets follow in both directions:
//
//	input, output   bytes of the terminal; no bytes of input: there is no more
//	size            rows and columns, when the window's size has changed
//	end             how the program has ended, the last one
//
// When the stream breaks, the pseudo-terminal is closed, and the kernel sends SIGHUP to the programs on it.
package shell

import (
	"encoding/binary"
	"encoding/json"
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
)

// Request is the program that the user wants to run.
type Request struct {
	Command    []string // empty: the user's shell
	Shell      string   // an absolute path
	Plain      bool     // the user has no terminal: the program gets none
	Term       string   // the kind of the terminal (TERM)
	Rows, Cols uint16   // of its window
}

// The tags of packets.
const (
	bytesOf uint32 = iota + 1 // of the terminal
	size
	end
)

// ended is the content of the packet end.
type ended struct {
	Status int    // as of wait: the exit status, 128 and the number of the signal
	Wrong  string `json:",omitempty"` // why nothing was started
}

// Bounds of data from the other end.
const (
	mostWords   = 1000
	mostText    = 128 << 10
	requestTime = 10 * time.Second
	drainTime   = 100 * time.Millisecond
)

// Address returns the address of the socket (package net, "unix") for requests of shells beside an attempt, by the name
// of the family of its processes. It is in no folder, and goes with the process that listens.
func Address(family string) string { return "@fairspool/shell/" + family }

// Peer returns the user id of the process at the other end of a Unix socket, as of when it connected or listened.
func Peer(conn net.Conn) (uid int, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, errors.New("not a Unix socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid = -1
	err = errors.Join(err, raw.Control(func(fd uintptr) {
		var who *unix.Ucred
		if who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(who.Uid)
		}
	}))
	return uid, err
}

// Starter starts the requested program, with all standard files on a terminal or a socket. The function that it returns
// waits for the program's end; a negative status says that the job's end was the program's.
type Starter func(r Request, stdio *os.File) (wait func() (status int), err error)

// Serve serves one request of a stream, which it closes. Open makes the pseudo-terminal: Terminal with the owner's rights.
func Serve(stream io.ReadWriteCloser, open func() (master, terminal *os.File, err error), start Starter) {
	defer stream.Close()
	late := time.AfterFunc(requestTime, func() { stream.Close() })
	r, err := readRequest(stream)
	late.Stop()
	if err != nil {
		return
	}
	out := &sender{to: stream}
	master, wait, err := r.begin(open, start)
	if err != nil {
		out.end(ended{Wrong: err.Error()})
		return
	}
	defer master.Close()
	go func() {
		r.carryIn(stream, master)
		master.Close() // hangs up
	}()
	carried := make(chan bool)
	go func() {
		defer close(carried)
		out.carry(master)
	}()
	status := wait()
	// The program's output is in the terminal already. Processes that it left behind may keep the terminal
	// open.
	master.SetReadDeadline(time.Now().Add(drainTime))
	<-carried
	if status >= 0 {
		out.end(ended{Status: status})
	}
}

func readRequest(stream io.Reader) (r Request, err error) {
	text, err := link.ReadText(io.LimitReader(stream, mostText))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && len(r.Command) > mostWords {
		err = errors.New("too many words")
	}
	return r, err
}

// begin makes the terminal and starts the program on it.
func (r Request) begin(open func() (master, terminal *os.File, err error), start Starter) (master *os.File, wait func() int, err error) {
	if r.Plain {
		open = pair
	}
	master, terminal, err := open()
	if err != nil {
		return nil, nil, fmt.Errorf("no terminal: %w", err)
	}
	defer terminal.Close()
	if r.Rows > 0 && r.Cols > 0 && !r.Plain {
		resize(master, r.Rows, r.Cols)
	}
	if wait, err = start(r, terminal); err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, wait, nil
}

// Terminal makes a pseudo-terminal (pty(7)) that belongs to the user whose rights to files the calling thread has.
// Reading the master respects deadlines, and ends when the master is closed.
func Terminal() (master, terminal *os.File, err error) {
	// Non-blocking from the start, and File.Fd is not called: that would end it.
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("/dev/ptmx", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, terminal, nil
}

// resize gives a terminal a size.
func resize(master *os.File, rows, cols uint16) {
	if raw, err := master.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}) })
	}
}

// pair returns two sockets that are connected.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // for deadlines
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// carryIn carries the user's input until the stream ends.
func (r Request) carryIn(stream io.Reader, master *os.File) {
	const endOfFile = "\x04" // ^D, as a terminal has it
	for {
		tag, text, err := link.ReadPacket(stream)
		switch {
		case err != nil:
			return
		case tag == bytesOf && len(text) == 0 && r.Plain:
			err = shutdown(master)
		case tag == bytesOf && len(text) == 0:
			_, err = io.WriteString(master, endOfFile)
		case tag == bytesOf:
			_, err = master.Write(text)
		case tag == size && len(text) == 4:
			resize(master, binary.BigEndian.Uint16(text), binary.BigEndian.Uint16(text[2:]))
		}
		if err != nil {
			return
		}
	}
}

// shutdown has the other end of a socket read the end.
func shutdown(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) }), err)
}

// sender writes packets. Its methods may be called at the same time.
type sender struct {
	mu sync.Mutex
	to io.Writer
}

func (s *sender) send(tag uint32, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return link.WritePacket(s.to, tag, text)
}

func (s *sender) end(e ended) {
	if text, err := json.Marshal(e); err == nil {
		s.send(end, text)
	}
}

// carry sends the content of a file until its end, or its deadline.
func (s *sender) carry(f *os.File) {
	b := make([]byte, 32<<10)
	for {
		n, err := f.Read(b)
		if n > 0 && s.send(bytesOf, b[:n]) != nil || err != nil {
			return
		}
	}
}
