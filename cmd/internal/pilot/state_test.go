package pilot

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/lib/localdisk"
)

// TestRefusedStateFolders holds that a folder which locks or rights do not protect is refused, with what to do.
func TestRefusedStateFolders(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		kind       int64
	}{
		{path("file"), "state folder: " + path("file") + ": not a folder: remove it", 0},
		{path("far"), "state folder " + path("far") + ": lies on NFS, where locks and the order of writes cannot be relied upon: put it on a local disk, and name it by STATE or -state", unix.NFS_SUPER_MAGIC},
	} {
		before := localdisk.TypeOf
		localdisk.TypeOf = func(string) (int64, error) { return c.kind, nil }
		_, err := OpenState(c.path)
		localdisk.TypeOf = before
		if err == nil || err.Error() != c.want {
			t.Errorf("OpenState(%s) = %v, want %q", c.path, err, c.want)
		}
	}
}
