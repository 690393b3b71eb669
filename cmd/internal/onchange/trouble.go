package onchange

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Trouble returns the last line that the drivers of the spool in dir have written of what went
// wrong, and when that was. The line is empty if nothing did, and if no change waits for a cycle
// and the last cycle for one was completed.
func Trouble(dir string) (line string, at time.Time, err error) {
	f, err := open(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	w, m, err := f.flags()
	if err != nil || !w && !m {
		return "", at, err
	}
	line, at, err = lastLine(LogPath(dir))
	date, text, _ := strings.Cut(line, " ")
	if dated, bad := time.Parse(time.RFC3339, date); bad == nil {
		return text, dated, err
	}
	return line, at, err // of before the driver had the log
}

// lastLine returns the last line of a file, empty without one, and when the file was written last.
func lastLine(path string) (line string, at time.Time, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	if err != nil {
		return "", at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", at, err
	}
	const most = 4 << 10
	b := make([]byte, min(most, info.Size()))
	if _, err := f.ReadAt(b, info.Size()-int64(len(b))); err != nil {
		return "", at, err
	}
	b = bytes.TrimRight(b, "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:]), info.ModTime(), nil
}
