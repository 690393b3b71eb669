package jobad

import (
	"fmt"
	"strings"
	"testing"
)

// varying are descriptions in which {x} stands for an item, and items that change
// what is asked of slots from proc to proc, and back.
var varying = []struct{ text, items string }{
	{"request_memory = {x}", "1|4096|1|2 GB|ImageSize * 2|1|undefined|4096"},
	{"request_disk = {x}\nrequest_memory = 2 GB", "0|1 GB|0|DiskUsage|1 GB"},
	{"request_cpus = {x}", "1|4|4|1|0"},
	{"request_gpus = {x}\nrequire_gpus = Capability > 7", "1|2|2 + 1|1"},
	{"transfer_input_files = {x}", "a|b|https://x.org/c|d|s3://e/f, https://g.org/h|https://x.org/c|osdf:///i"},
	{"transfer_output_files = {x}", "a|b,c|d"},
	{"transfer_input_files = {x}\ntransfer_plugins = https = mine", "a|https://x.org/c|s3://e/f"},
	{"should_transfer_files = {x}", "YES|NO|IF_NEEDED|NO|YES"},
	{"transfer_input_files = in\nencrypt_input_files = {x}", "a|b"},
	{"requirements = {x}", "OpSys == \"LINUX\"|Memory > 7|TARGET.Arch == \"X86_64\"|Memory > 7"},
	{"requirements = Memory > 7\nrequest_memory = {x}", "1|4096|1"},
	{"deferral_time = {x}", "1800000000|1800000001"},
	{"request_memory = {x}\ndeferral_time = 1800000000", "1|4096|1"},
	{"+DeferralTime = {x}", "1800000000|1800000001"},
	{"universe = {x}\ncontainer_image = a.sif", "vanilla|container|vanilla"},
	{"container_image = {x}", "a.sif|docker://b|/cvmfs/c.sif|b/a.sif"},
	{"universe = {x}\njar_files = a.jar", "vanilla|java|vanilla"},
	{"checkpoint_exit_code = {x}", "85|86|85"},
	{"cuda_version = {x}\nrequest_gpus = 1", "11.2|12.0|11.2"},
	{"encrypt_execute_directory = {x}", "true|false|true"},
}

// What is kept from proc to proc must not show: each proc reads as it does alone.
func TestEachProcReadsAsAlone(t *testing.T) {
	ads := func(text string) []string {
		t.Helper()
		o := testOptions()
		o.Arch, o.OpSys, o.FileSystemDomain = "X86_64", "LINUX", "example.org"
		d, _, err := read(sleep+text, o)
		if err != nil {
			t.Fatalf("read(%q): %v", text, err)
		}
		c, err := d.Expand(1)
		if err != nil {
			t.Fatalf("Expand(%q): %v", text, err)
		}
		var out []string
		for _, r := range c.Runs {
			ad := r.Ad().Chain(c.Ad)
			text := ""
			for _, name := range ad.Names() {
				e, _ := ad.Lookup(name)
				text += fmt.Sprintf("%s = %v\n", name, e)
			}
			for range r.Count {
				out = append(out, text)
			}
		}
		return out
	}
	for _, v := range varying {
		items := strings.Split(v.items, "|")
		all := ads(strings.ReplaceAll(v.text, "{x}", "$(x)") + "\nqueue x from (\n" + strings.Join(items, "\n") + "\n)\n")
		for i, item := range items {
			if alone := ads(strings.ReplaceAll(v.text, "{x}", item) + "\nqueue\n"); len(all) != len(items) || all[i] != alone[0] {
				t.Errorf("proc %d of %q:\n%s\nwant, as alone:\n%s", i, v.text, all[i], alone[0])
			}
		}
	}
}

// Where one command varies, a proc costs what hangs on that, not Requirements and
// all lists anew.
func TestProcsThatVaryCostLittle(t *testing.T) {
	const procs = 2000
	for _, c := range []struct {
		text string
		most float64 // allocations for a proc
	}{
		{"arguments = $(Process)", 4},
		{"request_memory = $(Process)", 6},
		{"transfer_input_files = in.$(Process)", 7.5},
		{"transfer_input_files = https://example.org/in.$(Process)", 15},
	} {
		d, _, err := read(fmt.Sprintf("%s%s\nqueue %d\n", sleep, c.text, procs), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		got := testing.AllocsPerRun(3, func() {
			if _, err := d.Expand(1); err != nil {
				t.Fatal(err)
			}
		}) / procs
		if got > c.most {
			t.Errorf("%s: %.1f allocations for a proc, want at most %v", c.text, got, c.most)
		}
	}
}
