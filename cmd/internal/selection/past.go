package selection

import (
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Past returns how the named jobs are found among those that have left the queue:
// what the spool can choose by, and whether the ad of one that it gives is named.
func (n Names) Past() (which spool.Left, named func(*classad.Ad) bool) {
	switch {
	case n.all:
		return which, func(*classad.Ad) bool { return true }
	case len(n.users) == 0:
		which.Clusters = n.pastClusters()
	case len(n.clusters)+len(n.ranges)+len(n.procs) == 0:
		which.Owners = n.users
	}
	return which, n.inPast
}

// pastClusters returns all named clusters; nil with a long range.
func (n Names) pastClusters() map[int]bool {
	ids := map[int]bool{}
	for id := range n.clusters {
		ids[id] = true
	}
	for id := range n.procs {
		ids[id] = true
	}
	for _, c := range n.ranges {
		if c.last-c.first >= fewClusters {
			return nil
		}
		for id := c.first; id <= c.last; id++ {
			ids[id] = true
		}
	}
	return ids
}

// inPast reports whether the job of an ad is named.
func (n Names) inPast(ad *classad.Ad) bool {
	none := &classad.Context{}
	for _, attr := range [2]string{pool.AttrUser, pool.AttrOwner} {
		if user, ok := ad.EvalString(none, attr); ok && n.users[user] {
			return true
		}
	}
	number := func(name string) int {
		if x, ok := ad.EvalInt(none, name); ok {
			return int(x)
		}
		return -1
	}
	id := pool.JobID{Cluster: number(pool.AttrClusterID), Proc: number(pool.AttrProcID)}
	is := n.clusters[id.Cluster] != "" || slices.ContainsFunc(n.ranges, func(c clusters) bool { return c.has(id.Cluster) })
	n.procs[id.Cluster].meet(pool.Only(id), func(row) { is = true })
	return is
}
