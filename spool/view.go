package spool

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/wantedlines"
)

// View is the spool as of one transaction. What its methods return is shared with the spool: it may be read until the function that was
// given the View returns, and never be changed.
type View struct {
	spool  *Spool
	loaded *state // nil in a transaction that has not needed it yet
	load   func() *state
	seq    uint64
	next   int

	counts  map[string]Owner                 // of owners, as a transaction has changed them
	ownerOf func(name string) (Owner, error) // in a transaction that has not read the state

	writes bool // a transaction's: it sees all
	listed bool // see Listed

	digests map[int][]byte // of the factories that a transaction adds, by cluster
}

// state returns the state, read when it is first needed.
func (v *View) state() *state {
	if v.loaded == nil {
		v.loaded = v.load()
	}
	return v.loaded
}

// Seq returns the number of the last transaction that the view contains; 0 is the new spool.
func (v *View) Seq() uint64 { return v.seq }

// NextCluster returns the id that the next AddCluster will give: all clusters that were ever submitted have lower ones.
func (v *View) NextCluster() int { return v.next }

// Len returns the number of jobs in the queue.
func (v *View) Len() int {
	if v.listed && v.hides() {
		n := 0
		for _, c := range v.Clusters() {
			for _, r := range c.Runs {
				n += r.Count()
			}
		}
		return n
	}
	n, err := v.state().len()
	must(err)
	return n
}

// Clusters returns the clusters with procs in the queue, by ascending id.
func (v *View) Clusters() []*Cluster {
	list, err := v.state().jobs.all(newWorker)
	must(err)
	return v.shownOf(list)
}

// Belonging returns, by ascending id, the clusters that may have jobs of one of the users, each given as an Owner or as a User, and perhaps
// others: of the others most are not even read.
func (v *View) Belonging(users []string) []*Cluster {
	if len(users) == 0 {
		return nil
	}
	wanted := map[string]bool{unknown: true}
	for _, u := range users {
		wanted[strconv.Quote(u)] = true
	}
	list, err := v.state().jobs.some(newWorker, func(e *entry[int]) bool { return wanted[e.owner] || wanted[e.user] })
	must(err)
	return v.shownOf(list)
}

// Owners returns the Owners of the jobs in the queue, each once and sorted. Of most clusters it reads the index only, which is without
// the few whose jobs have several owners.
func (v *View) Owners() []string {
	names := map[string]bool{}
	list, err := v.state().jobs.some(newWorker, func(e *entry[int]) bool {
		if name, err := strconv.Unquote(e.owner); err == nil {
			names[name] = true
		}
		return false
	})
	must(err)
	for _, c := range list {
		if name, ok := c.Ad.EvalString(&classad.Context{}, pool.AttrOwner); ok {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return v.listed && v.sees(name) == Unlisted })
	return slices.Sorted(maps.Keys(names))
}

// Cluster returns one cluster.
func (v *View) Cluster(id int) (*Cluster, bool) {
	s := v.state()
	c, err := s.jobs.get(s.own, id)
	must(err)
	c = v.shown(c)
	return c, c != nil
}

// Run returns the run of equal procs that the job is part of.
func (v *View) Run(id pool.JobID) (Run, bool) {
	c, ok := v.Cluster(id.Cluster)
	if !ok {
		return Run{}, false
	}
	i, ok := c.run(id.Proc)
	if !ok {
		return Run{}, false
	}
	return c.Runs[i], true
}

// Job returns the complete ad of a job, chained to what it shares with others.
func (v *View) Job(id pool.JobID) (*classad.Ad, bool) {
	r, ok := v.Run(id)
	if !ok {
		return nil, false
	}
	return r.Proc(id.Proc), true
}

// Jobs goes through all jobs, by ascending id.
func (v *View) Jobs() iter.Seq2[pool.JobID, *classad.Ad] {
	return func(yield func(pool.JobID, *classad.Ad) bool) {
		for _, c := range v.Clusters() {
			for _, r := range c.Runs {
				for id := range r.Jobs() {
					if !yield(id, r.Proc(id.Proc)) {
						return
					}
				}
			}
		}
	}
}

// Claims returns all claims, by ascending job. They are the view's: the caller changes none of them.
func (v *View) Claims() []pool.Claim { return sorted(v.state().claims) }

// AppendClaims appends what Claims returns, which is the caller's then.
func AppendClaims(to []pool.Claim, v *View) []pool.Claim {
	list, err := v.state().claims.appendTo(to)
	must(err)
	return list
}

// EachClaim calls do for all claims, in any order.
func EachClaim(v *View, do func(*pool.Claim)) { must(v.state().claims.visit(do)) }

// Claim returns the claim of a job.
func (v *View) Claim(id pool.JobID) (pool.Claim, bool) {
	c, ok, err := v.state().claims.get(id)
	must(err)
	return c, ok
}

// Submitters returns all submitters' records, by name.
func (v *View) Submitters() []accountant.Record { return AppendSubmitters(nil, v) }

// AppendSubmitters appends what Submitters returns.
func AppendSubmitters(to []accountant.Record, v *View) []accountant.Record {
	list, err := v.state().submitters.appendTo(to)
	must(err)
	return list
}

// Submitter returns one submitter's record; without one, a new record of that name.
func (v *View) Submitter(name string) (accountant.Record, bool) {
	r, ok, err := v.state().submitters.get(name)
	must(err)
	if !ok {
		r.Name = name
	}
	return r, ok
}

// Backoffs returns the slots that are left alone, by name.
func (v *View) Backoffs() []pool.Backoff { return backoffKind.All(v) }

// sorted returns the rows of a table in the order of their keys: the caller changes none of them.
func sorted[K comparable, V any](t *table[K, V]) []V {
	list, err := t.lend()
	must(err)
	return slices.Clip(list)
}

// Advertised returns the ad of one slot that was advertised, not written by hand.
func (v *View) Advertised(name string) (pool.Slot, bool) {
	s := v.state()
	slot, err := s.slots.get(s.own, name)
	must(err)
	if slot == nil {
		return pool.Slot{}, false
	}
	return *slot, true
}

// Slots returns every slot ad of the pool, advertised or written by hand, by name. The errors name file and line of hand-written ads that
// cannot be used; the others are good. A name that was advertised and stands in a hand-written file too is the hand's.
func (v *View) Slots() ([]pool.Slot, []error) { return AppendSlots(nil, v) }

// AppendSlots appends what Slots returns.
func AppendSlots(to []pool.Slot, v *View) ([]pool.Slot, []error) {
	slots, taken, bad := v.spool.handWritten()
	slots = append(to, slots...)
	advertised, err := v.state().slots.all(newWorker)
	must(err)
	slots = slices.Grow(slots, len(advertised))
	for _, s := range advertised {
		if _, is := taken[s.Name]; !is {
			slots = append(slots, *s)
		}
	}
	if len(taken) > 0 {
		slices.SortFunc(slots[len(to):], func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
	}
	return slots, bad
}

// SlotNames returns the names of all slots, advertised or written by hand, in any order. It reads no advertised ads.
func (v *View) SlotNames() []string {
	names, err := v.state().slots.names(func(line []byte) bool { return line[0] == 's' })
	must(err)
	hand, _, _ := v.spool.handWritten()
	if len(hand) == 0 {
		return names
	}
	for _, s := range hand {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Journal returns how many bytes the journal has.
func (v *View) Journal() int64 { return v.spool.at.off }

// SlotsNamed returns what Slots does of the slots with these names, and reads no advertised ones but those.
func (v *View) SlotsNamed(names []string) []pool.Slot {
	var slots []pool.Slot
	hand, _, _ := v.spool.handWritten()
	for _, name := range names {
		if i := slices.IndexFunc(hand, func(s pool.Slot) bool { return s.Name == name }); i >= 0 {
			slots = append(slots, hand[i])
		} else if s, ok := v.Advertised(name); ok {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
	return slices.CompactFunc(slots, func(a, b pool.Slot) bool { return a.Name == b.Name })
}

// SlotSources reports whether the pool has slots that were advertised, and whether slots.d has a file, be it without a slot.
func (v *View) SlotSources() (advertised, byHand bool) {
	s := v.state()
	n, err := s.slots.countAll(s.own)
	must(err)
	files, err := v.spool.handWrittenFiles()
	must(err)
	return n > 0, len(files) > 0
}

// Only returns a view of the same transaction that is cheap to go through for a few attributes: its clusters and runs have those that are
// named, and of the others some or none. What is named has the value that it has in the view itself, for every proc: a cluster with an
// expression among these attributes is made whole. Where all clusters were looked at already, it is the view itself.
//
// Blocks are checked as ever, but lines that are left out are not read. It is for a look at the queue: in a transaction, what changes later
// does not show.
func (v *View) Only(attributes []string) *View {
	s := *v.state()
	if s.jobs.listed {
		return v
	}
	if v.hides() {
		attributes = append([]string{pool.AttrOwner}, attributes...)
	}
	wanted := wantedlines.New(attributes)
	b := *s.jobs
	b.pending, b.made = maps.Clone(b.pending), maps.Clone(b.made)
	b.build = func(w *worker, id int, parts []chunk) (*Cluster, error) {
		c, err := clusterWith(w, id, parts, wanted)
		if err == nil && c != nil && varies(wanted, c) {
			return clusterOf(w, id, parts)
		}
		return c, err
	}
	s.jobs = &b
	return &View{spool: v.spool, loaded: &s, seq: v.seq, next: v.next, writes: v.writes, listed: v.listed}
}

// varies reports whether one of the attributes is an expression for some proc.
func varies(w *wantedlines.Names, c *Cluster) bool {
	for _, run := range c.Runs {
		for _, name := range w.Names {
			if _, e, _ := run.Ad.Get(name); e != nil {
				return true
			}
		}
	}
	return false
}

// Pieces is the queue in pieces, for reading all of it without keeping it: the clusters of a piece are made when it is read, and the view
// does not keep them.
type Pieces struct {
	view *View
	jobs *blocks[int, Cluster]
	list []queuePiece
}

// queuePiece is the clusters of a segment, or some between segments.
type queuePiece struct {
	share[int]       // fresh: what the journal speaks of
	made       []int // clusters that the view has already
}

// Pieces cuts the queue in pieces, by ascending id. Each holds what one segment does, a few megabytes of text, or a cluster that is larger.
func (v *View) Pieces() *Pieces {
	b := v.state().jobs
	if b.under != nil {
		_, err := b.all(newWorker)
		must(err)
		b = &blocks[int, Cluster]{made: b.known()}
	}
	within, before := make([]queuePiece, len(b.base)), make([]queuePiece, len(b.base)+1)
	for i := range within {
		within[i].segment = i
	}
	at := func(k int) *queuePiece {
		if i := b.segmentOf(k); i >= 0 {
			return &within[i]
		}
		i, _ := slices.BinarySearchFunc(b.base, k, func(f segmentFile[int], k int) int { return cmp.Compare(f.last, k) })
		return &before[i]
	}
	for k := range b.pending {
		at(k).fresh = append(at(k).fresh, k)
	}
	for k := range b.made {
		at(k).made = append(at(k).made, k)
	}
	p := &Pieces{view: v, jobs: b}
	for i := range before {
		p.list = append(p.list, before[i].cut()...)
		if i < len(within) {
			p.list = append(p.list, within[i])
		}
	}
	return p
}

// cut cuts clusters that stand in no segment.
func (p *queuePiece) cut() (list []queuePiece) {
	slices.Sort(p.fresh)
	slices.Sort(p.made)
	for len(p.fresh) > 0 {
		some := p.fresh[:min(len(p.fresh), freshShare)]
		p.fresh = p.fresh[len(some):]
		n := 0
		for n < len(p.made) && p.made[n] < some[len(some)-1] {
			n++
		}
		list = append(list, queuePiece{share[int]{-1, some}, p.made[:n]})
		p.made = p.made[n:]
	}
	if len(p.made) > 0 {
		list = append(list, queuePiece{share[int]{segment: -1}, p.made})
	}
	return list
}

// Len returns how many pieces there are.
func (p *Pieces) Len() int { return len(p.list) }

// PieceReader reads pieces, for one goroutine. Its clusters share what they have in common.
type PieceReader struct {
	pieces *Pieces
	worker *worker
}

// Reader returns a reader. Each piece may be read once, and different ones at the same time by several readers.
func (p *Pieces) Reader() *PieceReader { return &PieceReader{p, newWorker()} }

// Range returns the lowest and the highest id that a piece may have.
func (p *Pieces) Range(i int) (first, last int) {
	q := p.list[i]
	if q.segment >= 0 {
		return p.jobs.base[q.segment].first, p.jobs.base[q.segment].last
	}
	keys := slices.Concat(q.fresh, q.made)
	return slices.Min(keys), slices.Max(keys)
}

// Read returns those clusters of a piece that are wanted, and perhaps others, by ascending id. They are as those of the view, which has to
// last as long. The error is a *DamageError for what does not check; the function that was given the view should return it.
func (r *PieceReader) Read(i int, wanted func(cluster int) bool) ([]*Cluster, error) {
	b, p := r.pieces.jobs, r.pieces.list[i]
	var h harvest[int, Cluster]
	err := b.makeShare(r.worker, share[int]{p.segment, slices.Clone(p.fresh)}, func(e *entry[int]) bool { return wanted(e.key) }, &h)
	if err != nil {
		return nil, err
	}
	for _, k := range p.made {
		h.add(k, b.made[k], nil)
	}
	slices.SortFunc(h.values, func(a, b *Cluster) int { return cmp.Compare(a.ID, b.ID) })
	return r.pieces.view.shownOf(h.values), nil
}

// Sight is what a reader of the spool may see of a job.
type Sight int

const (
	// Whole is all of it.
	Whole Sight = iota
	// Outline is all but pool.Details.
	Outline
	// Unlisted is the outline, for what jobs together come to; lists leave the job out (View.Listed).
	Unlisted
)

// details are pool.Details, and reasons the attributes that may quote file names.
var (
	details = classad.NewMask(pool.Details)
	reasons = namesOf(pool.AttrHoldReason, pool.AttrLastHoldReason, pool.AttrRemoveReason, pool.AttrReleaseReason, pool.AttrVacateReason)
	owner   = classad.NewName(pool.AttrOwner)
)

func namesOf(list ...string) (names []*classad.Name) {
	for _, n := range list {
		names = append(names, classad.NewName(n))
	}
	return names
}

// Listed returns the view without jobs that its reader may not have listed.
func (v *View) Listed() *View {
	w := *v
	w.listed = true
	return &w
}

// Everyone returns the view with all jobs, for what they come to together; see Listed.
func (v *View) Everyone() *View {
	w := *v
	w.listed = false
	return &w
}

// ownerIn returns the owner of the job of an ad, empty where that is no constant: then it is another's.
func ownerIn(ad *classad.Ad) string {
	value, _, _ := ad.Get(owner)
	name, _ := value.Text()
	return name
}

// sees returns what the reader may see of jobs of an owner.
func (v *View) sees(owner string) Sight {
	if v.hides() {
		return v.spool.options.Sight(owner)
	}
	return Whole
}

// hides reports whether there are jobs that the reader may not see wholly.
func (v *View) hides() bool { return !v.writes && v.spool != nil && v.spool.options.Sight != nil }

// shown returns a cluster as the reader may see it, nil if that is not at all.
func (v *View) shown(c *Cluster) *Cluster {
	if c == nil || !v.hides() {
		return c
	}
	shared := v.sees(ownerIn(c.Ad))
	seen := make([]Sight, len(c.Runs))
	whole := shared == Whole
	for i, r := range c.Runs {
		seen[i] = shared
		if r.Ad != c.Ad {
			seen[i] = v.sees(ownerIn(r.Ad))
		}
		whole = whole && seen[i] == Whole
	}
	if whole {
		return c
	}
	masked := *c
	masked.Runs = make([]Run, 0, len(c.Runs))
	if shared != Whole {
		masked.Ad = outline(c.Ad, c.Ad.Parent())
	}
	for i, r := range c.Runs {
		switch {
		case v.listed && seen[i] == Unlisted:
			masked.procs -= r.Count()
			continue
		case seen[i] == Whole:
		case r.Ad == c.Ad:
			r.Ad = outline(c.Ad, c.Ad.Parent())
		default:
			r.Ad = outline(r.Ad, masked.Ad)
		}
		r.own = false
		masked.Runs = append(masked.Runs, r)
	}
	if len(masked.Runs) == 0 {
		return nil
	}
	return &masked
}

// shownAd returns the ad of a job as the reader may see it, nil if that is not at all; listed is whether it is not if it is not listed.
func (v *View) shownAd(ad *classad.Ad, listed bool) *classad.Ad {
	sight := v.sees(ownerIn(ad))
	if sight == Unlisted && listed {
		return nil
	}
	if sight != Whole {
		return outline(ad, ad.Parent()).Clone()
	}
	return ad
}

// shownOf does as shown for each cluster.
func (v *View) shownOf(list []*Cluster) []*Cluster {
	if !v.hides() {
		return list
	}
	shown := make([]*Cluster, 0, len(list))
	for _, c := range list {
		if c = v.shown(c); c != nil {
			shown = append(shown, c)
		}
	}
	return shown
}

// outline returns an ad without details, chained to parent.
func outline(ad, parent *classad.Ad) *classad.Ad {
	masked := details.Of(ad, parent)
	for _, name := range reasons {
		value, e, ok := masked.Get(name)
		if text, _ := value.Text(); !ok || e == nil && !strings.Contains(text, "/") {
			continue
		}
		if masked == ad {
			masked = ad.Clone()
		}
		masked.SetString(name.String(), hiddenReason)
	}
	return masked
}

// hiddenReason stands for a reason that names files of another user.
const hiddenReason = "not shown"

// Tally returns what is tallied under a key; for one that is not known a Tally with its Key, and false.
func (v *View) Tally(k accountant.Key) (accountant.Tally, bool) {
	y, ok, err := v.state().tallies.get(k)
	must(err)
	if !ok {
		y.Key = k
	}
	return y, ok
}

// Tallies returns all tallies, by kind and name.
func (v *View) Tallies() []accountant.Tally { return slices.Clone(sorted(v.state().tallies)) }
