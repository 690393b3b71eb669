package launch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// standard is a job's three open files.
type standard struct{ in, out, err *os.File }

// check finds what a failed exec would not tell apart. It returns what it
// found out about the executable.
func (j Job) check() (cmd os.FileInfo, err error) {
	dir, err := os.Stat(j.Dir)
	if err != nil {
		return nil, startError("working directory "+j.Dir, err)
	}
	if !dir.IsDir() {
		return nil, startError("working directory "+j.Dir, unix.ENOTDIR)
	}
	if cmd, err = os.Stat(j.Cmd); err != nil {
		return nil, startError("executable "+j.Cmd, err)
	}
	if cmd.IsDir() {
		return nil, startError("executable "+j.Cmd, unix.EISDIR)
	}
	if cmd.Mode().Perm()&0o111 == 0 {
		return nil, startError("executable "+j.Cmd, errors.New("nobody may execute it"))
	}
	return cmd, nil
}

// open opens the job's standard files. Out and Err share one open file, and
// so one position, when they are the same, by whatever names. Neither may be
// what the job reads: it would be lost.
func (j Job) open(cmd os.FileInfo) (files standard, err error) {
	defer func() {
		if err != nil {
			files.close()
		}
	}()
	if files.in, err = openAs("input", j.In, os.O_RDONLY); err != nil {
		return files, err
	}
	if files.out, err = openAs("output", j.Out, os.O_WRONLY|os.O_CREATE); err != nil {
		return files, err
	}
	if files.err, err = openAs("error", j.Err, os.O_WRONLY|os.O_CREATE); err != nil {
		return files, err
	}
	if same(files.out, files.err) {
		files.err.Close()
		files.err = files.out
	}
	if err = files.empty(files.out, cmd); err != nil {
		return files, startError("output "+j.Out, err)
	}
	if err = files.empty(files.err, cmd); err != nil {
		return files, startError("error "+j.Err, err)
	}
	return files, nil
}

func same(a, b *os.File) bool {
	one, err1 := a.Stat()
	other, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// empty takes away what an output file holds, unless the job needs it.
func (s standard) empty(f *os.File, cmd os.FileInfo) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return nil
	case same(f, s.in):
		return errors.New("is the input as well")
	case os.SameFile(info, cmd):
		return errors.New("is the executable")
	}
	return f.Truncate(0)
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

// StartError says why a job could not be started, or its output not be stored.
type StartError struct {
	Reason string // one line
	// Passing is true when the machine was short of something just then, so
	// that the same job may well start another time. Otherwise somebody has to
	// mend the job or its files first.
	Passing bool
	// Code and Subcode are HTCondor's HoldReasonCode and HoldReasonSubCode; a Code
	// of 0 is that of a job that could not be started.
	Code, Subcode int
}

func (e *StartError) Error() string { return e.Reason }

// startError says what could not be had, and of err only the cause: the path
// is in what.
func startError(what string, err error) *StartError {
	return &StartError{Reason: fmt.Sprintf("%s: %v", what, cause(err)), Passing: isPassing(err)}
}

func isPassing(err error) bool {
	for _, e := range []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ETXTBSY} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
