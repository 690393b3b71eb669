package launch

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLimitsConf(t *testing.T) {
	const all = unix.RLIM_INFINITY
	c := conf{
		Account{Name: "alice", UID: 1000, GID: 1000, Groups: []int{1000, 50}},
		func(name string) (int, bool) {
			gid, ok := map[string]int{"staff": 50, "wheel": 10}[name]
			return gid, ok
		},
	}
	for _, k := range []struct {
		text     string
		want     []Rlimit
		priority int
	}{
		{"", nil, 0},
		{"# alice hard nproc 5", nil, 0},
		{"alice hard nproc 5 # as agreed", []Rlimit{{unix.RLIMIT_NPROC, Same, 5}}, 0},
		{"  alice\tsoft  nproc\t5\n", []Rlimit{{unix.RLIMIT_NPROC, 5, Same}}, 0},
		{"alice - nproc 5", []Rlimit{{unix.RLIMIT_NPROC, 5, 5}}, 0},
		{"alice - NPROC 5", []Rlimit{{unix.RLIMIT_NPROC, 5, 5}}, 0},
		{"alice - core 4", []Rlimit{{unix.RLIMIT_CORE, 4096, 4096}}, 0},
		{"alice - cpu 2", []Rlimit{{unix.RLIMIT_CPU, 120, 120}}, 0},
		{"alice - nofile unlimited", []Rlimit{{unix.RLIMIT_NOFILE, all, all}}, 0},
		{"alice - as -1", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - as infinity", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - as 18446744073709551615", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - nice -10", []Rlimit{{unix.RLIMIT_NICE, 30, 30}}, 0},
		{"alice - nice 100", []Rlimit{{unix.RLIMIT_NICE, 1, 1}}, 0},
		{"alice - priority 7", nil, 7},
		{"alice - priority 70", nil, 19},
		{"alice - maxlogins 2", nil, 0},
		{"alice - locks 2", nil, 0},
		{"% - nproc 2", nil, 0},
		{"%staff - nproc 2", nil, 0},
		{"alice - nproc five", nil, 0},
		{"alice - nproc", nil, 0},
		{"bob - nproc 2", nil, 0},
		{"@staff - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"@wheel - nproc 2", nil, 0},
		{"@nosuch - nproc 2", nil, 0},
		{"* - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{":1000 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"1000: - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"500:1500 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"1001: - nproc 2\n500:999 - nproc 3\n:999 - nproc 4\n: - nproc 5\na:b - nproc 6", nil, 0},
		{"@:50 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"@40:60 - nproc 2\n@60: - nproc 3", []Rlimit{{unix.RLIMIT_NPROC, 3, 3}}, 0}, // ranges are of the first group
		// The closest holds whatever the order, and of equals the last.
		{"alice - nproc 1\n@staff - nproc 2\n* - nproc 3", []Rlimit{{unix.RLIMIT_NPROC, 1, 1}}, 0},
		{"* - nproc 3\n@staff - nproc 2\n@:1000 - nproc 4", []Rlimit{{unix.RLIMIT_NPROC, 4, 4}}, 0},
		{"* - nproc 3\nalice soft nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 3}}, 0},
		{"* - priority 3\nalice - priority 2\n@staff - priority 5", nil, 2},
		{"alice - nproc 1\nalice -", nil, 0},
		{"@staff -\nalice - nproc 1", nil, 0},
		{"* -\nbob -\nalice - nproc 1", []Rlimit{{unix.RLIMIT_NPROC, 1, 1}}, 0},
	} {
		if got, priority := c.limits([]string{k.text}); !reflect.DeepEqual(got, k.want) || priority != k.priority {
			t.Errorf("limits of %q = %v, %d, want %v, %d", k.text, got, priority, k.want, k.priority)
		}
	}
	// What adds to the file comes behind it.
	if got, _ := c.limits([]string{"alice - nproc 1", "alice - nproc 2\n* - sigpending 3"}); !reflect.DeepEqual(got, []Rlimit{{unix.RLIMIT_NPROC, 2, 2}, {unix.RLIMIT_SIGPENDING, 3, 3}}) {
		t.Errorf("limits of two files = %v, want 2 processes and 3 signals", got)
	}
}

func FuzzLimitsConf(f *testing.F) {
	f.Add("alice hard nproc 5\n* soft core unlimited\n@staff - as -1\nalice -\n")
	f.Add("1000:2000 - nice -21\n@:: - : 1\n: - priority 99999999999999999999\n")
	c := conf{Account{Name: "alice", UID: 1000, GID: 1000}, func(name string) (int, bool) { return len(name), true }}
	f.Fuzz(func(t *testing.T, text string) {
		limits, priority := c.limits([]string{text})
		if priority < -20 || priority > 19 {
			t.Errorf("limits of %q: priority %d, want a nice value", text, priority)
		}
		for i, l := range limits {
			if i > 0 && limits[i-1].Resource >= l.Resource {
				t.Errorf("limits of %q = %v, want them sorted, and one of each", text, limits)
			}
		}
		if len(limits) > 0 && !strings.Contains(text, " ") && !strings.ContainsAny(text, "\t\v\f\r\u0085\u00a0") {
			t.Errorf("limits of %q = %v, want none of a text of single words", text, limits)
		}
	})
}
