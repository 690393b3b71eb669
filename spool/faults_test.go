package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// errStopped is what every operation answers once the process is dead.
var errStopped = errors.New("stopped")

// faulty is a file layer over the real one that can go wrong at any of its
// changing operations (open for writing, write, truncate, sync, rename,
// remove), counted from 1.
type faulty struct {
	at    int   // which operation goes wrong; 0 never
	torn  int   // a write that goes wrong leaves so many of its bytes, in percent
	once  error // only that operation fails, with this error; nil: the process is dead from then on
	n     int   // operations so far
	fired bool
	read  int64 // bytes read

	synced  map[string][]byte // what was synced of the files that were written
	durable map[string][]byte // what a power cut leaves of them; nil: not even the name
}

func newFaulty() *faulty {
	return &faulty{synced: map[string][]byte{}, durable: map[string][]byte{}}
}

// step counts an operation and tells whether it fails.
func (f *faulty) step() error {
	if f.fired && f.once == nil {
		return errStopped
	}
	f.n++
	if f.n != f.at {
		return nil
	}
	f.fired = true
	if f.once != nil {
		return f.once
	}
	return errStopped
}

// powerCut puts every file back to what had been synced.
func (f *faulty) powerCut() error {
	for name, b := range f.durable {
		if b == nil {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// remember notes what is durable of a file before it is first written.
func (f *faulty) remember(name string) {
	if _, known := f.durable[name]; known {
		return
	}
	b, err := os.ReadFile(name)
	if err != nil {
		b = nil
	}
	f.durable[name], f.synced[name] = b, b
}

func (f *faulty) Open(name string, flag int, perm fs.FileMode) (file, error) {
	if flag&(os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 {
		if err := f.step(); err != nil {
			return nil, err
		}
		f.remember(name)
	}
	real, err := disk{}.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{real, f, name}, nil
}

func (f *faulty) Rename(from, to string) error {
	if err := f.step(); err != nil {
		return err
	}
	f.remember(to)
	f.synced[to] = f.synced[from]
	return disk{}.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	f.remember(name)
	return disk{}.Remove(name)
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	if err := f.step(); err != nil {
		return err
	}
	return disk{}.Mkdir(name, perm)
}

// SyncDir makes the names in a directory durable. They lead to what was synced
// of their files, which may be nothing.
func (f *faulty) SyncDir(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	for file := range f.durable {
		if filepath.Dir(file) != name {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			f.durable[file] = nil
		} else {
			f.durable[file] = append([]byte{}, f.synced[file]...)
		}
	}
	return disk{}.SyncDir(name)
}

type faultyFile struct {
	file
	layer *faulty
	name  string
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(b, off)
	f.layer.read += int64(n)
	return n, err
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.layer.step(); err != nil {
		n := len(b) * f.layer.torn / 100
		if errors.Is(err, errStopped) && f.layer.n != f.layer.at {
			n = 0 // dead already
		}
		n, _ = f.file.WriteAt(b[:n], off)
		return n, err
	}
	return f.file.WriteAt(b, off)
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.layer.step(); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.layer.step(); err != nil {
		return err
	}
	if b, err := os.ReadFile(f.name); err == nil {
		f.layer.synced[f.name] = b
		if f.layer.durable[f.name] != nil { // else the directory does not have the name yet
			f.layer.durable[f.name] = b
		}
	}
	return f.file.Sync()
}
