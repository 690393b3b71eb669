package accounts

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// jobAd is the ad of a run's first proc.
func jobAd(t testing.TB, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd(text)
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

// procsOf lists the procs of runs, and tells what their ads say of ProcId.
func procsOf(t testing.TB, runs []jobprio.Run) (all []int) {
	for _, r := range runs {
		if id, _ := r.Ad.EvalInt(&classad.Context{}, pool.AttrProcID); id != int64(r.First) {
			t.Errorf("the ad of %v has ProcId %d", r.FirstJob(), id)
		}
		for i := range r.Count() {
			all = append(all, r.First+i)
		}
	}
	return all
}

// Jobs that wait are those without a claim, each once, in order.
func TestWaitingOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ad := classad.New()
		ad.SetInt(pool.AttrProcID, 3)
		first, count := 3, rapid.IntRange(1, 9).Draw(t, "procs")
		p := negotiator.Pool{Jobs: []jobprio.Run{{Procs: pool.Procs{Cluster: 1, First: first, Last: first + count - 1}, Submitter: "alice@pool", Ad: ad}}}
		claimed := rapid.SliceOfNDistinct(rapid.IntRange(0, 14), 0, 8, rapid.ID).Draw(t, "claimed")
		for _, proc := range claimed {
			p.Claims = append(p.Claims, pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}}, pool.Claim{Job: pool.JobID{Cluster: 2, Proc: proc + 1}})
		}
		var want []int
		for proc := first; proc < first+count; proc++ {
			if !slices.Contains(claimed, proc) {
				want = append(want, proc)
			}
		}
		w := waitingOf(&classad.Context{}, p, []string{pool.AttrOwner}, lifecycle.Barring{})
		var got []int
		for _, r := range w.Idle {
			if r.Submitter != "alice@pool" || r.Cluster != 1 {
				t.Errorf("%+v: want a run of cluster 1 of alice", r)
			}
			for i := range r.Count() {
				got = append(got, r.First+i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v wait, want %v", got, want)
		}
	})
}

// Procs that an expression tells apart stand alone, others together.
func TestWaitingApart(t *testing.T) {
	for text, runs := range map[string]int{
		`[ProcId = 0; JobShare = 5]`:          1,
		`[ProcId = 0; JobShare = 2 + 3]`:      1,
		`[ProcId = 0; JobShare = ProcId * 2]`: 3,
	} {
		p := negotiator.Pool{Jobs: []jobprio.Run{{Procs: pool.Procs{Cluster: 1, First: 0, Last: 2}, Ad: jobAd(t, text)}}}
		w := waitingOf(&classad.Context{}, p, []string{"JobShare"}, lifecycle.Barring{})
		if len(w.Idle) != runs {
			t.Errorf("%s: %d runs, want %d", text, len(w.Idle), runs)
		}
		if got := procsOf(t, w.Idle); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%s: %v wait", text, got)
		}
	}
}

func TestTreeCells(t *testing.T) {
	n := sge.TreeNode{Path: "/eng/alice", Name: "alice", Level: 2, Shares: 60, Usage: 1e18, Actual: 0.123456, Running: 1, Pending: 2,
		LongTarget: 0.25, ShortTarget: 0.5, TotalLong: 0.125, TotalShort: 0.0625, Temporary: true, Compensated: true}
	want := []string{"    alice", "60", "25.00", "12.50", "1e+18", "12.35", "50.00", "6.25", "1", "2", "by default, compensated"}
	if got := treeCells(n); !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if got := NamesOn(n); !slices.Equal(got, []string{"eng", "alice"}) {
		t.Errorf("names %q", got)
	}
	// Without jobs there are no targets, and what is very deep is not shown as such.
	got := treeCells(sge.TreeNode{Path: "/x", Name: "x", Level: 10000, Project: true})
	want = []string{strings.Repeat("  ", deepest) + "x", "0", "-", "-", "0.00", "0.00", "-", "-", "0", "0", "project"}
	if !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if got := treeCells(sge.TreeNode{Path: "/", Name: "Root"}); got[0] != "/" {
		t.Errorf("the root is called %q", got[0])
	}
}
