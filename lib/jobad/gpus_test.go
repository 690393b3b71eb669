package jobad

import "testing"

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
		{"cuda_version = new", `a.sub:2: cuda_version: "new": want a version, as 12 or 12.1`},
		{"request_gpus = 1\ngpus_minimum_memory = much", `a.sub:3: gpus_minimum_memory: "much": want a size, as 512 MB or 1.5 GB, or an expression`},
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
