package jobad

import "testing"

func TestUniverse(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"executable = x", "JobUniverse", "5"}, {"executable = x\nuniverse = 1", "JobUniverse", "1"}, {"executable = x\nuniverse = Standard", "JobUniverse", "1"},
		{"executable = x\nuniverse = scheduler", "JobUniverse", "7"}, {"executable = x\nJobUniverse = local", "JobUniverse", "12"},
		{"executable = x.class\nuniverse = java\narguments = x", "JobUniverse", "10"}, {"executable = x\njava_vm_args = -Xmx1g   -ea", "JavaVMArgs", `"-Xmx1g -ea"`},
		{"executable = x\njava_vm_arguments = \"-D 'a b'\"", "JavaVMArguments", `"-D a' 'b"`}, {"executable = x\njar_files = a.jar, b.jar", "JarFiles", `"a.jar, b.jar"`},
		{"executable = x.class\nuniverse = java", "Cmd", `"java"`}, {"executable = x.class\nuniverse = java", "TransferExecutable", "false"},
		{"executable = x.class\nuniverse = java", "TransferInput", `"/home/alice/x.class"`},
		{"executable = /x.class\nuniverse = java\ntransfer_input_files = in\njar_files = a.jar, b.jar", "TransferInput", `"in,/x.class,a.jar,b.jar"`},
		{"executable = x.class\nuniverse = java\nshould_transfer_files = NO", "Cmd", `"/home/alice/x.class"`},
		{"executable = x.class\nuniverse = java\nshould_transfer_files = NO", "TransferExecutable", "-"},
		{"executable = x.class\nuniverse = java\n+Cmd = \"/bin/java\"", "Cmd", `"/bin/java"`},
		{"executable = x\njar_files = a.jar", "TransferInput", "-"}, {"executable = x\nuniverse = 5", "Cmd", `"/home/alice/x"`},

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
		{"container_image = a.sif", "ContainerImageSource", `"cedar"`}, {"container_image = a.sif", "TransferInput", `"a.sif"`},
		{"container_image = ./b/a.sif\ntransfer_input_files = c", "TransferInput", `"c,./b/a.sif"`}, {"container_image = ./b/a.sif", "ContainerImage", `"a.sif"`},
		{"container_image = b/", "ContainerImage", `"b"`}, {"container_image = b/", "TransferInput", `"b/"`},
		{"container_image = file:///s/a.sif", "ContainerImage", `"a.sif"`}, {"container_image = file:///s/a.sif", "ContainerImageSource", `"file"`},
		{"container_image = osdf:///s/a.sif", "ContainerImageSource", `"osdf"`}, {"container_image = osdf:///s/a.sif", "TransferInput", `"osdf:///s/a.sif"`},
		{"container_image = docker://a:1", "ContainerImageSource", `"docker"`}, {"container_image = docker://a:1", "ContainerImage", `"docker://a:1"`},
		{"container_image = docker://a:1", "TransferInput", "-"}, {"container_image = oras://r/a", "ContainerImageSource", `"oras"`},
		{"container_image = /cvmfs/a.sif", "ContainerImageSource", `"local"`}, {"container_image = /cvmfs/a.sif", "ContainerImage", `"/cvmfs/a.sif"`},
		{"container_image = /s/a.sif\ntransfer_container = false", "ContainerImageSource", `"local"`},
		{"container_image = /s/a.sif\ntransfer_container = false\nshould_transfer_files = NO", "ContainerImage", `"/s/a.sif"`},
		{"docker_image = a", "ContainerImageSource", "-"}, {"container_image = a.sif\n+ContainerImageSource = \"here\"", "ContainerImageSource", `"here"`},
		{"container_image = a.sif\nexecutable = x", "Cmd", `"/home/alice/x"`}, {"container_image = a.sif\nexecutable = x", "TransferExecutable", "-"},
		{"container_image = a.sif\nexecutable = /bin/x", "TransferExecutable", "false"}, {"container_image = a.sif\nexecutable = /bin/x", "Cmd", `"/bin/x"`},
		{"container_image = a.sif\nexecutable = /bin/x\ntransfer_executable = true", "TransferExecutable", "-"},
		{"container_image = a.sif\nexecutable = x\ntransfer_executable = false", "Cmd", `"x"`},
		{"docker_image = a\ndocker_override_entrypoint = yes", "DockerOverrideEntrypoint", "true"},

		{"shell = cat *.txt | wc -l", "Cmd", `"/bin/sh"`}, {"shell = cat 'a'", "Arguments", `"-c cat' '''a''''"`},
		{"shell = x\nexecutable = /bin/y", "Cmd", `"/bin/y"`}, {"shell = x", "TransferExecutable", "false"},
	} {
		if got := first(t, c.text+"\nqueue\n", c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}
