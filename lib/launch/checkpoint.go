package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// HoldCheckpoint is HTCondor's HoldReasonCode of a job with a checkpoint that could not
// be stored.
const HoldCheckpoint = 36

// CheckpointExit reports whether a job of this ad that has ended so has only written a
// checkpoint, and is to go on from it: it was ended by CheckpointExitSignal (a number or a
// name), if CheckpointExitBySignal is true, and else has exited with CheckpointExitCode.
// Each name is read with Success before it, too (HTCondor manual, "Self-Checkpointing
// Applications", which has both spellings).
func CheckpointExit(ad *classad.Ad, e Ended) bool {
	c := &classad.Context{}
	for _, prefix := range []string{"", "Success"} {
		if bySignal, _ := ad.EvalBool(c, prefix+pool.AttrCheckpointExitBySignal); bySignal {
			sig, ok := checkpointSignal(ad, prefix+pool.AttrCheckpointExitSignal)
			return ok && e.Signal == sig
		}
		if code, ok := ad.EvalInt(c, prefix+pool.AttrCheckpointExitCode); ok {
			return e.Signal == 0 && int64(e.Code) == int64(code)
		}
	}
	return false
}

// checkpointSignal returns the signal that an attribute names; ok is false if it names none.
func checkpointSignal(ad *classad.Ad, name string) (number int, ok bool) {
	v := ad.Eval(setting, name, nil)
	text, ok := v.Text()
	if n, isInt := v.Int(); isInt {
		text, ok = strconv.FormatInt(n, 10), true
	}
	sig, err := ParseSignal(strings.TrimSpace(text))
	return int(sig), ok && err == nil
}

// writesCheckpoints reports whether a job of this ad ends in some way that means a
// checkpoint.
func writesCheckpoints(ad *classad.Ad) bool {
	for _, prefix := range []string{"", "Success"} {
		for _, name := range []string{pool.AttrCheckpointExitCode, pool.AttrCheckpointExitBySignal} {
			if v := ad.Eval(setting, prefix+name, nil); v.Kind() != classad.KindUndefined {
				return true
			}
		}
	}
	return false
}

// checkpoints reads what of the scratch directory is a checkpoint: what TransferCheckpoint
// names, all of it if that is missing, nothing if that is empty.
func (t *Transfer) checkpoints(ad *classad.Ad) error {
	t.resumes = t.When == OnExitOrEvict || writesCheckpoints(ad)
	if v := ad.Eval(setting, pool.AttrTransferCheckpoint, nil); v.Kind() == classad.KindUndefined {
		t.state = []parcel{{name: ".", from: t.Scratch, contents: true}}
		return nil
	}
	names, err := text(ad, pool.AttrTransferCheckpoint, "")
	if err != nil {
		return err
	}
	for _, name := range list(names) {
		path := filepath.Clean(name)
		err := error(nil)
		switch {
		case isURL(name):
			err = errURL
		case !filepath.IsLocal(path):
			err = errOutside
		}
		if err != nil {
			return &StartError{Reason: fmt.Sprintf("checkpoint %s: %v", name, err), Code: HoldCheckpoint}
		}
		// It is given back under the path that it has.
		t.state = append(t.state, parcel{name: name, from: filepath.Join(t.Scratch, path), to: path})
	}
	return nil
}

// Unfinished ends the name of a checkpoint that is being written. An abandoned one has no
// use.
const Unfinished = ".new"

// Checkpoint copies the job's checkpoint from the scratch directory to Kept, replacing an
// earlier one: on the disk, and as a whole or not at all. The scratch directory stays as it
// is, for the job to go on there; no process may write to it meanwhile. The next Place
// gives the checkpoint back. Every failure is a *StartError, except that of a context that
// was cancelled; then the earlier checkpoint is still there.
func (t *Transfer) Checkpoint(ctx context.Context) error {
	made := t.Kept + Unfinished
	err := t.checkpoint(ctx, made)
	if err != nil {
		RemoveTree(made)
	}
	return err
}

func (t *Transfer) checkpoint(ctx context.Context, made string) error {
	err := RemoveTree(made)
	if err == nil {
		err = makeFor(t.account, made)
	}
	if err != nil {
		return failed(ctx, "checkpoint", parcel{name: made}, HoldCheckpoint, err)
	}
	if err = t.account.As(func() error { return t.copyState(ctx, made) }); err != nil {
		return err
	}
	if err = supplant(made, t.Kept); err != nil {
		return failed(ctx, "checkpoint", parcel{name: t.Kept}, HoldCheckpoint, err)
	}
	return nil
}

// copyState copies the checkpoint to a directory, and syncs it.
func (t *Transfer) copyState(ctx context.Context, into string) error {
	t.open()
	c := &copier{ctx: ctx, into: inScratch{sync: true}, links: true, bytes: &t.sent}
	for _, p := range t.state {
		p.to = filepath.Join(into, p.to)
		err := os.MkdirAll(filepath.Dir(p.to), 0o700)
		if err == nil {
			err = c.parcel(p)
		}
		if err != nil {
			return failed(ctx, "checkpoint", p, HoldCheckpoint, err)
		}
	}
	if err := syncFolders(into); err != nil {
		return failed(ctx, "checkpoint", parcel{name: into}, HoldCheckpoint, err)
	}
	return nil
}

// syncFolders has the names in a directory, and in those below, on the disk. Those that
// cannot be read are passed over.
func syncFolders(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil || !d.IsDir():
			return err
		}
		return syncPath(path)
	})
}

// syncPath has a file, or the names in a directory, on the disk, if we may open it.
func syncPath(path string) error {
	if err := syncNames(path); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// syncNames has the names in a directory on the disk. It does not wait for a named pipe, with
// which the user may have replaced it by now.
func syncNames(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // a file system may know no such thing
		return err
	}
	return nil
}

// supplant gives a directory its name in the place of another one, and has that on the
// disk. At no moment is there neither, where the file system can do that.
func supplant(dir, place string) error {
	err := unix.Rename(dir, place)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		err = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE)
		if err == nil {
			err = RemoveTree(dir)
		} else if err = RemoveTree(place); err == nil {
			err = unix.Rename(dir, place)
		}
	}
	if err != nil {
		return err
	}
	return syncPath(filepath.Dir(place))
}
