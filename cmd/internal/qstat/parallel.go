package qstat

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"sort"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ads goes through the ads of all jobs, by ascending id. The ad of a run is one
// of its procs after the other.
func ads(procs []selection.Procs) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		for _, s := range procs {
			ad := s.Run.Proc(s.First)
			for p := s.First; p <= s.Last; p++ {
				ad.SetInt(pool.AttrProcID, int64(p))
				if !yield(ad) {
					return
				}
			}
		}
	}
}

// printAds writes whole ads, a part of the jobs by each processor. What -af writes may
// have columns that grow from line to line, so it is written in one go.
func (q queue) printAds(form string, procs []selection.Procs) error {
	c := q.call
	if form != "af" && (q.every || manyJobs(procs)) && !c.Terminal() {
		return q.printParts(form, procs)
	}
	var bad error
	err := adprint.Print(c, form, func(yield func(*classad.Ad) bool) {
		for some, err := range q.wholly(procs) {
			if bad = err; err != nil {
				return
			}
			for ad := range ads(some) {
				if !yield(ad) {
					return
				}
			}
		}
	})
	if bad != nil {
		return bad
	}
	return err
}

// manyJobs reports whether there are more jobs than one portion.
func manyJobs(procs []selection.Procs) bool {
	n := 0
	for i := 0; i < len(procs) && n <= portion; i++ {
		n += procs[i].Count()
	}
	return n > portion
}

// printParts writes ads in portions.
func (q queue) printParts(form string, procs []selection.Procs) (err error) {
	p := newPress(q.call, form)
	defer func() { err = p.end(err) }()
	for some, err := range q.wholly(procs) {
		if err != nil {
			return err
		}
		for parts := range slices.Chunk(portions(some, portion), 4*runtime.GOMAXPROCS(0)) {
			if err := p.print(parts); err != nil {
				return err
			}
		}
	}
	return nil
}

// press prints parts of a list on all processors, and writes them in their order: some
// while the next are printed.
type press struct {
	call  *cmdline.Call
	form  string
	free  chan sheets // two at most
	ready chan sheets // to be written
	begun bool
}

// sheets are what parts were printed on, and what went wrong with writing so far.
type sheets struct {
	texts []*bytes.Buffer
	err   error
}

func newPress(c *cmdline.Call, form string) *press {
	p := &press{call: c, form: form, free: make(chan sheets, 2), ready: make(chan sheets, 2)}
	p.free <- sheets{}
	p.free <- sheets{}
	go p.write()
	return p
}

// write writes what is ready until there is no more to come, nothing after an error.
func (p *press) write() {
	var err error
	first := true
	for s := range p.ready {
		for _, text := range s.texts {
			b := text.Bytes()
			if p.form == "json" {
				b = linked(b, first)
			}
			if first = false; err == nil {
				_, err = p.call.Data().Write(b)
			}
			text.Reset()
		}
		p.free <- sheets{s.texts, err}
	}
}

// print prints parts, each by itself.
func (p *press) print(parts [][]selection.Procs) error {
	s := <-p.free
	for len(s.texts) < len(parts) {
		s.texts = append(s.texts, new(bytes.Buffer))
	}
	s.texts = s.texts[:len(parts)]
	bad := make([]error, len(parts))
	if s.err == nil {
		parallel.Each(len(parts), func(_, i int) {
			own := *p.call
			own.Stdout = s.texts[i]
			bad[i] = adprint.Print(&own, p.form, ads(parts[i]))
		})
	}
	if s.err = cmp.Or(s.err, cmp.Or(bad...)); s.err != nil {
		p.free <- s
		return s.err
	}
	p.ready <- s
	p.begun = true
	return nil
}

// end waits until all is written, and ends the list; not after an error, so that nobody
// takes half of it for all. It returns the first error.
func (p *press) end(bad error) error {
	close(p.ready)
	err := cmp.Or(bad, (<-p.free).err, (<-p.free).err)
	if err != nil || p.form != "json" {
		return err
	}
	end := listEnd
	if !p.begun {
		end = "[]\n"
	}
	_, err = p.call.Data().Write([]byte(end))
	return err
}

// portion is how many jobs are printed together.
const portion = 500

// listEnd is what a list that is not empty ends with in JSON.
const listEnd = "\n]\n"

// jsonList writes a list of objects, some at a time: object makes one of each element.
func jsonList[T any](c *cmdline.Call, list []T, object func(T) any) error {
	if len(list) == 0 {
		return c.JSON([]any{})
	}
	var near bytes.Buffer
	own := *c
	own.Stdout = &near
	first := true
	for some := range slices.Chunk(list, portion) {
		objects := make([]any, len(some))
		for i, x := range some {
			objects[i] = object(x)
		}
		near.Reset()
		if err := own.JSON(objects); err != nil {
			return err
		}
		if _, err := c.Data().Write(linked(near.Bytes(), first)); err != nil {
			return err
		}
		first = false
	}
	_, err := io.WriteString(c.Data(), listEnd)
	return err
}

// linked makes of a list's text what goes on with the list that came before.
func linked(list []byte, first bool) []byte {
	list = bytes.TrimSuffix(list, []byte(listEnd))
	if !first {
		list[0] = ',' // instead of the bracket
	}
	return list
}

// portions cuts procs into parts of so many jobs.
func portions(procs []selection.Procs, jobs int) (parts [][]selection.Procs) {
	room := 0
	for _, s := range procs {
		for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
			if room == 0 {
				parts, room = append(parts, nil), jobs
			}
			s.Last = min(last, s.First+room-1)
			room -= s.Count()
			k := len(parts) - 1
			parts[k] = append(parts[k], s)
		}
	}
	return parts
}

// wholly goes through jobs with all their attributes, some at a time, by ascending id. Of
// jobs that have only what listings read, whole ones are read for that, and kept no longer
// than until the next come.
func (q queue) wholly(procs []selection.Procs) iter.Seq2[[]selection.Procs, error] {
	return func(yield func([]selection.Procs, error) bool) {
		if q.whole == nil {
			yield(procs, nil)
			return
		}
		pieces := q.whole.Pieces()
		readers := make([]*spool.PieceReader, runtime.GOMAXPROCS(0))
		for i := range readers {
			readers[i] = pieces.Reader()
		}
		list := piecesOf(pieces, procs)
		if q.every {
			list = allPieces(pieces)
		}
		for some := range slices.Chunk(list, 2*len(readers)) {
			parallel.Each(len(some), func(worker, i int) { some[i].read(readers[worker]) })
			var all []selection.Procs
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
	procs  []selection.Procs
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
func piecesOf(all *spool.Pieces, procs []selection.Procs) (list []piece) {
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
			for _, run := range c.Runs {
				p.procs = append(p.procs, selection.Procs{Procs: run.Procs, Run: run})
			}
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
func whole(s *selection.Procs, runs []spool.Run) bool {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].Last >= s.First })
	if i == len(runs) || runs[i].First > s.First || runs[i].Last < s.Last {
		return false
	}
	s.Run = runs[i]
	return true
}
