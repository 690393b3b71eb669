package qstat

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sort"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/parallel"
	"fairspool/spool"
)

// wholly goes through jobs with all their attributes, some at a time, by ascending id. Of
// jobs that have only what listings read, whole ones are read for that, and kept no longer
// than until the next come.
func (q queue) wholly(spans []selection.Span) iter.Seq2[[]selection.Span, error] {
	return func(yield func([]selection.Span, error) bool) {
		if q.whole == nil {
			yield(spans, nil)
			return
		}
		pieces := q.whole.Pieces()
		readers := make([]*spool.PieceReader, runtime.GOMAXPROCS(0))
		for i := range readers {
			readers[i] = pieces.Reader()
		}
		list := piecesOf(pieces, spans)
		if q.every {
			list = allPieces(pieces)
		}
		for some := range slices.Chunk(list, 2*len(readers)) {
			parallel.Each(len(some), func(worker, i int) { some[i].read(readers[worker]) })
			var all []selection.Span
			for _, p := range some {
				if p.err != nil {
					yield(nil, p.err)
					return
				}
				all = append(all, p.spans...)
			}
			if !yield(all, nil) {
				return
			}
			clear(some)
		}
	}
}

// piece is jobs that stand in one piece of the queue.
type piece struct {
	number int
	every  bool // all its jobs
	spans  []selection.Span
	err    error
}

func allPieces(all *spool.Pieces) []piece {
	list := make([]piece, all.Len())
	for i := range list {
		list[i] = piece{number: i, every: true}
	}
	return list
}

// piecesOf divides jobs among the pieces that they are in.
func piecesOf(all *spool.Pieces, spans []selection.Span) (list []piece) {
	for i := range all.Len() {
		_, last := all.Range(i)
		n := sort.Search(len(spans), func(n int) bool { return spans[n].Cluster > last })
		if n > 0 {
			list = append(list, piece{number: i, spans: slices.Clone(spans[:n])})
		}
		spans = spans[n:]
	}
	return list
}

// read makes the jobs whole ones.
func (p *piece) read(r *spool.PieceReader) {
	var clusters []*spool.Cluster
	clusters, p.err = r.Read(p.number, p.has)
	switch {
	case p.err != nil:
	case p.every:
		for _, c := range clusters {
			for _, run := range c.Runs {
				p.spans = append(p.spans, selection.Span{Procs: run.Procs, Run: run})
			}
		}
	default:
		p.err = p.take(clusters)
	}
}

// has tells whether there are jobs of a cluster.
func (p *piece) has(cluster int) bool {
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].Cluster >= cluster })
	return p.every || i < len(p.spans) && p.spans[i].Cluster == cluster
}

// take takes the runs of whole clusters.
func (p *piece) take(clusters []*spool.Cluster) error {
	for i := range p.spans {
		s := &p.spans[i]
		for len(clusters) > 0 && clusters[0].ID < s.Cluster {
			clusters = clusters[1:]
		}
		if len(clusters) == 0 || clusters[0].ID != s.Cluster || !whole(s, clusters[0].Runs) {
			return fmt.Errorf("job %v: not in the queue any more", s.FirstJob())
		}
	}
	return nil
}

// whole gives a span the run that it is part of.
func whole(s *selection.Span, runs []spool.Run) bool {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].Last >= s.First })
	if i == len(runs) || runs[i].First > s.First || runs[i].Last < s.Last {
		return false
	}
	s.Run = runs[i]
	return true
}
