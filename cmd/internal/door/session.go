package door

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is how long serve waits for a caller to say or take something.
const Patience = 30 * time.Second

// FirstWord is how long serve gives a caller for its request, which is sent at once.
const FirstWord = 10 * time.Second

// maxQueued bounds the queue for a caller, in bytes; a command with more output waits for
// the caller. Only lists are that long, which are printed without a lock.
const maxQueued = 64 << 20

// pieceSize is about how many bytes are queued in one piece: growing a piece to the size of a long list
// would copy it again and again.
const pieceSize = 512 << 10

// MaxContents bounds a file that a caller sends, in bytes.
const MaxContents = 256 << 20

// Session is one caller's request at serve's end.
type Session struct {
	Peer    Peer
	Request Request

	conn *net.UnixConn
	gone func()         // is called when the caller has gone or was given up
	dead chan struct{}  // closed then
	ends sync.WaitGroup // what reads and what writes

	mu      sync.Mutex
	queued  [][]byte   // of about pieceSize bytes each, except the last
	size    int        // of queued, in bytes
	spare   [][]byte   // pieces that were written, for further ones
	changed *sync.Cond // of queued and of idle
	idle    bool       // the writer has written all that was queued
	over    bool       // the exit status is queued
	closed  bool
	open    *question // nil: the caller is asked nothing
	first   *question // Request.First's, until it is asked
}

// question is the question that the caller is answering.
type question struct {
	answers chan frame
	over    chan struct{} // closed when no further answer is wanted
	whole   bool          // all of the answer has come: what comes behind it answers nothing
}

// ahead is how many frames of an answer are kept for a command that does not wait for them yet.
const ahead = 64

func newQuestion() *question {
	return &question{answers: make(chan frame, ahead), over: make(chan struct{})}
}

type frame struct {
	kind    byte
	payload []byte
}

// Begin reads the request of a caller, which has the time within for it; 0: unlimited. If it refuses the caller, it
// sends the reason, and returns that as an error, too. From then on gone is called when the caller has gone or breaks
// the limits; it ends the process.
func Begin(c *net.UnixConn, within time.Duration, gone func()) (*Session, error) {
	s := &Session{conn: c, gone: gone, dead: make(chan struct{}), idle: true}
	s.changed = sync.NewCond(&s.mu)
	in := bufio.NewReader(c)
	if err := s.begin(in, within); err != nil {
		c.SetWriteDeadline(time.Now().Add(FirstWord))
		c.Write(appendFrame(appendFrame(nil, kindErr, []byte("fairspool: "+err.Error()+"\n")), kindStatus, []byte("1")))
		return nil, err
	}
	s.ends.Go(s.write)
	s.ends.Go(func() { s.read(in) })
	return s, nil
}

func (s *Session) begin(in *bufio.Reader, within time.Duration) (err error) {
	if s.Peer, err = peerOf(s.conn); err != nil {
		return fmt.Errorf("who calls: %w", err)
	}
	if within > 0 {
		s.conn.SetReadDeadline(time.Now().Add(within))
	}
	kind, text, err := readFrame(in)
	switch {
	case err != nil:
		return fmt.Errorf("the request: %w", err)
	case kind != kindRequest:
		return fmt.Errorf("the request: a frame %q", kind)
	}
	s.Request, err = parseRequest(text)
	s.conn.SetReadDeadline(time.Time{})
	if s.Request.First != nil {
		s.first = newQuestion()
		s.open = s.first
	}
	return err
}

// read reads the caller's frames until it has gone, or all are read.
func (s *Session) read(in *bufio.Reader) {
	for {
		kind, payload, err := readFrame(in)
		if err == nil && !s.isOver() && s.heed(kind, payload) {
			continue
		}
		if !s.isOver() { // it may have become so meanwhile
			s.giveUp()
		}
		return
	}
}

// heed handles a frame, and reports whether the caller may send it now.
func (s *Session) heed(kind byte, payload []byte) bool {
	switch kind {
	case kindSignal:
		n, err := strconv.Atoi(string(payload))
		return err == nil && (n == int(unix.SIGINT) || n == int(unix.SIGTERM)) && unix.Kill(os.Getpid(), unix.Signal(n)) == nil
	case kindBusy: // before it is asked, too
		s.deliver(frame{kind, payload})
		return true
	case kindContents, kindFailed, kindWritten, kindAnswer:
		return s.deliver(frame{kind, payload})
	}
	return false
}

// giveUp ends the session without an answer.
func (s *Session) giveUp() {
	s.mu.Lock()
	if !s.givenUp() {
		close(s.dead)
		s.changed.Broadcast()
	}
	s.mu.Unlock()
	s.gone()
}

// givenUp reports whether the caller was given up.
func (s *Session) givenUp() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// deliver hands a frame to the open question, and reports whether a question was open.
func (s *Session) deliver(f frame) bool {
	s.mu.Lock()
	q := s.open
	late := q == nil || q.whole
	if !late && f.kind != kindBusy {
		q.whole = len(f.payload) == 0 || f.kind == kindFailed || f.kind == kindWritten
	}
	s.mu.Unlock()
	if late {
		return false
	}
	select {
	case q.answers <- f:
		return true
	case <-q.over:
		return false
	}
}

// write sends the queue.
func (s *Session) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queued) == 0 {
			s.idle = true
			s.changed.Broadcast()
			if s.closed || s.givenUp() {
				return
			}
			s.changed.Wait()
		}
		s.idle = false
		piece := s.queued[0]
		s.queued, s.size = s.queued[1:], s.size-len(piece)
		s.changed.Broadcast()
		s.mu.Unlock()
		err := s.send(piece)
		s.mu.Lock()
		if err != nil {
			s.mu.Unlock()
			s.giveUp()
			s.mu.Lock()
			return
		}
		if cap(piece) >= pieceSize && cap(piece) < 2*pieceSize {
			s.spare = append(s.spare, piece[:0])
		}
	}
}

// send writes to the caller, which takes some of it within Patience each time.
func (s *Session) send(b []byte) error {
	for len(b) > 0 {
		s.conn.SetWriteDeadline(time.Now().Add(Patience))
		n, err := s.conn.Write(b[:min(len(b), MaxFrame)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// queue queues frames for the caller. If the caller waits for some, they are sent at
// once.
func (s *Session) queue(awaited bool, add func(b []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size > maxQueued && !s.givenUp() {
		s.changed.Wait()
	}
	last := len(s.queued) - 1
	switch {
	case last >= 0 && len(s.queued[last]) < pieceSize:
	case last < 0: // of most calls it is the only one, and short
		s.queued, last = append(s.queued, nil), 0
	case len(s.spare) > 0:
		n := len(s.spare) - 1
		s.queued, s.spare, last = append(s.queued, s.spare[n]), s.spare[:n], last+1
	default:
		s.queued, last = append(s.queued, make([]byte, 0, pieceSize+MaxFrame+headSize)), last+1
	}
	was := len(s.queued[last])
	s.queued[last] = add(s.queued[last])
	s.size += len(s.queued[last]) - was
	if awaited && s.idle && s.sendAtOnce() {
		return
	}
	s.changed.Broadcast()
}

// sendAtOnce sends the one queued piece without waiting for the caller, and reports whether that was all:
// waking write for it takes longer. The rest, and an error, are left to write.
func (s *Session) sendAtOnce() bool {
	piece := s.queued[0]
	n := 0
	raw, err := s.conn.SyscallConn()
	if err == nil {
		err = raw.Write(func(fd uintptr) bool {
			n, err = unix.Write(int(fd), piece)
			return true
		})
	}
	n = max(n, 0)
	s.size -= n
	if n < len(piece) || err != nil {
		s.queued[0] = piece[n:]
		return false
	}
	s.queued = s.queued[1:]
	return true
}

// flush waits until the caller has taken all that was queued.
func (s *Session) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for (len(s.queued) > 0 || !s.idle) && !s.givenUp() {
		s.changed.Wait()
	}
}

// isOver reports whether the exit status is on its way: then the caller may go.
func (s *Session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// End sends the exit status, and closes the connection when the caller has taken all.
func (s *Session) End(status int) {
	s.queue(true, func(b []byte) []byte {
		s.over = true
		return appendFrame(b, kindStatus, strconv.AppendInt(nil, int64(status), 10))
	})
	s.flush()
	s.mu.Lock()
	s.closed = true
	if s.first != nil {
		close(s.first.over)
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.conn.Close()
	s.ends.Wait()
}

// Stdout and Stderr return the command's view of the caller's standard output and error.
func (s *Session) Stdout() io.Writer { return stream{s, kindOut, s.Request.OutTerminal} }

// Stderr does as Stdout.
func (s *Session) Stderr() io.Writer { return stream{s, kindErr, s.Request.ErrTerminal} }

// stream is one of the caller's.
type stream struct {
	session  *Session
	kind     byte
	terminal bool
}

// Write queues text for the caller. It never fails: a caller that takes nothing is given up.
func (t stream) Write(text []byte) (int, error) {
	for part := range slices.Chunk(text, MaxFrame) {
		t.session.queue(false, func(b []byte) []byte { return appendFrame(b, t.kind, part) })
	}
	return len(text), nil
}

// Terminal reports whether the stream is a terminal at the caller's end, and how wide and high it is.
func (t stream) Terminal() (width, height int, is bool) {
	r := t.session.Request
	return r.Width, r.Height, t.terminal
}

// asking sends frames, and calls take with the caller's answers until take reports that it has all.
func (s *Session) asking(add func(b []byte) []byte, take func(frame) (done bool, err error)) error {
	q, err := s.pose(add)
	if err != nil {
		return err
	}
	return s.answered(q, take)
}

// pose sends frames that ask a question.
func (s *Session) pose(add func(b []byte) []byte) (*question, error) {
	q := newQuestion()
	s.mu.Lock()
	if s.open != nil {
		s.mu.Unlock()
		return nil, errors.New("the caller is asked while it answers something else")
	}
	s.open = q
	s.mu.Unlock()
	s.queue(true, add)
	return q, nil
}

// answered calls take with the caller's answers to a question until take reports that it has all.
func (s *Session) answered(q *question, take func(frame) (done bool, err error)) error {
	defer func() {
		s.mu.Lock()
		s.open = nil
		s.mu.Unlock()
		close(q.over)
	}()
	for {
		select {
		case f := <-q.answers:
			if f.kind == kindBusy {
				continue
			}
			if done, err := take(f); done || err != nil {
				return err
			}
		case <-time.After(Patience):
			s.giveUp()
			return errors.New("the caller does not answer")
		case <-s.dead:
			return errors.New("the caller has gone")
		}
	}
}

// errOutOfTurn says that the caller's answer fits no question.
var errOutOfTurn = errors.New("the caller's answer is of another kind than the question")

// contents gathers what frames of one letter bring in answer to a question.
func (s *Session) contents(kind byte, q *question) (text []byte, err error) {
	err = s.answered(q, func(f frame) (bool, error) {
		switch {
		case f.kind == kindFailed:
			return true, errors.New(strings.ToValidUTF8(string(f.payload), "?"))
		case f.kind != kind:
			return true, errOutOfTurn
		case len(text)+len(f.payload) > MaxContents:
			return true, fmt.Errorf("longer than %d MB", MaxContents>>20)
		}
		text = append(text, f.payload...)
		return len(f.payload) == 0, nil
	})
	return text, err
}

// ReadFile returns the contents of a file that the caller's command line names; - is its standard input.
func (s *Session) ReadFile(name string) ([]byte, error) {
	q, err := s.pose(func(b []byte) []byte { return appendFrame(b, kindRead, []byte(name)) })
	if err != nil {
		return nil, err
	}
	return s.contents(kindContents, q)
}

// WriteFile has the caller write a file that its command line names, as a whole or not at all. It
// returns how many bytes the file has.
func (s *Session) WriteFile(name string, mode fs.FileMode, text []byte) (n int64, err error) {
	err = s.asking(func(b []byte) []byte {
		b = appendFrame(b, kindWrite, fmt.Appendf(nil, "%o %s", mode.Perm(), name))
		return appendAll(b, kindContents, text)
	}, func(f frame) (bool, error) {
		switch f.kind {
		case kindFailed:
			return true, errors.New(strings.ToValidUTF8(string(f.payload), "?"))
		case kindWritten:
			n, err = strconv.ParseInt(string(f.payload), 10, 64)
			return true, err
		}
		return true, errOutOfTurn
	})
	return n, err
}

// Ask asks the caller's command a question, as JSON, and returns what waits for its answer and reads that. The
// answer to Request.First is there, or on its way.
func (s *Session) Ask(asked any) (answer func(to any) error, err error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	q := s.first
	if bytes.Equal(text, s.Request.First) {
		s.first = nil
	} else {
		q = nil
	}
	s.mu.Unlock()
	if q == nil {
		if q, err = s.pose(func(b []byte) []byte { return appendFrame(b, kindAsk, text) }); err != nil {
			return nil, err
		}
	}
	return func(to any) error {
		text, err := s.contents(kindAnswer, q)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("the caller's answer: %w", err)
		}
		return nil
	}, nil
}

// MaxFrame bounds the payload of a frame, in bytes.
const MaxFrame = 256 << 10

// The letters of frames; the package page explains them.
const (
	kindRequest  = 'q'
	kindContents = 'd'
	kindFailed   = 'f'
	kindWritten  = 'y'
	kindAnswer   = 'a'
	kindBusy     = 'p'
	kindSignal   = 'i'

	kindOut    = 'o'
	kindErr    = 'e'
	kindRead   = 'r'
	kindWrite  = 'w'
	kindAsk    = '?'
	kindStatus = 'x'
)

const headSize = 5

// appendFrame appends a frame to b.
func appendFrame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// appendAll appends a payload of any length as frames of one letter, which an empty one ends.
func appendAll(b []byte, kind byte, payload []byte) []byte {
	for len(payload) > 0 {
		n := min(len(payload), MaxFrame)
		b = appendFrame(b, kind, payload[:n])
		payload = payload[n:]
	}
	return appendFrame(b, kind, nil)
}

// readFrame returns the next frame. A connection that ends between two frames is io.EOF.
func readFrame(r *bufio.Reader) (kind byte, payload []byte, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes, at most %d", n, MaxFrame)
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return head[0], payload, nil
}

// Version is the version of the protocol. A caller and a serve of different versions do
// not talk.
const Version = 1

// SocketName is the name of the socket in the spool.
const SocketName = "door"

// Request is the caller's request for a command.
type Request struct {
	Version int
	Command string   // its name
	Args    []string // without the name
	// First is a question with its answer following the request; nil: none follows.
	First json.RawMessage `json:",omitempty"`
	// Ends are the arguments behind which all words are arguments, too: batch scripts.
	Ends []string
	// Environment has the caller's values of Variables, as NAME=value.
	Environment []string
	// Width and Height are the size of the caller's terminal in characters, 0 without a terminal.
	Width, Height int
	// OutTerminal and ErrTerminal report whether standard output and error are terminals.
	OutTerminal, ErrTerminal bool
	// InTerminal reports whether standard input is one: the caller's end reads its keys.
	InTerminal bool
}

// Variables are the variables of the environment that a command takes from a caller.
var Variables = []string{"COLUMNS", "LINES", "NO_COLOR", "TZ", "FAIRSPOOL_QSTAT", "SSH_ORIGINAL_COMMAND"}

// The bounds of a request.
const (
	maxArgs     = 10_000
	maxVariable = 256
	maxSide     = 10_000 // characters
)

// parseRequest reads and checks a request.
func parseRequest(text []byte) (r Request, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("not a request: %w", err)
	}
	if r.Version != Version {
		return r, fmt.Errorf("the caller's commands speak version %d of the door, and serve version %d: install the same fairspool for both", r.Version, Version)
	}
	for _, v := range r.Environment {
		name, value, _ := strings.Cut(v, "=")
		if !slices.Contains(Variables, name) || len(value) > maxVariable || strings.ContainsRune(value, 0) {
			return r, errors.New("not a request: a variable that no command heeds")
		}
	}
	if len(r.Args) > maxArgs || len(r.Ends) > maxArgs || r.Width < 0 || r.Width > maxSide || r.Height < 0 || r.Height > maxSide {
		return r, errors.New("not a request: out of bounds")
	}
	return r, nil
}
