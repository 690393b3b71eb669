package maui

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// TestRank: higher start priority first, then the lower ID, and JobPrio among a user's own.
func TestRank(t *testing.T) {
	job := func(cluster, proc int, user string, minutes, jobPrio int64) Job {
		j := queued(user, 60*minutes, 3600)
		j.ID, j.JobPrio = pool.JobID{Cluster: cluster, Proc: proc}, jobPrio
		return j
	}
	for _, c := range []struct {
		name string
		jobs []Job
		want string
	}{
		{"none", nil, ""},
		{"longer in the queue", []Job{job(1, 0, "a", 5, 0), job(2, 0, "b", 9, 0), job(3, 0, "a", 7, 0)}, "2.0 3.0 1.0"},
		{"equal: by ID", []Job{job(2, 0, "a", 5, 0), job(1, 10, "a", 5, 0), job(1, 9, "b", 5, 0)}, "1.9 1.10 2.0"},
		{"equal whole parts are equal", []Job{with(job(1, 0, "a", 5, 0), func(j *Job) { j.Since += 0 }), with(job(2, 0, "a", 5, 0), func(j *Job) { j.Since -= 59 })}, "1.0 2.0"},
		{"JobPrio within the places of a user", []Job{job(1, 0, "a", 5, 0), job(2, 0, "b", 5, 9), job(3, 0, "a", 5, 7), job(4, 0, "a", 5, 7), job(5, 0, "b", 5, -1)}, "3.0 2.0 4.0 1.0 5.0"},
		{"JobPrio does not enter the priority", []Job{job(1, 0, "a", 5, 99), job(2, 0, "a", 6, 0)}, "2.0 1.0"},
		{"IDs of all sorts", []Job{job(math.MaxInt, 0, "a", 5, 0), job(-1, 0, "a", 5, 0), job(math.MinInt, 3, "a", 5, 0), job(0, math.MaxInt, "a", 5, 0), job(0, -5, "a", 5, 0)},
			fmt.Sprintf("%d.3 -1.0 0.-5 0.%d %d.0", math.MinInt, math.MaxInt, math.MaxInt)},
	} {
		c := c
		for range 5 {
			rand.Shuffle(len(c.jobs), func(i, j int) { c.jobs[i], c.jobs[j] = c.jobs[j], c.jobs[i] })
			var ids []string
			for _, k := range NewReckoner(setup{}.config(), cluster32).Rank(c.jobs) {
				ids = append(ids, c.jobs[k.Index].ID.String())
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	}
}

// TestRankMany: many jobs, which several processors rank, have the order of one comparison
// after the other.
func TestRankMany(t *testing.T) {
	cfg, w := site()
	r, jobs := NewReckoner(cfg, w), siteJobs(3*manyJobs)
	random := rand.New(rand.NewPCG(5, 6))
	random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	want := make([]Ranked, len(jobs))
	for i := range jobs {
		want[i] = Ranked{i, r.Of(&jobs[i]).Start}
	}
	slices.SortFunc(want, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Start, a.Start), jobs[a.Index].ID.Compare(jobs[b.Index].ID))
	})
	if got := r.Rank(jobs); !slices.Equal(got, want) {
		t.Errorf("Rank of %d jobs differs from the order by Of and ID", len(jobs))
	}
}

// TestSortBy: sorted by the whole keys, and equal ones keep their order.
func TestSortBy(t *testing.T) {
	type item struct {
		key int64
		at  int
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3000, 3000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0}))
		items := []item{}
		for i, k := range rapid.SliceOf(some).Draw(t, "keys") {
			items = append(items, item{k, i})
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b item) int { return cmp.Compare(a.key, b.key) })
		if got := sortBy(items, func(i *item) uint64 { return ascending(i.key) }); !slices.Equal(got, want) {
			t.Errorf("sortBy = %v, want %v", got, want)
		}
	})
}
