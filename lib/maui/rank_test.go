package maui

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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
			for _, k := range rank(NewReckoner(setup{}.config(), cluster32), c.jobs) {
				ids = append(ids, c.jobs[k.Run].ID.String())
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
	r, jobs := NewReckoner(cfg, w), siteJobs(12*manyRuns)
	random := rand.New(rand.NewPCG(5, 6))
	random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	type place struct {
		at    int
		start int64
	}
	want := make([]place, len(jobs))
	for i := range jobs {
		want[i] = place{i, r.Of(&jobs[i]).Start}
	}
	slices.SortFunc(want, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.start, a.start), jobs[a.at].ID.Compare(jobs[b.at].ID))
	})
	var got []place
	for _, k := range rank(r, jobs) {
		got = append(got, place{k.Run, k.Start})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order of %d jobs is not that by Of and ID", len(jobs))
	}
}
