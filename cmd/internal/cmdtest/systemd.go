package cmdtest

import (
	"os"
	"path/filepath"
	"testing"

	"fairspool/cmd/internal/systemd"
	"fairspool/lib/asuser"
)

// Systemd makes a machine that systemd runs, by its looks, whose systemd-run is a script; what
// that was called with is in the file calls of the folder.
func Systemd(t *testing.T, dir, script string) systemd.Machine {
	t.Helper()
	for _, folder := range []string{"bin", "run/systemd/system", "run/user/1000/systemd/private", "linger/alice"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if script != "" {
		text := "#!/bin/sh\necho \"$*\" >>" + dir + "/calls\n" + script
		if err := os.WriteFile(filepath.Join(dir, "bin/systemd-run"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	asuser.Folders = []string{dir + "/bin", "/usr/bin", "/bin"}
	return systemd.Machine{Run: dir + "/run", Linger: dir + "/linger", UID: 0, Name: "root"}
}

// Execs is a systemd-run that does what it is told.
const Execs = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`
