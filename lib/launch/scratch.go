package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
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

// Place makes the scratch directory and fills it, as Job.Place says.
func (t *Transfer) Place(ctx context.Context) (placed Placed, err error) {
	own, err := t.room().make()
	if err != nil {
		return placed, err
	}
	err = t.account.As(func() error {
		placed, err = t.fill(ctx, own)
		return err
	})
	return placed, err
}

func (t *Transfer) room() room { return room{t.Scratch, t.account, t.notes} }

// fill copies to the scratch directory what belongs there.
func (t *Transfer) fill(ctx context.Context, own fs.FileInfo) (Placed, error) {
	if err := isDirectory(t.Iwd); err != nil {
		return Placed{}, startError(HoldIwd, "working directory "+t.Iwd, err)
	}
	if err := t.copyInputs(&copier{ctx: ctx, into: inScratch{}, own: own, bytes: &t.received}); err != nil {
		return Placed{}, err
	}
	placed := Placed{files: t.top()}
	if err := t.resume(&copier{ctx: ctx, into: inScratch{}, links: true, bytes: &t.received}); err != nil {
		return placed, err
	}
	return placed, t.room().write()
}

func (t *Transfer) copyInputs(c *copier) error {
	for _, p := range t.inputs {
		err := error(nil)
		if p.parents {
			err = t.above(c.into, p.to)
		}
		if err == nil {
			err = c.parcel(p)
		}
		if err != nil {
			return failed(c.ctx, "input", p, HoldInput, err)
		}
	}
	return nil
}

// above makes the directories of the scratch directory that lead to a path.
func (t *Transfer) above(into target, path string) error {
	var missing []string
	for dir := filepath.Dir(path); len(dir) > len(t.Scratch); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if _, err := into.folder(dir, 0o755); err != nil {
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
		if isNote(e.Name()) || (t.apart || t.contained) && isRunFile(e.Name()) {
			continue
		}
		if info, err := os.Stat(filepath.Join(t.Scratch, e.Name())); err == nil && info.Mode().IsRegular() {
			files[e.Name()] = mark{info.Size(), info.ModTime()}
		}
	}
	return files
}

// resume copies what an earlier attempt has left, if the job goes on with that.
func (t *Transfer) resume(c *copier) error {
	if !t.resumes {
		return nil
	}
	info, err := os.Stat(t.Kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = c.tree(t.Kept, info, t.Scratch)
	}
	if err != nil {
		return failed(c.ctx, "kept files", parcel{name: t.Kept}, HoldInput, err)
	}
	return nil
}

// open makes the scratch directory readable again, should the job have closed it.
func (t *Transfer) open() { os.Chmod(t.Scratch, 0o700) }

// Keep moves the content of the scratch directory, which is gone then, to where the next
// attempt finds it. It replaces the content that an earlier attempt had left.
func (t *Transfer) Keep() error {
	t.account.As(func() error { t.open(); return nil })
	if err := supplant(t.Scratch, t.Kept); err != nil {
		return fmt.Errorf("%s: %w", t.Kept, cause(err))
	}
	return nil
}

// RemoveTree removes a file, or a directory with all its content, also where its owner may not
// write. A missing file is no error. The folder above it must be ours. The content may be of
// another user, whose processes may even work there: root follows no link in it, and uses
// paths only with that user's rights. A process that serves an account does all of it with
// that user's rights, except removing the directory itself.
func RemoveTree(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	owner, isOther := otherOwner(info)
	if !isOther {
		return removeTree(path)
	}
	if _, serves := asuser.Served(); serves {
		failed := owner.Do(func() error { return empty(path) })
		err := os.Remove(path)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil
		case failed != nil:
			return failed
		}
		return err
	}
	return removeTreeAs(path, func(fn func()) { owner.Do(func() error { fn(); return nil }) })
}

// empty removes all that is in a directory.
func empty(path string) error {
	os.Chmod(path, 0o700)
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		err = errors.Join(err, removeTree(filepath.Join(path, e.Name())))
	}
	return err
}

// removeTree does what RemoveTree does with the rights that there are.
func removeTree(path string) error { return removeTreeAs(path, func(fn func()) { fn() }) }

// removeTreeAs removes a tree. RemoveAll goes from directory to directory by open files,
// and never by a link; operations by paths have the rights that as takes on.
func removeTreeAs(path string, as func(func())) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	as(func() {
		filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	err := os.RemoveAll(path)
	for n := 0; errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENAMETOOLONG); n++ {
		moved := false
		as(func() { moved = moveUp(path, n) })
		if !moved {
			break
		}
		err = os.RemoveAll(path)
	}
	return err
}

// otherOwner returns the owner of a file, if that is another user for whom this process
// can act.
func otherOwner(info fs.FileInfo) (owner asuser.User, yes bool) {
	if info == nil || !asuser.Privileged() {
		return owner, false
	}
	about, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(about.Uid) == os.Geteuid() {
		return owner, false
	}
	return asuser.User{Name: "its owner", UID: int(about.Uid), GID: int(about.Gid), Groups: []int{int(about.Gid)}}, true
}

// moveUp moves a directory from deep below another one up into it, for removing holds
// a file open for each level. ok is false when there is nothing that deep.
func moveUp(path string, n int) (ok bool) {
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

// failed names the copy that failed. An error of the link to another machine is no failure of a copy.
func failed(ctx context.Context, what string, p parcel, code int, err error) error {
	var broken *linkError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &broken):
		return broken
	}
	place := p.name
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) {
		place = path.Path
	} else if errors.As(err, &link) {
		place = link.New
	}
	return startError(code, what+" "+place, err)
}

// The files in which a job finds its own ad and its slot's.
const (
	jobNote     = ".job.ad"
	machineNote = ".machine.ad"
)

// notes are the contents of these files, and of pool.BatchScriptName; nil: there is no
// such script.
type notes struct{ job, machine, script []byte }

// notesOf returns the ads in the long form. A missing one is empty.
func notesOf(ad, slot *classad.Ad) (n notes) {
	n.job = ad.AppendLong(nil)
	if script, ok := constant(ad, pool.AttrBatchScript); ok {
		n.script = []byte(script)
	}
	if slot != nil {
		n.machine = slot.AppendLong(nil)
	}
	return n
}

// isNote reports whether a file at the top of a scratch directory is one that was put
// there for the job to look at, and is not its output.
func isNote(name string) bool {
	return name == jobNote || name == machineNote || name == pool.BatchScriptName
}

func (j Job) inNotes(name string) string { return filepath.Join(j.Scratch, name) }

// room is a scratch directory: it belongs to the account of the job, and no other user
// can look in.
type room struct {
	path    string
	account Account
	notes   notes
}

func (j Job) room() room { return room{j.Scratch, j.Account, j.notes} }

// Place makes the scratch directory of the job. If the job transfers files, Place copies
// its inputs there, and over them the files that an earlier attempt has left. It makes no
// directory above it. Every failure is a *StartError, except that of a context that was
// cancelled. In any case, RemoveTree removes the directory.
func (j Job) Place(ctx context.Context) (Placed, error) {
	switch {
	case j.Transfer != nil:
		placed, err := j.Transfer.Place(ctx)
		if err == nil {
			err = j.placeProgram(ctx)
		}
		return placed, err
	case j.Scratch == "":
		return Placed{}, nil
	}
	r := j.room()
	if _, err := r.make(); err != nil {
		return Placed{}, err
	}
	return Placed{}, r.account.As(r.write)
}

// make makes the directory, empty.
func (r room) make() (fs.FileInfo, error) {
	err := RemoveTree(r.path)
	if err == nil {
		err = makeFor(r.account, r.path)
	}
	if err != nil {
		return nil, r.failed(err)
	}
	info, err := os.Lstat(r.path)
	if err != nil {
		return nil, r.failed(err)
	}
	return info, nil
}

// makeFor makes a directory that belongs to an account, in a folder of ours. Root gives away a
// directory that it has opened and that is ours, whatever the path leads to by then.
func makeFor(a Account, path string) error {
	if err := os.Mkdir(path, 0o700); err != nil || !a.Other() {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var about unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &about); err == nil && int(about.Uid) != os.Geteuid() {
		err = fs.ErrPermission
	}
	if err != nil {
		return err
	}
	if e := asuser.Root(func() { err = f.Chown(a.UID, a.GID) }); e != nil {
		return e
	}
	return err
}

// write leaves the notes. It has to be called with the rights of the account.
func (r room) write() error {
	for name, text := range map[string][]byte{jobNote: r.notes.job, machineNote: r.notes.machine, pool.BatchScriptName: r.notes.script} {
		if name == pool.BatchScriptName && text == nil {
			continue
		}
		if err := leave(filepath.Join(r.path, name), text); err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// leave writes a file in the place of whatever is there.
func leave(path string, text []byte) error {
	const mode = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(path, mode, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if err = removeTree(path); err == nil {
			f, err = os.OpenFile(path, mode, 0o644)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// failed says why there is no directory. A full disk passes; missing permissions do not.
func (r room) failed(err error) *StartError {
	return &StartError{
		Reason: fmt.Sprintf("scratch directory %s: %v", r.path, cause(err)), Passing: !errors.Is(err, fs.ErrPermission),
	}
}

// OwnFolder returns an error unless a path is a folder of the effective user's to which no other
// user may write: in a place where all users may make files, the first one there could have this
// process write, execute and remove any files.
func OwnFolder(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	switch owner, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("%s: not a folder: remove it", folder)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s: belongs to another user: remove it, or name another folder", folder)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: others may write there: check its contents, then chmod 700", folder)
	}
	return nil
}

// MakeFolder makes a folder of mode 0700, durably, or is content with one that OwnFolder is
// content with. The folder gets its name once it is on the disk: after a power cut, a file system
// without a journal may have the name lead to the file that was there before. Several processes
// may make it at the same time.
func MakeFolder(folder string) error {
	if err := OwnFolder(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := folder + Unfinished
	err := unix.Mkdir(made, 0o700)
	if err == unix.EEXIST && unix.Unlink(made) == nil { // no folder
		err = unix.Mkdir(made, 0o700)
	}
	if err != nil && err != unix.EEXIST {
		return &fs.PathError{Op: "mkdir", Path: folder, Err: err}
	}
	err = syncPath(made)
	if err == nil {
		err = os.Rename(made, folder)
	}
	if err == nil {
		return cmp.Or(OwnFolder(folder), syncPath(filepath.Dir(folder)))
	}
	os.Remove(made)
	if OwnFolder(folder) == nil { // made by another process
		return nil
	}
	return err
}
