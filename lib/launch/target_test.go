package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// TestInPlaceTogether has many put a directory and a link in the same places at
// once, as jobs do that name their output alike: all of them succeed.
func TestInPlaceTogether(t *testing.T) {
	dir := t.TempDir()
	const writers = 8
	for round := range 200 {
		folder, link := filepath.Join(dir, fmt.Sprint("folder", round)), filepath.Join(dir, fmt.Sprint("link", round))
		var errs [writers]error
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range writers {
			all.Go(func() {
				into := &inPlace{folders: map[string]bool{}}
				<-begin
				_, err := into.folder(folder, 0o755)
				errs[i] = errors.Join(err, into.link("somewhere", link))
			})
		}
		close(begin)
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatalf("round %d: %v, want no error", round, err)
		}
		if to, err := os.Readlink(link); err != nil || to != "somewhere" {
			t.Fatalf("the link leads to %q, %v, want somewhere", to, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, hidden+"*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A link takes the place of a file and of a link, and not of a directory.
func TestInPlaceLink(t *testing.T) {
	dir := t.TempDir()
	into := &inPlace{folders: map[string]bool{}}
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"one", "two"} {
		err := into.link(to, path)
		if got, _ := os.Readlink(path); err != nil || got != to {
			t.Errorf("link(%s) = %v, and it leads to %q", to, err, got)
		}
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var at *fs.PathError
	if err := into.link("one", folder); !errors.As(err, &at) || at.Path != folder {
		t.Errorf("link in the place of a directory = %v, want an error that names %s", err, folder)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("in the directory are %v, want x and folder", entries)
	}
}

// A folder of the user's that has become a named pipe, of which nobody reads, keeps nobody
// waiting.
func TestSyncOfNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, sync := range map[string]func() error{
		"of output":       (&inPlace{folders: map[string]bool{pipe: true}}).sync,
		"of a checkpoint": func() error { return syncPath(pipe) },
	} {
		done := make(chan error, 1)
		go func() { done <- sync() }()
		testenv.Until(t, "sync "+name+" waits for nobody who writes to the pipe", func() bool { return len(done) > 0 })
		if err := <-done; err != nil {
			t.Errorf("sync %s = %v, want none", name, err)
		}
	}
}
