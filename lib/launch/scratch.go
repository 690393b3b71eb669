package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Placed is what stood in a scratch directory before the job was started.
type Placed struct {
	files map[string]mark // the files at the top, by name
}

// mark tells a file that was written to from one that was not.
type mark struct {
	size int64
	at   time.Time
}

// Place makes the scratch directory, copies the inputs there, and over them what
// an earlier attempt has left for this one. It makes no directory above it. Every
// failure is a *StartError, save that of a context that was cancelled.
func (t *Transfer) Place(ctx context.Context) (Placed, error) {
	if info, err := os.Stat(t.Iwd); err != nil {
		return Placed{}, startError("working directory "+t.Iwd, err)
	} else if !info.IsDir() {
		return Placed{}, startError("working directory "+t.Iwd, unix.ENOTDIR)
	}
	own, err := t.make()
	if err != nil {
		return Placed{}, &StartError{Reason: fmt.Sprintf("scratch directory %s: %v", t.Scratch, cause(err)), Passing: true}
	}
	c := &copier{ctx: ctx, into: inScratch{}, own: own}
	for _, p := range t.inputs {
		err := error(nil)
		if p.parents {
			err = t.above(p.to)
		}
		if err == nil {
			err = c.parcel(p)
		}
		if err != nil {
			return Placed{}, failed(ctx, "input", p, HoldInput, err)
		}
	}
	placed := Placed{files: t.top()}
	if t.When == OnExitOrEvict {
		err = t.resume(ctx)
	}
	return placed, err
}

// make makes the scratch directory, empty.
func (t *Transfer) make() (fs.FileInfo, error) {
	if err := RemoveTree(t.Scratch); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.Scratch, 0o700); err != nil {
		return nil, err
	}
	return os.Stat(t.Scratch)
}

// above makes the directories of the scratch directory that lead to a path.
func (t *Transfer) above(path string) error {
	var missing []string
	for dir := filepath.Dir(path); len(dir) > len(t.Scratch); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if _, err := (inScratch{}).folder(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// top returns the files at the top of the scratch directory, also those that a
// symbolic link leads to.
func (t *Transfer) top() map[string]mark {
	files := map[string]mark{}
	entries, _ := os.ReadDir(t.Scratch)
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(t.Scratch, e.Name())); err == nil && info.Mode().IsRegular() {
			files[e.Name()] = mark{info.Size(), info.ModTime()}
		}
	}
	return files
}

// resume copies what an earlier attempt has left.
func (t *Transfer) resume(ctx context.Context) error {
	info, err := os.Stat(t.Kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = (&copier{ctx: ctx, into: inScratch{}, links: true}).tree(t.Kept, info, t.Scratch)
	}
	if err != nil {
		return failed(ctx, "kept files", parcel{name: t.Kept}, HoldInput, err)
	}
	return nil
}

// open makes the scratch directory readable again, should the job have closed it.
func (t *Transfer) open() { os.Chmod(t.Scratch, 0o700) }

// Keep keeps what is in the scratch directory, which is gone with that, for the
// next attempt, in the place of what an earlier one had left.
func (t *Transfer) Keep() error {
	t.open()
	err := unix.Rename(t.Scratch, t.Kept)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		// At no moment is there nothing, where the file system can do that.
		err = unix.Renameat2(unix.AT_FDCWD, t.Scratch, unix.AT_FDCWD, t.Kept, unix.RENAME_EXCHANGE)
		if err == nil {
			err = RemoveTree(t.Scratch)
		} else if err = RemoveTree(t.Kept); err == nil {
			err = unix.Rename(t.Scratch, t.Kept)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Kept, cause(err))
	}
	return nil
}

// RemoveTree removes a file, or a directory with all that is in it, also where
// its owner may not write. It is no error when nothing is there.
func RemoveTree(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	err := os.RemoveAll(path)
	for n := 0; (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENAMETOOLONG)) && hoist(path, n); n++ {
		err = os.RemoveAll(path)
	}
	return err
}

// hoist moves a directory from deep below another one up into it, for removing holds
// a file open for each level. ok is false when there is nothing that deep.
func hoist(path string, n int) (ok bool) {
	const least, most = 8, 200 // levels
	at, level := path, 0
	for ; level < most && len(at) < unix.PathMax/2; level++ {
		entries, _ := os.ReadDir(at)
		i := slices.IndexFunc(entries, fs.DirEntry.IsDir)
		if i < 0 {
			break
		}
		at = filepath.Join(at, entries[i].Name())
	}
	return level >= least && os.Rename(at, filepath.Join(path, fmt.Sprintf("%s%d", hidden, n))) == nil
}

// cause returns the error number in an error, or the error.
func cause(err error) error {
	var number unix.Errno
	var path *fs.PathError
	switch {
	case errors.As(err, &number):
		return number
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// failed says which copy could not be made.
func failed(ctx context.Context, what string, p parcel, code int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	place := p.name
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) {
		place = path.Path
	} else if errors.As(err, &link) {
		place = link.New
	}
	e := startError(what+" "+place, cause(err))
	e.Code = code
	var number unix.Errno
	if errors.As(err, &number) {
		e.Subcode = int(number)
	}
	return e
}
