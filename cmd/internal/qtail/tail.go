package qtail

import (
	"bytes"
	"io"
	"os"
)

// block is how much of a file is read at a time, in bytes.
const block = 64 << 10

// last writes the last n lines of a file, and returns where it ended then. What stands behind
// the last line's end counts as a line.
func last(to io.Writer, f *os.File, n int) (end int64, err error) {
	if end, err = size(f); err != nil {
		return 0, err
	}
	from, err := lineFromEnd(f, end, n)
	if err != nil {
		return 0, err
	}
	return copyFrom(to, f, from)
}

// lineFromEnd returns where the last n lines of a file begin, of which only the first end bytes
// count. It reads backwards, and no more than it has to.
func lineFromEnd(f io.ReaderAt, end int64, n int) (int64, error) {
	if n == 0 {
		return end, nil
	}
	b := make([]byte, block)
	for at := end; at > 0; {
		from := max(at-block, 0)
		part := b[:at-from]
		if _, err := f.ReadAt(part, from); err != nil && err != io.EOF {
			return 0, err
		}
		if at == end && part[len(part)-1] == '\n' {
			part = part[:len(part)-1] // it ends the last line, and begins none
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if n--; n == 0 {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return 0, nil
}

// copyFrom writes what a file holds from a place on, and returns where it ended.
func copyFrom(to io.Writer, f *os.File, from int64) (end int64, err error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, err
	}
	n, err := io.Copy(to, f)
	return from + n, err
}
