package negotiator

import (
	"slices"
	"testing"

	"fairspool/lib/pool"
)

func TestProcsText(t *testing.T) {
	for _, c := range []struct {
		procs Procs
		text  string
	}{{Procs{1, 2, 3}, "1.2-3"}, {Procs{7, 0, 0}, "7.0"}, {Procs{2, 0, 2147483647}, "2.0-2147483647"}} {
		if got := c.procs.String(); got != c.text {
			t.Errorf("String(%+v) = %s, want %s", c.procs, got, c.text)
		}
		var back Procs
		if err := back.UnmarshalText([]byte(c.text)); err != nil || back != c.procs {
			t.Errorf("UnmarshalText(%s) = %+v, %v, want %+v", c.text, back, err, c.procs)
		}
	}
	for _, bad := range []string{"", "1", "1.0-", "1.2-2", "1.2-1", "0.0-1", "1.0-1-2", "1.0--1", "1.0-1.5", "1.0-99999999999"} {
		got := Procs{9, 9, 9}
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != (Procs{9, 9, 9}) {
			t.Errorf("UnmarshalText(%q) = %+v, %v, want an error and no change", bad, got, err)
		}
	}
}

func TestProcsOf(t *testing.T) {
	at := func(cluster, first, count int) run {
		return run{first: pool.JobID{Cluster: cluster, Proc: first}, count: count}
	}
	got := procsOf([]run{at(2, 5, 1), at(1, 4, 2), at(2, 0, 5), at(1, 0, 1), at(1, 1, 2), at(3, 0, 1)})
	if want := []Procs{{1, 0, 2}, {1, 4, 5}, {2, 0, 5}, {3, 0, 0}}; !slices.Equal(got, want) {
		t.Errorf("procsOf = %v, want %v", got, want)
	}
}
