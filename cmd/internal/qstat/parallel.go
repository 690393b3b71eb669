package qstat

import (
	"bytes"
	"cmp"
	"iter"
	"runtime"
	"slices"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ads goes through the ads of all jobs, by ascending id. The ad of a run is one
// of its procs after the other.
func ads(jobs []spool.Run) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		for _, s := range jobs {
			ad := s.Proc(s.First)
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
func (d look) printAds(jobs []spool.Run) error {
	if d.form != "af" && (d.every || manyJobs(jobs)) && !d.Terminal() {
		return d.printParts(jobs)
	}
	var bad error
	err := adprint.Print(d.Call, d.form, func(yield func(*classad.Ad) bool) {
		for some, err := range d.Wholly(jobs, d.every) {
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
func manyJobs(jobs []spool.Run) bool {
	n := 0
	for i := 0; i < len(jobs) && n <= portion; i++ {
		n += jobs[i].Count()
	}
	return n > portion
}

// printParts writes ads in portions.
func (d look) printParts(jobs []spool.Run) (err error) {
	p := newPress(d.Call, d.form)
	defer func() { err = p.end(err) }()
	for some, err := range d.Wholly(jobs, d.every) {
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

// write writes what is ready until all is written, and nothing after an error.
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
func (p *press) print(parts [][]spool.Run) error {
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

// end waits until all is written, and returns the first error. It ends the list only
// without an error, so that no reader takes a part for the whole.
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

// listEnd ends a JSON list that is not empty.
const listEnd = "\n]\n"

// linked makes of a list's text what goes on with the list that came before.
func linked(list []byte, first bool) []byte {
	list = bytes.TrimSuffix(list, []byte(listEnd))
	if !first {
		list[0] = ',' // instead of the bracket
	}
	return list
}

// portions cuts procs into parts of so many jobs.
func portions(procs []spool.Run, jobs int) (parts [][]spool.Run) {
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
