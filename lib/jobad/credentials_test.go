package jobad

import (
	"bytes"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
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
		testenv.OK(t, err)
		now, err := jobs.Expand(1)
		testenv.OK(t, err)
		later, _, err := Materialize(bytes.NewReader(digest), "example.org", 1, 1, 1, first, time.Unix(1700000600, 0))
		testenv.OK(t, err)
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

// TestGroups holds submit descriptions to the pool's accounting groups.
func TestGroups(t *testing.T) {
	groups, err := accountant.NewGroups([]accountant.Group{{Name: "group_physics"}, {Name: "group_physics.hep"}})
	testenv.OK(t, err)
	for _, c := range []struct{ line, said string }{
		{"accounting_group = group_physics", ""},
		{"accounting_group = GROUP_PHYSICS.HEP", ""},
		{"+AccountingGroup = \"group_physics\"", ""},
		{"+AccountingGroup = \"group_physics.hep.newton\"", ""},
		{"accounting_group_user = newton", ""},
		{"nice_user = true", ""},
		{"accounting_group = group_physic", "a.sub:2: accounting_group: GROUP_NAMES has no group group_physic; did you mean group_physics?; the jobs count for <none>"},
		{"+AccountingGroup = \"group_physics.lep.newton\"", "a.sub:2: +AccountingGroup: GROUP_NAMES has no group group_physics.lep; did you mean group_physics.hep?; the jobs count for group_physics"},
		{"+AccountingGroup = group_physics.hep", "a.sub:2: +AccountingGroup: group_physics.hep: no name in double quotes, the jobs count for alice"},
		{"+AccountingGroup =", "a.sub:2: +AccountingGroup: undefined: no name in double quotes, the jobs count for alice"},
		{"accounting_group_user = Group_Physics", `a.sub:2: accounting_group_user: "Group_Physics": is the name of an accounting group, so no user can have it`},
	} {
		text := "executable = /bin/true\n" + c.line + "\nqueue\n"
		_, warnings, err := read(text, Options{Owner: "alice", Domain: "x", Dir: "/", Groups: groups})
		said := ""
		for _, w := range warnings {
			said += w.String()
		}
		if err != nil {
			said += err.Error()
		}
		if said != c.said {
			t.Errorf("read(%q) said %q, want %q", c.line, said, c.said)
		}
	}
}

func TestUniverse(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"executable = x", "JobUniverse", "5"}, {"executable = x\nuniverse = 1", "JobUniverse", "1"}, {"executable = x\nuniverse = Standard", "JobUniverse", "1"},
		{"executable = x\nuniverse = scheduler", "JobUniverse", "7"}, {"executable = x\nJobUniverse = local", "JobUniverse", "12"},
		{"executable = x.class\nuniverse = java\narguments = x", "JobUniverse", "10"}, {"executable = x\njava_vm_args = -Xmx1g   -ea", "JavaVMArgs", `"-Xmx1g -ea"`},
		{"executable = x\njava_vm_arguments = \"-D 'a b'\"", "JavaVMArguments", `"-D a' 'b"`}, {"executable = x\njar_files = a.jar, b.jar", "JarFiles", `"a.jar, b.jar"`},

		{"executable = x\nuniverse = parallel\nmachine_count = 1", "JobUniverse", "11"}, {"executable = x\nuniverse = parallel\nnode_count = 1", "MinHosts", "1"},
		{"executable = x", "MaxHosts", "1"}, {"executable = x\nwantparallelscheduling = true\nmachine_count = 1", "WantParallelScheduling", "true"},
		{"executable = x\nmachine_count = 3", "MachineCount", "3"}, {"executable = x\nmachine_count = 3", "MaxHosts", "1"},

		{"universe = docker\ndocker_image = a:1", "WantDocker", "true"}, {"universe = docker\ndocker_image = \"a:1\"", "DockerImage", `"a:1"`},
		{"universe = docker\ndocker_image = a", "JobUniverse", "5"}, {"universe = docker\ndocker_image = a", "Cmd", `""`},
		{"universe = docker\ndocker_image = a", "TransferExecutable", "false"}, {"universe = docker\ndocker_image = a\nexecutable = /bin/x", "TransferExecutable", "false"},
		{"universe = docker\ndocker_image = a\nexecutable = x", "Cmd", `"/home/alice/x"`}, {"universe = docker\ndocker_image = a\nexecutable = /bin/x", "Cmd", `"/bin/x"`},
		{"docker_image = a", "WantDocker", "-"}, {"docker_image = a", "WantContainer", "true"}, {"docker_image = a", "WantDockerImage", "true"},
		{"container_image = a.sif", "WantSIF", "true"}, {"container_image = docker://a", "WantDockerImage", "true"}, {"container_image = ./dir", "WantSandboxImage", "true"},
		{"container_image = a.sif", "ContainerImage", `"a.sif"`}, {"universe = container\ncontainer_image = a.sif", "WantContainer", "true"},
		{"docker_image = a\ndocker_override_entrypoint = yes", "DockerOverrideEntrypoint", "true"},

		{"shell = cat *.txt | wc -l", "Cmd", `"/bin/sh"`}, {"shell = cat 'a'", "Arguments", `"-c cat' '''a''''"`},
		{"shell = x\nexecutable = /bin/y", "Cmd", `"/bin/y"`}, {"shell = x", "TransferExecutable", "false"},
	} {
		if got := first(t, c.text+"\nqueue\n", c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}
