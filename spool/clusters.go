package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/summarytext"
	"fairspool/spool/internal/wantedlines"
)

// newCluster returns a cluster without procs.
func newCluster(id int) *Cluster {
	c := &Cluster{ID: id, Ad: classad.New()}
	c.Ad.SetInt(pool.AttrClusterID, int64(id))
	return c
}

// clusterOf makes a cluster from its lines; nil if all of its procs have left.
func clusterOf(w *worker, id int, parts []chunk) (*Cluster, error) {
	return clusterWith(w, id, parts, nil)
}

// clusterWith makes it with the attributes that are wanted, and perhaps others.
func clusterWith(w *worker, id int, parts []chunk, wanted *wantedlines.Names) (*Cluster, error) {
	m := clusterMaking{worker: w, wanted: wanted, head: append(strconv.AppendInt([]byte("C "), int64(id), 10), ' ')}
	if err := m.begin(id); err != nil {
		return nil, err
	}
	for _, part := range parts {
		for n, line := range part.lines() {
			if err := m.line(line, part.seq); err != nil {
				return nil, part.damaged(n, err)
			}
		}
	}
	if err := m.end(); err != nil {
		return nil, parts[len(parts)-1].damaged(0, err)
	}
	if len(m.Runs) == 0 {
		return nil, nil
	}
	return m.Cluster, nil
}

// clusterMaking is a cluster in the making. As long as its Ad is nil, the ad is the worker's; so is that of the run whose lines begin with
// own.
type clusterMaking struct {
	*worker
	*Cluster
	wanted *wantedlines.Names
	head   []byte // of a line about the cluster's ad

	run record // the N of the run in the making; Kind 0: none
	seq uint64
	own []byte // of a line about this run
}

// begin begins the cluster, also once more when all of its procs have left.
func (m *clusterMaking) begin(id int) error {
	m.Cluster = &Cluster{ID: id}
	m.ads.Begin()
	return m.ads.Set(pool.AttrClusterID, strconv.AppendInt(nil, int64(id), 10))
}

func (m *clusterMaking) line(line []byte, seq uint64) error {
	if line[0] == 'Y' { // which has nothing to do with its ads
		r, err := parseRecord(line, m.expressions)
		if err == nil {
			err = m.apply(r, seq, m.expressions)
		}
		return err
	}
	if m.Ad == nil {
		if rest, ok := bytes.CutPrefix(line, m.head); ok {
			if !m.wanted.Take(rest) {
				return nil
			}
			return extracttext.SetLine(m.ads, rest)
		}
		m.Ad = m.ads.Finish()
	}
	if m.run.Kind != 0 && seq == m.seq {
		if rest, ok := bytes.CutPrefix(line, m.own); ok {
			if !m.wanted.Take(rest) {
				return nil
			}
			return extracttext.SetLine(m.runs, rest)
		}
	}
	if err := m.end(); err != nil {
		return err
	}
	r, err := parseRecord(line, m.expressions)
	if err != nil {
		return err
	}
	if r.Kind != 'N' {
		err := m.apply(r, seq, m.expressions)
		if err == nil && r.Kind == 'L' && len(m.Runs) == 0 {
			err = m.begin(m.ID)
		}
		return err
	}
	m.run, m.seq = r, seq
	m.own = append(append(m.own[:0], 'A'), line[1:]...)
	if r.Seq != 0 { // the number behind the procs
		m.own = m.own[:bytes.LastIndexByte(m.own, ' ')]
	}
	m.own = append(m.own, ' ')
	m.runs.Begin()
	return nil
}

// end finishes what is in the making.
func (m *clusterMaking) end() error {
	if m.Ad == nil {
		m.Ad = m.ads.Finish()
	}
	if m.run.Kind == 0 {
		return nil
	}
	r := m.run
	m.run.Kind = 0
	return m.add(r, m.seq, m.runs.Finish())
}

// clusterBlock appends the lines that make a cluster.
func clusterBlock(b []byte, c *Cluster) []byte {
	for _, name := range c.Ad.OwnNames() {
		e, _ := c.Ad.Lookup(name)
		if v, _ := e.Constant(); name == pool.AttrClusterID && v.String() == strconv.Itoa(c.ID) {
			continue // every cluster has it from the start
		}
		b = record{Kind: 'C', Procs: pool.Procs{Cluster: c.ID}, Name: name, Expr: e}.append(b)
	}
	if c.owner != "" {
		b = record{Kind: 'Y', Procs: pool.Procs{Cluster: c.ID}, Name: c.owner, End: c.bytes}.append(b)
	}
	for _, run := range c.Runs {
		b = record{Kind: 'N', Procs: run.Procs, Seq: run.Seq}.append(b)
		for _, name := range run.Ad.OwnNames() {
			e, _ := run.Ad.Lookup(name)
			b = record{Kind: 'A', Procs: run.Procs, Name: name, Expr: e}.append(b)
		}
	}
	return b
}

// slotEntry is the line of the index about a slot.
func slotEntry(s *pool.Slot) entry[string] {
	return entry[string]{key: s.Name, owner: unknown, user: unknown, summary: summarytext.Of(s)}
}

// clusterEntry is the line of the index about a cluster.
func clusterEntry(c *Cluster) entry[int] {
	var jobs summarytext.Jobs
	for _, r := range c.Runs {
		jobs.Add(r.Ad, r.Procs)
	}
	return entry[int]{key: c.ID, jobs: c.jobs(), owner: c.common(pool.AttrOwner), user: c.common(pool.AttrUser), summary: jobs.Text()}
}

// common returns the text, quoted, that an attribute is for all of the cluster's procs, empty if none has it, and - if they differ or it is
// no constant text.
func (c *Cluster) common(name string) string {
	for _, run := range c.Runs {
		for _, own := range run.Ad.OwnNames() {
			if strings.EqualFold(own, name) {
				return unknown
			}
		}
	}
	e, ok := c.Ad.Lookup(name)
	if !ok {
		return `""`
	}
	v, _ := e.Constant()
	text, ok := v.Text()
	if !ok {
		return unknown
	}
	return strconv.Quote(text)
}

// unknown stands in an index for a text that one has to look up.
const unknown = "-"

// Cluster is one cluster of the queue: the ad that its procs share, and the procs that are still there in runs of equal ones.
type Cluster struct {
	ID   int
	Ad   *classad.Ad
	Runs []Run // ascending, not overlapping

	procs  int    // in Runs
	forked bool   // Ad is that of another state, too, and Runs have no ads of their own
	owner  string // the owner for whom the cluster is counted (empty: none), and its bytes
	bytes  int64
}

// Changes are those of clusters up to a moment. The zero Changes is known to no view.
type Changes struct {
	of *blocks[int, Cluster]
	at int
}

// ChangesSince returns, ascending, the clusters that have changed behind a moment, are new or are gone, and the present moment. Where known
// is false, all may have.
func ChangesSince(v *View, then Changes) (list []int, now Changes, known bool) {
	b := v.state().jobs
	b.watched = true
	if known = then.of == b && then.at >= b.before; known {
		list = slices.Clone(b.log[then.at-b.before:])
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list, Changes{b, b.before + len(b.log)}, known
}

// Shares reports whether a run has the ad of runs of other clusters, which is never changed. Their procs differ in ClusterId, ProcId, QDate
// and EnteredCurrentStatus at most, which are constants.
func (c *Cluster) Shares(r Run) bool { return c.forked && r.partly && !r.own }

// Run is a row of procs that read alike. Ad holds what they do not share with the rest of the cluster, chained to the cluster's ad; ProcId
// is not in it (see Run.Proc).
type Run struct {
	pool.Procs
	Ad  *classad.Ad
	Seq uint64 // the transaction that last changed one of the procs
	own bool   // Ad belongs to this run alone and may be changed

	partly bool     // Ad is shared by runs of clusters that are alike in part
	apart  *moments // what tells those apart; nil: it is in Ad
}

// Proc returns the ad of one proc of the run.
func (r Run) Proc(proc int) *classad.Ad {
	if r.partly {
		return r.procInPart(proc)
	}
	return classad.With(ofProc, r.Ad, classad.Int(int64(proc)))
}

// ofProc is what the ads of single procs are copies of, since these share the names of their attributes. It is never changed.
var ofProc = func() *classad.Ad {
	ad := classad.New()
	ad.SetInt(pool.AttrProcID, 0)
	ad.Clone() // from now on copies share its names
	return ad
}()

// TellsApart reports whether an expression may have different values for the procs of a run: whether it may look at ProcId, through other
// attributes or in the text of an eval() too, or has a value by chance.
func (r Run) TellsApart(e *classad.Expr) bool {
	if r.First == r.Last {
		return false
	}
	_, chance := classad.Varies(e, ofAny.Clone().Chain(r.Ad), nil)
	return chance
}

// ofAny is ofProc with an arbitrary ProcId: a value that then varies by chance depends on it. It is never changed.
var ofAny = func() *classad.Ad {
	ad := ofProc.Clone()
	if e, err := classad.ParseExpr("random()"); err == nil {
		ad.Set(pool.AttrProcID, e)
	}
	return ad
}()

// jobs returns the number of the cluster's procs.
func (c *Cluster) jobs() int { return c.procs }

// run returns the run that holds proc.
func (c *Cluster) run(proc int) (int, bool) {
	i := sort.Search(len(c.Runs), func(i int) bool { return c.Runs[i].Last >= proc })
	return i, i < len(c.Runs) && c.Runs[i].First <= proc
}

// cutOut makes runs begin and end where the procs do, and returns which runs, from up to but not including to, hold exactly these procs.
// All of them have to be there.
func (c *Cluster) cutOut(p pool.Procs) (from, to int, err error) {
	from, ok := c.run(p.First)
	if ok {
		from = c.cut(from, p.First)
		for to, at := from, p.First; to < len(c.Runs) && c.Runs[to].First == at; to++ {
			if at = c.Runs[to].Last + 1; at > p.Last {
				c.cut(to, p.Last+1)
				return from, to + 1, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("procs %d-%d of cluster %d: not all in the queue", p.First, p.Last, c.ID)
}

// cut splits run i so that a run begins at proc, and returns that run's index. Both halves share the ad from then on.
func (c *Cluster) cut(i, proc int) int {
	r := c.Runs[i]
	if proc <= r.First || proc > r.Last {
		return i
	}
	r.own = false
	c.Runs[i] = r
	c.Runs[i].Last = proc - 1
	r.First = proc
	c.Runs = slices.Insert(c.Runs, i+1, r)
	return i + 1
}

// apply makes a record's change.
func (c *Cluster) apply(r record, seq uint64, expressions *classad.Interner) error {
	switch r.Kind {
	case 'C':
		c.ownAd()
		for i := range c.Runs {
			c.Runs[i].settle()
		}
		c.Ad.Set(r.Name, r.Expr)
		return nil
	case 'N':
		return c.add(r, seq, classad.New())
	case 'Y':
		c.owner, c.bytes = r.Name, c.bytes+r.End
		return nil
	}
	from, to, err := c.cutOut(r.Procs)
	if err != nil {
		return err
	}
	if r.Kind == 'L' {
		c.Runs = without(c.Runs, from, to)
		c.bytes -= part(c.bytes, r.Count(), c.procs)
		c.procs -= r.Count()
		return nil
	}
	for i := from; i < to; i++ {
		c.Runs[i].change(r, seq, expressions)
	}
	return nil
}

// fork returns a cluster that begins as this one, to be changed in another state.
func (c *Cluster) fork() *Cluster {
	f := *c
	f.Runs, f.forked = slices.Clone(c.Runs), true
	for i := range f.Runs {
		f.Runs[i].own = false
	}
	return &f
}

// ownAd gives a fork an ad of its own, and its runs ads that are chained to that.
func (c *Cluster) ownAd() {
	if !c.forked {
		return
	}
	c.Ad, c.forked = c.Ad.Clone(), false
	for i, r := range c.Runs {
		c.Runs[i].Ad, c.Runs[i].own = r.Ad.Clone().Chain(c.Ad), true
	}
}

// add adds procs at the end, whose ad is their own so far.
func (c *Cluster) add(r record, seq uint64, ad *classad.Ad) error {
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Last >= r.First {
		return fmt.Errorf("procs %d-%d of cluster %d: there already", r.First, r.Last, c.ID)
	}
	if r.Seq != 0 {
		seq = r.Seq
	}
	c.procs += r.Count()
	c.Runs = append(c.Runs, Run{Procs: r.Procs, Ad: ad.Chain(c.Ad), Seq: seq, own: true})
	return nil
}

// change sets (A) or removes (D) an attribute.
func (r *Run) change(rec record, seq uint64, expressions *classad.Interner) {
	r.settle()
	if !r.own {
		r.Ad, r.own = r.Ad.Clone(), true
	}
	if rec.Kind == 'A' {
		expressions.Set(r.Ad, rec.Name, rec.Expr)
	} else {
		expressions.Delete(r.Ad, rec.Name)
	}
	r.Seq = max(r.Seq, seq)
}

// without removes list[from:to]. It moves what is shorter, what stands before or what stands behind: jobs mostly leave in their order.
func without[T any](list []T, from, to int) []T {
	if from >= len(list)-to {
		return slices.Delete(list, from, to)
	}
	n := to - from
	copy(list[n:to], list[:from])
	clear(list[:n])
	return list[n:]
}

// NewRun is a row of new procs that read alike: Attrs, and besides those Ad, which may be nil, hold what differs from the cluster's ad. The
// attributes ClusterId and ProcId are the spool's business and are not given.
type NewRun struct {
	Count int
	Ad    *classad.Ad
	Attrs []Attr
}

// Attr is an attribute of new procs. Of a hundred thousand that differ from each other, Attrs cost a fraction of what ads do.
type Attr struct {
	Name string
	Expr *classad.Expr
}

// addProcs adds the procs of runs to a cluster, counted from first on, and returns how many.
func (tx *Tx) addProcs(cluster, first int, runs []NewRun) int {
	proc, start := first, len(tx.body)
	for i := range runs {
		r := &runs[i]
		if r.Count < 1 {
			continue
		}
		if r.Count-1 > math.MaxInt32-proc || cluster > math.MaxInt32 {
			tx.fail(fmt.Errorf("%d procs of cluster %d from %d on: larger than %d", r.Count, cluster, proc, math.MaxInt32))
		}
		if tx.err != nil {
			return 0
		}
		last := proc + r.Count - 1
		tx.body = roomForRuns(tx.body, start, i, len(runs))
		tx.addRun(record{Kind: 'N', Procs: pool.Procs{Cluster: cluster, First: proc, Last: last}}, r)
		proc = last + 1
	}
	if proc == first {
		tx.fail(fmt.Errorf("cluster %d: no procs", cluster))
	}
	return proc - first
}

// roomForRuns returns a body with room for the rest of some runs, judged by those that are done.
func roomForRuns(body []byte, start, done, runs int) []byte {
	const least = 64 << 10
	n := len(body)
	if cap(body)-n >= least/16 || runs < 2 {
		return body
	}
	rest := int64(n-start) * int64(runs-done) / int64(max(done, 1))
	return withRoom(body, int(min(max(rest+rest/8, least), max(8*int64(n), least))))
}

// addRun adds one run. Of a transaction that has read the queue every record is applied to that; of others the lines are all that is made.
func (tx *Tx) addRun(r record, run *NewRun) {
	var span []byte // the procs as they stand in each line
	if tx.loaded != nil {
		tx.note(r, true)
	} else {
		tx.changed = true
		start := len(tx.body)
		tx.body = append(r.appendProcs(append(tx.body, "N "...)), '\n')
		span = tx.body[start+1 : len(tx.body)-1]
	}
	r.Kind = 'A'
	if run.Ad != nil {
		for _, name := range run.Ad.OwnNames() {
			e, _ := run.Ad.Lookup(name)
			tx.addAttr(&r, span, Attr{Name: name, Expr: e})
		}
	}
	for _, a := range run.Attrs {
		tx.addAttr(&r, span, a)
	}
}

// addAttr adds an attribute of a run.
func (tx *Tx) addAttr(r *record, span []byte, a Attr) {
	if tx.loaded != nil {
		r.Name, r.Expr = a.Name, a.Expr
		tx.note(*r, true)
		return
	}
	start := len(tx.body)
	b := append(attrtext.AppendName(append(append(append(tx.body, 'A'), span...), ' '), a.Name), " = "...)
	at := len(b)
	b = a.Expr.AppendTo(b, classad.StyleSpool)
	tx.body = append(b, '\n')
	if !attrtext.Usual(a.Name) || !attrtext.Surely(b[at:]) {
		tx.check(start)
	}
}

// slotOf makes a slot from its lines; nil if it was withdrawn. What is set one after the other is set through the worker, so that slots
// share what they have in common.
func slotOf(w *worker, name string, parts []chunk) (*pool.Slot, error) {
	return slotWith(w, name, parts, nil)
}

// slotWith makes it with the attributes that are wanted, and perhaps others.
func slotWith(w *worker, name string, parts []chunk, wanted *wantedlines.Names) (*pool.Slot, error) {
	var slot *pool.Slot
	for _, part := range parts {
		for n, line := range part.lines() {
			if err := makeSlot(w, &slot, name, line, part.seq, wanted); err != nil {
				return nil, part.damaged(n, err)
			}
		}
	}
	if slot != nil && slot.Ad == nil {
		slot.Ad = w.ads.Finish()
	}
	return slot, nil
}

// makeSlot applies a line to a slot in the making. As long as its Ad is nil, the ad is the worker's.
func makeSlot(w *worker, slot **pool.Slot, name string, line []byte, seq uint64, wanted *wantedlines.Names) error {
	if len(line) < 3 {
		return errors.New("not a record")
	}
	kind := line[0]
	rest, err := w.behindSlot(line[2:])
	if err != nil {
		return err
	}
	switch s := *slot; {
	case kind == 'S':
		if seq, err = sequence(rest, seq); err != nil {
			return err
		}
		*slot = &pool.Slot{Name: name, Seq: seq}
		w.ads.Begin()
	case kind == 's':
		*slot = nil
	case s == nil:
		return fmt.Errorf("slot %s: not advertised", name)
	case kind == 'G' && s.Ad == nil:
		s.Seq = max(s.Seq, seq)
		if !wanted.Take(rest) {
			return nil
		}
		return extracttext.SetLine(w.ads, rest)
	default:
		if s.Ad == nil {
			s.Ad = w.ads.Finish()
		}
		s.Seq = max(s.Seq, seq)
		r := record{Kind: kind}
		return r.change(s.Ad, rest, w.expressions)
	}
	return nil
}

// behindSlot returns what follows the slot's quoted name and a blank. Most lines begin like the one before.
func (w *worker) behindSlot(line []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(line, w.head); ok && len(w.head) > 0 {
		return rest, nil
	}
	rest, err := new(record).slot(line)
	w.head = w.head[:0]
	if head := line[:len(line)-len(rest)]; err == nil && bytes.HasSuffix(head, []byte(" ")) {
		w.head = append(w.head, head...)
	}
	return rest, err
}

// change sets (G) or removes (g) the attribute that rest of a line names.
func (r *record) change(ad *classad.Ad, rest []byte, expressions *classad.Interner) error {
	if r.Kind == 'g' {
		err := r.name(rest)
		ad.Delete(r.Name)
		return err
	}
	err := r.attribute(rest, expressions)
	if err == nil {
		ad.Set(r.Name, r.Expr)
	}
	return err
}

// slotBlock appends the lines that make a slot.
func slotBlock(b []byte, s *pool.Slot) []byte {
	b = record{Kind: 'S', Slot: s.Name, Seq: s.Seq}.append(b)
	for _, name := range s.Ad.OwnNames() {
		e, _ := s.Ad.Lookup(name)
		b = record{Kind: 'G', Slot: s.Name, Name: name, Expr: e}.append(b)
	}
	return b
}

// handWritten reads slots.d/*.ads, files in the order of their names. These may be wrong, so each bad ad is an error of its own with file
// and line, and the rest counts. taken says where each name stands.
func (s *Spool) handWritten() (slots []pool.Slot, taken map[string]string, bad []error) {
	if s.forked != nil { // they are among the others
		return nil, nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "slots.d")) // sorted
	if err != nil {
		return nil, nil, []error{err}
	}
	taken, expressions := map[string]string{}, classad.NewInterner()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".ads") {
			continue
		}
		got, wrong := readSlots(filepath.Join(s.dir, "slots.d", e.Name()), expressions)
		bad = append(bad, wrong...)
		for _, slot := range got {
			if at, is := taken[slot.Name]; is {
				bad = append(bad, fmt.Errorf("%s: slot %s stands in %s already", slot.Source, slot.Name, at))
				continue
			}
			taken[slot.Name] = slot.Source
			slots = append(slots, slot)
		}
	}
	return slots, taken, bad
}

func readSlots(name string, expressions *classad.Interner) (slots []pool.Slot, bad []error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, []error{err}
	}
	defer f.Close()
	r := classad.NewReader(f, name)
	r.Intern(expressions)
	for {
		ad, err := r.Next()
		var syntax *classad.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return slots, bad
		case errors.As(err, &syntax):
			bad = append(bad, err)
			continue
		case err != nil:
			return slots, append(bad, err)
		}
		where := fmt.Sprintf("%s:%d", name, r.Line())
		slotName, ok := ad.EvalString(&classad.Context{}, pool.AttrName)
		if !ok || slotName == "" {
			bad = append(bad, fmt.Errorf("%s: slot ad without a Name", where))
			continue
		}
		slots = append(slots, pool.Slot{Name: slotName, Ad: ad, Source: where})
	}
}
