package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// HTCondor's HoldReasonCode of a job that could not be started: the program, a standard
// file or the working directory was not to be had.
const (
	HoldStart  = 6
	HoldStdout = 7 // standard output or error
	HoldStdin  = 8
	HoldIwd    = 14
)

// standard is a job's three open files.
type standard struct{ in, out, err *os.File }

// standard opens the job's standard files, once its other needs are met.
func (j Job) standard() (standard, error) {
	cmd, err := j.check()
	switch {
	case err != nil:
		return standard{}, err
	case j.Stdio != nil:
		return standard{j.Stdio, j.Stdio, j.Stdio}, nil
	}
	return j.open(cmd)
}

// check finds errors that a failed exec would not distinguish. It returns the
// executable's FileInfo.
func (j Job) check() (cmd os.FileInfo, err error) {
	if err := isDirectory(j.Dir); err != nil {
		return nil, startError(HoldIwd, "working directory "+j.Dir, err)
	}
	if cmd, err = os.Stat(j.Cmd); err != nil {
		return nil, startError(HoldStart, "executable "+j.Cmd, err)
	}
	if cmd.IsDir() {
		return nil, startError(HoldStart, "executable "+j.Cmd, unix.EISDIR)
	}
	if cmd.Mode().Perm()&0o111 == 0 {
		return nil, &StartError{Reason: "executable " + j.Cmd + ": no user may execute it: chmod +x it", Code: HoldStart, Subcode: int(unix.EACCES)}
	}
	return cmd, nil
}

// isDirectory is an error unless a path is a directory that we may work in.
func isDirectory(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		_, err = os.Stat(path + "/.")
	}
	return err
}

// inMemory returns a file without a name that holds a text, to be read.
func inMemory(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, startError(HoldStdin, "input", os.NewSyscallError("memfd_create", err))
	}
	f := os.NewFile(uintptr(fd), "input")
	_, err = f.WriteString(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, startError(HoldStdin, "input", err)
	}
	return f, nil
}

// open opens the job's standard files. Out and Err share one open file, and so one
// position, when they are the same, by whatever names. Neither may be the job's input or
// executable, which would be lost.
func (j Job) open(cmd os.FileInfo) (files standard, err error) {
	defer func() {
		if err != nil {
			files.close()
		}
	}()
	if j.Input != "" {
		files.in, err = inMemory(j.Input)
	} else {
		files.in, err = openAs(HoldStdin, "input", j.In, os.O_RDONLY)
	}
	if err != nil {
		return files, err
	}
	one := j.Out == j.Err
	if files.out, err = openAs(HoldStdout, "output", j.Out, outputFlags(j.AppendOut || one && j.AppendErr)); err != nil {
		return files, err
	}
	if one {
		files.err = files.out
		if err = files.ready(files.out, cmd, j.AppendOut || j.AppendErr); err != nil {
			return files, startError(HoldStdout, "output "+j.Out, err)
		}
		return files, nil
	}
	if files.err, err = openAs(HoldStdout, "error", j.Err, outputFlags(j.AppendErr)); err != nil {
		return files, err
	}
	keepOut, keepErr := j.AppendOut, j.AppendErr
	if same(files.out, files.err) {
		keepOut, keepErr = keepOut || keepErr, keepOut || keepErr
		if keepErr && !j.AppendOut {
			files.out, files.err = files.err, files.out // the one that is open for appending
		}
		files.err.Close()
		files.err = files.out
	}
	if err = files.ready(files.out, cmd, keepOut); err != nil {
		return files, startError(HoldStdout, "output "+j.Out, err)
	}
	if err = files.ready(files.err, cmd, keepErr); err != nil {
		return files, startError(HoldStdout, "error "+j.Err, err)
	}
	return files, nil
}

func outputFlags(appends bool) int {
	if appends {
		return os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	return os.O_WRONLY | os.O_CREATE
}

func same(a, b *os.File) bool {
	one, err1 := a.Stat()
	other, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// ready takes away what an output file holds, unless the job is to append to it. One
// that the job needs itself is refused.
func (s standard) ready(f *os.File, cmd os.FileInfo, keep bool) error {
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
	case keep:
		return nil
	}
	return f.Truncate(0)
}

// openAs opens one file without ever waiting, as opening a named pipe would, and hands it
// on as a job expects it: blocking. A terminal does not become ours, because the process
// at its other end could send us signals.
func openAs(code int, what, name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NONBLOCK|unix.O_NOCTTY, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if dir := missing(name); dir != "" {
			return nil, &StartError{
				Reason: fmt.Sprintf("%s %s: the directory %s does not exist", what, name, dir),
				Code:   code, Subcode: int(unix.ENOENT),
			}
		}
	}
	if err != nil {
		return nil, startError(code, what+" "+name, err)
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
		return nil, startError(code, what+" "+name, err)
	}
	return f, nil
}

// missing returns the first directory on the way to a file that is not there; empty
// when all are.
func missing(path string) (first string) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return first
		}
		first = dir
	}
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
	// Passing is true when the machine was short of something just then, so that the same
	// job may well start another time. Otherwise the job or its files must be mended
	// first.
	Passing bool
	// Code and Subcode are HTCondor's HoldReasonCode, 0 for HoldStart, and
	// HoldReasonSubCode: the system's error number, 0 for none.
	Code, Subcode int
}

func (e *StartError) Error() string { return e.Reason }

// startError says what could not be had, and of err only the cause: the path
// is in what.
func startError(code int, what string, err error) *StartError {
	return &StartError{
		Reason:  fmt.Sprintf("%s: %v", what, cause(err)),
		Passing: isPassing(err), Code: code, Subcode: errno(err),
	}
}

// errno returns the system's number of an error, 0 when it has none.
func errno(err error) int {
	var n unix.Errno
	errors.As(err, &n)
	return int(n)
}

func isPassing(err error) bool {
	return slices.ContainsFunc([]error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ETXTBSY}, func(e error) bool { return errors.Is(err, e) })
}

// appends reports whether output and error keep their content. Files that AppendFiles
// names always do. Both do if this is not the job's first start and the job has
// DontAppend = false or writes checkpoints, as it goes on where it was.
func (j Job) appends(ad *classad.Ad) (out, err bool, _ error) {
	names, e := text(ad, pool.AttrAppendFiles, "")
	if e != nil {
		return false, false, e
	}
	both := false
	c := &classad.Context{}
	if starts, ok := ad.EvalInt(c, pool.AttrNumJobStarts); ok && starts > 0 {
		erases, given := ad.EvalBool(c, pool.AttrDontAppend)
		both = given && !erases || writesCheckpoints(ad)
	}
	return both || j.isListed(names, j.Out), both || j.isListed(names, j.Err), nil
}

// isListed reports whether a list names a file: by its path or its last name alone, with
// * for anything.
func (j Job) isListed(names, path string) bool {
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if matches(name, filepath.Base(path)) || matches(j.path(name), path) {
			return true
		}
	}
	return false
}

// matches reports whether a text matches a pattern, in which * is any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}
