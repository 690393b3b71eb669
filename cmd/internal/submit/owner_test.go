package submit

import (
	"os/user"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/config"
)

// Jobs have their owner's group where one queue of all jobs may reckon by it.
func TestGroupOf(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Skipf("no name for the group %s on this machine: %v", me.Gid, err)
	}
	for _, c := range []struct{ policy, owner, want string }{
		{"maui", me.Username, mine.Name}, {"sge", me.Username, mine.Name}, {"condor", me.Username, ""}, {"maui", "nobody.of.this.name", ""},
	} {
		if got := groupOf(&cmdline.Call{Config: &config.Config{JobPriorityPolicy: c.policy}}, c.owner); got != c.want {
			t.Errorf("groupOf(%s) under %s = %q, want %q", c.owner, c.policy, got, c.want)
		}
	}
}
