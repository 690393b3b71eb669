package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// The files in which a job finds its own ad and that of its slot.
const (
	jobNote     = ".job.ad"
	machineNote = ".machine.ad"
)

// notes are what these files hold, and that of pool.BatchScriptName; nil: there is no such
// script.
type notes struct{ job, machine, script []byte }

// notesOf returns the ads in the long form. What is not there is empty.
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

// isNote tells whether a file at the top of a scratch directory is one that was put
// there for the job to look at, and is not its output.
func isNote(name string) bool {
	return name == jobNote || name == machineNote || name == pool.BatchScriptName
}

func (j Job) inNotes(name string) string { return filepath.Join(j.Scratch, name) }

// room is a scratch directory: it belongs to the account of the job, and nobody else
// looks in.
type room struct {
	path    string
	account Account
	notes   notes
}

func (j Job) room() room { return room{j.Scratch, j.Account, j.notes} }

// Place makes the scratch directory of the job, and when it transfers files copies its
// inputs there, and over them what an earlier attempt has left for this one. It makes no
// directory above it. Every failure is a *StartError, save that of a context that was
// cancelled. Whatever became of it, RemoveTree removes the directory.
func (j Job) Place(ctx context.Context) (Placed, error) {
	switch {
	case j.Transfer != nil:
		return j.Transfer.Place(ctx)
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

// makeFor makes a directory that belongs to an account, in a folder of ours. Root gives away what it
// has open and is ours, whatever the path may lead to by then.
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

// failed says why there is no directory. A disk may be full just now; but who may not
// get at it will not tomorrow.
func (r room) failed(err error) *StartError {
	return &StartError{
		Reason: fmt.Sprintf("scratch directory %s: %v", r.path, cause(err)), Passing: !errors.Is(err, fs.ErrPermission),
	}
}
