package spool

import (
	"cmp"
	"os"
	"slices"
)

// Stat is how much a spool holds, and in what.
type Stat struct {
	Format     int
	Domain, ID string
	Generation int
	Seq        uint64 // the number of the last transaction
	Next       int    // the next free cluster number

	Journal      int64 // bytes since the last fold
	Transactions int   // in the journal
	Segments     int   // of jobs and slots
	SegmentBytes int64
	TableBytes   int64

	Clusters, Jobs, Slots        int // Slots: advertised, not written by hand
	Claims, Submitters, Backoffs int
	Tallies, Marks, Factories    int
	DigestBytes                  int64 // of the factories

	History map[string]int64 // bytes by month: the ads of jobs that have left
	Log     map[string]int64 // bytes by month: the transactions that were folded
	Samples map[string]int64 // bytes by tier: what userprio -history shows
	Older   []int            // generations that are kept because somebody still reads them
}

// Stat counts what the spool holds. Of jobs and slots it reads only what the
// journal speaks of.
func (s *Spool) Stat() (st Stat, err error) {
	if s.inUse {
		return st, errNested
	}
	defer recovered(&err)
	if err := s.refresh(); err != nil {
		return st, err
	}
	g := s.state.base.generation
	st = Stat{
		Format: s.version.Format, Domain: s.domain, ID: s.version.ID, Generation: s.at.generation,
		Seq: s.at.seq, Next: s.at.next, Journal: s.at.off, Transactions: int(s.at.seq - g.base.Seq),
		Segments: len(g.jobs) + len(g.slots), History: map[string]int64{}, Log: map[string]int64{},
	}
	for _, f := range g.jobs {
		st.SegmentBytes += f.bytes
	}
	for _, f := range g.slots {
		st.SegmentBytes += f.bytes
	}
	for _, t := range g.tables {
		st.TableBytes += t.bytes
	}
	v := View{loaded: s.state}
	st.Jobs = v.Len()
	st.Claims, st.Submitters, st.Backoffs = len(v.Claims()), len(v.Submitters()), len(v.Backoffs())
	if st.Tallies, err = s.state.tallies.count(); err != nil {
		return st, err
	}
	if st.Marks, err = s.state.marks.count(); err != nil {
		return st, err
	}
	for _, f := range sorted(s.state.factories, cmp.Compare[int]) {
		st.Factories++
		st.DigestBytes += f.bytes
	}
	if st.Clusters, err = s.state.jobs.countAll(s.state.own); err != nil {
		return st, err
	}
	if st.Slots, err = s.state.slots.countAll(s.state.own); err != nil {
		return st, err
	}
	for month, h := range s.state.history {
		if h.end > 0 { // else it is archived
			st.History[month] = h.end
		}
	}
	for month, l := range s.state.log {
		if l.end > 0 {
			st.Log[month] = l.end
		}
	}
	if st.Samples, err = s.samplesSize(); err != nil {
		return st, err
	}
	st.Older, err = s.older()
	return st, err
}

// older returns the generations whose files are there and not in force.
func (s *Spool) older() (list []int, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if n, ok := numbered(e.Name(), "index."); ok && n != s.at.generation {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}
