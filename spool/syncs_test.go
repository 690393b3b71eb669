package spool

import (
	"io/fs"
	"testing"

	"fairspool/spool/internal/files"
)

// countingSyncs counts what waits for the disk.
type countingSyncs struct {
	files.Disk
	n int
}

func (c *countingSyncs) SyncDir(name string) error { c.n++; return c.Disk.SyncDir(name) }

func (c *countingSyncs) Open(name string, flag int, perm fs.FileMode) (files.File, error) {
	f, err := c.Disk.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c}, nil
}

type countedFile struct {
	files.File
	syncs *countingSyncs
}

func (f countedFile) Sync() error { f.syncs.n++; return f.File.Sync() }

// TestSyncs holds that a transaction waits for the disk once, and twice if jobs
// leave, once for each month that they leave to, and for digests; whether or not the journal has
// been folded before.
func TestSyncs(t *testing.T) {
	t.Parallel()
	twice := map[string]int{"remove": 2, "finish": 2, "remove over the turn of a month": 4, // a new month's file has a new name, too
		"submit a factory": 3, "materialize": 2} // a digest, its name and that of its folder; jobs leave
	for _, op := range operations {
		if op.do == nil {
			continue
		}
		dir := fixture(t)
		foldAll(t, dir)
		layer := &countingSyncs{}
		if err := attempt(dir, layer, op.do); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if want := max(1, twice[op.name]); layer.n != want {
			t.Errorf("%s: %d syncs, want %d", op.name, layer.n, want)
		}
	}
}
