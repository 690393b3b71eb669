package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/spool/internal/files"
)

// TestHandWrittenSlots holds that bad ads in slots.d cost nothing but
// themselves, each with file and line.
func TestHandWrittenSlots(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "slots.d", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.ads", "Name = \"slot10@a\"\nCpus = 1\n\nCpus = = 2\nName = \"bad@a\"\n\nName = \"slot2@a\"\n")
	write("b.ads", "Name = \"slot2@a\"\n\nCpus = 4\n")
	write("ignored.txt", "Name = \"x\"\n")
	if err := attempt(dir, files.Disk{}, operations[6].do); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		slots, bad := v.Slots()
		var names []string
		for _, s := range slots {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != "slot1@host slot2@a slot10@a" {
			t.Errorf("slots = %s", got)
		}
		text := fmt.Sprint(bad)
		for _, want := range []string{"a.ads:4", "b.ads:1: slot slot2@a stands in", "a.ads:7 already", "b.ads:3: slot ad without a Name"} {
			if !strings.Contains(text, want) {
				t.Errorf("errors = %s, want %q", text, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
