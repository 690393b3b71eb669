package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// pastReader reads a month's history backwards, a piece at a time. The ads end
// with a blank line each.
type pastReader struct {
	file    file
	name    string
	end     int64 // behind what is still to come
	shorter bool  // than recorded: somebody took some of it away
	begun   bool
	piece   int // how many bytes were read the last time
	buffer  []byte
}

const (
	firstPiece = 64 << 10 // enough for a few ads, and most ask for a few
	mostPiece  = 4 << 20
)

// adEnd stands behind the last line of an ad.
var adEnd = []byte("\n\n")

// block is the lines of an ad, with the newline before the first.
type block struct {
	at   int64 // where the first line begins
	text []byte
}

// before returns the ads of the piece before those that were returned, in the
// order of the file, until the next call. None: that was all.
func (r *pastReader) before() ([]block, error) {
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	if r.end == 0 {
		return nil, nil
	}
	if r.piece = min(2*r.piece, mostPiece); r.piece == 0 {
		r.piece = firstPiece
	}
	for ; ; r.piece *= 2 {
		from := max(r.end-int64(r.piece), 0)
		if err := r.read(from); err != nil {
			return nil, err
		}
		if blocks := r.split(from); len(blocks) > 0 {
			r.end = blocks[0].at
			return blocks, nil
		}
		if from == 0 || r.piece > dumpedAd {
			return nil, r.damaged(from, 0, fmt.Errorf("an ad of more than %d bytes, or none", r.piece))
		}
	}
}

// begin sees that the last ad is whole. Of a file that was made shorter what is
// left counts: the ads that are whole.
func (r *pastReader) begin() error {
	for want := int64(len(adEnd)); ; want = min(max(2*want, firstPiece), r.end) {
		if r.end == 0 {
			return nil
		}
		from := max(r.end-want, 0)
		if err := r.read(from); err != nil {
			return err
		}
		text := r.buffer[1:]
		switch i := bytes.LastIndex(text, adEnd); {
		case i >= 0 && i+len(adEnd) == len(text):
			return nil
		case !r.shorter:
			return r.damaged(r.end, 0, errors.New("the last ad has no end"))
		case i >= 0:
			r.end = from + int64(i+len(adEnd))
			return nil
		case from == 0:
			r.end = 0
		case want > dumpedAd:
			return r.damaged(from, 0, fmt.Errorf("an ad of more than %d bytes", want))
		}
	}
}

// read reads from there up to the end into the buffer, behind a newline, so that
// each line has one before it.
func (r *pastReader) read(from int64) error {
	n := int(r.end - from)
	if cap(r.buffer) < n+1 {
		r.buffer = make([]byte, n+1)
	}
	r.buffer = r.buffer[:n+1]
	r.buffer[0] = '\n'
	got, err := r.file.ReadAt(r.buffer[1:], from)
	if got == n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = r.damaged(r.end, 0, fmt.Errorf("%d bytes are missing at the end", n-got))
	}
	return err
}

// split returns the whole ads of the buffer, which stands at from in the file. What
// stands before the first end of an ad belongs to an ad that may begin earlier.
func (r *pastReader) split(from int64) (blocks []block) {
	at := 0
	if from > 0 {
		i := bytes.Index(r.buffer[1:], adEnd)
		if i < 0 {
			return nil
		}
		at = 1 + i + 1
	}
	for at+1 < len(r.buffer) {
		end := at + 1 // of nothing, where a blank line stands that ends no ad
		if r.buffer[at+1] != '\n' {
			i := bytes.Index(r.buffer[at+1:], adEnd)
			if i < 0 {
				return nil
			}
			end += i + 1
		}
		blocks = append(blocks, block{from + int64(at), r.buffer[at:end:end]})
		at = end
	}
	return blocks
}

// damaged says that what stands so many lines behind a place of the file cannot
// be.
func (r *pastReader) damaged(at int64, lines int, why error) error {
	line := 1 + lines
	b := make([]byte, 64<<10)
	for from := int64(0); from < at; {
		n, err := r.file.ReadAt(b[:min(int64(len(b)), at-from)], from)
		line += bytes.Count(b[:n], newline)
		from += int64(n)
		if err != nil {
			break
		}
	}
	return &DamageError{r.name, line, why.Error()}
}
