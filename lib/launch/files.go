package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// standard is a job's three open files.
type standard struct{ in, out, err *os.File }

// check finds what a failed exec would not tell apart.
func (j Job) check() error {
	dir, err := os.Stat(j.Dir)
	if err != nil {
		return startError("working directory "+j.Dir, err)
	}
	if !dir.IsDir() {
		return startError("working directory "+j.Dir, unix.ENOTDIR)
	}
	cmd, err := os.Stat(j.Cmd)
	if err != nil {
		return startError("executable "+j.Cmd, err)
	}
	if cmd.IsDir() {
		return startError("executable "+j.Cmd, unix.EISDIR)
	}
	if cmd.Mode().Perm()&0o111 == 0 {
		return startError("executable "+j.Cmd, errors.New("nobody may execute it"))
	}
	return nil
}

// open opens the job's standard files. Out and Err share one open file, and
// so one position, when they are the same.
func (j Job) open() (files standard, err error) {
	defer func() {
		if err != nil {
			files.close()
		}
	}()
	if files.in, err = openAs("input", j.In, os.O_RDONLY); err != nil {
		return files, err
	}
	const write = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if files.out, err = openAs("output", j.Out, write); err != nil {
		return files, err
	}
	if j.Err == j.Out {
		files.err = files.out
		return files, nil
	}
	files.err, err = openAs("error", j.Err, write)
	return files, err
}

// openAs opens one file without ever waiting, as opening a named pipe would,
// and hands it on as a job expects it: blocking.
func openAs(what, name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, startError(what+" "+name, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = unix.EISDIR
	}
	if err == nil {
		err = unix.SetNonblock(int(f.Fd()), false)
	}
	if err != nil {
		f.Close()
		return nil, startError(what+" "+name, err)
	}
	return f, nil
}

func (s standard) close() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		if f != nil {
			f.Close() // twice for out when err is the same: harmless
		}
	}
}

// StartError says why a job could not be started.
type StartError struct {
	Reason string // one line
	// Passing is true when the machine was short of something just then, so
	// that the same job may well start another time. Otherwise somebody has to
	// mend the job or its files first.
	Passing bool
}

func (e *StartError) Error() string { return e.Reason }

// startError says what could not be had, and of err only the cause: the path
// is in what.
func startError(what string, err error) *StartError {
	var path *fs.PathError
	cause := err
	if errors.As(err, &path) {
		cause = path.Err
	}
	return &StartError{fmt.Sprintf("%s: %v", what, cause), isPassing(err)}
}

func isPassing(err error) bool {
	for _, e := range []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
