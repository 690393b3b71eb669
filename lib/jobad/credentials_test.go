package jobad

import (
	"bytes"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// TestUnixGroup: jobs that name no group have the one that the surroundings say, if that
// is one, also those that are made later.
func TestUnixGroup(t *testing.T) {
	for _, c := range []struct{ group, line, want string }{
		{"", "", "-"}, {"staff", "", `"staff"`}, {"staff", "unix_group = physics", `"physics"`}, {"staff", "unix_group =", `"staff"`},
		{"staff", `+UnixGroup = "chem"`, `"chem"`}, {"domain users", "", "-"}, {"", "unix_group = physics", `"physics"`},
		{"staff", "unix_group = two words\narguments = $(unix_group)", "-"}, // a macro of its own
	} {
		o := testOptions()
		o.Group = c.group
		jobs, _, err := read(sleep+c.line+"\nmax_idle = 1\nqueue 2\n", o)
		if err != nil {
			t.Fatalf("read(%q) = %v", c.line, err)
		}
		digest, first, err := jobs.Digest(false)
		if err != nil {
			t.Fatal(err)
		}
		now, err := jobs.Expand(1)
		if err != nil {
			t.Fatal(err)
		}
		later, _, err := Materialize(bytes.NewReader(digest), "example.org", 1, 1, 1, first, time.Unix(1700000600, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range []Cluster{now, later} {
			got := "-"
			if e, ok := adsOf(made)[0].Lookup(pool.AttrUnixGroup); ok {
				got = e.String()
			}
			if got != c.want {
				t.Errorf("UnixGroup of %q in group %q = %s, want %s", c.line, c.group, got, c.want)
			}
		}
	}
}
