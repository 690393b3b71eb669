package queue

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sort"

	"fairspool/lib/parallel"
	"fairspool/spool"
)

// Wholly goes through jobs with all their attributes, some at a time, by ascending id. Of
// jobs that have only what listings read, whole ones are read for that, and kept no longer
// than until the next come. Every stands for all jobs of the queue.
func (q *Queue) Wholly(jobs []spool.Run, every bool) iter.Seq2[[]spool.Run, error] {
	return func(yield func([]spool.Run, error) bool) {
		if q.Whole == nil {
			yield(jobs, nil)
			return
		}
		pieces := q.Whole.Pieces()
		readers := make([]*spool.PieceReader, runtime.GOMAXPROCS(0))
		for i := range readers {
			readers[i] = pieces.Reader()
		}
		list := piecesOf(pieces, jobs)
		if every {
			list = allPieces(pieces)
		}
		for some := range slices.Chunk(list, 2*len(readers)) {
			parallel.Each(len(some), func(worker, i int) { some[i].read(readers[worker]) })
			var all []spool.Run
			for _, p := range some {
				if p.err != nil {
					yield(nil, p.err)
					return
				}
				all = append(all, p.procs...)
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
	procs  []spool.Run
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
func piecesOf(all *spool.Pieces, procs []spool.Run) (list []piece) {
	for i := range all.Len() {
		_, last := all.Range(i)
		n := sort.Search(len(procs), func(n int) bool { return procs[n].Cluster > last })
		if n > 0 {
			list = append(list, piece{number: i, procs: slices.Clone(procs[:n])})
		}
		procs = procs[n:]
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
			p.procs = append(p.procs, c.Runs...)
		}
	default:
		p.err = p.take(clusters)
	}
}

// has reports whether there are jobs of a cluster.
func (p *piece) has(cluster int) bool {
	i := sort.Search(len(p.procs), func(i int) bool { return p.procs[i].Cluster >= cluster })
	return p.every || i < len(p.procs) && p.procs[i].Cluster == cluster
}

// take takes the runs of whole clusters.
func (p *piece) take(clusters []*spool.Cluster) error {
	for i := range p.procs {
		s := &p.procs[i]
		for len(clusters) > 0 && clusters[0].ID < s.Cluster {
			clusters = clusters[1:]
		}
		if len(clusters) == 0 || clusters[0].ID != s.Cluster || !whole(s, clusters[0].Runs) {
			return fmt.Errorf("job %v: not in the queue any more", s.FirstJob())
		}
	}
	return nil
}

// whole gives procs the run that they are part of.
func whole(s *spool.Run, runs []spool.Run) bool {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].Last >= s.First })
	if i == len(runs) || runs[i].First > s.First || runs[i].Last < s.Last {
		return false
	}
	s.Ad = runs[i].Ad
	return true
}
