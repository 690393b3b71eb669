package link

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// LongestMessage bounds a message, in bytes: the ads of a job and its slot, or the claims of a machine.
	LongestMessage = 32 << 20
	// chunk is how much of a body one chunk has at most.
	chunk = 256 << 10
	// failed stands in the place of a chunk's length before the reason why a body breaks off.
	failed = 1<<32 - 1
	// longestReason bounds that reason.
	longestReason = 8 << 10
)

// WriteMessage writes a value as a message.
func WriteMessage(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteText(w, text)
}

// ReadMessage reads a message into a value. io.EOF: the stream ended before it.
func ReadMessage(r io.Reader, v any) error {
	text, err := ReadText(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// WritePacket writes a tag and bytes, as ReadPacket reads them.
func WritePacket(w io.Writer, tag uint32, text []byte) error {
	if len(text) > LongestMessage {
		return fmt.Errorf("a message of %d bytes: at most %d can be sent", len(text), LongestMessage)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(text)), tag)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return write(w, append(b, text...))
}

// write writes bytes by chunks: a stream keeps memory for the largest piece that it was given.
func write(w io.Writer, b []byte) error {
	for piece := range slices.Chunk(b, chunk) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// ReadPacket reads what WritePacket wrote. io.EOF: there is nothing more.
func ReadPacket(r io.Reader) (tag uint32, text []byte, err error) {
	if tag, err = readLength(r); err != nil {
		return 0, nil, err
	}
	if text, err = ReadText(r); err != nil {
		return 0, nil, cut(err)
	}
	return tag, text, nil
}

// WriteText writes the bytes of a message.
func WriteText(w io.Writer, text []byte) error {
	if len(text) > LongestMessage {
		return fmt.Errorf("a message of %d bytes: at most %d can be sent", len(text), LongestMessage)
	}
	return write(w, append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...))
}

// ReadText reads the bytes of a message. io.EOF: the stream ended before it.
func ReadText(r io.Reader) ([]byte, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	if n > LongestMessage {
		return nil, fmt.Errorf("a message of %d bytes, and at most %d are taken", n, LongestMessage)
	}
	return readAll(r, int(n))
}

// readAll reads n bytes. Its memory grows with the bytes received, and not with a claimed length.
func readAll(r io.Reader, n int) ([]byte, error) {
	text := make([]byte, 0, min(n, chunk))
	for len(text) < n {
		at := len(text)
		text = append(text, make([]byte, min(n-at, chunk))...)
		if _, err := io.ReadFull(r, text[at:]); err != nil {
			return nil, cut(err)
		}
	}
	return text, nil
}

// cut turns the end of a stream in the middle of something into an error.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readLength(r io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// Body writes what follows a message: any number of bytes.
type Body struct {
	w io.Writer
	b []byte // the next chunk, behind room for its length
}

// NewBody returns a body that is written to w. It ends with Close, or with Fail.
func NewBody(w io.Writer) *Body { return &Body{w, make([]byte, 4, 4+chunk)} }

func (b *Body) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		k := min(len(p), cap(b.b)-len(b.b))
		b.b = append(b.b, p[:k]...)
		n, p = n+k, p[k:]
		if len(b.b) == cap(b.b) {
			err = b.flush()
		}
	}
	return n, err
}

func (b *Body) flush() error {
	if len(b.b) == 4 {
		return nil
	}
	binary.BigEndian.PutUint32(b.b, uint32(len(b.b)-4))
	_, err := b.w.Write(b.b)
	b.b = b.b[:4]
	return err
}

// Close writes the rest, and that this is all.
func (b *Body) Close() error {
	err := b.flush()
	if err == nil {
		_, err = b.w.Write([]byte{0, 0, 0, 0})
	}
	return err
}

// Fail breaks the body off: its reader gets a *BodyError with that text.
func (b *Body) Fail(why string) error {
	why = why[:min(len(why), longestReason)]
	end := binary.BigEndian.AppendUint32(nil, failed)
	end = binary.BigEndian.AppendUint32(end, uint32(len(why)))
	_, err := b.w.Write(append(end, why...))
	return err
}

// BodyError says why the other end broke off a body.
type BodyError struct{ Why string }

func (e *BodyError) Error() string { return e.Why }

// ReadBody returns a reader of a body. io.EOF is the end of a whole body, io.ErrUnexpectedEOF of a
// cut one.
func ReadBody(r io.Reader) io.Reader { return &bodyReader{r: r} }

type bodyReader struct {
	r    io.Reader
	left int // of the chunk
	err  error
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.left == 0 && b.err == nil {
		b.err = b.next()
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil && (n == 0 || b.left > 0) {
		b.err = cut(err)
	}
	if n > 0 {
		err = nil
	}
	if n == 0 && err != nil {
		err = b.err
	}
	return n, err
}

// next reads the length of the next chunk.
func (b *bodyReader) next() error {
	n, err := readLength(b.r)
	switch {
	case err != nil:
		return cut(err)
	case n == 0:
		return io.EOF
	case n <= chunk:
		b.left = int(n)
		return nil
	case n != failed:
		return fmt.Errorf("a chunk of %d bytes, and at most %d are taken", n, chunk)
	}
	if n, err = readLength(b.r); err != nil {
		return cut(err)
	}
	why, err := readAll(b.r, int(min(n, longestReason)))
	if err != nil {
		return err
	}
	return &BodyError{string(why)}
}
