package endline

import (
	"bytes"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"testing"
)

// What Write writes in pieces is what Append makes of the whole, and Cut takes it apart; with any byte changed or the end missing it
// does not.
func TestEnds(t *testing.T) {
	for _, n := range []int{0, 1, 100, 20000} {
		list, text := make([]int, n), []byte(nil)
		line := func(b []byte, x int) []byte { return append(strconv.AppendInt(b, int64(x), 10), '\n') }
		for i := range list {
			list[i] = i * i
			text = line(text, list[i])
		}
		var b bytes.Buffer
		size, sum, err := Write(&b, list, line)
		if want := Append(bytes.Clone(text)); err != nil || !bytes.Equal(b.Bytes(), want) || size != int64(len(want)) {
			t.Fatalf("%d lines: %d bytes, %v, want %d", n, size, err, len(want))
		}
		lines, crc, err := Cut(b.Bytes())
		if err != nil || !bytes.Equal(lines, text) || crc != sum || crc != crc32.Checksum(b.Bytes(), castagnoli) {
			t.Fatalf("%d lines: cut to %d bytes, %08x, %v", n, len(lines), crc, err)
		}
		for i := range min(b.Len(), 300) {
			at := b.Len() - 1 - i
			b.Bytes()[at] ^= 1
			if _, _, err := Cut(b.Bytes()); err == nil {
				t.Fatalf("%d lines: byte %d changed: no error", n, at)
			}
			b.Bytes()[at] ^= 1
			if _, _, err := Cut(b.Bytes()[:at]); err == nil {
				t.Fatalf("%d lines: only %d bytes: no error", n, at)
			}
		}
	}
	end, to := io.Pipe()
	end.Close()
	if _, _, err := Write(to, []string{strings.Repeat("x", 2*piece)}, func(b []byte, s string) []byte { return append(b, s...) }); err == nil {
		t.Error("to a closed pipe: no error")
	}
}
