package selection

import (
	"cmp"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Late is the jobs of a cluster that are still to come, with the word that they
// were chosen by.
type Late struct {
	spool.Factory
	Word string
}

// Factories returns the factories whose clusters or whose owners are named, in
// order, and which of the missing arguments that accounts for. domain is that of
// the pool's users.
func (n Names) Factories(v *spool.View, domain string, missing []string) (list []spool.Factory, still []string) {
	late, still := n.late(v, domain, missing)
	for _, l := range late {
		list = append(list, l.Factory)
	}
	return list, still
}

func (n Names) late(v *spool.View, domain string, missing []string) (list []Late, still []string) {
	found := map[string]bool{}
	for _, f := range v.Factories() {
		whole, user := n.wholly(f.Cluster, found), n.byOwner(f, domain, found)
		if word := cmp.Or(whole, user); word != "" {
			list = append(list, Late{f, word})
		}
	}
	return list, slices.DeleteFunc(missing, func(word string) bool { return found[word] })
}

// byOwner returns the word that names the owner of a factory, empty for none, and
// notes it.
func (n Names) byOwner(f spool.Factory, domain string, found map[string]bool) (word string) {
	for _, user := range [...]string{f.Owner + "@" + domain, f.Owner} {
		if n.users[user] {
			found[user], word = true, user
		}
	}
	return word
}

// ad is what a constraint is asked about jobs that are still to come: what their
// cluster's jobs share, as far as any is in the queue.
func (l Late) ad(v *spool.View) *classad.Ad {
	ad := classad.New()
	if c, ok := v.Cluster(l.Cluster); ok {
		ad = c.Ad.Clone()
	}
	ad.SetInt(pool.AttrClusterID, int64(l.Cluster))
	ad.SetString(pool.AttrOwner, l.Owner)
	return ad
}

// toCome returns the words that name procs that are still to come.
func (n Names) toCome(v *spool.View) map[string]bool {
	words := map[string]bool{}
	for cluster, list := range n.procs {
		if f, ok := v.Factory(cluster); ok {
			list.meet(f.Coming(), func(p row) { words[p.word] = true })
		}
	}
	return words
}
