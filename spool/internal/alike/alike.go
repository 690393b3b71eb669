// Package alike gathers clusters whose jobs are alike, so that one may stand for many.
package alike

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"fairspool/spool/internal/extracttext"
)

// Kind is clusters of one run each whose jobs differ only in when they were submitted and in their numbers.
type Kind struct {
	Clusters, Runs string // the lines of the ads of clusters, and of runs
	// Owner is in whose order the jobs stand; empty: in nobody's. The order is by QDate, then by number, among jobs of which none
	// goes first for another reason.
	Owner string
	Alone int // how many of the first stand for themselves
	Rows  []*extracttext.Row
}

// Standing says how a cluster is to stand.
type Standing int

const (
	Together Standing = iota // with others that are alike
	Alone                    // for itself
	Apart                    // for itself, and it is not to be had from the extract
)

// Gathering finds the kinds in extracts.
type Gathering struct {
	Others []int // clusters that stand apart, in no order
	lines  [2]map[string]int
	known  map[kindKey]int
	kinds  []*Kind
	rows   []extracttext.Row // Ad is the number of the kind
}

// kindKey is what makes a kind: the numbers of the lines of both ads, and whether its clusters stand for themselves whatever these say.
type kindKey struct {
	ofClusters, ofRuns int
	alone              bool
}

// NewGathering returns one for so many clusters.
func NewGathering(clusters int) *Gathering {
	return &Gathering{lines: [2]map[string]int{{}, {}}, known: map[kindKey]int{}, rows: make([]extracttext.Row, 0, clusters)}
}

// Add adds what an extract has, with how some clusters are to stand. Those with several runs, and those that say not apart from their ads
// when they were submitted, are Apart.
func (g *Gathering) Add(j *extracttext.Jobs, standing map[int]Standing) {
	g.Others = append(g.Others, j.Others...)
	var numbers [2][]int
	for which, list := range [...][][]byte{j.Clusters, j.Runs} {
		for _, lines := range list {
			n, met := g.lines[which][string(lines)]
			if !met {
				n = len(g.lines[which])
				g.lines[which][string(lines)] = n
			}
			numbers[which] = append(numbers[which], n)
		}
	}
	var together []int // numbers of kinds, from 1, by the places of both ads
	if n := len(j.Clusters) * len(j.Runs); n <= 1<<16 {
		together = make([]int, n)
	}
	for i := range j.Rows {
		row, is := &j.Rows[i], standing[j.Rows[i].Cluster]
		several := i > 0 && j.Rows[i-1].Cluster == row.Cluster || i+1 < len(j.Rows) && j.Rows[i+1].Cluster == row.Cluster
		if several || !row.Apart || is == Apart {
			g.Others = append(g.Others, row.Cluster)
			continue
		}
		n, at := 0, row.Ad*len(j.Runs)+row.Run
		if is == Together && together != nil {
			n = together[at]
		}
		if n == 0 {
			n = g.numberOf(kindKey{numbers[0][row.Ad], numbers[1][row.Run], is == Alone}, j, row)
			if is == Together && together != nil {
				together[at] = n
			}
		}
		g.rows = append(g.rows, *row)
		g.rows[len(g.rows)-1].Ad = n - 1
	}
}

// numberOf returns the number of a kind, from 1. Row is a cluster of it.
func (g *Gathering) numberOf(key kindKey, j *extracttext.Jobs, row *extracttext.Row) int {
	n, met := g.known[key]
	if !met {
		k := &Kind{Clusters: string(j.Clusters[row.Ad]), Runs: string(j.Runs[row.Run])}
		if key.alone {
			k.Alone = math.MaxInt
		}
		g.kinds = append(g.kinds, k)
		n = len(g.kinds)
		g.known[key] = n
	}
	return n
}

// Kinds returns what was found, without owners; the Alone of a kind is 0, or as large as can be.
func (g *Gathering) Kinds() []*Kind {
	counts := make([]int, len(g.kinds))
	for i := range g.rows {
		counts[g.rows[i].Ad]++
	}
	for n, k := range g.kinds {
		k.Rows = make([]*extracttext.Row, 0, counts[n])
	}
	for i := range g.rows {
		k := g.kinds[g.rows[i].Ad]
		k.Rows = append(k.Rows, &g.rows[i])
	}
	return g.kinds
}

// Place is where a cluster stands in the order of an owner's jobs.
type Place struct {
	QDate   int64
	Cluster int
}

func (a Place) compare(b Place) int {
	return cmp.Or(cmp.Compare(a.QDate, b.QDate), cmp.Compare(a.Cluster, b.Cluster))
}

func placeOf(r *extracttext.Row) Place { return Place{r.At[0], r.Cluster} }

// Stretch is clusters of a kind that stand together, in their owner's order.
type Stretch struct {
	Kind int
	Rows []*extracttext.Row
}

// Stretches returns the clusters of kinds that may stand together, so that the first of them may stand for the others: those of a kind
// between which, in their owner's order, no other stands alone, neither one of these kinds nor one at a place in apart, which has places by
// owner.
func Stretches(kinds []*Kind, apart map[string][]Place) (list []Stretch) {
	cuts := map[string][]Place{}
	for owner, places := range apart {
		cuts[owner] = slices.Clone(places)
	}
	for _, k := range kinds {
		order := func(a, b *extracttext.Row) int { return placeOf(a).compare(placeOf(b)) }
		if !slices.IsSortedFunc(k.Rows, order) {
			slices.SortFunc(k.Rows, order)
		}
		for _, row := range k.Rows[:min(k.Alone, len(k.Rows))] {
			cuts[k.Owner] = append(cuts[k.Owner], placeOf(row))
		}
	}
	for _, places := range cuts {
		slices.SortFunc(places, Place.compare)
	}
	for kind, k := range kinds {
		n := min(k.Alone, len(k.Rows))
		for i := range n {
			list = append(list, Stretch{kind, k.Rows[i : i+1]})
		}
		rest := k.Rows[n:]
		for _, cut := range cuts[k.Owner] {
			if len(rest) == 0 || k.Owner == "" {
				break
			}
			at := sort.Search(len(rest), func(i int) bool { return placeOf(rest[i]).compare(cut) > 0 })
			if at > 0 {
				list = append(list, Stretch{kind, rest[:at]})
			}
			rest = rest[at:]
		}
		if len(rest) > 0 {
			list = append(list, Stretch{kind, rest})
		}
	}
	return list
}
