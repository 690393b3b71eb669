package selection

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Span is procs of one run of equal ones. Word is a name that they were chosen by; see
// Naming for all of them.
type Span struct {
	pool.Procs
	Run  spool.Run
	Word string
}

// In returns the named jobs of the queue, each once, in ascending order, and
// the arguments that name none. Where only clusters and jobs are named, it looks at
// no other cluster.
func (n Names) In(v *spool.View) (spans []Span, missing []string) {
	found := map[string]bool{}
	for _, c := range n.candidates(v) {
		marked := n.procs[c.ID].all()
		for _, p := range marked {
			found[p.word] = found[p.word] || anyOf(c, p)
		}
		whole := n.wholly(c.ID, found)
		rows, stepped := sorted(marked)
		for _, r := range c.Runs {
			user := n.byUser(r, found)
			if word := cmp.Or(whole, user); word != "" {
				spans = append(spans, Span{r.Procs, r, word})
				continue
			}
			spans = append(spans, among(r, pieces(r.Procs, rows, stepped))...)
		}
	}
	return spans, n.missing(found)
}

// among returns the jobs of a run that are in one of the rows, which are sorted.
func among(r spool.Run, rows []row) (spans []Span) {
	next := r.First
	for _, p := range rows {
		if p.First = max(p.First, next); p.First > p.Last {
			continue
		}
		next = p.Last + 1
		if k := len(spans) - 1; k >= 0 && spans[k].Extend(p.Procs) {
			continue // next to each other, they have one owner
		}
		spans = append(spans, Span{p.Procs, r, p.word})
	}
	return spans
}

// sorted returns the procs in rows, ascending and none of them twice, and those in
// steps.
func sorted(list []row) (rows, stepped []row) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b row) int { return a.Compare(b.Procs) })
	next := 0
	for _, p := range list {
		if p.step > 1 {
			stepped = append(stepped, p)
		} else if p = p.clip(pool.Procs{Cluster: p.Cluster, First: next, Last: p.Last}); !p.empty() {
			rows = append(rows, p)
			next = p.Last + 1
		}
	}
	return rows, stepped
}

// pieces returns the rows that meet a run, and each stepped proc in it as a row of
// its own, sorted.
func pieces(r pool.Procs, rows, stepped []row) (list []row) {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Last >= r.First })
	for ; i < len(rows) && rows[i].First <= r.Last; i++ {
		list = append(list, rows[i].clip(r))
	}
	if len(stepped) == 0 {
		return list
	}
	named := map[int]bool{} // however many name it, a proc is held once
	for _, p := range stepped {
		for p = p.clip(r); !p.empty(); p.First += p.step {
			if !named[p.First] {
				named[p.First] = true
				list = append(list, row{pool.Only(p.FirstJob()), 1, p.word})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b row) int { return a.Compare(b.Procs) })
	return list
}

// Naming returns the words that name jobs of a span, in no order.
func (n Names) Naming(s Span) (words []string) {
	found := map[string]bool{}
	n.byUser(s.Run, found)
	if n.wholly(s.Cluster, found) == allWord {
		return []string{allWord}
	}
	n.procs[s.Cluster].meet(s.Procs, func(p row) { found[p.word] = true })
	return slices.Collect(maps.Keys(found))
}

// candidates returns the clusters that may hold named jobs, without a look at
// any other where only ids are named.
func (n Names) candidates(v *spool.View) []*spool.Cluster {
	if n.all {
		return v.Clusters()
	}
	list := slices.Clone(v.Belonging(slices.Collect(maps.Keys(n.users))))
	for _, c := range n.ranges {
		list = append(list, between(v, c)...)
	}
	for id := range n.ids() {
		if c, ok := v.Cluster(id); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *spool.Cluster) int { return a.ID - b.ID })
	return slices.CompactFunc(list, func(a, b *spool.Cluster) bool { return a.ID == b.ID })
}

// ids returns the clusters that are named by their numbers, wholly or in part.
func (n Names) ids() map[int]bool {
	ids := map[int]bool{}
	for id := range n.clusters {
		ids[id] = true
	}
	for id := range n.procs {
		ids[id] = true
	}
	return ids
}

// fewClusters is how many are looked up one by one; of a longer range all clusters
// are looked at.
const fewClusters = 1000

// between returns the clusters of a range.
func between(v *spool.View, want clusters) (list []*spool.Cluster) {
	if want.last-want.first >= fewClusters {
		return slices.DeleteFunc(slices.Clone(v.Clusters()), func(c *spool.Cluster) bool { return !want.has(c.ID) })
	}
	for id := want.first; id <= want.last; id++ {
		if c, ok := v.Cluster(id); ok {
			list = append(list, c)
		}
	}
	return list
}

// wholly returns the word that names a whole cluster, empty for none, and notes
// all that do.
func (n Names) wholly(cluster int, found map[string]bool) (word string) {
	if n.all {
		return allWord
	}
	for _, c := range n.ranges {
		if c.has(cluster) {
			found[c.word], word = true, c.word
		}
	}
	if one := n.clusters[cluster]; one != "" {
		found[one], word = true, one
	}
	return word
}

// byUser returns the word that names the user whose run it is, empty for none, and
// notes it.
func (n Names) byUser(r spool.Run, found map[string]bool) (word string) {
	if len(n.users) == 0 {
		return ""
	}
	for _, attr := range [2]string{pool.AttrUser, pool.AttrOwner} {
		if user, ok := r.Ad.EvalString(&classad.Context{}, attr); ok && n.users[user] {
			found[user], word = true, user
		}
	}
	return word
}

// anyOf reports whether one of the procs is in the queue.
func anyOf(c *spool.Cluster, p row) bool {
	i := sort.Search(len(c.Runs), func(i int) bool { return c.Runs[i].Last >= p.First })
	for ; i < len(c.Runs) && c.Runs[i].First <= p.Last; i++ {
		if !p.clip(c.Runs[i].Procs).empty() {
			return true
		}
	}
	return false
}

// missing returns the words that name no job: ids in ascending order, then users.
func (n Names) missing(found map[string]bool) []string {
	type id struct {
		pool.JobID
		word string
	}
	var ids []id
	for cluster, word := range n.clusters {
		ids = append(ids, id{pool.JobID{Cluster: cluster, Proc: -1}, word})
	}
	for _, c := range n.ranges {
		ids = append(ids, id{pool.JobID{Cluster: c.first, Proc: -1}, c.word})
	}
	for _, list := range n.procs {
		for _, p := range list.all() {
			ids = append(ids, id{p.FirstJob(), p.word})
		}
	}
	slices.SortFunc(ids, func(a, b id) int { return cmp.Or(a.Compare(b.JobID), cmp.Compare(a.word, b.word)) })
	var list []string
	for _, x := range slices.Compact(ids) {
		if !found[x.word] {
			list = append(list, x.word)
		}
	}
	var users []string
	for u := range n.users {
		if !found[u] {
			users = append(users, u)
		}
	}
	slices.Sort(users)
	return append(list, users...)
}
