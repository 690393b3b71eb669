package history

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Damage is a place in a file that does not read as it was written.
type Damage struct {
	Line int // where it begins
	Why  string
}

// maxBlock bounds the memory that a block takes, in bytes: it is one of more
// submitters than there are numbers for.
const maxBlock = 1 << 28

// ErrStop ends a Scan early, without an error.
var ErrStop = errors.New("stop")

// Scanned is what a Scan came upon.
type Scanned struct {
	// End is the offset behind which a block was never written to its end.
	End int64
	// Lines is the number of lines before End.
	Lines   int
	Damaged []Damage
}

// Scan reads the blocks of a file and calls each with those that are whole, in
// order. The block is good until each returns. What is not whole is left out, and
// damage unless the file ends with it and it is the beginning of a block. It fails
// when reading or each fails.
func Scan(from io.Reader, each func(*Block) error) (Scanned, error) {
	s := scanner{from: from, buffer: make([]byte, 0, 1<<18)}
	for {
		text, err := s.piece()
		if err == nil {
			err = s.take(text, each)
		}
		if err == io.EOF {
			s.ending()
			return s.Scanned, nil
		}
		if err == ErrStop {
			return s.Scanned, nil
		}
		if err != nil {
			return s.Scanned, err
		}
	}
}

type scanner struct {
	Scanned
	from   io.Reader
	buffer []byte // what was read and is not used yet
	used   int    // of it
	ended  bool

	block  Block
	offset int64 // of the next piece
	lines  int   // before it
	bad    []Damage
}

var headLine, endLine = []byte("@ "), []byte("\n= ")

// piece returns the text up to and including the next line that ends a block.
// At the end of the file what is left is nobody's.
func (s *scanner) piece() ([]byte, error) {
	looked := 0
	for {
		text := s.buffer[s.used:]
		if i := bytes.Index(text[looked:], endLine); i >= 0 {
			i += looked + len(endLine)
			if j := bytes.IndexByte(text[i:], '\n'); j >= 0 {
				s.used += i + j + 1
				return text[:i+j+1], nil
			}
			looked = i - len(endLine)
		} else {
			looked = max(len(text)-len(endLine), 0)
		}
		if s.ended {
			return nil, io.EOF
		}
		if len(text) > maxBlock {
			s.bad = append(s.bad, Damage{s.lines + 1, "no block is so long"})
			s.used += len(text)
			s.pass(text)
			looked = 0
		}
		if err := s.more(); err != nil {
			return nil, err
		}
	}
}

// more reads on, at least one byte unless the file has ended.
func (s *scanner) more() error {
	s.buffer = append(s.buffer[:0], s.buffer[s.used:]...)
	s.used = 0
	if len(s.buffer) > cap(s.buffer)/2 {
		s.buffer = append(make([]byte, 0, 2*cap(s.buffer)), s.buffer...)
	}
	n, err := io.ReadFull(s.from, s.buffer[len(s.buffer):cap(s.buffer)])
	s.buffer = s.buffer[:len(s.buffer)+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.ended = true
		return nil
	}
	return err
}

// pass counts text that was done with.
func (s *scanner) pass(text []byte) {
	s.offset += int64(len(text))
	s.lines += bytes.Count(text, newline)
}

// take looks for a block at the end of a piece.
func (s *scanner) take(text []byte, each func(*Block) error) error {
	defer s.pass(text)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	start, err := 0, errEnd
	if e, ok := parseEnd(text[last : len(text)-1]); ok {
		start, err = e.begin(text, last)
	}
	if err == nil {
		err = s.block.parse(text[start:last])
	}
	if err != nil {
		s.bad = append(s.bad, Damage{s.lines + 1, err.Error()})
		return nil
	}
	if start > 0 {
		s.bad = append(s.bad, Damage{s.lines + 1, "something stands before a block"})
	}
	s.Damaged = append(s.Damaged, s.bad...)
	s.bad = s.bad[:0]
	s.End, s.Lines = s.offset+int64(len(text)), s.lines+bytes.Count(text, newline)
	return each(&s.block)
}

// ending judges what stands behind the last block that is whole.
func (s *scanner) ending() {
	if len(s.bad) > 0 { // it has an end, so it was written to it
		s.Damaged = append(s.Damaged, s.bad...)
		s.End, s.Lines = s.offset, s.lines
	}
	if text := s.buffer[s.used:]; len(text) > 0 && !torn(text) {
		s.Damaged = append(s.Damaged, Damage{s.lines + 1, errAltered.Error()})
		s.pass(text)
		s.End, s.Lines = s.offset, s.lines
	}
}

// torn reports whether a text without a block's end is a block that was never written
// to its end, and not one that was changed.
func torn(text []byte) bool {
	if trimmed := bytes.TrimRight(text, "\x00"); len(trimmed)+1 < len(text) {
		text = trimmed // a power cut may leave the length without the bytes
	}
	head, _, whole := bytes.Cut(text, newline)
	if !whole {
		// A head whose newline was changed is whole without its last byte.
		_, ok := checked(head[:max(len(head)-1, 0)])
		return !ok
	}
	length, ok := new(Block).parseHead(head)
	before := len(head) + 1 + length
	return ok && len(text) < before+len("= ")+len(timeLayout)+len(fmt.Sprintf(" %d 00000000\n", before))
}

// begin returns where the block begins that ends with the last line of text,
// which begins at last.
func (e end) begin(text []byte, last int) (int, error) {
	start := last - e.length
	switch {
	case start < 0 || start > 0 && text[start-1] != '\n' || !bytes.HasPrefix(text[start:], headLine):
		return 0, errEnd
	case crc32.Checksum(text[start:last], castagnoli) != e.sum:
		return 0, errors.New("its checksum is another")
	case !bytes.HasPrefix(text[start+len(headLine):], e.time):
		return 0, errEnd
	}
	return start, nil
}

// LastBlock returns the block with which text ends, but for its samples. If text is
// the end of a file and too short for the block, ok is false and need is how many
// bytes it takes; need is 0 when no whole block stands there.
func LastBlock(text []byte) (b Block, need int, ok bool) {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return b, 0, false
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	e, ok := parseEnd(text[last : len(text)-1])
	if !ok {
		return b, 0, false
	}
	need = e.length + len(text) - last
	if need > len(text) {
		return b, need, false
	}
	start, err := e.begin(text, last)
	if err == nil {
		head, _, _ := bytes.Cut(text[start:last], newline)
		_, ok = b.parseHead(head)
	}
	return b, need, err == nil && ok
}
