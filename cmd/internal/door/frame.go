package door

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxFrame bounds the payload of a frame, in bytes.
const MaxFrame = 256 << 10

// The letters of frames; the package page says what they mean.
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

// Version is that of the protocol. A caller and a serve of different versions do not talk.
const Version = 1

// SocketName is the name of the socket in the spool.
const SocketName = "door"

// Request is what a caller wants run.
type Request struct {
	Version int
	Command string   // its name
	Args    []string // without the name
	// Environment has those of Variables that the caller has, as NAME=value.
	Environment []string
	// Width and Height are the size of the caller's terminal in characters, 0 without a terminal.
	Width, Height int
	// OutTerminal and ErrTerminal report whether standard output and error are terminals.
	OutTerminal, ErrTerminal bool
	// InTerminal reports whether standard input is one: the caller's end reads its keys.
	InTerminal bool
}

// Variables are those of the environment that a command heeds for a caller.
var Variables = []string{"COLUMNS", "LINES", "NO_COLOR", "TZ", "FAIRSPOOL_QSTAT"}

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
	if len(r.Args) > maxArgs || r.Width < 0 || r.Width > maxSide || r.Height < 0 || r.Height > maxSide {
		return r, errors.New("not a request: out of bounds")
	}
	return r, nil
}
