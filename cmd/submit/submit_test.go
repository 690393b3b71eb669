package main

import (
	"strings"
	"testing"

	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

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

func TestAds(t *testing.T) {
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
	k := cluster{7, 3, c}
	var got string
	for ad := range k.ads() {
		e, _ := ad.Lookup(pool.AttrClusterID)
		p, _ := ad.Lookup(pool.AttrProcID)
		got += e.String() + "." + p.String() + textOf(ad, "A") + " "
	}
	if want := "7.0x 7.1x 7.2y "; got != want {
		t.Errorf("ads = %q, want %q", got, want)
	}
	n := 0
	for range k.ads() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("ads went on after break: %d", n)
	}
}
