package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairspool/spool/internal/files"
)

// waiting is a layer on which a writer waits for a word between the end of its lock and the sync
// of its transaction.
type waiting struct {
	*faulty
	wrote bool          // to the journal
	waits chan struct{} // is closed when the writer waits
	on    chan struct{} // is closed to let it go on
	done  chan error    // what it is answered
}

func (w *waiting) Open(name string, flag int, perm fs.FileMode) (files.File, error) {
	if w.wrote && flag == files.ReadWrite && filepath.Base(name) == "lock" {
		w.wrote = false
		close(w.waits)
		<-w.on
	}
	f, err := w.faulty.Open(name, flag, perm)
	if err != nil || !strings.HasPrefix(filepath.Base(name), "journal.") {
		return f, err
	}
	return writtenFile{f, w}, nil
}

type writtenFile struct {
	files.File
	layer *waiting
}

func (f writtenFile) WriteAt(b []byte, off int64) (int, error) {
	f.layer.wrote = true
	return f.File.WriteAt(b, off)
}

// waits begins an operation on a layer, and returns when it waits there.
func (o operation) waits(layer *faulty) *waiting {
	w := &waiting{faulty: layer, waits: make(chan struct{}), on: make(chan struct{}), done: make(chan error, 1)}
	go func() { w.done <- o.in(layer.spool(), w) }()
	<-w.waits
	return w
}

// ends lets it go on, and returns its answer.
func (w *waiting) ends() error {
	close(w.on)
	return <-w.done
}

// syncs counts those of the journal on a layer so far.
func (f *faulty) syncs() (n int) {
	for _, s := range f.steps {
		if s.op == "sync" && strings.HasPrefix(filepath.Base(s.file), "journal.") {
			n++
		}
	}
	return n
}

// appended are the operations whose transactions are synced when the lock is free again.
func appended(t *testing.T) (list []operation) {
	for _, o := range operations {
		switch o.name {
		case "submit", "set priority", "match", "tally", "advertise", "finish", "remove":
			list = append(list, o)
		}
	}
	if len(list) != 7 {
		t.Fatalf("%d operations, want 5", len(list))
	}
	return list
}

// TestSyncedByAnother holds that a writer that was answered has made durable what others wrote
// before it and still wait with, and that these then need no sync of their own.
func TestSyncedByAnother(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	for _, first := range appended(t) {
		for _, second := range operations {
			if second.do == nil {
				continue
			}
			may := [][]operation{{first, second}}
			where := first.name + ", then " + second.name
			layer := p.on(p.base, fault{})
			w := first.waits(layer)
			if err := second.in(layer.spool(), layer); err != nil {
				if p.after(first, second).refused {
					w.ends()
					p.discard(layer)
					continue
				}
				t.Fatalf("%s: %v", where, err)
			}
			for _, c := range layer.tree.cuts(p.random) {
				p.survives(c, where+", acknowledged", may)
			}
			before := layer.syncs()
			if err := w.ends(); err != nil || layer.syncs() != before {
				t.Errorf("%s: the first is answered %v after %d more syncs, want none", where, err, layer.syncs()-before)
			}
			for _, c := range layer.tree.cuts(p.random) {
				p.survives(c, where+", both acknowledged", may)
			}
			p.discard(layer)
		}
	}
}

// TestCutWhileWaiting cuts the power while two writers wait with their transactions: of the
// journal's pages any may be on the disk, also the second's without the first's, and the spool is
// sound.
func TestCutWhileWaiting(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	for _, first := range appended(t) {
		second := operations[0]
		where := first.name + ", then " + second.name
		layer := p.on(p.base, fault{})
		journal := filepath.Join("spool", "journal.1")
		from := len(layer.tree.present()[journal])
		a := first.waits(layer)
		to := len(layer.tree.present()[journal])
		b := second.waits(layer)
		for _, c := range layer.tree.cuts(p.random) {
			p.survives(c, where, [][]operation{nil, {first}, {first, second}})
		}
		hole := layer.tree.hardestCut()
		hole.name = "the second's pages alone are there"
		hole.image[journal] = bytes.Clone(layer.tree.present()[journal])
		clear(hole.image[journal][from : from+(to-from)/2])
		p.survives(hole, where, [][]operation{nil})
		if err := errors.Join(a.ends(), b.ends()); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		p.discard(layer)
	}
}

// TestSyncFails lets the sync of a transaction fail, and let go of what it should have written.
// If others stand behind it, all are written once more.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	first, second := appended(t)[0], appended(t)[1]
	layer := p.on(p.base, fault{})
	a := first.waits(layer)
	b := second.waits(layer)
	layer.arm(fault{name: "I/O error that forgets", at: 2, once: syscall.EIO, forgets: true})
	if err := a.ends(); err != nil || !layer.fired {
		t.Errorf("with another behind it: %v, want none", err)
	}
	for _, c := range layer.tree.cuts(p.random) {
		p.survives(c, "with another behind it", [][]operation{{first, second}})
	}
	if err := b.ends(); err != nil {
		t.Error(err)
	}
	p.discard(layer)

	layer = p.on(p.base, fault{})
	a = first.waits(layer)
	layer.arm(fault{name: "I/O error that forgets", at: 2, once: syscall.EIO, forgets: true})
	if err := a.ends(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("alone: %v, want an I/O error, and nothing changed", err)
	}
	for _, c := range layer.tree.cuts(p.random) {
		p.survives(c, "alone", [][]operation{nil})
	}
	p.discard(layer)
}
