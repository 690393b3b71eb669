package submit

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
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
	for _, name := range []string{
		"", "a@b", "12", "12.0", "*", "-x", "a b", "a\nb", "jos\u00e9", strings.Repeat("a", 300), "nice-user.bob", "Nice-User.bob",
	} {
		refusal(t, fmt.Sprintf("submit -owner %.20q", name), checkOwner(name, "nice-user", nil))
	}
}

// refusal compares what a part of submit is refused for with the golden page.
func refusal(t *testing.T, call string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", call)
		return
	}
	cmdtest.Printed(t, call, 0, "", err.Error()+"\n")
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
