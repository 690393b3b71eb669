package jobad

import "testing"

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
