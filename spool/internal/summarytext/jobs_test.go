package summarytext

import (
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestJobsOfEqualTexts holds that a summary tells what its jobs say, and nothing of where their texts stand: a fold and a
// check make the same one from ads that share texts or do not.
func TestJobsOfEqualTexts(t *testing.T) {
	t.Parallel()
	procs := func(first, last int) pool.Procs {
		return pool.Procs{Cluster: 12, First: first, Last: last}
	}
	ad := func(text string) *classad.Ad {
		a, err := classad.ParseAd(strings.Clone(text))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const held, idle = `[ Owner = "alice"; JobStatus = 5; HoldReason = "by hand" ]`, `[ Owner = "alice"; JobStatus = 1 ]`
	shared, one := new(Jobs), ad(held)
	apart := new(Jobs)
	for _, s := range []struct {
		*Jobs
		held func() *classad.Ad
	}{{shared, func() *classad.Ad { return one }}, {apart, func() *classad.Ad { return ad(held) }}} {
		s.Add(s.held(), procs(0, 3))
		s.Add(s.held(), procs(5, 5))
		s.Add(ad(idle), procs(6, 6))
		s.Add(s.held(), procs(7, 9))
		s.Add(s.held(), procs(10, 10))
	}
	const want = held + " " + idle + " 0 5 5 1 6 1 0 10 4"
	if shared.Text() != want || apart.Text() != want {
		t.Errorf("the summary of ads that share texts is\n%s\nthat of others\n%s\nwant\n%s", shared.Text(), apart.Text(), want)
	}
}
