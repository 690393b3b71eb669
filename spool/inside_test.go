package spool

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInside(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "s")
	for _, name := range []string{dir, filepath.Join(dir, "jobs"), dir + ".new"} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "s", "file": "s/lock", "out": "s.new"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"s": true, "s/lock": true, "s/jobs": true, "s/no/such": true, "link": true, "link/x": true, "link/jobs/x": true, "file": true,
		"s.new": false, "s.new/x": false, "out": false, "out/x": false, "no/such": false, ".": false, "s/../t": false, "s/..t": true,
	} {
		if got := Inside(top+"/"+name, dir); got != want {
			t.Errorf("Inside(%s, s) = %v, want %v", name, got, want)
		}
	}
	if Inside(top, filepath.Join(top, "none")) {
		t.Error("something lies in a directory that is not there")
	}
}
