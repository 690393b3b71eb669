// Package endline is the last line of a text that is written as a whole, "end CHECKSUM": the CRC-32C of all that stands before
// the checksum.
package endline

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	begin = "end "
	size  = len("end 00000000\n")
	// piece is how much of a text is written at once.
	piece = 64 << 10
)

// Append appends the line to a text.
func Append(b []byte) []byte {
	b = append(b, begin...)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b, castagnoli))
}

// Write writes a text of lines, which line appends, and its last line. It returns the size of all in bytes and its CRC-32C.
func Write[T any](w io.Writer, list []T, line func(b []byte, x T) []byte) (size int64, sum uint32, err error) {
	var b []byte
	put := func() error {
		size, sum = size+int64(len(b)), crc32.Update(sum, castagnoli, b)
		_, err := w.Write(b)
		b = b[:0]
		return err
	}
	for _, x := range list {
		if b = line(b, x); len(b) >= piece {
			if err := put(); err != nil {
				return size, sum, err
			}
		}
	}
	b = append(b, begin...)
	b = fmt.Appendf(b, "%08x\n", crc32.Update(sum, castagnoli, b))
	err = put()
	return size, sum, err
}

// Cut cuts the line off a text, and returns the CRC-32C of all of it. The error says that the line is not there or not right.
func Cut(b []byte) (lines []byte, crc uint32, err error) {
	if len(b) < size || !bytes.HasPrefix(b[len(b)-size:], []byte(begin)) || b[len(b)-1] != '\n' {
		return nil, 0, errors.New("it has no end line")
	}
	at := len(b) - size
	sum, recorded := crc32.Checksum(b[:at+len(begin)], castagnoli), b[at+len(begin):]
	if text := fmt.Sprintf("%08x", sum); text != string(recorded[:len(recorded)-1]) {
		return nil, 0, fmt.Errorf("its checksum is %s, recorded is %s", text, recorded[:len(recorded)-1])
	}
	return b[:at], crc32.Update(sum, castagnoli, recorded), nil
}
