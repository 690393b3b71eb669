package spool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// pastReader reads a month's history backwards, a piece at a time, and holds each
// piece to the checksum that the footer behind it, or the journal, has of it.
type pastReader struct {
	file   file
	name   string
	end    int64  // behind what is still to come
	crc    uint32 // of the file up to there
	piece  int    // how many bytes were read the last time
	buffer []byte // a newline, so that each line has one before it, and the piece
}

const (
	firstPiece = 64 << 10 // enough for a few ads, and most ask for a few
	mostPiece  = 4 << 20
)

// adEnd stands behind the footer of an ad.
var adEnd = []byte("\n\n")

// block is the lines of an ad, with the newline before the first and without the
// footer.
type block struct {
	at   int64 // where the first line begins
	text []byte
}

// before returns the ads of the piece before those that were returned, in the
// order of the file, until the next call. None, and no error: that was all. With an
// error, which names the ad before them, they are whole all the same.
func (r *pastReader) before() ([]block, error) {
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
		if begin, ok := r.begin(from); ok {
			return r.take(from, begin)
		}
		if r.piece > dumpedAd {
			return nil, r.damaged(from, fmt.Sprintf("an ad of more than %d bytes, or none", r.piece))
		}
	}
}

// begin returns where in the buffer the first ad begins that has all of the footer
// before it there, and false if there is no such ad.
func (r *pastReader) begin(from int64) (int, bool) {
	if from == 0 {
		return 0, true
	}
	text := r.buffer[1:]
	skip := min(footerSize-len(adEnd), len(text))
	i := bytes.Index(text[skip:], adEnd)
	end := skip + i + len(adEnd)
	return end, i >= 0 && end < len(text)
}

// take parts the piece, which stands at from in the file, into its ads, and turns to
// what stands before them.
func (r *pastReader) take(from int64, begin int) ([]block, error) {
	known := uint32(0)
	if begin > 0 {
		_, known, _ = footerOf(r.buffer[1 : begin+1]) // without a footer nothing checks
	}
	text := r.buffer[begin+1:]
	if crc32.Update(known, castagnoli, text) != r.crc {
		return r.wholeOnes(from, begin, known)
	}
	r.end, r.crc = from+int64(begin), known
	return r.split(from, begin), nil
}

// wholeOnes returns the ads of the piece behind the last one that does not check, and
// the damage.
func (r *pastReader) wholeOnes(from int64, begin int, known uint32) ([]block, error) {
	blocks := r.split(from, begin)
	for i := len(blocks) - 1; i >= 0; i-- {
		at := int(blocks[i].at - from)
		text := r.buffer[at+1 : at+len(blocks[i].text)]
		recorded, behind, ok := footerOf(r.buffer[:r.end-from+1])
		start := known
		if i > 0 {
			_, start, _ = footerOf(r.buffer[:at+1])
		}
		why := ""
		switch sum := crc32.Update(start, castagnoli, text); {
		case !ok:
			why = "it has no checksum"
		case behind != r.crc:
			why = "it is not the one that was recorded"
		case sum != recorded:
			why = fmt.Sprintf("the checksum up to the end of the ad here is %08x, recorded is %08x", sum, recorded)
		default:
			r.end, r.crc = blocks[i].at, start
			continue
		}
		return blocks[i+1:], r.damaged(blocks[i].at, why)
	}
	return blocks, nil
}

// read reads from there up to the end into the buffer.
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
		err = r.damaged(from+int64(got), fmt.Sprintf("%d bytes are missing here", n-got))
	}
	return err
}

// split returns the ads of the buffer, which stands at from in the file, the first of
// which begins at begin. What stands behind the last end of an ad is one too.
func (r *pastReader) split(from int64, begin int) (blocks []block) {
	for at := begin; at+1 < len(r.buffer); {
		end := len(r.buffer) - 1
		if i := bytes.Index(r.buffer[at+1:], adEnd); i >= 0 {
			end = at + i + len(adEnd)
		}
		lines := max(end+1-footerSize, at+1)
		blocks = append(blocks, block{from + int64(at), r.buffer[at:lines:lines]})
		at = end
	}
	return blocks
}

// damaged says that the ad that begins at a place of the file does not check.
func (r *pastReader) damaged(at int64, why string) error {
	return &DamageError{r.name, lineAt(r.file, at), why}
}

// lineAt returns the number of the line that begins at a place of a file.
func lineAt(f file, at int64) int {
	line := 1
	b := make([]byte, 64<<10)
	for from := int64(0); from < at; {
		n, err := f.ReadAt(b[:min(int64(len(b)), at-from)], from)
		line += bytes.Count(b[:n], newline)
		from += int64(n)
		if err != nil {
			break
		}
	}
	return line
}
