package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// lineReader reads lines and sums them up.
type lineReader struct {
	from *bufio.Reader
	sum  uint32 // CRC-32C of what was read
	n    int    // lines
	torn bool   // the last line read has no newline
	long []byte // a line that the buffer has no room for
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(r, 64<<10)}
}

// next returns a line without its newline, until the next call; io.EOF at the
// end.
func (r *lineReader) next() ([]byte, error) {
	line, err := r.piece()
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if line, err = r.piece(); len(r.long)+len(line) > dumpedAd {
				return nil, fmt.Errorf("a line longer than %d bytes", dumpedAd)
			}
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	r.n++
	line, whole := bytes.CutSuffix(line, newline)
	r.torn = !whole
	return line, nil
}

func (r *lineReader) piece() ([]byte, error) {
	b, err := r.from.ReadSlice('\n')
	r.sum = crc32.Update(r.sum, castagnoli, b)
	return b, err
}

// lines collects lines that a reader does not keep.
type lines struct {
	all  []byte
	ends []int
}

func (l *lines) add(line []byte) {
	l.all = append(l.all, line...)
	l.ends = append(l.ends, len(l.all))
}

func (l *lines) clear() { l.all, l.ends = l.all[:0], l.ends[:0] }

// split returns the lines, until more are added.
func (l *lines) split() [][]byte {
	list := make([][]byte, len(l.ends))
	from := 0
	for i, end := range l.ends {
		list[i] = l.all[from:end]
		from = end
	}
	return list
}
