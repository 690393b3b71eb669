package jobad

import (
	"strings"
	"testing"
)

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
		{"retry_request_memory = more", `a.sub:2: retry_request_memory: "more": want a size, as 512 MB or 1.5 GB, or an expression`},
		{"retry_request_disk_max = -1", "a.sub:2: retry_request_disk_max: -1: want no negative number"},
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
