package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/jobad"
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
	for _, name := range []string{"alice", "first.last", "_x", "a-b_2", strings.Repeat("a", 64), "nice", "nice-user", "nice-users.bob"} {
		if err := checkOwner(name, "nice-user", nil); err != nil {
			t.Errorf("checkOwner(%q) = %v, want nil", name, err)
		}
	}
	const letters = "want letters, digits, _, . and -, the first a letter or _"
	const digit = "begins with a digit, as the clusters do that prio, qdel and qstat are given"
	for _, c := range []struct{ name, want string }{
		{"", "want a name"},
		{"a@b", "want a name without @ and domain, which is the pool's"},
		{"12", digit}, {"12.0", digit},
		{"*", letters}, {"-x", letters}, {"a b", letters}, {"a\nb", letters}, {"jos\u00e9", letters},
		{strings.Repeat("a", 300), "300 characters, at most 64"},
		{"nice-user.bob", "begins with nice-user., as nice users do: write nice_user = true into the description instead"},
		{"Nice-User.bob", "begins with Nice-User., as nice users do: write nice_user = true into the description instead"},
	} {
		if err := checkOwner(c.name, "nice-user", nil); err == nil || err.Error() != c.want {
			t.Errorf("checkOwner(%q) = %v, want %s", c.name, err, c.want)
		}
	}
}

func TestEach(t *testing.T) {
	d, _, err := submitfile.Parse("executable = /x\n+A = \"x\"\nqueue 2\n+A = \"y\"\nqueue", "a.sub", submitfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "d", Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := jobs.Expand(7)
	if err != nil {
		t.Fatal(err)
	}
	k := cluster{7, c}
	var got string
	for id, ad := range k.each() {
		got += id.String() + textOf(ad, "A") + " "
	}
	if want := "7.0x 7.1x 7.2y "; got != want || k.Jobs() != 3 {
		t.Errorf("each = %q, %d jobs, want %q, 3", got, k.Jobs(), want)
	}
	for id := range k.each() {
		if id != (pool.JobID{Cluster: 7}) {
			t.Errorf("each went on to %v after break", id)
		}
		break
	}
}
