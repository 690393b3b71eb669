package jobad

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRequests(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		// units
		{"request_memory = 2G", "RequestMemory", "2048"}, {"request_memory = 64 GB", "RequestMemory", "65536"},
		{"request_memory = 1.5k", "RequestMemory", "1"}, {"request_memory = 700", "RequestMemory", "700"},
		{"request_memory = 1T", "RequestMemory", "1048576"}, {"request_memory = 1.5", "RequestMemory", "2"},
		{"request_memory = 2.2Gb", "RequestMemory", "2253"}, {"request_memory = 1.7GB", "RequestMemory", "1741"},
		{"request_memory = 4.1 GB", "RequestMemory", "4199"}, {"request_memory = 512 m", "RequestMemory", "512"},
		{"RequestMemory = 5 Mb", "RequestMemory", "5"}, {"request_memory = 0", "RequestMemory", "0"},
		{"request_disk = 1MB", "RequestDisk", "1024"}, {"request_disk = 5", "RequestDisk", "5"},
		{"request_disk = 2000b", "RequestDisk", "2"}, {"request_disk = 3Gb", "RequestDisk", "3145728"},
		{"request_disk = 700MB", "RequestDisk", "716800"}, {"request_disk = 1 kib", "RequestDisk", "1"},

		// expressions
		{"request_memory = MAX({2048, MemoryUsage})", "RequestMemory", "MAX({ 2048,MemoryUsage })"},
		{"request_memory = ifthenelse(a =!= undefined, \"x,y\", '}')", "RequestMemory", `ifthenelse(a =!= undefined,"x,y",'}')`},
		{"request_memory = MemoryUsage", "RequestMemory", "MemoryUsage"}, {"+Need = 5\nrequest_memory = need", "RequestMemory", "need"},
		{"request_cpus = max({TARGET.TotalCpus - 1, 3})", "RequestCpus", "max({ TARGET.TotalCpus - 1,3 })"},
		{"request_cpus = 0", "RequestCpus", "0"}, {"request_cpus = 2.0", "RequestCpus", "2.0"},

		// what was not asked for, and what is taken back
		{"", "RequestCpus", "1"}, {"", "RequestMemory", "128"}, {"", "RequestDisk", "1024"}, {"", "RequestGPUs", "-"},
		{"request_cpus = undefined", "RequestCpus", "-"}, {"request_memory = Undefined", "RequestMemory", "-"},
		{"request_disk = undefined", "RequestDisk", "-"}, {"request_gpus = undefined", "RequestGPUs", "-"},
		{"+RequestMemory = 7\nrequest_memory = 8", "RequestMemory", "7"}, {"+RequestCpus = 4", "RequestCpus", "4"},

		// other resources
		{"Request_GPUS = 1", "RequestGPUs", "1"}, {"RequestGpus = 2", "RequestGPUs", "2"}, {"request_boats = 3", "RequestBoats", "3"},
		{"request_Boats = Ships * 2", "RequestBoats", "Ships * 2"}, {`request_model = "A100"`, "RequestModel", `"A100"`},
		{"requestboats = 3", "RequestBoats", "-"},

		// lists: the request is the first
		{"request_memory = 1GB, 2G, 8 gb", "RequestMemory", "1024"}, {"request_disk = 10MB, 20MB, 80 m", "RequestDisk", "10240"},
	} {
		if got := first(t, sleep+c.text+"\nqueue\n", c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func TestDefaultRequests(t *testing.T) {
	const disk, memory, cpus = "((TARGET.Disk >= RequestDisk) =!= false)", "((TARGET.Memory >= RequestMemory) =!= false)", "((TARGET.Cpus >= RequestCpus) =!= false)"
	const used = "ifThenElse(MemoryUsage =!= UNDEFINED, MemoryUsage, 2048)"
	for _, c := range []struct{ cpus, memory, disk, text, name, want string }{
		{"2", "4000", "7", "", "RequestCpus", "2"}, {"2", "4000", "7", "", "RequestMemory", "4000"}, {"2", "4000", "7", "", "RequestDisk", "7"},
		{"2", "4000", "7", "", "Requirements", disk + " && " + memory + " && " + cpus},
		{"", used, "0", "", "Requirements", memory},
		{"", used, "", "retry_request_memory_increase = RequestMemory * 2", "NextRequestMemory", "RequestMemory * 2"},
		{"", "0.5", "1.5", "", "RequestMemory", "1"},
		{"", "1", "MAX({ 1024, (TransferInputSizeMB+1)*1.25 }) * 1024", "", "Requirements", disk},
		{"RequestGPUs ?: 1", "1", "0", "", "Requirements", cpus},
		{"undefined", "undefined", "undefined", "", "Requirements", "true"},
	} {
		o := testOptions()
		o.RequestCpus, o.RequestMemory, o.RequestDisk = c.cpus, c.memory, c.disk
		if got := attribute(t, c.text, c.name, o); got != c.want {
			t.Errorf("%s with %q and defaults %q, %q, %q = %s, want %s", c.name, c.text, c.cpus, c.memory, c.disk, got, c.want)
		}
	}
}

// What is said of a default request is said once for all jobs of a queue line.
func TestDoubtfulDefaults(t *testing.T) {
	for _, c := range []struct{ cpus, memory, disk, text, want string }{
		{"", "ifThenElse(MemoryUsage =!= UNDEFINED, MemoryUsage, 2048)", "", "", ""}, {"", "(ImageSize + 1023) / 1024", "", "image_size = 1 MB", ""},
		{"", "(ImageSize + 1023) / 1024", "", "", "JOB_DEFAULT_REQUESTMEMORY: (ImageSize + 1023) / 1024: is undefined for a job that has not run: it asks for none"},
		{"", "(ImageSize + 1023) / 1024", "", "request_memory = 5", ""},
		{"", "", `strcat("1", " GB")`, "", `JOB_DEFAULT_REQUESTDISK: strcat("1", " GB"): is "1 GB" for a job that has not run: it asks for none`},
		{"0 - JobPrio", "", "", "priority = 3", "JOB_DEFAULT_REQUESTCPUS: 0 - JobPrio: is -3 for a job that has not run: it asks for none"},
		{"", "lots", "", "", `JOB_DEFAULT_REQUESTMEMORY: "lots": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{"", "1 GB, 2 GB", "", "", `JOB_DEFAULT_REQUESTMEMORY: 1 GB, 2 GB: expected an operator or the end of the expression, found "GB"`},
		{"", "", "-1", "", "JOB_DEFAULT_REQUESTDISK: -1: must not be negative"}, {"many", "", "", "", "JOB_DEFAULT_REQUESTCPUS: many: is undefined for a job that has not run: it asks for none"},
		{"2 +", "", "", "", "JOB_DEFAULT_REQUESTCPUS: 2 +: expected a value, a name or (, found the end of the text"},
	} {
		o := testOptions()
		o.RequestCpus, o.RequestMemory, o.RequestDisk = c.cpus, c.memory, c.disk
		if got := said(sleep+c.text+"\nqueue 3\n", o); got != c.want {
			t.Errorf("with %q and defaults %q, %q, %q: said %s, want %s", c.text, c.cpus, c.memory, c.disk, got, c.want)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"request_cpus = -1", "request_cpus: -1: want a whole number from 0 to 1000000"},
		{"request_cpus = 1.5", "request_cpus: 1.5: want a whole number from 0 to 1000000"},
		{"request_cpus = true", "request_cpus: true: want a whole number from 0 to 1000000"},
		{"request_memory = lots", `request_memory: "lots": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{"request_memory = 1 GB, lots", `request_memory: "lots": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{`request_memory = "1 GB"`, `request_memory: "1 GB": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{"request_disk = -5", "request_disk: -5: must not be negative"},
		{"request_disk = 99999999999999999999T", "request_disk: 99999999999999999999T: too large"},
		{"request_disk = 99999999999999999999", "request_disk: 99999999999999999999: too large"},
		{"request_gpus = -1", "request_gpus: -1: must not be negative"},
		{"request_a.b = 1", `request_a.b: "A.b" is no name of an attribute`},
	} {
		_, _, err := read(sleep+c.text+"\nqueue\n", testOptions())
		if want := "a.sub:2: " + c.want; err == nil || err.Error() != want {
			t.Errorf("read(%q) = %v, want %s", c.text, err, want)
		}
	}
}

func TestMistakenRequests(t *testing.T) {
	for command, right := range map[string]string{"request_gpu": "request_gpus", "request_cpu": "request_cpus", "request_gpu_memory": "gpus_minimum_memory"} {
		text := command + " = 4"
		want := "a.sub:2: " + command + ": is no command and has no effect, did you mean " + right + "?"
		if got := said(sleep+text+"\nqueue", bare()); got != want {
			t.Errorf("read(%q) said %s, want %s", text, got, want)
		}
		if got := attribute(t, text, "Requirements", bare()); got != "true" {
			t.Errorf("Requirements of %q = %s, want true", text, got)
		}
	}
}

func TestDoubtfulAmounts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"request_cpus = many", "a.sub:2: request_cpus: many: the job has no such attribute: want a number"},
		{"request_gpus = some", "a.sub:2: request_gpus: some: the job has no such attribute: want a number"},
		{"request_site = north", "a.sub:2: request_site: north: the job has no such attribute: want a number, or a text in double quotes"},
		{"request_cpus = Width\n+Width = 2", ""},
		{"request_cpus = TotalCpus", ""},
		{"request_cpus = undefined", ""},
		{"request_gpus = 1 + 1", ""},
		{`request_model = "A100"`, ""},
	} {
		if got := said(sleep+c.text+"\nqueue", bare()); got != c.want {
			t.Errorf("read(%q) said %s, want %s", c.text, got, c.want)
		}
	}
}

// TestSizeIsEnough checks the law of units: what is asked for holds what was
// written, and is less than a unit more.
func TestSizeIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		thousandths := rapid.IntRange(0, 1<<30).Draw(t, "thousandths")
		suffix := rapid.SampledFrom([]string{"K", "kb", "M", " mb", "G", "gB", "t"}).Draw(t, "suffix")
		unit := rapid.SampledFrom([]float64{kilobyte, megabyte}).Draw(t, "unit")
		text := fmt.Sprintf("%d.%03d%s", thousandths/1000, thousandths%1000, suffix)
		scale := map[byte]float64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40}[strings.ToLower(strings.TrimSpace(suffix))[0]]
		n, ok := parseSize(text, unit)
		bytes := float64(thousandths) / 1000 * scale
		if slack := n*unit - bytes; !ok || slack < -1e-3*unit || slack >= unit*(1+1e-9) {
			t.Errorf("parseSize(%q, %g) = %g, %v, want the least number for %g bytes", text, unit, n, ok, bytes)
		}
	})
}

func TestTopLevel(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a, b": "a|b", "f(a, b), {c, d}, [e = 1, 2]": "f(a, b)|{c, d}|[e = 1, 2]",
		`"a,b", 'c,d'`: `"a,b"|'c,d'`, `"a\",b", c`: `"a\",b"|c`, `"a, b`: `"a, b`, "": "", "a,": "a|",
	} {
		if got := strings.Join(topLevel(text), "|"); got != want {
			t.Errorf("topLevel(%q) = %s, want %s", text, got, want)
		}
	}
}

// bigger has statements of its own done.
const bigger = "on_evict_checks = Bigger\ntransform_body_Bigger @=end\n  # once\n  REQUIREMENTS VacateReasonCode == 34\n\n  SET Tries 1\n@end"

func TestLaterAmounts(t *testing.T) {
	const memory = `"REQUIREMENTS (VacateReasonCode==21 && VacateReasonSubCode==102) || (VacateReasonCode == 34 && VacateReasonSubCode == 102)|`
	const disk = `"REQUIREMENTS (VacateReasonCode==21 && VacateReasonSubCode==104) || (VacateReasonCode == 34 && VacateReasonSubCode == 104)|`
	const list = `EVALSET RequestMemory RetryRequestMemory[RetryRequestMemoryIndex?:0]|EVALSET RetryRequestMemoryIndex MIN({size(RetryRequestMemory)-1, (RetryRequestMemoryIndex?:0)+1})"`
	for _, c := range []struct{ text, name, want string }{
		{"request_memory = 1GB", "TransformOnEvict", "-"},
		{"retry_request_memory = 2GB", "TransformOnEvict", `"RequestMemory"`}, {"retry_request_memory = 2GB", "TransformBody_RequestMemory", memory + `SET RequestMemory 2048"`},
		{"retry_request_memory = 2GB", "RequestMemory", "128"},
		{"request_memory = 1GB\nretry_request_memory = 2GB, 8GB", "RetryRequestMemory", "{ 2048,8192 }"},
		{"request_memory = 1GB\nretry_request_memory = 2GB, 8GB", "TransformBody_RequestMemory", memory + list},
		{"request_memory = 1GB, 2G, 8 gb", "RetryRequestMemory", "{ 2048,8192 }"}, {"request_memory = 1GB, 2G, 8 gb", "TransformBody_RequestMemory", memory + list},
		{"request_memory = 1GB, 2GB", "TransformBody_RequestMemory", memory + `SET RequestMemory 2048"`},
		{"request_memory = 1GB\nretry_request_memory_max = 2GB", "TransformBody_RequestMemory", memory + `SET RequestMemory 2048"`},
		{"request_memory = 1GB\nretry_request_memory_increase = 500 MB", "TransformBody_RequestMemory", memory + `SET RequestMemory 1524"`},
		{"request_memory = 1GB\nretry_request_memory_increase = RequestMemory*2", "TransformBody_RequestMemory", memory + `SET RequestMemory 2048"`},
		{"retry_request_memory_increase = MemoryUsage*2", "TransformBody_RequestMemory", memory + `EVALSET RequestMemory NextRequestMemory"`},
		{"retry_request_memory_increase = MemoryUsage*2", "NextRequestMemory", "MemoryUsage * 2"},
		{"request_memory = 1GB\nretry_request_memory_increase = 512MB\nretry_request_memory_max = 2GB", "TransformBody_RequestMemory",
			memory + `EVALSET RequestMemory MIN({NextRequestMemory, MaxRequestMemory})"`},
		{"request_memory = 1GB\nretry_request_memory_increase = 512MB\nretry_request_memory_max = 2GB", "NextRequestMemory", "RequestMemory + 512"},
		{"request_memory = 1GB\nretry_request_memory_increase = 512MB\nretry_request_memory_max = 2GB", "MaxRequestMemory", "2048"},
		{"request_memory = 1GB\nretry_request_memory_increase = RequestMemory * 2\nretry_request_memory_max = 2GB", "NextRequestMemory", "RequestMemory * 2"},
		{"request_disk = 10MB\nretry_request_disk = 20MB", "TransformBody_RequestDisk", disk + `SET RequestDisk 20480"`},
		{"request_disk = 10MB, 20MB, 80 m", "RetryRequestDisk", "{ 20480,81920 }"},
		{"request_disk = 10MB, 20MB\nretry_request_memory = 2GB", "TransformOnEvict", `"RequestDisk,RequestMemory"`},
		{bigger, "TransformBody_Bigger", `"REQUIREMENTS VacateReasonCode == 34|SET Tries 1"`},
		{bigger + "\nretry_request_memory = 2GB", "TransformOnEvict", `"Bigger,RequestMemory"`},
	} {
		got := strings.ReplaceAll(attribute(t, c.text, c.name, testOptions()), transformSeparator, "|")
		if got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

func TestLaterAmountMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"request_memory = 1GB, 2GB\nretry_request_memory_max = 4GB", "a.sub:2: request_memory: says by itself what later attempts ask for, which excludes retry_request_memory_max"},
		{"retry_request_memory = 2GB\nretry_request_memory_increase = 1GB", "a.sub:2: retry_request_memory: excludes retry_request_memory_increase"},
		{"retry_request_memory = more", `a.sub:2: retry_request_memory: "more": want a size, such as 512 MB or 1.5 GB, or an expression`},
		{"retry_request_disk_max = -1", "a.sub:2: retry_request_disk_max: -1: must not be negative"},
		{"request_memory = 1GB, 2GB", ""},
		{"retry_request_memory = 2GB", ""},
		{bigger, ""}, {"on_evict_checks = a\n+TransformBody_a = \"SET Tries 1\"", ""}, {"transform_body_a = x\nargs = $(transform_body_a)", ""},
		{"on_evict_checks = a", "a.sub:2: on_evict_checks: a: there is no transform_body_a"},
		{"transform_body_a = SET Tries 1", "a.sub:2: transform_body_a: has no effect: on_evict_checks does not name it"},
		{"on_evict_checks = a\ntransform_body_a = DELETE Tries", `a.sub:3: transform_body_a: "DELETE": want REQUIREMENTS, SET or EVALSET`},
		{"on_evict_checks = a\ntransform_body_a = SET Owner \"bob\"", "a.sub:3: transform_body_a: Owner: says which job it is, and whose: it cannot be changed"},
		{"on_evict_checks = a\ntransform_body_a = EVALSET Tries 1 +", "a.sub:3: transform_body_a: Tries: column 4: expected a value, a name or (, found the end of the text"},
	} {
		if got := said(sleep+c.text+"\nqueue\n", bare()); got != c.want {
			t.Errorf("read(%q) said %s, want %s", c.text, got, c.want)
		}
	}
}
