package userlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Append writes events to the log at path in one write behind what the file
// already holds. A missing file is made with mode 0644, a missing folder is
// an error. Errors read "path: why" and wrap the system's. Without events
// nothing happens to the file.
func Append(path string, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	err := write(path, events)
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, at.Err)
	}
	return err
}

func write(path string, events []Event) error {
	var b []byte
	for i, e := range events {
		b = e.AppendTo(b)
		if i == 0 {
			b = slices.Grow(b, len(b)*len(events)) // most are as long as the first
		}
	}
	// Without O_NONBLOCK a named pipe that nobody reads would keep us here.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
