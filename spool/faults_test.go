package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"fairspool/spool/internal/files"
)

// errStopped is what every operation answers once the process is dead.
var errStopped = errors.New("stopped")

// fault says what goes wrong and where; the zero fault is none.
type fault struct {
	name    string
	at      int    // which changing operation, counted from 1; 0 none
	atRead  int    // likewise which reading one
	torn    int    // a write that goes wrong leaves so many of its bytes, in percent,
	extra   int    // and so many more; at least none and at most all
	once    error  // only that operation fails, with this error; nil: the process is dead from then on
	done    bool   // the operation is done all the same
	lasting string // later operations on the same file fail too: "all" of them, or a kind such as "sync"
	forgets bool   // what a failed sync should have written is not written by a later one either
	then    *fault // what goes wrong after that; its numbers count from there
}

// String describes the fault for a message from which it can be replayed.
func (f fault) String() string {
	text := fmt.Sprintf("%s at step %d", f.name, f.at)
	if f.atRead > 0 {
		text = fmt.Sprintf("%s at read %d", f.name, f.atRead)
	}
	if f.then != nil {
		text += fmt.Sprintf(", then %s, %d later", f.then.name, f.then.at)
	}
	return text
}

// step is a changing operation that was begun.
type step struct {
	op   string // open, lock, unlock, write, truncate, sync, rename, remove, mkdir or syncdir
	file string // relative to the layer's root
	size int    // of a write
}

func (s step) String() string { return s.op + " " + s.file }

// faulty is a file layer over the real one that can go wrong at any of its
// operations. It counts as steps those that change something: open for
// writing, lock, unlock, write, truncate, sync, rename, remove, mkdir and the sync
// of a directory; and as reads the others. Beside the real files it keeps a tree of
// what is durable, so that it can tell what a power cut may leave. The real
// files are not synced: it is the tree that counts.
type faulty struct {
	fault
	n, reads int    // steps and reads so far, or since the first of two faults
	fired    bool   // something went wrong
	dead     bool   // the process is
	broken   string // the file on which operations of the kind f.lasting fail for good
	steps    []step
	read     int64    // bytes read
	locks    []string // what was locked

	root string // the directory in which tree stands
	tree *node
	mu   sync.Mutex // a reader may have several goroutines
}

// newFaulty returns a layer for a directory that is there. It knows nothing of
// what is durable there.
func newFaulty() *faulty { return &faulty{root: "/", tree: newDirectory()} }

// newFaultyOn makes the image in the directory root, all of it durable, and
// returns a layer for it.
func newFaultyOn(root string, m image, f fault) (*faulty, error) {
	return &faulty{fault: f, root: root, tree: m.durable()}, m.write(root)
}

// revive ends the fault: a new process goes on where the last one stopped.
func (f *faulty) revive() { f.arm(fault{}) }

// arm prepares another fault; steps count from here.
func (f *faulty) arm(next fault) {
	f.fault, f.n, f.reads, f.fired, f.dead, f.broken, f.steps = next, 0, 0, false, false, "", nil
}

func (f *faulty) relative(path string) string {
	name, err := filepath.Rel(f.root, path)
	if err != nil {
		panic(err) // both are absolute
	}
	return name
}

// step counts a changing operation and tells whether it is done, and what it
// answers.
func (f *faulty) step(op, path string, size int) (done bool, answer error) {
	if f.dead {
		return false, errStopped
	}
	name := f.relative(path)
	f.n++
	f.steps = append(f.steps, step{op, name, size})
	if f.broken == name && (f.lasting == "all" || f.lasting == op) {
		return false, syscall.EIO
	}
	if f.at == 0 || f.n != f.at {
		return true, nil
	}
	// A failure after the deed is a matter of syncs; writes have torn.
	done = f.done && (f.once == nil || op == "sync" || op == "syncdir")
	return done, f.fire(name)
}

// fire makes the fault happen and returns what the operation answers.
func (f *faulty) fire(name string) error {
	f.fired = true
	if f.once == nil {
		f.dead = true
		return errStopped
	}
	answer := f.once
	if f.lasting != "" {
		f.broken = name
	}
	if f.then != nil {
		f.at, f.once, f.torn, f.extra, f.done, f.then = f.then.at, f.then.once, f.then.torn, f.then.extra, f.then.done, f.then.then
		f.n = 0
	}
	return answer
}

// reading counts a reading operation and tells whether it fails.
func (f *faulty) reading(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errStopped
	}
	f.reads++
	if f.atRead > 0 && (f.reads == f.atRead || f.fired && f.lasting != "") {
		f.fired = true
		return f.once
	}
	return nil
}

// change counts a changing operation and does it unless it goes wrong.
func (f *faulty) change(op, path string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	done, err := f.step(op, path, 0)
	if done {
		if e := do(); err == nil {
			err = e
		}
	}
	return err
}

func (f *faulty) Open(name string, flag int, perm fs.FileMode) (files.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) == 0 {
		if err := f.reading(name); err != nil {
			return nil, err
		}
		real, err := files.Disk{}.Open(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &faultyFile{real, f, name, nil}, nil
	}
	var opened *faultyFile
	err := f.change("open", name, func() error {
		n, err := f.node(name)
		if err != nil {
			return err
		}
		real, err := files.Disk{}.Open(name, flag, perm)
		if err != nil {
			return err
		}
		opened = &faultyFile{real, f, name, f.opened(name, flag, n)}
		return nil
	})
	if err != nil {
		if opened != nil {
			opened.Close()
		}
		return nil, err
	}
	return opened, nil
}

func (f *faulty) Lock(name string, flag int, shared bool, wait time.Duration) (held files.Lock, err error) {
	err = f.change("lock", name, func() (err error) {
		f.locks = append(f.locks, f.relative(name))
		held, err = files.Disk{}.Lock(name, flag, shared, wait)
		return err
	})
	if err != nil && held != nil {
		held.Unlock()
	}
	if err != nil {
		return nil, err
	}
	return &faultyLock{held, f, name}, nil
}

// faultyLock is a lock of a faulty layer.
type faultyLock struct {
	files.Lock
	layer *faulty
	name  string
}

func (l *faultyLock) Unlock() error {
	err := l.layer.change("unlock", l.name, func() error { return nil })
	l.Lock.Unlock()
	return err
}

// node returns the file that a path leads to, nil for none. One that the tree
// does not know was made behind the layer's back, as lock files are: nothing
// of it is durable.
func (f *faulty) node(path string) (*node, error) {
	e := f.tree.entry(f.relative(path))
	if e.now != nil {
		return e.now, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	e.now = &node{data: b, dirty: []span{{0, len(b)}}}
	return e.now, err
}

// opened makes a change of the real file by being opened in the tree too.
func (f *faulty) opened(path string, flag int, n *node) *node {
	if n == nil {
		n = &node{}
		f.tree.entry(f.relative(path)).now = n
	} else if flag&os.O_TRUNC != 0 {
		n.resize(0)
	}
	return n
}

func (f *faulty) Rename(from, to string) error {
	return f.change("rename", to, func() error {
		if err := (files.Disk{}).Rename(from, to); err != nil {
			return err
		}
		a, b := f.tree.entry(f.relative(from)), f.tree.entry(f.relative(to))
		b.now, b.moved = a.now, nil
		a.now, a.moved = nil, b
		return nil
	})
}

func (f *faulty) Remove(name string) error {
	return f.change("remove", name, func() error {
		if err := (files.Disk{}).Remove(name); err != nil {
			return err
		}
		e := f.tree.entry(f.relative(name))
		e.now, e.moved = nil, nil
		return nil
	})
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	return f.change("mkdir", name, func() error {
		if err := (files.Disk{}).Mkdir(name, perm); err != nil {
			return err
		}
		if e := f.tree.entry(f.relative(name)); e.now == nil {
			e.now, e.moved = newDirectory(), nil
		}
		return nil
	})
}

func (f *faulty) SyncDir(name string) error {
	return f.change("syncdir", name, func() error {
		if _, err := os.Stat(name); err != nil {
			return err
		}
		if name == f.root {
			f.tree.syncNames()
		} else if n := f.tree.entry(f.relative(name)).now; n != nil {
			n.syncNames()
		}
		return nil
	})
}

// faultyFile is an open file of a faulty layer.
type faultyFile struct {
	files.File
	layer *faulty
	name  string
	node  *node // nil when it is open for reading only
}

func (f *faultyFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.layer.reading(f.name); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(b, off)
	f.layer.mu.Lock()
	defer f.layer.mu.Unlock()
	f.layer.read += int64(n)
	return n, err
}

func (f *faultyFile) Size() (int64, error) {
	if err := f.layer.reading(f.name); err != nil {
		return 0, err
	}
	return f.File.Size()
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	f.layer.mu.Lock()
	defer f.layer.mu.Unlock()
	torn, extra := f.layer.torn, f.layer.extra
	fires := !f.layer.dead && f.layer.at > 0 && f.layer.n+1 == f.layer.at
	done, answer := f.layer.step("write", f.name, len(b))
	switch {
	case done:
	case fires:
		b = b[:min(max(len(b)*torn/100+extra, 0), len(b))]
	default:
		return 0, answer
	}
	n, err := f.File.WriteAt(b, off)
	f.node.write(b[:n], int(off))
	if answer == nil {
		answer = err
	}
	return n, answer
}

func (f *faultyFile) Truncate(size int64) error {
	return f.layer.change("truncate", f.name, func() error {
		err := f.File.Truncate(size)
		if err == nil {
			f.node.resize(int(size))
		}
		return err
	})
}

func (f *faultyFile) Allocate(size int64) error {
	return f.layer.change("allocate", f.name, func() error {
		err := f.File.Allocate(size)
		if err == nil {
			f.node.resize(max(int(size), len(f.node.data)))
		}
		return err
	})
}

func (f *faultyFile) Sync() error {
	f.layer.mu.Lock()
	defer f.layer.mu.Unlock()
	done, err := f.layer.step("sync", f.name, 0)
	if f.node == nil { // open for reading: its sync works all the same
		var e error
		if f.node, e = f.layer.node(f.name); e != nil || f.node == nil {
			return errors.Join(err, e)
		}
	}
	if done {
		f.node.sync()
	} else if f.layer.forgets && !errors.Is(err, errStopped) {
		f.node.dirty = nil
	}
	return err
}

// faultsAt lists all that is tried at one step.
func faultsAt(at int, s step) []fault {
	list := []fault{
		{name: "stop before"},
		{name: "stop after", done: true},
	}
	switch s.op {
	case "write":
		list = append(list, tornFaults()...)
	case "sync":
		list = append(list, syncFaults()...)
	default:
		list = append(list,
			fault{name: "disk full", once: syscall.ENOSPC},
			fault{name: "I/O error", once: syscall.EIO},
			fault{name: "interrupted", once: syscall.EINTR},
			fault{name: "I/O errors from then on", once: syscall.EIO, lasting: "all"},
		)
		if s.op == "syncdir" {
			list = append(list, fault{name: "I/O error, but done", once: syscall.EIO, done: true})
		}
	}
	for i := range list {
		list[i].at = at
	}
	return list
}

func tornFaults() []fault {
	return []fault{
		{name: "stop at the first byte", extra: 1},
		{name: "stop in the middle", torn: 50},
		{name: "stop at the last byte", torn: 100, extra: -1},
		{name: "disk full", once: syscall.ENOSPC},
		{name: "disk full in the middle", once: syscall.ENOSPC, torn: 50},
		{name: "I/O error at the first byte", once: syscall.EIO, extra: 1},
		{name: "I/O error, but done", once: syscall.EIO, torn: 100},
		{name: "interrupted in the middle", once: syscall.EINTR, torn: 50},
		{name: "short write", once: io.ErrShortWrite, torn: 50},
		{name: "short write by a byte", once: io.ErrShortWrite, torn: 100, extra: -1},
		{name: "I/O errors from then on", once: syscall.EIO, lasting: "all", torn: 50},
		{name: "I/O errors from then on, but done", once: syscall.EIO, lasting: "all", torn: 100},
	}
}

func syncFaults() []fault {
	return []fault{
		{name: "disk full", once: syscall.ENOSPC},
		{name: "I/O error", once: syscall.EIO},
		{name: "I/O error that forgets", once: syscall.EIO, forgets: true},
		{name: "I/O error, but done", once: syscall.EIO, done: true},
		{name: "interrupted", once: syscall.EINTR},
		{name: "I/O errors from then on", once: syscall.EIO, lasting: "all"},
		{name: "I/O errors from then on that forget", once: syscall.EIO, lasting: "all", forgets: true},
		{name: "no sync from then on", once: syscall.EIO, lasting: "sync"},
		{name: "no sync from then on, forgetting", once: syscall.EIO, lasting: "sync", forgets: true},
	}
}
