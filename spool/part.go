package spool

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/wantedlines"
)

// portion is what views have of ads of which only some attributes are read. Clusters that are alike in these share their ads.
type portion struct {
	read       []string
	unread     *classad.Unread // of the attributes in read, and of others with the names that it says
	wanted     *wantedlines.Names
	apart      *wantedlines.Names     // with the moments, of which shared ads have none
	moves      [len(momentNames)]bool // which moments are separate: they are not read in shared ads
	identified bool                   // ClusterId is wanted, so that no two clusters are alike
	lacking    []bool                 // by segment of jobs: no extract that fits was found
	// lackingSlots is the same by segment of slots.
	lackingSlots []bool
	jobs         *blocks[int, Cluster]
	slots        *blocks[string, pool.Slot]
}

// Part returns a view of the same transaction whose clusters and advertised slots have only the attributes that are called so or begin so
// (classad.NewUnread), and what notes if others are looked up: as long as there are none, the part shows what the view itself does. Views
// that ask for the same share what they have read, and what they have noted, until a transaction of this process changes jobs or slots. In
// a transaction or a fork, and for a reader who does not see all jobs, it is the view itself.
func (v *View) Part(read []string, begin string) (*View, *classad.Unread) {
	s := v.state()
	if v.writes || v.hides() || s.jobs.under != nil {
		return v, classad.NewUnread(read, begin)
	}
	if p := s.part; p == nil || !slices.Equal(p.read, read) || p.wanted.Begin != strings.ToLower(begin) {
		s.part = newPortion(s, read, begin)
	}
	of := *s
	of.jobs, of.slots = s.part.jobs, s.part.slots
	return &View{spool: v.spool, loaded: &of, seq: v.seq, next: v.next, listed: v.listed}, s.part.unread
}

func newPortion(s *state, read []string, begin string) *portion {
	u := classad.NewUnread(read, begin)
	names, begin := u.Read()
	p := &portion{read: read, unread: u, wanted: wantedlines.New(names), apart: wantedlines.New(append(names, momentNames[:]...))}
	p.wanted.Begin, p.apart.Begin = begin, begin
	for i, name := range momentNames {
		p.moves[i] = !p.wanted.Has(name)
	}
	p.identified = p.wanted.Has(pool.AttrClusterID)
	p.jobs = s.jobs.again(p.cluster, (*Cluster).fork)
	p.jobs.extracted, p.lacking = p.extracted, make([]bool, len(p.jobs.base))
	p.slots = s.slots.again(p.slot, func(s *pool.Slot) *pool.Slot { f := *s; return &f })
	p.slots.extracted, p.lackingSlots = p.extractedSlots, make([]bool, len(p.slots.base))
	return p
}

// again returns blocks of the same files and lines that are made otherwise. What was made is copied.
func (b *blocks[K, V]) again(build func(*worker, K, []chunk) (*V, error), copied func(*V) *V) *blocks[K, V] {
	a := *b
	a.build, a.pending, a.made, a.list, a.listed = build, maps.Clone(b.pending), make(map[K]*V, len(b.made)), nil, false
	for k, v := range b.made {
		if v != nil {
			v = copied(v)
		}
		a.made[k] = v
	}
	return &a
}

// cluster makes a part of a cluster.
func (p *portion) cluster(w *worker, id int, parts []chunk) (*Cluster, error) {
	if len(parts) == 1 {
		if o, ok := p.plain(w, id, parts[0]); ok {
			if c := p.shared(w, id, o); c != nil {
				return c, nil
			}
		}
	}
	c, err := clusterWith(w, id, parts, p.apart)
	if c != nil {
		c.Ad.Chain(p.unread.Ad())
	}
	return c, err
}

// slot makes a part of a slot.
func (p *portion) slot(w *worker, name string, parts []chunk) (*pool.Slot, error) {
	s, err := slotWith(w, name, parts, p.wanted)
	if s != nil {
		s.Ad.Chain(p.unread.Ad())
	}
	return s, err
}

// kinds are the ads that clusters of one worker share, by the lines that make them.
type kinds struct {
	clusters map[string]*classad.Ad
	runs     map[runKind]*classad.Ad
	moments  []moments
	scan     plainCluster
	lead     []byte
}

type runKind struct {
	cluster *classad.Ad
	lines   string
}

// mostKinds bounds what is remembered for the sake of clusters that may never come.
const mostKinds = 10_000

// moments are the attributes that mostly differ from cluster to cluster and stand in the ads of single procs, therefore: QDate and
// EnteredCurrentStatus.
type moments [2]int64

var momentNames = [2]string{pool.AttrQDate, pool.AttrEnteredStatus}

// moment returns which of the moments a line "Name = number" is that nobody asks for in ads that are shared, and the number.
func (p *portion) moment(line []byte) (which int, n int64, ok bool) {
	for which, name := range momentNames {
		if len(line) <= len(name)+3 || line[0] != name[0] || string(line[:len(name)]) != name || string(line[len(name):len(name)+3]) != " = " {
			continue
		}
		n, err := strconv.ParseInt(string(line[len(name)+3:]), 10, 64)
		return which, n, err == nil && p.moves[which]
	}
	return 0, 0, false
}

// plainCluster is what is read of a cluster whose lines are plain: those of its ad, and then for each run those of its ad.
type plainCluster struct {
	ad     []byte // lines "Name = expression"
	apart  bool   // it has moments
	at     moments
	runs   []plainRun
	ofRuns []byte // their lines
}

type plainRun struct {
	pool.Procs
	seq      uint64
	from, to int // its lines in ofRuns
}

// plain reads the lines of a cluster, and reports whether they are plain. What it returns is good until the next one of the same worker.
func (p *portion) plain(w *worker, id int, lines chunk) (*plainCluster, bool) {
	k := &w.kinds
	o := &k.scan
	*o = plainCluster{ad: o.ad[:0], runs: o.runs[:0], ofRuns: o.ofRuns[:0]}
	k.lead = append(strconv.AppendInt(append(k.lead[:0], "C "...), int64(id), 10), ' ')
	if p.identified {
		o.ad = append(strconv.AppendInt(append(o.ad, pool.AttrClusterID+" = "...), int64(id), 10), '\n')
	}
	rest, has := lines.text, [len(o.at)]bool{}
	for ; bytes.HasPrefix(rest, k.lead); rest = behindLine(rest) {
		line := rest[len(k.lead):lineEnd(rest)]
		if which, n, ok := p.moment(line); ok {
			o.at[which], has[which] = n, true
		} else if p.wanted.Take(line) {
			o.ad = append(append(o.ad, line...), '\n')
		}
	}
	if o.apart = has == [len(o.at)]bool{true, true}; !o.apart && has != [len(o.at)]bool{} {
		return nil, false
	}
	for len(rest) > 0 {
		ok := true
		switch rest[0] {
		case 'Y': // which has nothing to do with its ads
			rest = behindLine(rest)
		case 'N':
			rest, ok = p.plainRunOf(w, rest, lines.seq)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return o, len(o.runs) > 0
}

// behindLine returns what stands behind the first line.
func behindLine(text []byte) []byte { return text[min(lineEnd(text)+1, len(text)):] }

// plainRunOf reads the lines of a run, the first there are, and returns those behind.
func (p *portion) plainRunOf(w *worker, rest []byte, seq uint64) (behind []byte, ok bool) {
	k := &w.kinds
	o := &k.scan
	line := rest[:lineEnd(rest)]
	r, err := parseRecord(line, w.expressions)
	if n := len(o.runs); err != nil || n > 0 && o.runs[n-1].Last >= r.First {
		return nil, false
	}
	k.lead = append(append(k.lead[:0], 'A'), line[1:]...)
	if r.Seq != 0 { // the number behind the procs
		k.lead, seq = k.lead[:bytes.LastIndexByte(k.lead, ' ')], r.Seq
	}
	k.lead = append(k.lead, ' ')
	from := len(o.ofRuns)
	for rest = behindLine(rest); bytes.HasPrefix(rest, k.lead); rest = behindLine(rest) {
		line := rest[len(k.lead):lineEnd(rest)]
		if _, _, ok := p.moment(line); ok {
			return nil, false
		}
		if p.wanted.Take(line) {
			o.ofRuns = append(append(o.ofRuns, line...), '\n')
		}
	}
	o.runs = append(o.runs, plainRun{r.Procs, seq, from, len(o.ofRuns)})
	return rest, true
}

// shared makes a cluster of plain lines; nil if a line cannot be read.
func (p *portion) shared(w *worker, id int, o *plainCluster) *Cluster {
	ad := p.adOf(w, o.ad)
	if ad == nil {
		return nil
	}
	c := &Cluster{ID: id, Ad: ad, forked: true, Runs: make([]Run, 0, len(o.runs))}
	var apart *moments
	if o.apart {
		apart = w.kinds.keep(o.at)
	}
	for _, r := range o.runs {
		own := p.adOfRun(w, ad, o.ofRuns[r.from:r.to])
		if own == nil {
			return nil
		}
		c.Runs = append(c.Runs, Run{Procs: r.Procs, Ad: own, Seq: r.seq, apart: apart, partly: true})
		c.procs += r.Count()
	}
	return c
}

// keep returns a place with these moments.
func (k *kinds) keep(at moments) *moments {
	if len(k.moments) == 0 {
		k.moments = make([]moments, 256)
	}
	m := &k.moments[0]
	k.moments = k.moments[1:]
	*m = at
	return m
}

// adOf returns the ad of a cluster's lines, nil if one of them cannot be read.
func (p *portion) adOf(w *worker, lines []byte) *classad.Ad {
	k := &w.kinds
	if ad := k.clusters[string(lines)]; ad != nil {
		return ad
	}
	ad := extracttext.AdOf(w.ads, lines)
	if ad == nil {
		return nil
	}
	ad.Chain(p.unread.Ad())
	if k.clusters == nil {
		k.clusters, k.runs = map[string]*classad.Ad{}, map[runKind]*classad.Ad{}
	}
	if len(k.clusters) < mostKinds {
		k.clusters[string(lines)] = ad
	}
	return ad
}

// adOfRun returns the ad of a run's lines, chained to its cluster's; nil if one cannot be read.
func (p *portion) adOfRun(w *worker, cluster *classad.Ad, lines []byte) *classad.Ad {
	k := &w.kinds
	if ad := k.runs[runKind{cluster, string(lines)}]; ad != nil {
		return ad
	}
	ad := extracttext.AdOf(w.runs, lines)
	if ad == nil {
		return nil
	}
	ad.Chain(cluster)
	if len(k.runs) < mostKinds {
		k.runs[runKind{cluster, string(lines)}] = ad
	}
	return ad
}

// ofPart is what the ads of procs are copies of that stand in a part, ofPlain those of clusters without the moments. They are never
// changed.
var ofPart, ofPlain = func() (apart, plain *classad.Ad) {
	plain = ofProc.Clone()
	plain.SetInt(pool.AttrClusterID, 0)
	apart = plain.Clone()
	for _, name := range momentNames {
		apart.SetInt(name, 0)
	}
	apart.Clone() // from now on copies share the names of both
	return apart, plain
}()

// procInPart returns the ad of one proc of a run whose ads are shared.
func (r Run) procInPart(proc int) *classad.Ad {
	if r.apart == nil {
		return classad.With(ofPlain, r.Ad, classad.Int(int64(proc)), classad.Int(int64(r.Cluster)))
	}
	return classad.With(ofPart, r.Ad, classad.Int(int64(proc)), classad.Int(int64(r.Cluster)), classad.Int(r.apart[0]), classad.Int(r.apart[1]))
}

// settle puts the moments of a run into its ad, so that they can be changed there.
func (r *Run) settle() {
	if r.apart == nil {
		return
	}
	if !r.own {
		r.Ad, r.own = r.Ad.Clone(), true
	}
	for i, name := range momentNames {
		r.Ad.SetInt(name, r.apart[i])
	}
	r.apart = nil
}

// likeness is an ad that clusters of a fork share, and how many lines and bytes it is in a cluster whose number has one digit.
type likeness struct {
	ad, run     *classad.Ad // run is that of procs without attributes of their own
	lines, size int64
}

// momentsOf returns the moments of a cluster's ad that has nothing else of its own.
func momentsOf(ad *classad.Ad) (at moments, ok bool) {
	all, found := 0, 0
	if ad.Parent() == nil {
		return at, false
	}
	for _, name := range ad.OwnNames() {
		all++
		e, _ := ad.Lookup(name)
		v, _ := e.Constant()
		if n, whole := v.Int(); whole {
			if which := slices.Index(momentNames[:], name); which >= 0 {
				at[which] = n
				found++
			}
		}
	}
	return at, all == len(at) && found == all
}

// addAlike adds a cluster of a fork that has an ad in common with others. It returns how many procs there are, and how many bytes the lines
// of the ad would be, which are not written.
func addAlike(tx *Tx, cluster int, ad *classad.Ad, at moments, runs []NewRun) (procs int, size int64) {
	l := likenessOf(tx, ad)
	c := &Cluster{ID: cluster, Ad: l.ad, forked: true}
	tx.loaded.part = nil
	tx.loaded.jobs.put(cluster, c)
	for which, n := range at {
		tx.body = record{Kind: 'C', Procs: pool.Procs{Cluster: cluster}, Name: momentNames[which], Expr: classad.Literal(classad.Int(n))}.append(tx.body)
	}
	procs = tx.addProcs(cluster, 0, runs)
	for i := range c.Runs {
		r := &c.Runs[i]
		r.apart, r.partly = &at, true
		if len(r.Ad.OwnNames()) == 0 {
			r.Ad, r.own = l.run, false
		}
	}
	digits := int64(len(strconv.Itoa(cluster)))
	return procs, l.size + (digits-1)*l.lines
}

// mostAlike bounds how many ads are remembered that clusters of a fork share.
const mostAlike = 10_000

func likenessOf(tx *Tx, ad *classad.Ad) *likeness {
	known := tx.spool.alike
	if l := known[ad]; l != nil {
		return l
	}
	l := &likeness{ad: ad.Clone()}
	r := record{Kind: 'C', Procs: pool.Procs{Cluster: 1}}
	from := len(tx.body)
	for _, name := range ad.OwnNames() {
		r.Name = name
		r.Expr, _ = ad.Lookup(name)
		start := len(tx.body)
		tx.body = r.append(tx.body)
		if l.lines++; !r.plain() {
			l.ad.Set(name, tx.check(start))
		}
	}
	l.size = int64(len(tx.body) - from)
	tx.body = tx.body[:from]
	tx.expressions.Share(l.ad)
	l.run = classad.New().Chain(l.ad)
	if len(known) >= mostAlike {
		clear(known)
	}
	known[ad] = l
	return l
}
