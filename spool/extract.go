package spool

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/files"
)

// An extract is what views of a part read of one segment, in the file of the same name in the folder
// extracts. Nothing depends on it: one that is missing, damaged, or made for other attributes or another
// segment is passed over. That of a segment of jobs:
//
//	extract 1 12.7 4194512 9ab3c1f0 "Owner\nJobStatus" "request"
//	K 16
//	Owner = "alice"
//	R 14
//	JobStatus = 1
//	J 12 0 1790000000 1790000000 0 4 17 0
//	j 13 0 0 0 18 0
//	P 14
//	E 1f3c0a77
//
// The first line names the segment, its length and checksum, and the attributes. K and R are ads of
// clusters and of runs, with how many bytes their lines have. J is a cluster: its ad, by its place among
// those of clusters, QDate and EnteredCurrentStatus, and for each run the first and the last proc, the
// transaction, and the ad. One that has no such moments is j, and P is one that is to be read in the
// segment. The last line has the CRC-32C of all before it. In the extract of a segment of slots
//
//	O 15
//	LoadAvg
//	SlotID
//	L 25
//	Arch = "X86_64"
//	Cpus = 1
//	K 2 0 1
//	S "slot1@node" 0 17 27
//	LoadAvg = 0.125
//	SlotID = 1
//
// O has the attributes of which slots have lines of their own, L the other lines, each once. K is what slots share:
// how many lines, and their places. S is a slot: the place among K, the transaction, the bytes of its own lines.

// extractFrom is how many bytes a segment has of which an extract is made.
const extractFrom = 64 << 10

func (p *portion) extracts() string { return filepath.Join(filepath.Dir(p.jobs.dir), "extracts") }

// extractHead returns the first line of a segment's extract.
func extractHead[K cmp.Ordered](p *portion, f segmentFile[K]) []byte {
	names, begin := p.unread.Read()
	return fmt.Appendf(nil, "extract 1 %s %d %08x %q %q\n", f.name, f.bytes, f.crc, strings.Join(names, "\n"), begin)
}

// extractOf returns the lines of a segment's extract between the first and the last, false if there is none
// that fits, in a buffer. Where there should be one that is noted.
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

// extracted reads the clusters of a segment from its extract, but for those that were made already or of
// which the journal speaks. It returns the ids of those that are to be read in the segment, and false,
// with nothing done, if there is no extract that fits.
func (p *portion) extracted(w *worker, n int, h *harvest[int, Cluster]) (others []int, ok bool) {
	f := p.jobs.base[n]
	lines, ok := extractOf(p, &w.buffer, p.jobs.files, f, &p.lacking[n])
	if !ok {
		return nil, false
	}
	r := extractReader{portion: p, worker: w, Lines: lines, harvest: harvest[int, Cluster]{keys: make([]int, 0, f.blocks), values: make([]*Cluster, 0, f.blocks)}}
	if !r.read(f.blocks) {
		p.lacking[n] = true
		return nil, false
	}
	*h = r.harvest
	return r.others, true
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

// extractReader reads the lines of an extract of jobs.
type extractReader struct {
	*portion
	extracttext.Lines
	worker   *worker
	clusters [][]byte // the lines of ads
	ads      []*classad.Ad
	runs     [][]byte
	own      map[[2]int]*classad.Ad // ads of runs, by the places of both
	room     []Cluster
	roomRuns []Run
	harvest[int, Cluster]
	others []int
}

// read reads all lines, and reports whether they are right.
func (r *extractReader) read(clusters int) bool {
	r.own = map[[2]int]*classad.Ad{}
	r.room, r.roomRuns = make([]Cluster, clusters), make([]Run, clusters)
	for len(r.Rest) > 2 && !r.Bad {
		kind := r.Rest[0]
		r.Rest = r.Rest[2:]
		switch kind {
		case 'K':
			r.clusters = append(r.clusters, r.Ad())
		case 'R':
			r.runs = append(r.runs, r.Ad())
		case 'J', 'j':
			r.cluster(kind == 'J')
		case 'P':
			r.others = append(r.others, r.Number())
		default:
			return false
		}
	}
	return !r.Bad && len(r.Rest) == 0
}

// cluster reads a cluster.
func (r *extractReader) cluster(apart bool) {
	end := bytes.IndexByte(r.Rest, '\n')
	if end < 0 || len(r.room) == 0 {
		r.Bad = true
		return
	}
	behind := len(r.Rest) - end - 1 // bytes
	id, kind := r.Number(), r.Number()
	if _, spoken := r.jobs.pending[id]; spoken || r.jobs.has(id) {
		r.Rest = r.Rest[max(len(r.Rest)-behind, 0):]
		return
	}
	c := &r.room[0]
	r.room = r.room[1:]
	c.ID, c.forked, c.Ad = id, true, r.adAt(kind)
	var at *moments
	if apart {
		at = r.worker.kinds.keep(moments{int64(r.Number()), int64(r.Number())})
	}
	for len(r.Rest) > behind && !r.Bad {
		first, last, seq, own := r.Number(), r.Number(), r.Number(), r.Number()
		if n := len(c.Runs); r.Bad || last < first || n > 0 && c.Runs[n-1].Last >= first {
			r.Bad = true
			return
		}
		run := Run{Procs: pool.Procs{Cluster: id, First: first, Last: last}, Ad: r.runAt(kind, own), Seq: uint64(seq), apart: at, partly: true}
		if c.procs += run.Count(); c.Runs == nil && len(r.roomRuns) > 0 {
			c.Runs, r.roomRuns = r.roomRuns[:0:1], r.roomRuns[1:]
		}
		c.Runs = append(c.Runs, run)
	}
	if r.Bad || len(r.Rest) != behind || c.Runs == nil {
		r.Bad = true
		return
	}
	r.add(id, c, nil)
}

// adAt returns the ad of clusters at a place, which is made when it is first asked for.
func (r *extractReader) adAt(i int) *classad.Ad {
	if i < 0 || i >= len(r.clusters) {
		r.Bad = true
		return nil
	}
	for len(r.ads) <= i {
		ad := r.adOf(r.worker, r.clusters[len(r.ads)])
		r.Bad = r.Bad || ad == nil
		r.ads = append(r.ads, ad)
	}
	return r.ads[i]
}

// runAt returns the ad of runs at a place that is chained to an ad of clusters.
func (r *extractReader) runAt(cluster, i int) *classad.Ad {
	ad := r.own[[2]int{cluster, i}]
	if ad == nil && !r.Bad && i >= 0 && i < len(r.runs) {
		ad = r.adOfRun(r.worker, r.ads[cluster], r.runs[i])
		r.own[[2]int{cluster, i}] = ad
	}
	r.Bad = r.Bad || ad == nil
	return ad
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

// KeepExtracts writes extracts of the segments of which the last view of a part found none, so that later
// views of the same attributes read these, and removes those that belong to no segment. Nothing depends on
// them: what fails, as on a full disk, is left to the next time.
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
