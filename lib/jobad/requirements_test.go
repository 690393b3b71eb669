package jobad

import (
	"slices"
	"testing"

	"fairspool/lib/classad"
)

// attribute returns an attribute of the first job.
func attribute(t *testing.T, text, name string, o Options) string {
	t.Helper()
	j, _, err := read(sleep+text+"\nqueue\n", o)
	if err != nil {
		t.Fatalf("read(%q) = %v", text, err)
	}
	c, err := j.Expand(12)
	if err != nil {
		t.Fatalf("Expand of %q = %v", text, err)
	}
	e, ok := c.Runs[0].Ad().Chain(c.Ad).Lookup(name)
	if !ok {
		return "-"
	}
	return e.String()
}

// bare are options in which a job asks for nothing that it does not name.
func bare() Options {
	o := testOptions()
	o.RequestMemory, o.RequestDisk = "1", "0"
	return o
}

func TestRequirements(t *testing.T) {
	const disk, memory, cpus = "(TARGET.Disk >= RequestDisk)", "(TARGET.Memory >= RequestMemory)", "(TARGET.Cpus >= RequestCpus)"
	const files = "(TARGET.HasFileTransfer =!= false)"
	for _, c := range []struct{ text, want string }{
		{"", "true"}, {"requirements =", "true"}, {"requirements = a || b", "(a || b)"},
		{"requirements = a // no comment\nrequest_memory = 9", "(a) && " + memory},
		{"request_disk = 9\nrequest_memory = 9\nrequest_cpus = 9", disk + " && " + memory + " && " + cpus},
		{"request_cpus = 1", "true"}, {"request_cpus = 0", "true"}, {"request_cpus = n", cpus}, {"request_cpus = undefined", "true"},
		{"request_memory = 1", "true"}, {"request_memory = undefined", "true"}, {"request_disk = 0", "true"}, {"request_disk = a + 1", disk},
		{"+RequestCpus = 4", cpus}, {"+RequestMemory = 4096", memory}, {"+RequestGPUs = 1", "(TARGET.GPUs >= RequestGPUs)"},

		// what the user's own expression mentions; memory and disk are compared all the same
		{"requirements = cpus > 5\nrequest_cpus = 9", "(cpus > 5)"}, {"requirements = TARGET.Cpus > 5\nrequest_cpus = 9", "(TARGET.Cpus > 5)"},
		{"requirements = MY.Cpus > 5\nrequest_cpus = 9", "(MY.Cpus > 5) && " + cpus},
		{"requirements = Memory > 5\nrequest_memory = 9", "(Memory > 5) && " + memory},
		{"requirements = Disk > 5\nrequest_disk = 9", "(Disk > 5) && " + disk},
		{"requirements = TARGET.gpus > 5\nrequest_gpus = 9", "(TARGET.gpus > 5)"},

		// other resources, by name
		{"request_gpus = 1\nrequest_Boats = n", "(TARGET.Boats >= RequestBoats) && (TARGET.GPUs >= RequestGPUs)"},
		{"request_Boats = n\nrequire_boats = Sails > 2", "(countMatches(MY.RequireBoats,TARGET.AvailableBoats) >= RequestBoats)"},
		{"request_Boats = 2\n+RequireBoats = Sails > 2", "(countMatches(MY.RequireBoats,TARGET.AvailableBoats) >= RequestBoats)"},
		{"request_gpus = 0", "true"}, {`request_model = "A100"`, "regexp(RequestModel,TARGET.Model)"}, {`request_model = ""`, "true"},

		{"+Requirements = false\nrequest_memory = 9", "false"}, {"MY.Requirements = a", "a"}, {"+Requirements = a\nrequirements = b", "a"},

		// universes and abilities
		{"universe = docker\ndocker_image = x", "TARGET.HasDocker"},
		{"docker_image = x", "TARGET.HasContainer && TARGET.HasDockerURL"},
		{"container_image = docker://x", "TARGET.HasContainer && TARGET.HasDockerURL"},
		{"container_image = x.sif", "TARGET.HasContainer && TARGET.HasSIF && " + files}, {"container_image = x/", "TARGET.HasContainer && TARGET.HasSandboxImage && " + files},
		{"container_image = /cvmfs/x.sif", "TARGET.HasContainer && TARGET.HasSIF"}, {"universe = java", "TARGET.HasJava && " + files},
		{"requirements = a\nuniverse = java\nshould_transfer_files = NO", "(a) && TARGET.HasJava && ((TARGET.FileSystemDomain == MY.FileSystemDomain) =!= false)"},
		{"encrypt_execute_directory = true", "TARGET.HasEncryptExecuteDirectory"}, {"encrypt_execute_directory = false", "true"},
		{"cuda_version = 12.1", "(CUDAVersion <= TARGET.CUDAMaxSupportedVersion)"},
		{"deferral_time = 1700000000", "(TARGET.HasJobDeferral =!= false) && (((time() + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && (time() < (DeferralTime + DeferralWindow)))"},
	} {
		if got := attribute(t, c.text, "Requirements", bare()); got != c.want {
			t.Errorf("Requirements of %q = %s, want %s", c.text, got, c.want)
		}
	}
}

func TestPlatform(t *testing.T) {
	o := bare()
	o.Arch, o.OpSys = "X86_64", "LINUX"
	const arch, system = `((TARGET.Arch == "X86_64") =!= false)`, `((TARGET.OpSys == "LINUX") =!= false)`
	for _, c := range []struct{ text, want string }{
		{"", arch + " && " + system}, {`requirements = Arch == "ARM"`, `(Arch == "ARM") && ` + system},
		{`requirements = OpSysAndVer == "x"`, `(OpSysAndVer == "x") && ` + arch}, {`requirements = opsysname == "x"`, `(opsysname == "x") && ` + arch},
		{"requirements = OpSysMajorVer == 7", "(OpSysMajorVer == 7) && " + arch + " && " + system},
		{"docker_image = x\nuniverse = docker", "TARGET.HasDocker"}, {"universe = local", arch + " && " + system},
		{"request_cpus = 2", arch + " && " + system + " && (TARGET.Cpus >= RequestCpus)"},
	} {
		if got := attribute(t, c.text, "Requirements", o); got != c.want {
			t.Errorf("Requirements of %q = %s, want %s", c.text, got, c.want)
		}
	}
}

// TestLenience matches with slots that say much and little.
func TestLenience(t *testing.T) {
	o := testOptions()
	o.Arch, o.OpSys, o.FileSystemDomain = "X86_64", "LINUX", "here"
	for _, c := range []struct {
		text, slot string
		want       bool
	}{
		{"", "", true}, {"", `Arch = "x86_64"`, true}, {"", `Arch = "ARM64"`, false}, {"", `OpSys = "WINDOWS"`, false},
		{"", "Memory = 127", false}, {"", "Memory = 128; Disk = 1024", true}, {"", "Disk = 1023", false},
		{"request_memory = 128", "", false}, {"request_memory = 128", "Memory = 128", true},
		{"request_cpus = 2", "", false}, {"request_cpus = 2", "Cpus = 2", true}, {"request_gpus = 1", "", false},
		{"should_transfer_files = NO", "", true}, {"should_transfer_files = NO", `FileSystemDomain = "here"`, true},
		{"should_transfer_files = NO", `FileSystemDomain = "there"`, false}, {"", `FileSystemDomain = "there"`, true},
		{"transfer_input_files = a", "", true}, {"transfer_input_files = a", "HasFileTransfer = false", false}, {"", "HasFileTransfer = false", true},
		{"transfer_input_files = http://a", "", false}, {"transfer_input_files = http://a", `HasFileTransferPluginMethods = "ftp,HTTP"`, true},
		{"transfer_input_files = http://a", `HasFileTransfer = false; HasFileTransferPluginMethods = "http"`, false},
		{"transfer_input_files = file:///a", "", true},
		{"universe = docker\ndocker_image = x", "", false}, {"universe = docker\ndocker_image = x", "HasDocker = true", true},
	} {
		j, _, err := read(sleep+c.text+"\nqueue\n", o)
		if err != nil {
			t.Fatalf("read(%q) = %v", c.text, err)
		}
		all, err := j.Expand(1)
		if err != nil {
			t.Fatalf("Expand of %q = %v", c.text, err)
		}
		slot, err := classad.ParseAd("[" + c.slot + "]")
		if err != nil {
			t.Fatalf("ParseAd(%q) = %v", c.slot, err)
		}
		job := all.Runs[0].Ad().Chain(all.Ad)
		e, _ := job.Lookup("Requirements")
		if got := e.Eval(&classad.Context{}, job, slot).True(); got != c.want {
			t.Errorf("%q on a slot of %q = %v, want %v: %v", c.text, c.slot, got, c.want, e)
		}
	}
}

func TestAppended(t *testing.T) {
	o := bare()
	o.AppendRequirements, o.AppendRank, o.Arch = "Arch == \"ARM\" || b // why", "Mips // why", "X86_64"
	for _, c := range []struct{ text, name, want string }{
		{"", "Requirements", `(Arch == "ARM" || b)`}, {"requirements = a", "Requirements", `(a) && (Arch == "ARM" || b)`},
		{"+Requirements = a", "Requirements", "a"},
		{"", "Rank", "Mips"}, {"rank = Memory", "Rank", "(Memory) + (Mips)"}, {"preferences = a ? b : c // x", "Rank", "(a ? b : c) + (Mips)"},
	} {
		if got := attribute(t, c.text, c.name, o); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
	for name, o := range map[string]Options{"APPEND_REQUIREMENTS": {AppendRequirements: "("}, "APPEND_RANK": {AppendRank: "("}} {
		if _, _, err := read(sleep+"queue", o); err == nil || err.Error()[:len(name)] != name {
			t.Errorf("read with a wrong %s = %v", name, err)
		}
	}
}

func TestRank(t *testing.T) {
	for text, want := range map[string]string{
		"": "0.0", "rank = Mips": "Mips", "preferences = Memory": "Memory", "rank = Mips\npreferences = Memory": "Mips",
		"+Rank = 7\nrank = 8": "7",
	} {
		if got := attribute(t, text, "Rank", bare()); got != want {
			t.Errorf("Rank of %q = %s, want %s", text, got, want)
		}
	}
}

// TestVaryingRequirements checks that what is kept from proc to proc does not
// outlive its reason.
func TestVaryingRequirements(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"transfer_input_files = $(x)\nqueue x in (a, http://b, c)", []string{
			"(TARGET.HasFileTransfer =!= false)",
			`(TARGET.HasFileTransfer =!= false && stringListIMember("http",TARGET.HasFileTransferPluginMethods))`,
			"(TARGET.HasFileTransfer =!= false)"}},
		{"transfer_input_files = $CHOICE(Process,a,,http://b)\nqueue 3", []string{
			"(TARGET.HasFileTransfer =!= false)", "true",
			`(TARGET.HasFileTransfer =!= false && stringListIMember("http",TARGET.HasFileTransferPluginMethods))`}},
		{"requirements = Cpus > $(Process)\nrequest_cpus = 3\nqueue 2", []string{"(Cpus > 0)", "(Cpus > 1)"}},
		{"requirements = $(x) > 1\nrequest_cpus = 3\nqueue x in (Cpus, Mips, Cpus)", []string{
			"(Cpus > 1)", "(Mips > 1) && (TARGET.Cpus >= RequestCpus)", "(Cpus > 1)"}},
		{"request_cpus = $(Process)\nqueue 3", []string{"true", "true", "(TARGET.Cpus >= RequestCpus)"}},
		{"queue\nrequest_gpus = 1\nqueue", []string{"true", "(TARGET.GPUs >= RequestGPUs)"}},
	} {
		j, _, err := read(sleep+c.text+"\n", bare())
		if err != nil {
			t.Fatalf("read(%q) = %v", c.text, err)
		}
		all, err := j.Expand(1)
		if err != nil {
			t.Fatalf("Expand of %q = %v", c.text, err)
		}
		var got []string
		for _, r := range all.Runs {
			e, _ := r.Ad().Chain(all.Ad).Lookup("Requirements")
			for range r.Count {
				got = append(got, e.String())
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Requirements of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestGPUs(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"require_gpus = Capability == 9", "RequireGPUs", "Capability == 9"},
		{"require_gpus = Capability == 9", "Requirements", "(countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= RequestGPUs)"},
		{"", "Requirements", "(TARGET.GPUs >= RequestGPUs)"},
		{"gpus_minimum_runtime = 12.2", "RequireGPUs", "MaxSupportedVersion >= GPUsMinRuntime"},
		{"gpus_minimum_runtime = 12.2", "GPUsMinRuntime", "12020"}, {"gpus_minimum_runtime = 12010", "GPUsMinRuntime", "12010"},
		{"gpus_minimum_runtime = 12", "GPUsMinRuntime", "12000"}, {"gpus_minimum_runtime = a + 1", "GPUsMinRuntime", "a + 1"},
		{"gpus_minimum_capability = 10.4\ngpus_minimum_memory = 4GB", "RequireGPUs", "Capability >= GPUsMinCapability && GlobalMemoryMb >= GPUsMinMemory"},
		{"gpus_minimum_capability = 10.4", "GPUsMinCapability", "10.4"}, {"gpus_minimum_memory = 4GB", "GPUsMinMemory", "4096"},
		{"gpus_minimum_memory = 4.1 GB", "GPUsMinMemory", "4199"}, {"gpus_minimum_memory = 200Mb", "GPUsMinMemory", "200"},
		{"require_gpus = Capability > 7.5\ngpus_minimum_capability = 6.4\ngpus_maximum_capability = 10\ngpus_minimum_memory = 1", "RequireGPUs",
			"Capability > 7.5 && GlobalMemoryMb >= GPUsMinMemory"},
		{"gpus_minimum_capability = 6.4\ngpus_maximum_capability = 10", "RequireGPUs", "Capability >= GPUsMinCapability && Capability <= GPUsMaxCapability"},
		{"gpus_maximum_capability = 10", "GPUsMaxCapability", "10"},
		{"require_gpus = ECCEnabled || DriverVersion > 10.75\ngpus_minimum_capability = 8\ngpus_minimum_runtime = 12010\ngpus_minimum_memory = 200Mb", "RequireGPUs",
			"(ECCEnabled || DriverVersion > 10.75) && Capability >= GPUsMinCapability && GlobalMemoryMb >= GPUsMinMemory && MaxSupportedVersion >= GPUsMinRuntime"},
		{"require_gpus = a && b // c\ngpus_minimum_capability = 8", "RequireGPUs", "a && b && Capability >= GPUsMinCapability"},
		{"require_gpus = a ? b : c\ngpus_minimum_capability = 8", "RequireGPUs", "(a ? b : c) && Capability >= GPUsMinCapability"},
		{"cuda_version = 12.1", "CUDAVersion", "12001"}, {"cuda_version = 11", "CUDAVersion", "11000"}, {`cuda_version = "12010"`, "CUDAVersion", "12010"},
	} {
		if got := attribute(t, "request_gpus = 1\n"+c.text, c.name, bare()); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func TestGPUMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"cuda_version = new", `a.sub:2: cuda_version: "new": want a version, such as 12 or 12.1`},
		{"request_gpus = 1\ngpus_minimum_memory = much", `a.sub:3: gpus_minimum_memory: "much": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{"gpus_minimum_memory = 1 GB", "a.sub:2: gpus_minimum_memory: has no effect without request_gpus"},
		{"require_gpus = Capability > 5", "a.sub:2: require_gpus: has no effect without request_gpus"},
		{"require_boats = Sails > 5", "a.sub:2: require_boats: has no effect without request_boats"},
		{"request_boats = 0\nrequire_boats = Sails > 5", ""}, {"require_boats = 5\nargs = $(require_boats)", ""},
		{"require_ = 5", "a.sub:2: require_: unknown command, and no macro uses it"},
		{"request_memory = 1\nrequire_memory = Fast", "a.sub:3: require_memory: has no effect: memory has no properties"},
		{"request_boats = 1\nrequire_boats = Sails >", "a.sub:3: require_boats: Sails >: expected a value, a name or (, found the end of the text"},
	} {
		if got := said(sleep+c.text+"\nqueue\n", bare()); got != c.want {
			t.Errorf("read(%q) said %s, want %s", c.text, got, c.want)
		}
	}
}

// said returns the warnings and the error of a description.
func said(text string, o Options) string {
	_, warnings, err := read(text, o)
	out := ""
	for _, w := range warnings {
		if out != "" {
			out += "\n"
		}
		out += w.String()
	}
	if err != nil {
		out += err.Error()
	}
	return out
}
