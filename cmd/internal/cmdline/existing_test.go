package cmdline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExistingSpool holds that a spool is found and never made.
func TestExistingSpool(t *testing.T) {
	dir := filepath.Join(alone(t), "spool")
	look := func(c *Call) error {
		s, err := c.ExistingSpool(false)
		if err == nil && s.Dir() != dir {
			t.Errorf("the spool found is %s, want %s", s.Dir(), dir)
		}
		return err
	}
	refused := func(why string) {
		t.Helper()
		status, _, bad := execute(look, "-spool", dir)
		if status != 1 || !strings.HasPrefix(bad, "toy: spool "+dir+": "+why) || strings.Count(bad, "\n") != 1 {
			t.Errorf("ExistingSpool = %d, %q, want 1, %s", status, bad, why)
		}
	}
	refused("there is no spool here: ")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("looking for a spool left %s: %v", dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	refused("there is no spool here: ")
	if err := os.WriteFile(filepath.Join(dir, "journal.3"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("VERSION is missing: ")
	if err := os.Remove(filepath.Join(dir, "journal.3")); err != nil {
		t.Fatal(err)
	}

	if status, _, bad := execute(func(c *Call) error { _, err := c.Spool(); return err }, "-spool", dir); status != 0 {
		t.Fatalf("Spool = %d, %q, want one made", status, bad)
	}
	if status, _, bad := execute(look, "-spool", dir); status != 0 || bad != "" {
		t.Errorf("ExistingSpool of a spool = %d, %q, want 0", status, bad)
	}
	file := filepath.Join(dir, "VERSION")
	dir = file
	refused("not a directory")
}
