package spool

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairspool/spool/internal/files"
)

// TestPowerCut holds that the double loses what was not synced, and that only:
// what may be left of the file a, or of the file b that it becomes.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	rename := func(l *faulty, _ files.File) error {
		return l.Rename(filepath.Join(l.root, "a"), filepath.Join(l.root, "b"))
	}
	write := func(text string, at int64) func(*faulty, files.File) error {
		return func(_ *faulty, f files.File) error { _, err := f.WriteAt([]byte(text), at); return err }
	}
	truncate := func(size int64) func(*faulty, files.File) error {
		return func(_ *faulty, f files.File) error { return f.Truncate(size) }
	}
	sync := func(_ *faulty, f files.File) error { return f.Sync() }
	syncDir := func(l *faulty, _ files.File) error { return l.SyncDir(l.root) }
	folder := func(l *faulty, _ files.File) error { return l.Mkdir(filepath.Join(l.root, "d"), 0o700) }
	syncFolder := func(l *faulty, _ files.File) error { return l.SyncDir(filepath.Join(l.root, "d")) }
	remove := func(l *faulty, _ files.File) error { return l.Remove(filepath.Join(l.root, "a")) }
	forget := func(l *faulty, f files.File) error {
		l.arm(fault{at: 1, once: syscall.EIO, forgets: true})
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			return errors.New("the sync did not fail")
		}
		l.revive()
		return nil
	}
	for _, test := range []struct {
		name  string
		there bool // a, with "old" in it, and durable
		do    []func(*faulty, files.File) error
		left  string // what may be there, in order
	}{
		{"nothing", true, nil, "a=old"},
		{"new", false, nil, " a="},
		{"new and its name synced", false, []func(*faulty, files.File) error{syncDir}, " a="},
		{"new and written", false, []func(*faulty, files.File) error{write("wxyz", 0), syncDir}, " a= a=\x00\x00\x00\x00 a=wx a=wxyz"},
		{"new, written and synced, and its name", false, []func(*faulty, files.File) error{write("wxyz", 0), sync, syncDir}, "a=wxyz"},
		{"a folder", true, []func(*faulty, files.File) error{folder}, "a=old a=old,d/="},
		{"a folder's name synced, but not itself", true, []func(*faulty, files.File) error{folder, syncDir}, "a=old a=old,d/="},
		{"a folder synced, but not its name", true, []func(*faulty, files.File) error{folder, syncFolder}, "a=old a=old,d/="},
		{"a folder and its name synced", true, []func(*faulty, files.File) error{folder, syncFolder, syncDir}, "a=old,d/="},
		{"new and synced, but not its name", false, []func(*faulty, files.File) error{write("wxyz", 0), sync}, " a=wxyz"},
		{"overwritten", true, []func(*faulty, files.File) error{write("new", 0)}, "a=new a=nld a=old"},
		{"overwritten and synced", true, []func(*faulty, files.File) error{write("new", 0), sync}, "a=new"},
		{"appended and cut back", true, []func(*faulty, files.File) error{write("er", 3), truncate(3)}, "a=old a=older"},
		{"appended, cut back and synced", true, []func(*faulty, files.File) error{write("er", 3), truncate(3), sync}, "a=old"},
		{"removed", true, []func(*faulty, files.File) error{remove}, " a=old"},
		{"removed for good", true, []func(*faulty, files.File) error{remove, syncDir}, ""},
		{"renamed", true, []func(*faulty, files.File) error{rename}, "a=old a=old,b=old b=old"},
		{"renamed for good", true, []func(*faulty, files.File) error{rename, syncDir}, "b=old"},
		{"appended, and the sync forgets", true, []func(*faulty, files.File) error{write("er", 3), forget, sync}, "a=old\x00\x00 a=older"},
		{"appended again after that", true, []func(*faulty, files.File) error{write("er", 3), forget, write("er", 3), sync}, "a=older"},
	} {
		m := image{}
		if test.there {
			m["a"] = []byte("old")
		}
		layer, err := newFaultyOn(filepath.Join(t.TempDir(), "root"), m, fault{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := layer.Open(filepath.Join(layer.root, "a"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range test.do {
			if err := do(layer, f); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		f.Close()
		var left []string
		for _, c := range layer.tree.cuts(rand.New(rand.NewPCG(1, 1))) {
			var files []string
			for _, name := range slices.Sorted(maps.Keys(c.image)) {
				files = append(files, name+"="+string(c.image[name]))
			}
			left = append(left, strings.Join(files, ","))
		}
		slices.Sort(left)
		if got := strings.Join(left, " "); got != test.left {
			t.Errorf("%s: left may be %q, want %q", test.name, got, test.left)
		}
	}
}
