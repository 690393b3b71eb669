package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"fairspool/internal/testenv"
)

// TestMakeFolder has many make the folder at once, beside what a power cut left in the place
// of its first name.
func TestMakeFolder(t *testing.T) {
	for range 50 {
		folder := filepath.Join(t.TempDir(), "execute")
		testenv.OK(t, os.WriteFile(folder+Unfinished, nil, 0o600))
		if err := MakeFolder(folder); err != nil {
			t.Fatalf("MakeFolder beside a file %s = %v, want no error", Unfinished, err)
		}
		testenv.OK(t, os.Remove(folder))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if err := MakeFolder(folder); err != nil {
					t.Errorf("MakeFolder, by several at once = %v, want no error", err)
				}
				if err := os.Mkdir(filepath.Join(folder, strconv.Itoa(i)), 0o700); err != nil {
					t.Errorf("a folder in it: %v", err)
				}
			})
		}
		all.Wait()
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 8 {
			t.Fatalf("the folder has %d entries, %v, want 8", len(entries), err)
		}
		if _, err := os.Lstat(folder + Unfinished); err == nil {
			t.Fatalf("%s is left", folder+Unfinished)
		}
	}
}
