package link

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/yamux"
)

// Protocol is the number of the protocol. Ends with different numbers refuse each other.
const Protocol = 1

const (
	// greeting begins the line that either end writes first; the protocol's number and the version follow.
	greeting = "fairspool-link "
	// mostNoise bounds what may stand before a greeting.
	mostNoise = 64 << 10
	// longestGreeting bounds the greeting's line.
	longestGreeting = 200
	// window is how much of a stream may be on its way: enough for 1 GB/s at 4 ms, or 40 MB/s at 100 ms.
	window = 4 << 20
)

// Settings are a link's settings.
type Settings struct {
	// Version is this program's, for the messages of the other end.
	Version string
	// First says that this end has opened the pipe. It is true of one end.
	First bool
	// Patience is how long the other end may take to greet, to answer a ping or to take data.
	Patience time.Duration
	// Every is how often a ping is sent.
	Every time.Duration
}

// Link is one end of a pipe to another process. Its methods may be called at the same time.
type Link struct {
	session *yamux.Session
	// Version is the version of the program at the other end.
	Version string
}

// VersionError says that the other end speaks another protocol.
type VersionError struct {
	Protocol int    // of the other end
	Version  string // of the program there
}

func (e *VersionError) Error() string {
	age := "newer"
	if e.Protocol < Protocol {
		age = "older"
	}
	return fmt.Sprintf("the other end is fairspool %s, which is %s (link %d, here %d): install the same version at both ends", e.Version, age, e.Protocol, Protocol)
}

// New greets the other end of a pipe and returns the link. Closing the pipe has to end a Read of it. After an error,
// which is a *VersionError where the other end speaks another protocol, the pipe is closed.
func New(pipe io.ReadWriteCloser, s Settings) (*Link, error) {
	late := time.AfterFunc(s.Patience, func() { pipe.Close() })
	in := bufio.NewReaderSize(pipe, 64<<10)
	sent := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(pipe, "\n%s%d %s\n", greeting, Protocol, s.Version)
		sent <- err
	}()
	protocol, version, err := readGreeting(in)
	greeted := err == nil
	if greeted && protocol != Protocol {
		err = &VersionError{protocol, version}
	}
	if err == nil {
		if err = <-sent; err != nil {
			err = broken(err)
		}
	}
	if !late.Stop() && !greeted {
		err = fmt.Errorf("the other end has not greeted for %v", s.Patience)
	}
	if err != nil {
		pipe.Close()
		return nil, err
	}
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	c.KeepAliveInterval, c.ConnectionWriteTimeout, c.StreamOpenTimeout = s.Every, s.Patience, s.Patience
	c.MaxStreamWindowSize = window
	buffered := &pipeReader{in, pipe}
	l := &Link{Version: version}
	if s.First {
		l.session, err = yamux.Client(buffered, c)
	} else {
		l.session, err = yamux.Server(buffered, c)
	}
	if err != nil {
		pipe.Close()
		return nil, err
	}
	return l, nil
}

// pipeReader is a pipe with a part that was read ahead.
type pipeReader struct {
	in *bufio.Reader
	io.WriteCloser
}

func (p *pipeReader) Read(b []byte) (int, error) { return p.in.Read(b) }

// readGreeting reads up to the end of the other end's greeting.
func readGreeting(in *bufio.Reader) (protocol int, version string, err error) {
	var noise []byte
	for len(noise) < mostNoise {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if text, is := bytes.CutPrefix(line, []byte(greeting)); is && err == nil && len(line) <= longestGreeting {
			number, version, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
			if n, err := strconv.Atoi(number); err == nil && n > 0 {
				return n, version, nil
			}
		}
		noise = append(noise, line...)
		if err != nil {
			return 0, "", noGreeting(noise, err)
		}
	}
	return 0, "", noGreeting(noise, errors.New("too much else"))
}

// noGreeting says what came in the greeting's place.
func noGreeting(noise []byte, err error) error {
	text := strings.TrimSpace(string(noise))
	switch {
	case text == "" && errors.Is(err, io.EOF):
		return errors.New("the other end has ended without a greeting")
	case text == "":
		return fmt.Errorf("no greeting of the other end: %w", err)
	}
	if first, _, more := strings.Cut(text, "\n"); more {
		text = first
	}
	return fmt.Errorf("the other end is not fairspool: it says %.200q", text)
}

// Open opens a stream to the other end, which returns it from Accept.
func (l *Link) Open() (net.Conn, error) {
	s, err := l.session.OpenStream()
	if err != nil {
		return nil, broken(err)
	}
	return s, nil
}

// Accept waits for a stream that the other end opens.
func (l *Link) Accept() (net.Conn, error) {
	s, err := l.session.AcceptStream()
	if err != nil {
		return nil, broken(err)
	}
	return s, nil
}

// ErrBroken says that a link has ended.
var ErrBroken = errors.New("the link is broken")

func broken(err error) error {
	if errors.Is(err, yamux.ErrSessionShutdown) || errors.Is(err, io.EOF) {
		return ErrBroken
	}
	return fmt.Errorf("%w: %v", ErrBroken, err) // not %w: EPIPE is for a reader of standard output that is gone
}

// Done is closed when the link has ended, by Close or since the other end is gone.
func (l *Link) Done() <-chan struct{} { return l.session.CloseChan() }

// Close ends the link and all its streams.
func (l *Link) Close() error { return l.session.Close() }

// Carry carries bytes both ways between a connection and a stream until either end is gone, and closes both.
func Carry(conn, stream net.Conn) {
	const buffer = 256 << 10
	go func() {
		io.CopyBuffer(onlyWriter{stream}, onlyReader{conn}, make([]byte, buffer))
		stream.Close()
	}()
	io.CopyBuffer(onlyWriter{conn}, onlyReader{stream}, make([]byte, buffer))
	conn.Close()
}

type (
	onlyWriter struct{ io.Writer } // hides methods that choose a buffer of their own
	onlyReader struct{ io.Reader }
)
