package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Files selects files of a job's scratch directory to save when the job has ended, or has to leave.
type Files int

const (
	// Output is the job's output, which is copied to where it belongs.
	Output Files = iota
	// Checkpoint is the job's checkpoint, which is copied to where the job's next attempt
	// finds it.
	Checkpoint
	// Rest is all that is there, which is kept for the next attempt, or for the job's
	// owner. The scratch directory is gone with that.
	Rest
)

// Files of ours at the top of the scratch directory of a job that runs apart from its submitter's files.
const (
	executableName = "condor_exec.exe"
	stdinName      = "_condor_stdin"
	stdoutName     = "_condor_stdout"
	stderrName     = "_condor_stderr"
)

// isRunFile reports whether a file at the top of such a scratch directory is one of these.
func isRunFile(name string) bool {
	return slices.Contains([]string{executableName, stdinName, stdoutName, stderrName}, name)
}

// runFiles returns the paths of these.
func (t *Transfer) runFiles() []string {
	return []string{t.inScratch(executableName), t.inScratch(stdinName), t.inScratch(stdoutName), t.inScratch(stderrName)}
}

func (t *Transfer) inScratch(name string) string { return filepath.Join(t.Scratch, name) }

// There returns the job as it runs on a machine that does not see the submitter's files: FromAd has read it for a Place
// there, which is Apart. Its executable and standard files are in its scratch directory. A job that transfers
// nothing is as it was.
func (j Job) There() Job {
	if j.Transfer == nil {
		return j
	}
	t := *j.Transfer
	j.Transfer = &t
	if t.brings {
		j.Arg0, j.Cmd = j.Cmd, t.inScratch(executableName)
	}
	one := j.Out == j.Err
	for _, f := range []struct {
		path *string
		name string
	}{{&j.In, stdinName}, {&j.Out, stdoutName}, {&j.Err, stderrName}} {
		if *f.path != os.DevNull {
			*f.path = t.inScratch(f.name)
		}
	}
	if one {
		j.Err = j.Out
	}
	return j
}

// Send writes to w the files for the job's scratch directory on another machine, for Receive there: its executable,
// its standard input, its inputs, and the kept files. It looks for all that the job needs of its submitter's files,
// and makes or truncates its output as Start would, so that errors there show before the job runs. Failures of the
// files are *StartErrors. After an error Receive fails, too, as the archive has no end. A job that transfers nothing
// has an empty archive. A caller that cancels ctx must also close the other end of w, as a write may wait; the same
// holds for r, and for the functions below.
func (j Job) Send(ctx context.Context, w io.Writer) error {
	a := newArchive(w, j.Scratch)
	return j.Account.As(func() error {
		if err := j.send(ctx, a); err != nil {
			return err
		}
		return failedLink(ctx, a.end())
	})
}

// failedLink returns the error of a link, or that of ctx if it was cancelled.
func failedLink(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (j Job) send(ctx context.Context, a *inArchive) error {
	t := j.Transfer
	if t == nil {
		return nil
	}
	if err := j.findFiles(); err != nil {
		return err
	}
	c := &copier{ctx: ctx, into: a, bytes: &t.received}
	a.part = partFiles
	if err := t.copyInputs(c); err != nil {
		return err
	}
	a.part = partKept
	kept := *c
	kept.links, kept.without = true, []string{filepath.Join(t.Kept, executableName), filepath.Join(t.Kept, stdinName)}
	if err := t.resume(&kept); err != nil {
		return err
	}
	a.part = ""
	if t.brings {
		if err := c.file(j.Cmd, t.inScratch(partExecutable)); err != nil {
			return failed(ctx, "executable", parcel{name: j.Cmd}, HoldStart, err)
		}
	}
	if j.In != os.DevNull {
		if err := c.file(j.In, t.inScratch(partStdin)); err != nil {
			return failed(ctx, "input", parcel{name: j.In}, HoldStdin, err)
		}
	}
	return nil
}

// findFiles finds files that the job lacks, as Start would on this machine, and files that cannot travel. It makes
// the job's output files.
func (j Job) findFiles() (err error) {
	if err := isDirectory(j.Transfer.Iwd); err != nil {
		return startError(HoldIwd, "working directory "+j.Transfer.Iwd, err)
	}
	var cmd os.FileInfo
	if j.Transfer.brings {
		here := j
		here.Dir = j.Transfer.Iwd
		if cmd, err = here.check(); err != nil {
			return err
		}
	}
	files, err := j.open(cmd)
	if err != nil {
		return err
	}
	defer files.close()
	for _, f := range []struct {
		file *os.File
		code int
		what string
		path string
	}{{files.in, HoldStdin, "input", j.In}, {files.out, HoldStdout, "output", j.Out}, {files.err, HoldStdout, "error", j.Err}} {
		if info, err := f.file.Stat(); f.path != os.DevNull && (err != nil || !info.Mode().IsRegular()) {
			return startError(f.code, f.what+" "+f.path, errKind)
		}
	}
	return nil
}

// Receive makes the scratch directory of a job that runs on this machine, and fills it with the files that Send writes
// on the machine with its submitter's files; r ends with the archive. It returns what Place returns. Failures of files
// are *StartErrors; other errors are of reading r. After an error there is no scratch directory.
func (j Job) Receive(ctx context.Context, r io.Reader) (placed Placed, err error) {
	if j.Scratch == "" {
		return placed, errors.New("there is no scratch directory for files from another machine")
	}
	if _, err := j.room().make(); err != nil {
		return placed, err
	}
	err = j.Account.As(func() error {
		u := &unpacker{ctx: ctx, top: j.Scratch, places: map[string]string{}}
		if t := j.Transfer; t != nil {
			u.places = map[string]string{partKept: "", partExecutable: executableName, partStdin: stdinName}
			u.kept, u.bytes = func() { placed.files = t.top() }, &t.received
		}
		if err := u.unpack(r); err != nil {
			return failed(ctx, "input", parcel{name: j.Scratch}, HoldInput, err)
		}
		if j.Transfer != nil && j.Transfer.brings {
			// It belongs to the account here, whatever its owner there.
			if err := makeExecutable(j.Cmd); err != nil {
				return startError(HoldStart, "executable "+j.arg0(), err)
			}
		}
		return j.room().write()
	})
	if err != nil {
		RemoveTree(j.Scratch)
	}
	return placed, err
}

func makeExecutable(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()|0o500)
}

// SendBack writes to w the selected files of a job that has run on this machine, for TakeBack on the machine with
// its submitter's files: the files that Store would copy, a checkpoint, or all; and its standard output and error.
// If an output cannot be read, the others are still sent; the error, a *StartError, is the first one's, and the
// archive is complete. TakeBack reports a missing output. After other errors the archive has no end.
func (j Job) SendBack(ctx context.Context, w io.Writer, placed Placed, of Files) error {
	t := j.Transfer
	if err := j.has(of); err != nil {
		return err
	}
	a := newArchive(w, j.Scratch)
	return j.Account.As(func() error {
		t.open()
		c := &copier{ctx: ctx, into: a, links: of != Output, without: t.runFiles(), bytes: &t.sent}
		a.part = partFiles
		first, err := j.sendFiles(c, a, placed, of)
		if err != nil {
			return err
		}
		a.part = ""
		for _, s := range j.streams() {
			err := c.file(s.path, t.inScratch(s.part))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return failed(ctx, s.what, parcel{name: s.path}, HoldOutput, err)
			}
		}
		if err := a.end(); err != nil {
			return failedLink(ctx, err)
		}
		return first
	})
}

// has returns an error unless the job has such files.
func (j Job) has(of Files) error {
	switch {
	case j.Transfer == nil:
		return errors.New("the job transfers no files")
	case of < Output || of > Rest:
		return fmt.Errorf("files of the unknown kind %d", of)
	}
	return nil
}

// sendFiles sends back the files of a job. After an error of the first kind others can be sent.
func (j Job) sendFiles(c *copier, a *inArchive, placed Placed, of Files) (passed, err error) {
	t := j.Transfer
	what, code, parcels := "output", HoldOutput, []parcel(nil)
	switch of {
	case Output:
		parcels = t.wanted(placed)
	case Checkpoint:
		what, code, parcels = "checkpoint", HoldCheckpoint, t.state
	case Rest:
		parcels = []parcel{{name: t.Scratch, from: t.Scratch, contents: true}}
	}
	for _, p := range parcels {
		p.to = p.from
		err := c.parcel(p)
		switch {
		case err == nil, of == Output && gone(p.from):
		case of != Output || a.torn || c.ctx.Err() != nil:
			return nil, failed(c.ctx, what, p, code, err)
		case passed == nil:
			passed = failed(c.ctx, what, p, code, err)
		}
	}
	return passed, nil
}

// gone reports whether there is no file of a name.
func gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// standardOutput is a job's standard output or error as a file.
type standardOutput struct {
	what, part string
	path       string
	appends    bool
}

// streams returns the job's standard output and error, once if they are one file, and
// without the unwanted ones.
func (j Job) streams() (all []standardOutput) {
	out := standardOutput{"output", partStdout, j.Out, j.AppendOut}
	if j.Err == j.Out {
		out.appends = j.AppendOut || j.AppendErr
	}
	if j.Out != os.DevNull {
		all = append(all, out)
	}
	if j.Err != os.DevNull && j.Err != j.Out {
		all = append(all, standardOutput{"error", partStderr, j.Err, j.AppendErr})
	}
	return all
}

// TakeBack reads the archive that SendBack writes on the machine where the job has run into the directory Scratch,
// which is gone in the end, and treats the files as Store, Checkpoint or Keep does. r ends with the archive. If not
// all files arrive, none is used. Errors are those of Store, Checkpoint and Keep, and of reading r.
//
// Standard output and error are copied to where they belong. If the job appends to a file, its text is appended once
// its output is stored; until then the text is kept with the rest, and continued by its next attempt. So TakeBack may
// be called again after an error, but not again for the same Output after that was stored.
func (j Job) TakeBack(ctx context.Context, r io.Reader, of Files) error {
	t := j.Transfer
	if err := j.has(of); err != nil {
		return err
	}
	defer RemoveTree(j.Scratch) // the rest costs room until the attempt is removed
	if _, err := j.room().make(); err != nil {
		return err
	}
	err := j.Account.As(func() error {
		u := &unpacker{
			ctx: ctx, into: inScratch{sync: of == Checkpoint}, top: j.Scratch, bytes: &t.sent,
			places: map[string]string{partStdout: stdoutName, partStderr: stderrName},
		}
		if err := u.unpack(r); err != nil {
			if of == Checkpoint {
				return failed(ctx, "checkpoint", parcel{name: t.Scratch}, HoldCheckpoint, err)
			}
			return failed(ctx, "output", parcel{name: t.Scratch}, HoldOutput, err)
		}
		if of == Output {
			return j.takeOutput(ctx)
		}
		return j.takeState(ctx, of)
	})
	if err != nil || of == Output {
		return err
	}
	if err = supplant(t.Scratch, t.Kept); err == nil {
		return nil
	}
	if of == Checkpoint {
		return failed(ctx, "checkpoint", parcel{name: t.Kept}, HoldCheckpoint, err)
	}
	return fmt.Errorf("%s: %w", t.Kept, cause(err))
}

// takeOutput stores the output. Files that are replaced come first, and files that are appended to last, as appending
// cannot be repeated.
func (j Job) takeOutput(ctx context.Context) error {
	err := j.takeStreams(ctx, false)
	if e := j.Transfer.storeAll(ctx, Placed{}); err == nil {
		err = e
	}
	if err == nil {
		err = j.takeStreams(ctx, true)
	}
	return err
}

// takeState stores what goes on with its place, and leaves the rest to be kept.
func (j Job) takeState(ctx context.Context, of Files) error {
	err := j.takeStreams(ctx, false)
	if of == Rest {
		if !j.Transfer.resumes && err == nil { // nothing would go on with it
			j.takeStreams(ctx, true)
		}
		return ctx.Err() // what could not be copied is kept
	}
	if err == nil {
		err = syncFolders(j.Scratch)
	}
	if err != nil {
		return failed(ctx, "checkpoint", parcel{name: j.Scratch}, HoldCheckpoint, err)
	}
	return nil
}

// takeStreams copies standard output and error to where they belong: those that are appended to, or those that are
// not. It removes the copied files.
func (j Job) takeStreams(ctx context.Context, appended bool) error {
	into := &inPlace{folders: map[string]bool{}}
	all := j.streams()
	one := len(all) == 2 && sameFile(all[0].path, all[1].path) // by a link
	for i, s := range all {
		s.appends = s.appends || one && (all[0].appends || all[1].appends)
		if s.appends != appended {
			continue
		}
		name := map[string]string{partStdout: stdoutName, partStderr: stderrName}[s.part]
		s.appends = s.appends || one && i == 1 // the first is there already
		err := s.take(ctx, into, j.Transfer.inScratch(name))
		if err == nil {
			err = into.sync()
		}
		if err != nil {
			return failed(ctx, s.what, parcel{name: s.path}, HoldOutput, err)
		}
		os.Remove(j.Transfer.inScratch(name))
		os.Remove(filepath.Join(j.Transfer.Kept, name))
	}
	return nil
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// take copies a standard output that has come to its place. It may be missing, if the job has removed it.
func (s standardOutput) take(ctx context.Context, into *inPlace, came string) error {
	from, err := os.Open(came)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if s.appends {
		return appendTo(ctx, from, s.path)
	}
	if there, err := os.Stat(s.path); err == nil { // made by Send: it stays what its user has made of it
		if err := from.Chmod(there.Mode().Perm()); err != nil {
			return err
		}
	}
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return into.file(ctx, from, info, s.path)
}

// appendTo appends all of a file to another one, or nothing.
func appendTo(ctx context.Context, from *os.File, path string) error {
	to, err := os.OpenFile(path, outputFlags(true)|unix.O_NONBLOCK|unix.O_NOCTTY, 0o666)
	if err != nil {
		return err
	}
	defer to.Close()
	before, err := to.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = errKind
	}
	if err != nil {
		return at(path, err)
	}
	n, err := stream(ctx, from, to)
	if err == nil {
		err = to.Sync()
	}
	if err == nil {
		return nil
	}
	if after, e := to.Stat(); e == nil && after.Size() == before.Size()+n { // others have not appended meanwhile
		to.Truncate(before.Size())
	}
	return at(path, err)
}

// plain returns an error unless a path of the scratch directory leads to a file or directory that is there, by no symbolic
// link: what another machine has sent may lead anywhere.
func (t *Transfer) plain(path string) error {
	rest, ok := strings.CutPrefix(path, t.Scratch)
	at := t.Scratch
	for name := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = &fs.PathError{Op: "open", Path: path, Err: errLinked}
		}
		if err != nil {
			return err
		}
	}
	if !ok {
		return &fs.PathError{Op: "open", Path: path, Err: errOutside}
	}
	return nil
}

var errLinked = errors.New("a symbolic link from another machine is not followed")
