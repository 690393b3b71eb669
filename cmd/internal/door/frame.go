package door

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
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
