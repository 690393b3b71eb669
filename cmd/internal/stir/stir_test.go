package stir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// TestStirs holds that what is written to a directory is noticed, and that a watch looks
// more often where that cannot be.
func TestStirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	events, often := Watch(dir)
	if often != calm {
		t.Errorf("stirs of a directory looks every %v, want %v", often, calm)
	}
	for _, text := range []string{"a", "b"} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o600))
		select {
		case <-events:
		case <-time.After(testenv.Longest):
			t.Fatal("nothing stirs when a file is written")
		}
	}
	if events, often := Watch(filepath.Join(dir, "none")); events != nil || often != blind {
		t.Errorf("stirs of no directory = %v, %v, want no channel, %v", events, often, blind)
	}
}
