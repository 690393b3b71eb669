package summarytext

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Counts counts the jobs of clusters by their summaries and the states of their claims.
type Counts struct {
	claims []pool.ClaimSummary
	known  []map[string]*kind // by worker and text
	parts  [][]cluster        // by segment
}

// kind is a summary that clusters have, nil if it cannot be read.
type kind struct {
	*Jobs
	clusters int
}

type cluster struct {
	id int
	of *kind
}

// Alike is jobs that count as one: their ad, and the state of their claim, 0 without one.
type Alike struct {
	Ad    *classad.Ad
	Claim pool.ClaimState
}

// NewCounts returns counts for so many workers and segments, and the claims of jobs by ascending job.
func NewCounts(workers, segments int, claims []pool.ClaimSummary) *Counts {
	c := &Counts{claims, make([]map[string]*kind, workers), make([][]cluster, segments)}
	for i := range c.known {
		c.known[i] = map[string]*kind{}
	}
	return c
}

// Add adds a cluster by its summary, and reports whether that can be read. A segment's clusters come by ascending id.
func (c *Counts) Add(worker, segment, id int, text string) bool {
	of := c.known[worker][text]
	if of == nil {
		of = new(kind)
		of.Jobs, _ = ReadJobs(text)
		c.known[worker][strings.Clone(text)] = of
	}
	if of.Jobs == nil {
		return false
	}
	of.clusters++
	if len(c.claims) > 0 {
		c.parts[segment] = append(c.parts[segment], cluster{id, of})
	}
	return true
}

// Jobs returns how many jobs are alike.
func (c *Counts) Jobs() map[Alike]int {
	jobs := map[Alike]int{}
	for _, known := range c.known {
		for _, of := range known {
			if of.Jobs == nil {
				continue
			}
			for _, t := range of.Stretches {
				jobs[Alike{Ad: of.Ads[t.Ad]}] += t.Jobs * of.clusters
			}
		}
	}
	claims := c.claims
	for _, part := range c.parts {
		for _, in := range part {
			for len(claims) > 0 && claims[0].Job.Cluster < in.id {
				claims = claims[1:]
			}
			for ; len(claims) > 0 && claims[0].Job.Cluster == in.id; claims = claims[1:] {
				if i := in.of.Of(claims[0].Job.Proc); i >= 0 {
					jobs[Alike{Ad: in.of.Ads[i]}]--
					jobs[Alike{in.of.Ads[i], claims[0].State}]++
				}
			}
		}
	}
	return jobs
}
