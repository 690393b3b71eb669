// Package lockline has the lines of the spool's lock files: a text, its checksum, and blanks, so that
// each line is written over the one before it by one write.
package lockline

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Size is the length of a line in bytes.
const Size = 128

// Free is the first line's text while no fairspool program holds the lock.
const Free = "free"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Of makes a line of a text, of which it cuts what has no room.
func Of(text string) string {
	text = fmt.Sprintf("%.*s ", Size-len(" 00000000\n"), text)
	return fmt.Sprintf("%-*s\n", Size-1, text+fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli)))
}

// Text returns the text of a line; false for a line that Of does not make.
func Text(line string) (text string, ok bool) {
	trimmed := strings.TrimRight(line, " \n")
	i := strings.LastIndexByte(trimmed, ' ')
	return trimmed[:max(i, 0)], i >= 0 && Of(trimmed[:i]) == line
}

// IsEmpty reports whether nothing stands in a line: a power cut may leave zeros where a file has grown.
func IsEmpty(line []byte) bool { return len(bytes.Trim(line, "\x00")) == 0 }

// Held returns the first line's text while a process of a program holds the lock since a time.
func Held(pid int, program string, since time.Time) string {
	return fmt.Sprintf("held by pid %d (%s) since %s", pid, program, since.UTC().Format(time.RFC3339))
}

// Holder returns the program and the time of a Held of a process, whose line begins a lock file; an empty
// program for any other file.
func Holder(file []byte, pid int) (program string, since time.Time) {
	if len(file) < Size {
		return "", time.Time{}
	}
	text, _ := Text(string(file[:Size]))
	var of int
	var word, at string
	fmt.Sscanf(text, "held by pid %d (%s since %s", &of, &word, &at)
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || of != pid {
		return "", time.Time{}
	}
	return strings.TrimSuffix(word, ")"), since
}
