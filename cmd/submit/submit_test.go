package main

import (
	"os"
	"path/filepath"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

func TestExists(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		dir  bool
		want string
	}{
		{dir, true, ""}, {file, false, ""},
		{dir, false, "is a folder"}, {file, true, "not a folder"},
		{dir + "/none", false, "no such file"}, {dir + "/none", true, "no such folder"},
		{file + "/x", false, "not a directory"},
	} {
		got := ""
		if err := exists(c.path, c.dir); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("exists(%q, %v) = %q, want %q", c.path, c.dir, got, c.want)
		}
	}
}

func TestCheckOwner(t *testing.T) {
	for name, ok := range map[string]bool{"alice": true, "first.last": true, "": false, "a b": false, "a@b": false, "a\nb": false} {
		if err := checkOwner(name); (err == nil) != ok {
			t.Errorf("checkOwner(%q) = %v, want ok %v", name, err, ok)
		}
	}
}

func TestEach(t *testing.T) {
	parse := func(text string) *classad.Ad {
		ad, err := classad.ParseAd(text)
		if err != nil {
			t.Fatal(err)
		}
		return ad
	}
	k := cluster{7, parse(`[A = "x"]`), []submitfile.Run{{Count: 2, Ad: parse(`[]`)}, {Count: 1, Ad: parse(`[A = "y"]`)}}}
	var got string
	for id, ad := range k.each() {
		got += id.String() + textOf(ad, "A") + " "
	}
	if want := "7.0x 7.1x 7.2y "; got != want || k.jobs() != 3 {
		t.Errorf("each = %q, %d jobs, want %q, 3", got, k.jobs(), want)
	}
	for id := range k.each() {
		if id != (pool.JobID{Cluster: 7}) {
			t.Errorf("each went on to %v after break", id)
		}
		break
	}
}
