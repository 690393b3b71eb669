package classad

import (
	"errors"
	"io"
	"slices"
)

// maxAdText is how many bytes the text of one ad may have.
// Real ads have a few ten thousand; without a limit one hostile ad, or one
// string that never ends, would be read until the memory is full.
// Tests make it less.
var maxAdText = 64 << 20

const readSize = 64 << 10

var errTooLong = errors.New("an ad of more than 64 MB")

// window reads a stream and holds only the piece of it that is looked at.
type window struct {
	r     io.Reader
	buf   []byte
	at    int   // the next byte, in buf
	keep  int   // the first byte still needed, in buf; -1: the next one
	base  int64 // where in the stream buf begins
	limit int64 // where in the stream the reading must stop; 0: nowhere
	err   error // why there is nothing more to read
}

// offset returns where in the stream the next byte is.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// more reads on. It moves the bytes in buf, so that at and keep are others
// afterwards; false means that nothing was read, see overlong and err.
func (w *window) more() bool {
	if w.err != nil || w.overlong() {
		return false
	}
	w.slide()
	if cap(w.buf)-len(w.buf) < readSize/2 {
		w.buf = slices.Grow(w.buf, max(readSize, len(w.buf)))
	}
	for range maxIdleReads {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf, w.err = w.buf[:len(w.buf)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	w.err = io.ErrNoProgress
	return false
}

// slide forgets what is no longer needed.
func (w *window) slide() {
	from := w.keep
	if from < 0 {
		from = w.at
	} else {
		w.keep = 0
	}
	w.base += int64(from)
	w.at -= from
	w.buf = w.buf[:copy(w.buf, w.buf[from:])]
}

// overlong reports whether the limit keeps more from reading.
func (w *window) overlong() bool { return w.limit > 0 && w.base+int64(len(w.buf)) >= w.limit }

// atEnd reports whether the stream is read to its end, or to its error.
func (w *window) atEnd() bool { return w.at >= len(w.buf) && !w.more() }

// peek returns the next byte, 0 at the end and at the limit.
func (w *window) peek() byte {
	if w.at < len(w.buf) || w.more() {
		return w.buf[w.at]
	}
	return 0
}

// ReadByte makes a window what an XML decoder reads from without a buffer of
// its own.
func (w *window) ReadByte() (byte, error) {
	if w.at >= len(w.buf) && !w.more() {
		if w.err == nil {
			return 0, errTooLong
		}
		return 0, w.err
	}
	c := w.buf[w.at]
	w.at++
	return c, nil
}

// Read is there because a decoder wants an io.Reader. It reads by ReadByte.
func (w *window) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := w.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}
