package userlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Follower reads a log that grows, is emptied, or is replaced by another of its
// name.
type Follower struct {
	path   string
	o      Options
	stat   func(string) (fs.FileInfo, error)
	file   *os.File // nil before there is one
	read   int64    // so much of it
	reader *Reader
}

// Follow begins to follow the log at path, which need not be there.
func Follow(path string, o Options) *Follower { return &Follower{path: path, o: o, stat: os.Stat} }

// Read gives every event that was completed since the last call, in their order.
// Of an event that cannot be read it gives the error instead, a *SyntaxError. A
// log that was emptied or replaced is read from its beginning, after what the old
// one has; one that is not there any more has nothing new, and of one that never
// was the error is fs.ErrNotExist.
func (f *Follower) Read(each func(Event, error)) error {
	if f.file != nil {
		if err := f.drain(each); err != nil {
			return err
		}
	}
	there, err := f.stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.file != nil:
		return nil
	case err != nil:
		return cause(f.path, err)
	case f.file != nil && f.same(there):
		return nil
	}
	if f.file != nil { // it may have got more before the other took its name
		if err := f.drain(each); err != nil {
			return err
		}
	}
	if err := f.open(); err != nil {
		return cause(f.path, err)
	}
	return f.drain(each)
}

// Close ends the following.
func (f *Follower) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// same tells whether the open file is the one of the path and has not become
// shorter than what was read of it.
func (f *Follower) same(there fs.FileInfo) bool {
	mine, err := f.file.Stat()
	return err == nil && os.SameFile(mine, there) && there.Size() >= f.read
}

func (f *Follower) open() error {
	// Without O_NONBLOCK a named pipe that nobody writes would keep us here.
	file, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file: only such a log can be followed")
	}
	if err != nil {
		file.Close()
		return err
	}
	f.Close()
	f.file, f.read, f.reader = file, 0, NewReader(counted{file, &f.read}, f.o)
	return nil
}

// drain reads the open file to its end.
func (f *Follower) drain(each func(Event, error)) error {
	for {
		e, err := f.reader.Next()
		var bad *SyntaxError
		switch {
		case err == nil:
			each(e, nil)
		case errors.As(err, &bad):
			each(Event{}, err)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		default:
			return cause(f.path, err)
		}
	}
}

// counted counts what is read.
type counted struct {
	from io.Reader
	n    *int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	*c.n += int64(n)
	return n, err
}

// cause words a file's error as Append does.
func cause(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
