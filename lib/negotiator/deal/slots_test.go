package deal

import (
	"maps"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

func TestBackoffGrows(t *testing.T) {
	want := []time.Duration{4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour}
	for i, w := range want {
		if got := rest(i+1, 2*time.Minute); got != w {
			t.Errorf("rest(%d, 2m) = %v, want %v", i+1, got, w)
		}
	}
	if got := rest(1_000_000, time.Second); got != time.Hour {
		t.Errorf("rest(1000000, 1s) = %v, want 1h", got)
	}
}

// TestWithoutClaimed holds that procs with a claim are left out wherever they stand, also where procs of one cluster have different
// submitters.
func TestWithoutClaimed(t *testing.T) {
	for clusters := 1; clusters <= 3; clusters++ {
		holdWithoutClaimed(t, clusters)
	}
}

func holdWithoutClaimed(t *testing.T, clusters int) {
	var jobs []jobprio.Run
	for cluster := 1; cluster <= clusters; cluster++ {
		jobs = append(jobs, jobprio.Run{Procs: pool.Procs{Cluster: cluster, First: 0, Last: 3}, Submitter: "zoe", Ad: classad.New()},
			jobprio.Run{Procs: pool.Procs{Cluster: cluster, First: 4, Last: 6}, Submitter: "amy", Ad: classad.New()})
	}
	for claimed := range 1 << (3 * clusters) { // of the procs 0, 3 and 5 of each cluster
		var claims []pool.Claim
		want := map[pool.JobID]string{}
		for cluster := 1; cluster <= clusters; cluster++ {
			for proc := range 7 {
				id := pool.JobID{Cluster: cluster, Proc: proc}
				bit := map[int]int{0: 0, 3: 1, 5: 2}
				if n, may := bit[proc]; may && claimed>>(3*(cluster-1)+n)&1 == 1 {
					claims = append(claims, pool.Claim{Job: id})
				} else if proc < 4 {
					want[id] = "zoe"
				} else {
					want[id] = "amy"
				}
			}
		}
		got := map[pool.JobID]string{}
		for _, r := range withoutClaimed(jobs, claims) {
			for id := range r.Jobs() {
				got[id] = r.Submitter
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("with claims of %v it has %v, want %v", claims, got, want)
		}
	}
}
