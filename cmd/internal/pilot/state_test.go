package pilot

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/localdisk"
)

// TestRefusedStateFolders holds that a folder which locks or rights do not protect is refused, with what to do.
func TestRefusedStateFolders(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	testenv.OK(t, os.WriteFile(path("file"), nil, 0o600))
	for _, c := range []struct {
		path, want string
		kind       int64
	}{
		{path("file"), "state folder: " + path("file") + ": not a folder: remove it", 0},
		{path("far"), "state folder " + path("far") + ": is on NFS, where locks and the order of writes are unreliable: put it on a local disk, and name it by STATE or -state", unix.NFS_SUPER_MAGIC},
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

// TestInstance holds that a state folder keeps its name, also on a machine without a machine-id, and that a copy of the
// folder has another.
func TestInstance(t *testing.T) {
	defer func(before string) { machineID = before }(machineID)
	for _, id := range []string{"", "3d1219c7\n"} {
		machineID = filepath.Join(t.TempDir(), "machine-id")
		if id != "" {
			testenv.OK(t, os.WriteFile(machineID, []byte(id), 0o600))
		}
		dir := t.TempDir()
		s, copied := State{filepath.Join(dir, "state")}, State{filepath.Join(dir, "copy")}
		testenv.OK(t, os.Mkdir(s.Dir, 0o700))
		name, err := s.MakeInstance()
		testenv.OK(t, err)
		if again, err := s.MakeInstance(); err != nil || again != name {
			t.Errorf("machine-id %q: the folder is %q, and later %q, %v", id, name, again, err)
		}
		testenv.OK(t, os.CopyFS(copied.Dir, os.DirFS(s.Dir)))
		if other, err := copied.MakeInstance(); err != nil || other == name {
			t.Errorf("machine-id %q: a copy of folder %q is %q, %v", id, name, other, err)
		}
	}
}
