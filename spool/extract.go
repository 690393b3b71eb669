package spool

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/alike"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/files"
)

// extractFrom is how many bytes a segment has of which an extract is made.
const extractFrom = 64 << 10

func (p *portion) extracts() string { return filepath.Join(filepath.Dir(p.jobs.dir), "extracts") }

// extractHead returns the first line of a segment's extract.
func extractHead[K cmp.Ordered](p *portion, f segmentFile[K]) []byte {
	names, begin := p.unread.Read()
	return fmt.Appendf(nil, "extract 1 %s %d %08x %q %q\n", f.name, f.bytes, f.crc, strings.Join(names, "\n"), begin)
}

// extractOf reads a segment's extract into a buffer, and returns its lines between the first and the last. It returns false if no extract
// fits the segment, and notes in lacking if there should be one.
func extractOf[K cmp.Ordered](p *portion, buffer *[]byte, layer files.Layer, f segmentFile[K], lacking *bool) (lines extracttext.Lines, ok bool) {
	if f.bytes < extractFrom {
		return extracttext.Lines{}, false
	}
	text, err := files.ContentsInto(*buffer, layer, filepath.Join(p.extracts(), f.name))
	if err == nil {
		*buffer = text
		text, ok = bytes.CutPrefix(sound(text), extractHead(p, f))
	}
	*lacking = !ok
	return extracttext.Lines{Rest: text}, ok
}

// extracted reads the clusters of a segment from its extract, but for those that were made already or of which the journal speaks. It
// returns the ids of those that are to be read in the segment, and false, with nothing done, if there is no extract that fits.
func (p *portion) extracted(w *worker, n int, h *harvest[int, Cluster]) (others []int, ok bool) {
	f := p.jobs.base[n]
	lines, ok := extractOf(p, &w.buffer, p.jobs.files, f, &p.lacking[n])
	if !ok {
		return nil, false
	}
	r := extractReader{portion: p, worker: w, Jobs: &w.jobs, own: map[[2]int]*classad.Ad{}}
	made := harvest[int, Cluster]{keys: make([]int, 0, f.blocks), values: make([]*Cluster, 0, f.blocks)}
	ok = r.Read(lines)
	for rows := r.Rows; ok && len(rows) > 0; {
		id, n := rows[0].Cluster, 1
		for n < len(rows) && rows[n].Cluster == id {
			n++
		}
		if _, spoken := p.jobs.pending[id]; !spoken && !p.jobs.has(id) {
			c := r.cluster(rows[:n])
			ok = c != nil
			made.add(id, c, nil)
		}
		rows = rows[n:]
	}
	if p.lacking[n] = !ok; !ok {
		return nil, false
	}
	*h = made
	return r.Others, true
}

// extractedSlots does as extracted for slots, all of which are in the extract.
func (p *portion) extractedSlots(w *worker, n int, h *harvest[string, pool.Slot]) (others []string, ok bool) {
	f := p.slots.base[n]
	lines, ok := extractOf(p, &w.buffer, p.slots.files, f, &p.lackingSlots[n])
	if !ok {
		return nil, false
	}
	r := slotReader{portion: p, worker: w, room: make([]pool.Slot, f.blocks)}
	if w.slots.Make == nil {
		w.slots.Make = func(_ string, lines []byte) (*classad.Ad, bool) { ad := p.adOf(w, lines); return ad, ad != nil }
	}
	if !w.slots.Read(lines, r.slot) {
		p.lackingSlots[n] = true
		return nil, false
	}
	*h = r.harvest
	return nil, true
}

// sound returns the text of an extract without its last line, nil if the checksum there is not its own.
func sound(text []byte) []byte {
	const last = len("E 00000000\n")
	at := len(text) - last
	if at < 0 || string(text[at:]) != fmt.Sprintf("E %08x\n", checksum(text[:at])) {
		return nil
	}
	return text[:at]
}

// extractReader makes clusters of an extract of jobs.
type extractReader struct {
	*portion
	*extracttext.Jobs
	worker   *worker
	ads      []*classad.Ad
	own      map[[2]int]*classad.Ad // ads of runs, by the places of both
	room     []Cluster
	roomRuns []Run
}

// adsOf returns the ads of a row, the second that of the run, which are made when they are first asked for; nil if they cannot be made.
func (r *extractReader) adsOf(row *extracttext.Row) (cluster, run *classad.Ad) {
	for len(r.ads) <= row.Ad {
		r.ads = append(r.ads, r.adOf(r.worker, r.Clusters[len(r.ads)]))
	}
	cluster, run = r.ads[row.Ad], r.own[[2]int{row.Ad, row.Run}]
	if cluster != nil && run == nil {
		run = r.adOfRun(r.worker, cluster, r.Runs[row.Run])
		r.own[[2]int{row.Ad, row.Run}] = run
	}
	return cluster, run
}

// cluster returns the cluster of some rows, nil if it cannot be made.
func (r *extractReader) cluster(rows []extracttext.Row) *Cluster {
	if len(r.room) == 0 {
		r.room, r.roomRuns = make([]Cluster, len(r.Rows)), make([]Run, len(r.Rows))
	}
	c := &r.room[0]
	r.room, c.ID, c.forked = r.room[1:], rows[0].Cluster, true
	c.Runs, r.roomRuns = r.roomRuns[:0:len(rows)], r.roomRuns[len(rows):]
	var at *moments
	if rows[0].Apart {
		at = r.worker.kinds.keep(rows[0].At)
	}
	for i := range rows {
		row, run := &rows[i], (*classad.Ad)(nil)
		if c.Ad, run = r.adsOf(row); run == nil {
			return nil
		}
		c.Runs = append(c.Runs, Run{Procs: pool.Procs{Cluster: c.ID, First: row.First, Last: row.Last}, Ad: run, Seq: row.Seq, apart: at, partly: true})
		c.procs += row.Last - row.First + 1
	}
	return c
}

// slotReader reads the lines of an extract of slots.
type slotReader struct {
	*portion
	worker *worker
	room   []pool.Slot
	harvest[string, pool.Slot]
}

// slot makes a slot of its own lines and the ad that it shares with others, and reports whether they are right.
func (r *slotReader) slot(text []byte, of *classad.Ad, seq uint64, own []byte) bool {
	name := string(text)
	if _, spoken := r.slots.pending[name]; spoken || r.slots.has(name) {
		return true
	}
	ad := extracttext.AdOf(r.worker.runs, own)
	if ad == nil || len(r.room) == 0 {
		return false
	}
	s := &r.room[0]
	r.room = r.room[1:]
	*s = pool.Slot{Name: name, Ad: ad.Chain(of), Seq: seq}
	r.add(name, s, nil)
	return true
}

// KeepExtracts writes extracts of the segments of which the last view of a part found none, so that later views of the same attributes read
// these, and removes those that belong to no segment. Nothing depends on them: what fails, as on a full disk, is left to the next time.
func KeepExtracts(v *View) {
	p := v.state().part
	if p == nil || !slices.Contains(p.lacking, true) && !slices.Contains(p.lackingSlots, true) || files.MkdirAll(p.jobs.files, p.extracts()) != nil {
		return
	}
	keepExtracts(p, p.jobs, p.lacking, p.jobsExtract)
	keepExtracts(p, p.slots, p.lackingSlots, p.slotsExtract)
	p.sweep()
}

// keepExtracts writes those of segments that lack one.
func keepExtracts[K cmp.Ordered, V any](p *portion, of *blocks[K, V], lacking []bool, extract func(*worker, *segment[K], *blockReader[K]) ([]byte, error)) {
	parallel.Each(len(lacking), func(_, i int) {
		if !lacking[i] {
			return
		}
		g, err := readIndex(of.files, of.dir, of.base[i], of.keys)
		if err != nil {
			return
		}
		w := newWorker()
		from, err := g.reader(of.files, g.bytes, &w.buffer)
		if err != nil {
			return
		}
		defer from.Close()
		text, err := extract(w, g, from)
		if err != nil {
			return
		}
		text = append(extractHead(p, g.segmentFile), text...)
		lacking[i] = files.Replace(of.files, filepath.Join(p.extracts(), g.name), fmt.Appendf(text, "E %08x\n", checksum(text))) != nil
	})
}

// jobsExtract returns the lines of an extract of jobs but for the first and the last.
func (p *portion) jobsExtract(w *worker, g *segment[int], from *blockReader[int]) ([]byte, error) {
	var rows []byte
	clusters, runs := extracttext.NewAds('K'), extracttext.NewAds('R')
	for i := range g.entries {
		e := &g.entries[i]
		text, err := from.block(e)
		if err != nil {
			return nil, err
		}
		c, plain := p.plain(w, e.key, chunk{text: text})
		if !plain || p.shared(w, e.key, c) == nil {
			rows = append(extracttext.WithNumbers(append(rows, 'P'), int64(e.key)), '\n')
			continue
		}
		kind := clusters.Place(c.ad)
		if c.apart {
			rows = extracttext.WithNumbers(append(rows, 'J'), int64(e.key), kind, c.at[0], c.at[1])
		} else {
			rows = extracttext.WithNumbers(append(rows, 'j'), int64(e.key), kind)
		}
		for _, r := range c.runs {
			rows = extracttext.WithNumbers(rows, int64(r.First), int64(r.Last), int64(r.seq), runs.Place(c.ofRuns[r.from:r.to]))
		}
		rows = append(rows, '\n')
	}
	return slices.Concat(clusters.Text, runs.Text, rows), nil
}

// slotsExtract does as jobsExtract for slots.
func (p *portion) slotsExtract(w *worker, g *segment[string], from *blockReader[string]) ([]byte, error) {
	list := make([]extracttext.Slot, len(g.entries))
	for i := range list {
		text, err := from.block(&g.entries[i])
		if err != nil {
			return nil, err
		}
		s := &list[i]
		s.Name = g.entries[i].key
		for _, line := range (chunk{text: text}).lines() {
			rest, err := w.behindSlot(line[2:])
			if err == nil && line[0] == 'S' {
				s.Seq, err = sequence(rest, 0)
			} else if p.wanted.Take(rest) {
				s.Lines = append(append(s.Lines, rest...), '\n')
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return extracttext.OfSlots(list), nil
}

// sweep removes extracts of segments that the generation does not have.
func (p *portion) sweep() {
	entries, _ := os.ReadDir(p.extracts())
	named := map[string]bool{}
	for _, f := range p.jobs.base {
		named[f.name] = true
	}
	for _, f := range p.slots.base {
		named[f.name] = true
	}
	for _, e := range entries {
		if !named[e.Name()] {
			p.jobs.files.Remove(filepath.Join(p.extracts(), e.Name()))
		}
	}
}

// Representing says which clusters may stand for others.
type Representing struct {
	// Kind says of a job's ad in whose order the job stands, empty for nobody's, and whether each is to stand for itself.
	Kind func(ad *classad.Ad) (owner string, alone bool)
	// Alone are clusters that stand for themselves.
	Alone map[int]bool
	// First is, by owner, how many clusters of each kind, the first in that order, stand for themselves; at least 2.
	First map[string]int
	// Spares is how many clusters fewer there are to be left.
	Spares int
}

// Stand is clusters of one run each of which the first stands for all, in their owner's order.
type Stand struct {
	rows []*extracttext.Row
	run  *classad.Ad
}

// Len returns how many clusters these are.
func (s Stand) Len() int { return len(s.rows) }

// Runs goes through their runs. Their ads are those of the first but for ClusterId, ProcId, QDate and EnteredCurrentStatus.
func (s Stand) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for _, row := range s.rows {
			if !yield(runOf(row, s.run)) {
				return
			}
		}
	}
}

// runOf returns the run of a row with times of its own.
func runOf(row *extracttext.Row, ad *classad.Ad) Run {
	return Run{Procs: pool.Procs{Cluster: row.Cluster, First: row.First, Last: row.Last}, Ad: ad, Seq: row.Seq, apart: (*moments)(&row.At), partly: true}
}

// Represent returns a view of a part in which a cluster may stand for others, its procs for theirs: stands has those that do. Of an owner's
// jobs those stand together that follow each other by QDate and number, but for others that stand together. It returns false if that is not
// known without reading all clusters, or if more clusters would be left.
func Represent(part *View, by Representing) (of *View, stands map[int]Stand, ok bool) {
	s := part.state()
	p := s.part
	if p == nil || p.jobs != s.jobs || p.jobs.listed {
		return nil, nil, false
	}
	clusters := 0
	for _, f := range p.jobs.base {
		clusters += f.blocks
	}
	most := clusters - by.Spares
	r := representing{by, p, p.jobs.again(p.cluster, (*Cluster).fork), newWorker(), map[int]alike.Standing{}, alike.NewGathering(clusters)}
	for id := range by.Alone {
		r.standing[id] = alike.Alone
	}
	r.found.Others = slices.Collect(maps.Keys(r.jobs.pending))
	for _, id := range slices.AppendSeq(r.found.Others, maps.Keys(r.jobs.made)) {
		r.standing[id] = alike.Apart
	}
	if most < 0 || !r.read() || len(r.found.Others) > most {
		return nil, nil, false
	}
	kinds := r.found.Kinds()
	ads, apart, ok := r.adsOf(kinds)
	list := alike.Stretches(kinds, apart)
	if !ok || len(list)+len(r.jobs.made) > most {
		return nil, nil, false
	}
	stands = map[int]Stand{}
	for _, x := range list {
		s := Stand{x.Rows, ads[x.Kind]}
		if r.put(s); s.Len() > 1 {
			stands[x.Rows[0].Cluster] = s
		}
	}
	r.jobs.list, r.jobs.order = r.jobs.present()
	r.jobs.listed, r.jobs.lent = true, true
	all := *s
	all.jobs = r.jobs
	return &View{spool: part.spool, loaded: &all, seq: part.seq, next: part.next, listed: part.listed}, stands, true
}

// representing is a view in the making.
type representing struct {
	Representing
	*portion
	jobs     *blocks[int, Cluster]
	worker   *worker
	standing map[int]alike.Standing // of clusters that stand for themselves
	found    *alike.Gathering
}

// read reads the extracts, and reports whether there are all.
func (r *representing) read() bool {
	var lock sync.Mutex
	whole := true
	read, buffers := make([]extracttext.Jobs, parallel.Workers(len(r.jobs.base))), make([][]byte, len(r.jobs.base))
	parallel.Each(len(r.jobs.base), func(worker, i int) {
		j, lacking := &read[worker], false
		lines, ok := extractOf(r.portion, &buffers[worker], r.jobs.files, r.jobs.base[i], &lacking)
		ok = ok && j.Read(lines)
		lock.Lock()
		defer lock.Unlock()
		switch {
		case ok:
			r.found.Add(j, r.standing)
		case !lacking && r.jobs.base[i].bytes < extractFrom: // which has none
			g, err := r.jobs.index(i)
			if whole = whole && err == nil; err == nil {
				for _, e := range g.entries {
					r.found.Others = append(r.found.Others, e.key)
				}
			}
		default:
			whole = false
		}
	})
	return whole
}

// adsOf makes the ads of the kinds' runs, and the clusters that stand apart, whose places it returns by owner. It says of kinds whose they
// are. It returns false if something cannot be made.
func (r *representing) adsOf(kinds []*alike.Kind) (ads []*classad.Ad, apart map[string][]alike.Place, ok bool) {
	for _, k := range kinds {
		run := r.adOf(r.worker, []byte(k.Clusters))
		if run != nil {
			run = r.adOfRun(r.worker, run, []byte(k.Runs))
		}
		if run == nil {
			return nil, nil, false
		}
		owner, alone := r.Kind(run)
		if k.Owner = owner; alone {
			k.Alone = math.MaxInt
		} else if owner != "" {
			k.Alone = max(k.Alone, 2, r.First[owner])
		}
		ads = append(ads, run)
	}
	slices.Sort(r.found.Others)
	var made harvest[int, Cluster]
	if r.jobs.makeThese(r.worker, slices.Compact(r.found.Others), &made) != nil {
		return nil, nil, false
	}
	apart = map[string][]alike.Place{}
	for i, id := range made.keys {
		r.jobs.made[id] = made.values[i]
	}
	for id, c := range r.jobs.made {
		if c == nil {
			continue
		}
		for _, run := range c.Runs {
			ad := run.Proc(run.First)
			if owner, _ := r.Kind(ad); owner != "" {
				at, _ := ad.EvalInt(&classad.Context{}, pool.AttrQDate)
				apart[owner] = append(apart[owner], alike.Place{QDate: at, Cluster: id})
			}
		}
	}
	return ads, apart, true
}

// put makes the first of some clusters stand for all.
func (r *representing) put(s Stand) {
	run := runOf(s.rows[0], s.run)
	c := &Cluster{ID: run.Cluster, Ad: s.run.Parent(), forked: true}
	for _, row := range s.rows {
		c.procs += row.Last - row.First + 1
	}
	run.Last = run.First + c.procs - 1
	c.Runs = []Run{run}
	r.jobs.made[c.ID] = c
}
