package negotiate

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// everyFile returns what is in all files of the spool, by name.
func everyFile(t *testing.T) map[string]string {
	t.Helper()
	dir, files := os.Getenv("FAIRSPOOL_DIR"), map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// What only looks leaves every byte of every file as it was.
func TestLookingChangesNothing(t *testing.T) {
	fill(t, 2, 2, 3)
	if status, _, bad := negotiate("-q"); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	before := everyFile(t)
	for _, args := range [][]string{
		{"-dry-run"}, {"-dry-run", "-json"}, {"-dry-run", "-q"}, {"-explain", "1"}, {"-explain", "2.1", "-json"},
		{"-what-if", "userprio -setfactor alice@pool 2", "-what-if", "slots add 3 like slot1@node", "-what-if", "config RESERVE_POOL_FRACTION=0"},
		{"-what-if", "qdel 1", "-what-if", "prio +5 2", "-what-if", "submit 3 like 2", "-json"},
		{"-what-if", "nonsense"}, {"-what-if", "slots withdraw slot9@node"},
	} {
		negotiate(args...)
		if after := everyFile(t); !maps.Equal(after, before) {
			for name, text := range after {
				if before[name] != text {
					t.Errorf("negotiate %q changed %s", args, name)
				}
			}
			t.Fatalf("negotiate %q: %d files, want the %d of before as they were", args, len(after), len(before))
		}
	}
	if negotiate("-q"); maps.Equal(everyFile(t), before) {
		t.Error("a real cycle changed nothing either: the test sees nothing")
	}
}
