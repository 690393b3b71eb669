package jobad

import (
	"strings"
	"testing"
)

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
	} {
		if got := said(sleep+c.text+"\nqueue\n", bare()); got != c.want {
			t.Errorf("read(%q) said %s, want %s", c.text, got, c.want)
		}
	}
}
