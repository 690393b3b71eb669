package shell

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"fairspool/lib/link"
	"fairspool/lib/pool"
)

// ErrBroken: the stream ended before the program did, or with the job.
var ErrBroken = errors.New("the connection to the job has ended")

// Attach runs the requested program at the other end of a stream, on the terminal of in and out, and returns its exit
// status. Changes of the window's size are passed on. If in is no terminal, its end is the end of the program's input.
func Attach(stream io.ReadWriteCloser, in *os.File, out io.Writer, r Request) (status int, err error) {
	defer stream.Close()
	fd := int(in.Fd())
	isTerminal := term.IsTerminal(fd)
	r.Term, r.Plain = os.Getenv("TERM"), !isTerminal
	if cols, rows, err := term.GetSize(fd); isTerminal && err == nil {
		r.Rows, r.Cols = uint16(rows), uint16(cols)
	}
	to := &sender{to: stream}
	if err := link.WriteMessage(stream, r); err != nil {
		return 0, err
	}
	if isTerminal {
		before, err := term.MakeRaw(fd)
		if err != nil {
			return 0, err
		}
		defer term.Restore(fd, before)
		changed := make(chan os.Signal, 1)
		signal.Notify(changed, unix.SIGWINCH)
		defer signal.Stop(changed)
		go to.sizes(fd, changed)
	}
	lost := make(chan os.Signal, 1)
	signal.Notify(lost, unix.SIGHUP, unix.SIGTERM)
	defer signal.Stop(lost)
	go func() {
		<-lost
		stream.Close()
	}()
	go func() {
		to.carry(in)
		to.send(bytesOf, nil)
	}()
	return receive(stream, out)
}

// sizes tells the other end of each change of the window's size.
func (s *sender) sizes(fd int, changed <-chan os.Signal) {
	for range changed {
		cols, rows, err := term.GetSize(fd)
		if err != nil {
			continue
		}
		b := binary.BigEndian.AppendUint16(nil, uint16(rows))
		if s.send(size, binary.BigEndian.AppendUint16(b, uint16(cols))) != nil {
			return
		}
	}
}

// receive writes the program's output, until it has ended.
func receive(stream io.Reader, out io.Writer) (status int, err error) {
	for {
		tag, text, err := link.ReadPacket(stream)
		switch {
		case err != nil:
			return 0, ErrBroken
		case tag == bytesOf:
			if _, err := out.Write(text); err != nil {
				return 0, err
			}
		case tag == end:
			var e ended
			if err := json.Unmarshal(text, &e); err != nil {
				return 0, err
			}
			if e.Wrong != "" {
				return 0, errors.New(e.Wrong)
			}
			return e.Status, nil
		}
	}
}

// Through names, for the process at the other end of a stream, the attempt beside which the shell is to run; that
// process has a link to the attempt's machine. Attach comes next.
func Through(stream io.Writer, a pool.Attempt) error { return link.WriteMessage(stream, a) }
