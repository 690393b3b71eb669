package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// An extract is what views of a part read of one segment of jobs, in the file of the same name in the
// folder extracts. Nothing depends on it: one that is missing, damaged, or made for other attributes or
// another segment is passed over.
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
// segment. The last line has the CRC-32C of all before it.

// extractFrom is how many bytes a segment has of which an extract is made.
const extractFrom = 64 << 10

func (p *portion) extracts() string { return filepath.Join(filepath.Dir(p.jobs.dir), "extracts") }

func (p *portion) extractFile(f segmentFile[int]) string { return filepath.Join(p.extracts(), f.name) }

// extractHead returns the first line of a segment's extract.
func (p *portion) extractHead(f segmentFile[int]) []byte {
	names, begin := p.unread.Read()
	return fmt.Appendf(nil, "extract 1 %s %d %08x %q %q\n", f.name, f.bytes, f.crc, strings.Join(names, "\n"), begin)
}

// extracted reads the clusters of a segment from its extract, but for those that were made already or of
// which the journal speaks. It returns the ids of those that are to be read in the segment, and false,
// with nothing done, if there is no extract that fits.
func (p *portion) extracted(w *worker, n int, h *harvest[int, Cluster]) (others []int, ok bool) {
	f := p.jobs.base[n]
	if f.bytes < extractFrom {
		return nil, false
	}
	text, err := files.Contents(p.jobs.files, p.extractFile(f))
	if err == nil {
		if text, ok = bytes.CutPrefix(sound(text), p.extractHead(f)); ok {
			r := extractReader{portion: p, worker: w, rest: text, harvest: harvest[int, Cluster]{keys: make([]int, 0, f.blocks), values: make([]*Cluster, 0, f.blocks)}}
			if ok = r.read(f.blocks); ok {
				*h = r.harvest
				return r.others, true
			}
		}
	}
	p.lacking[n] = true
	return nil, false
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

// extractReader reads the lines of an extract behind the first.
type extractReader struct {
	*portion
	worker   *worker
	rest     []byte
	bad      bool
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
	for len(r.rest) > 2 && !r.bad {
		kind := r.rest[0]
		r.rest = r.rest[2:]
		switch kind {
		case 'K':
			r.clusters = append(r.clusters, r.lines())
		case 'R':
			r.runs = append(r.runs, r.lines())
		case 'J', 'j':
			r.cluster(kind == 'J')
		case 'P':
			r.others = append(r.others, r.number())
		default:
			return false
		}
	}
	return !r.bad && len(r.rest) == 0
}

// number reads a number and the blank or newline behind it.
func (r *extractReader) number() int {
	n, i := 0, 0
	minus := len(r.rest) > 0 && r.rest[0] == '-'
	if minus {
		i = 1
	}
	start := i
	for i < len(r.rest) && r.rest[i] >= '0' && r.rest[i] <= '9' && i < 20 {
		n = n*10 + int(r.rest[i]-'0')
		i++
	}
	if i == start || i == len(r.rest) || r.rest[i] != ' ' && r.rest[i] != '\n' {
		r.bad, r.rest = true, nil
		return 0
	}
	r.bad = r.bad || n < 0
	r.rest = r.rest[i+1:]
	if minus {
		return -n
	}
	return n
}

// lines reads the lines of an ad.
func (r *extractReader) lines() []byte {
	n := r.number()
	if n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	lines := r.rest[:n]
	r.rest = r.rest[n:]
	return lines
}

// cluster reads a cluster.
func (r *extractReader) cluster(apart bool) {
	end := bytes.IndexByte(r.rest, '\n')
	if end < 0 || len(r.room) == 0 {
		r.bad = true
		return
	}
	behind := len(r.rest) - end - 1 // bytes
	id, kind := r.number(), r.number()
	if _, spoken := r.jobs.pending[id]; spoken || r.jobs.has(id) {
		r.rest = r.rest[max(len(r.rest)-behind, 0):]
		return
	}
	c := &r.room[0]
	r.room = r.room[1:]
	c.ID, c.forked, c.Ad = id, true, r.adAt(kind)
	var at *moments
	if apart {
		at = r.worker.kinds.keep(moments{int64(r.number()), int64(r.number())})
	}
	for len(r.rest) > behind && !r.bad {
		first, last, seq, own := r.number(), r.number(), r.number(), r.number()
		if n := len(c.Runs); r.bad || last < first || n > 0 && c.Runs[n-1].Last >= first {
			r.bad = true
			return
		}
		run := Run{Procs: pool.Procs{Cluster: id, First: first, Last: last}, Ad: r.runAt(kind, own), Seq: uint64(seq), apart: at, partly: true}
		if c.procs += run.Count(); c.Runs == nil && len(r.roomRuns) > 0 {
			c.Runs, r.roomRuns = r.roomRuns[:0:1], r.roomRuns[1:]
		}
		c.Runs = append(c.Runs, run)
	}
	if r.bad || len(r.rest) != behind || c.Runs == nil {
		r.bad = true
		return
	}
	r.add(id, c, nil)
}

// adAt returns the ad of clusters at a place, which is made when it is first asked for.
func (r *extractReader) adAt(i int) *classad.Ad {
	if i < 0 || i >= len(r.clusters) {
		r.bad = true
		return nil
	}
	for len(r.ads) <= i {
		ad := r.adOf(r.worker, r.clusters[len(r.ads)])
		r.bad = r.bad || ad == nil
		r.ads = append(r.ads, ad)
	}
	return r.ads[i]
}

// runAt returns the ad of runs at a place that is chained to an ad of clusters.
func (r *extractReader) runAt(cluster, i int) *classad.Ad {
	ad := r.own[[2]int{cluster, i}]
	if ad == nil && !r.bad && i >= 0 && i < len(r.runs) {
		ad = r.adOfRun(r.worker, r.ads[cluster], r.runs[i])
		r.own[[2]int{cluster, i}] = ad
	}
	r.bad = r.bad || ad == nil
	return ad
}

// KeepExtracts writes extracts of the segments of which the last view of a part found none, so that later
// views of the same attributes read these, and removes those that belong to no segment. Nothing depends on
// them: what fails, as on a full disk, is left to the next time.
func KeepExtracts(v *View) {
	p := v.state().part
	if p == nil || !slices.Contains(p.lacking, true) || files.MkdirAll(p.jobs.files, p.extracts()) != nil {
		return
	}
	parallel.Each(len(p.lacking), func(_, i int) {
		if p.lacking[i] {
			p.lacking[i] = p.extract(i) != nil
		}
	})
	p.sweep()
}

// extract writes the extract of a segment.
func (p *portion) extract(n int) error {
	text, err := p.extractOf(n)
	if err != nil {
		return err
	}
	return files.Replace(p.jobs.files, p.extractFile(p.jobs.base[n]), fmt.Appendf(text, "E %08x\n", checksum(text)))
}

// extractOf returns the text of a segment's extract but for the last line.
func (p *portion) extractOf(n int) ([]byte, error) {
	g, err := readIndex(p.jobs.files, p.jobs.dir, p.jobs.base[n], p.jobs.keys)
	if err != nil {
		return nil, err
	}
	w := newWorker()
	from, err := g.reader(p.jobs.files, g.bytes, &w.buffer)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	var ads, rows []byte
	clusters, runs := map[string]int{}, map[string]int{}
	place := func(of map[string]int, letter byte, lines []byte) int64 {
		i, known := of[string(lines)]
		if !known {
			i = len(of)
			of[string(lines)] = i
			ads = append(strconv.AppendInt(append(ads, letter, ' '), int64(len(lines)), 10), '\n')
			ads = append(ads, lines...)
		}
		return int64(i)
	}
	for i := range g.entries {
		e := &g.entries[i]
		text, err := from.block(e)
		if err != nil {
			return nil, err
		}
		c, plain := p.plain(w, e.key, chunk{text: text})
		if !plain || p.shared(w, e.key, c) == nil {
			rows = append(withNumbers(append(rows, 'P'), int64(e.key)), '\n')
			continue
		}
		kind := place(clusters, 'K', c.ad)
		if c.apart {
			rows = withNumbers(append(rows, 'J'), int64(e.key), kind, c.at[0], c.at[1])
		} else {
			rows = withNumbers(append(rows, 'j'), int64(e.key), kind)
		}
		for _, r := range c.runs {
			rows = withNumbers(rows, int64(r.First), int64(r.Last), int64(r.seq), place(runs, 'R', c.ofRuns[r.from:r.to]))
		}
		rows = append(rows, '\n')
	}
	return append(append(p.extractHead(p.jobs.base[n]), ads...), rows...), nil
}

// withNumbers appends numbers, each behind a blank.
func withNumbers(b []byte, list ...int64) []byte {
	for _, n := range list {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	return b
}

// sweep removes extracts of segments that the generation does not have.
func (p *portion) sweep() {
	entries, _ := os.ReadDir(p.extracts())
	named := map[string]bool{}
	for _, f := range p.jobs.base {
		named[f.name] = true
	}
	for _, e := range entries {
		if !named[e.Name()] {
			p.jobs.files.Remove(filepath.Join(p.extracts(), e.Name()))
		}
	}
}
