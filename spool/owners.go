package spool

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool/internal/quotedtext"
	"fairspool/spool/internal/rowtext"
)

// Owner is what an owner has in the queue. The transactions that change it count it, so that no command has to read the queue: each writes
// the rows that it changes (O), and each cluster keeps its owner and the bytes that it was written with (Y).
type Owner struct {
	Name     string
	Clusters int
	Jobs     int
	// Bytes is how many clusters and digests of factories were written with, and users' changes have added. Each job takes an equal part of
	// its cluster's with it. What the pool notes does not count.
	Bytes int64
}

func (o Owner) String() string {
	return fmt.Sprintf("%s in %s of %s", plural.Count(o.Jobs, "job"), plural.Count(o.Clusters, "cluster"), plural.Count(int(o.Bytes), "byte"))
}

// plus returns the sum of two counts, under the name of the first.
func (o Owner) plus(by Owner) Owner {
	o.Clusters += by.Clusters
	o.Jobs += by.Jobs
	o.Bytes += by.Bytes
	return o
}

// none reports whether the owner has nothing in the queue.
func (o Owner) none() bool { return o == Owner{Name: o.Name} }

// Owner returns what an owner has in the queue. In a transaction it costs a look at the end of the journal, as far back as the owner last
// had a row in it.
func (v *View) Owner(name string) Owner {
	if o, ok := v.counts[name]; ok {
		return o
	}
	var o Owner
	var err error
	if v.loaded == nil && v.ownerOf != nil {
		o, err = v.ownerOf(name)
	} else {
		o, _, err = v.state().owners.get(name)
	}
	must(err)
	o.Name = name
	return o
}

// Charged returns the owner for whom the cluster is counted (empty: for none), and its bytes.
func (c *Cluster) Charged() (owner string, bytes int64) { return c.owner, c.bytes }

// charge counts what is added for an owner. The rows are written at the end of the transaction.
func (tx *Tx) charge(owner string, by Owner) {
	if owner == "" || tx.err != nil {
		return
	}
	switch o := tx.Owner(owner).plus(by); {
	case !tx.Forked:
		tx.counts[owner] = o
	case o.none():
		tx.state().owners.drop(owner)
	default:
		tx.state().owners.put(owner, o)
	}
}

// chargeCluster counts what is added to a cluster for its owner, if there is one.
func (tx *Tx) chargeCluster(cluster int, owner string, by Owner) {
	if owner == "" || tx.err != nil {
		return
	}
	tx.put(record{Kind: 'Y', Procs: pool.Procs{Cluster: cluster}, Name: owner, End: by.Bytes})
	tx.charge(owner, by)
}

// ChargeBytes counts bytes that a user's changes add to a cluster for its owner.
func (tx *Tx) ChargeBytes(cluster int, bytes int64) {
	if c, ok := tx.Cluster(cluster); ok {
		tx.chargeCluster(cluster, c.owner, Owner{Bytes: bytes})
	}
}

// chargedTo returns for whom a cluster with such an ad is counted: the Owner, where that is a constant.
func chargedTo(ad *classad.Ad) string {
	e, ok := ad.Lookup(pool.AttrOwner)
	if !ok {
		return ""
	}
	v, _ := e.Constant()
	owner, _ := v.Text()
	return owner
}

// part returns the bytes of so many of a cluster's procs.
func part(whole int64, procs, of int) int64 {
	if procs >= of {
		return whole
	}
	high, low := bits.Mul64(uint64(whole), uint64(procs))
	n, _ := bits.Div64(high, low, uint64(of))
	return int64(n)
}

// counted counts what clusters and factories are charged with, by owner.
func counted(clusters []*Cluster, factories map[int]factory) map[string]Owner {
	owners := map[string]Owner{}
	add := func(name string, by Owner) {
		if name != "" {
			owners[name] = Owner{Name: name}.plus(owners[name]).plus(by)
		}
	}
	for _, c := range clusters {
		add(c.owner, Owner{Clusters: 1, Jobs: c.jobs(), Bytes: c.bytes})
	}
	for _, f := range factories {
		add(f.Owner, Owner{Bytes: f.bytes})
	}
	return owners
}

// checkOwners holds the counts to what there is.
func (c *checker) checkOwners(clusters []*Cluster, st *state) {
	factories, err := st.factories.all()
	if err != nil {
		return // it is told where digests are looked at
	}
	owners, err := st.owners.all()
	if c.trouble("CURRENT", err) {
		return
	}
	there := counted(clusters, factories)
	names := slices.Concat(slices.Collect(maps.Keys(there)), slices.Collect(maps.Keys(owners)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		is, says := there[name], owners[name]
		if is.Name = name; says.Name == "" {
			says.Name = name
		}
		if is != says {
			c.damaged(strings.TrimPrefix(c.s.journal(st.base.number), c.s.dir+"/"), 0, "%s has %v, and is on record with %v", name, is, says)
		}
	}
}

func writeOwner(ad rowtext.Attributes, o Owner) {
	ad.SetString("Name", o.Name)
	rowtext.SetInt(ad, "Clusters", int64(o.Clusters))
	rowtext.SetInt(ad, "Jobs", int64(o.Jobs))
	rowtext.SetInt(ad, "Bytes", o.Bytes)
}

func ownerOf(r *rowtext.Row) (Owner, error) {
	o := Owner{Name: r.Text("Name"), Clusters: int(r.Int("Clusters")), Jobs: int(r.Int("Jobs")), Bytes: r.Int("Bytes")}
	return o, r.Err
}

// parseCharge reads what a Y line says of a cluster: how many bytes it was written with, beside those that it has, and for whom.
func (r *record) parseCharge(b []byte) (err error) {
	var rest []byte
	var n int
	if r.Cluster, rest, err = number(b, ' '); err != nil {
		return err
	}
	if n, rest, err = number(rest, ' '); err != nil {
		return err
	}
	r.End = int64(n)
	r.Name, err = strconv.Unquote(string(rest))
	return err
}

func (r record) appendCharge(b []byte) []byte {
	b = strconv.AppendInt(append(strconv.AppendInt(b, int64(r.Cluster), 10), ' '), r.End, 10)
	return strconv.AppendQuote(append(b, ' '), r.Name)
}

// ownerThen returns what the journal's end, or else the generation, says of an owner, without a look at anything else: the journal is read
// backwards, transaction by transaction.
func (s *Spool) ownerThen(w *writing, name string) (Owner, error) {
	back := backwards{spool: s, w: w, at: w.end.End, seq: w.end.Seq}
	var owned []byte // what a row of the owner has in it; empty: it may be written in several ways
	if quotedtext.Plainly([]byte(name)) {
		owned = strconv.AppendQuote(nil, name)
	}
	for {
		f, err := back.next()
		if err != nil || f.Size == 0 {
			return s.ownerInTable(w, name, err)
		}
		if !bytes.Contains(f.Body, owned) {
			continue
		}
		for _, line := range (chunk{text: f.Body}).lines() {
			switch line[0] {
			case 'O':
				if key, err := ownerKind.keyIn(line); err != nil || key == name {
					o, also := ownerKind.parse(line, 0)
					return o, cmp.Or(err, also)
				}
			case 'o':
				if key, err := unquote(line[2:]); err != nil || key == name {
					return Owner{}, err
				}
			}
		}
	}
}

// ownerInTable returns what the table of the generation says, unless there was an error.
func (s *Spool) ownerInTable(w *writing, name string, err error) (Owner, error) {
	if err != nil {
		return Owner{}, err
	}
	g, err := s.readGeneration(w.current.Generation)
	if err != nil {
		return Owner{}, missing(s.indexFile(w.current.Generation), err)
	}
	o, _, err := newTable(ownerKind, s.tableOf(g, "owners")).get(name)
	return o, err
}

// backwards reads the transactions of the journal from its acknowledged end, the last one first.
type backwards struct {
	spool  *Spool
	w      *writing
	at     int64 // where the transactions that were not read yet end
	seq    uint64
	buffer []byte // what stands before at, as far as it was read
	block  int64  // how many bytes are read the next time
}

// Bounds of how many bytes are read at a time: each time twice as many.
const (
	firstBack = 512
	mostBack  = 256 << 10
)

// next returns the transaction before those that were read, one of size 0 at the beginning. It is checked as every reader does.
func (b *backwards) next() (frame, error) {
	if b.at == 0 {
		return frame{}, nil
	}
	if err := b.fill(min(endRoom, b.at)); err != nil {
		return frame{}, err
	}
	end := bytes.LastIndexByte(b.buffer[:max(len(b.buffer)-1, 0)], '\n') + 1
	last, _ := bytes.CutPrefix(b.buffer[end:], []byte("E "))
	seq, rest, err := number(last, ' ')
	length, _, also := number(rest, ' ')
	size := int64(length)
	if err != nil || also != nil || uint64(seq) != b.seq || size+int64(len(b.buffer)-end) > b.at {
		return frame{}, b.spool.explain(b.w.current, fmt.Errorf("transaction %d does not end as was acknowledged", b.seq))
	}
	size += int64(len(b.buffer) - end)
	if err := b.fill(size); err != nil {
		return frame{}, err
	}
	start := len(b.buffer) - int(size)
	f, err := parseFrame(b.buffer[start:], b.seq)
	if err == nil && f.Size != int(size) {
		err = fmt.Errorf("transaction %d has another length", seq)
	}
	if err != nil {
		return frame{}, b.spool.explain(b.w.current, err)
	}
	b.buffer = b.buffer[:start]
	b.at -= size
	b.seq--
	return f, nil
}

// fill makes the buffer have so many bytes before at.
func (b *backwards) fill(n int64) error {
	if int64(len(b.buffer)) >= n {
		return nil
	}
	b.block = min(max(2*b.block, firstBack), mostBack)
	from := max(b.at-max(n, b.block), 0)
	b.buffer = make([]byte, b.at-from)
	got, err := b.w.journal.ReadAt(b.buffer, from)
	if int64(got) == b.at-from {
		return nil
	}
	return fmt.Errorf("journal: %w", cmp.Or(err, errIncomplete))
}
