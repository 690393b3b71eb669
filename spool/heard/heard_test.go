package heard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if s, ok, err := Last(dir, "N1/x"); ok || err != nil {
		t.Fatalf("without a sign Last = %v, %v, %v", s, ok, err)
	}
	long := Sign{strings.Repeat("a", 60), 1 << 62, time.UnixMilli(9e12).UTC(), Served{1 << 40, 1 << 40, 1 << 62}}
	for _, want := range []Sign{{"b-1", 5, time.UnixMilli(7).UTC(), Served{1, 2, 3}}, long, {"b-2", 0, time.UnixMilli(0).UTC(), Served{}}} {
		if err := Note(dir, "N1/x", want); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := Last(dir, "n1/X"); s != want || !ok || err != nil {
			t.Errorf("Last = %v, %v, %v, want %v", s, ok, err, want)
		}
	}
	for _, boot := range []string{"", "a b", "a\n", strings.Repeat("a", size)} {
		if err := Note(dir, "n1", Sign{Boot: boot, At: time.UnixMilli(1)}); err == nil {
			t.Errorf("a boot %q is written", boot)
		}
	}
	for range 2 {
		if err := Forget(dir, "n1/X"); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := Last(dir, "N1/x"); ok || err != nil {
			t.Errorf("forgotten Last = %v, %v, %v", s, ok, err)
		}
	}
}

// TestGarbage holds that a file that is damaged is as none.
func TestGarbage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "\x00\x00\x00", "b 1 2 0 0 0", "b 1 2 0 0 0 3", "b 1 2 0 0 0 . x", "b x 2 0 0 0 .", "b 1 x 0 0 0 .", "b -1 2 0 0 0 .", "b 1 -2 0 0 0 .", "b 1 2 -1 0 0 .", "b 1 2 0 x 0 .",
		"b 1 2 0 0 -1 .", "b 1 9223372036854775807 0 0 0 .", "b 1 99999999999999999999 0 0 0 .",
	} {
		if err := os.WriteFile(filepath.Join(dir, folder, "n1.sign"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := Last(dir, "n1"); ok || err != nil {
			t.Errorf("Last of %q = %v, %v, %v, want none", text, s, ok, err)
		}
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	s := Sign{Boot: "b", Up: 10 * time.Second}
	for _, c := range []struct {
		boot     string
		up, want time.Duration
	}{{"b", 12 * time.Second, 2 * time.Second}, {"b", 9 * time.Second, 0}, {"c", 3 * time.Second, 3 * time.Second}} {
		if got := s.Elapsed(c.boot, c.up); got != c.want {
			t.Errorf("Elapsed(%s, %v) = %v, want %v", c.boot, c.up, got, c.want)
		}
	}
}

func TestBy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Note(dir, "n1", Sign{Boot: "b", Up: 10 * time.Second, At: time.UnixMilli(1)}); err != nil {
		t.Fatal(err)
	}
	elapsed := By(dir, "b", time.Minute)
	if d, ok := elapsed("N1"); d != 50*time.Second || !ok {
		t.Errorf("n1 was heard of %v ago, %v", d, ok)
	}
	if d, ok := elapsed("n2"); ok {
		t.Errorf("n2 was heard of %v ago", d)
	}
}
