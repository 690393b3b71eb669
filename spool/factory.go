package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Factory is a cluster whose procs are made as others leave the queue, from a
// text, its digest, that tells of each what it is. The spool keeps both and makes
// nothing by itself. A factory stays until it is dropped, also when none of its
// procs is in the queue.
type Factory struct {
	Cluster                 int
	Owner                   string // whose jobs they are
	Next                    int    // the proc that is made next: all before it have been made
	Jobs                    int    // procs in all
	MaxMaterialize, MaxIdle int    // at most so many procs in the queue, so many of them idle; 0: no bound
	Offset                  int64  // what the maker wants to remember: where in the digest the items of Next begin
	Charged                 string // what the maker wants to remember of whom its jobs are charged to
	Paused                  string // why no more procs are made; empty: they are
}

// Coming returns the procs that are still to come.
func (f Factory) Coming() pool.Procs {
	return pool.Procs{Cluster: f.Cluster, First: f.Next, Last: f.Jobs - 1}
}

// check tells what of a factory cannot be.
func (f Factory) check() error {
	switch {
	case f.Cluster < 1 || f.Cluster >= math.MaxInt32:
		return fmt.Errorf("factory %d: not a cluster's number", f.Cluster)
	case f.Next < 0 || f.Next > f.Jobs || f.Jobs > math.MaxInt32:
		return fmt.Errorf("factory %d: proc %d of %d cannot be the next one", f.Cluster, f.Next, f.Jobs)
	case min(f.MaxMaterialize, f.MaxIdle) < 0 || max(f.MaxMaterialize, f.MaxIdle) > math.MaxInt32 || f.Offset < 0:
		return fmt.Errorf("factory %d: a bound or an offset is below 0 or too large", f.Cluster)
	}
	return nil
}

// Factories returns all factories, by cluster.
func (v *View) Factories() []Factory {
	rows := sorted(v.state().factories, cmp.Compare[int])
	list := make([]Factory, len(rows))
	for i, r := range rows {
		list[i] = r.Factory
	}
	return v.unlisted(list)
}

// Factory returns the factory of a cluster.
func (v *View) Factory(cluster int) (Factory, bool) {
	r, ok, err := v.state().factories.get(cluster)
	must(err)
	if ok && v.listed && v.sees(r.Owner) == Unlisted {
		return Factory{}, false
	}
	return r.Factory, ok
}

// Digest opens the digest of a cluster's factory, the text that AddFactory was
// given. Its length is checked now, and each block of 1 MB when something is read
// of it for the first time, so that reading from an offset reads no more than
// that: a Read that meets damage returns a *DamageError. It may be read as long as
// the View lasts, and is to be closed. The error may be that there is no such
// factory.
func (v *View) Digest(cluster int) (io.ReadSeekCloser, error) {
	r, ok, err := v.state().factories.get(cluster)
	must(err)
	if !ok {
		return nil, noFactory(cluster)
	}
	if text, ok := v.digests[cluster]; ok {
		return newDigest{bytes.NewReader(text)}, nil
	}
	return v.spool.openDigest(r)
}

// newDigest is the digest of a factory that the transaction adds.
type newDigest struct{ *bytes.Reader }

func (newDigest) Close() error { return nil }

func noFactory(cluster int) error { return fmt.Errorf("cluster %d: it has no factory", cluster) }

// AddFactory makes a cluster a factory. The cluster must be one that this
// transaction makes with AddCluster, before or after. The digest may be any text;
// it goes to a file of its own before the transaction is committed, and is never
// changed. It is not copied, and is not to be changed until the transaction ends.
func (tx *Tx) AddFactory(f Factory, digest []byte) {
	err := f.check()
	switch {
	case err != nil:
	case f.Cluster < tx.first:
		err = fmt.Errorf("cluster %d: only a new cluster can become a factory", f.Cluster)
	}
	if _, twice := tx.digests[f.Cluster]; err == nil && twice {
		err = fmt.Errorf("cluster %d: it has a factory", f.Cluster)
	}
	if err != nil {
		tx.fail(err)
		return
	}
	row := factory{Factory: f, bytes: int64(len(digest)), sums: blockSums(digest)}
	if tx.digests == nil {
		tx.digests = map[int][]byte{}
	}
	tx.digests[f.Cluster] = digest
	tx.put(record{Kind: 'F', Factory: &row})
	tx.charge(f.Owner, Owner{Bytes: row.bytes})
}

// PutFactory changes a factory that is there, as a whole but for its digest.
// Without any change it costs nothing.
func (tx *Tx) PutFactory(f Factory) {
	row, ok, err := tx.state().factories.get(f.Cluster)
	must(err)
	if !ok {
		err = noFactory(f.Cluster)
	}
	if err = cmp.Or(err, f.check()); err != nil {
		tx.fail(err)
		return
	}
	if row.Factory == f {
		return
	}
	if row.Owner != f.Owner {
		tx.charge(row.Owner, Owner{Bytes: -row.bytes})
		tx.charge(f.Owner, Owner{Bytes: row.bytes})
	}
	row.Factory = f
	tx.put(record{Kind: 'F', Factory: &row})
}

// DropFactory ends a factory, if there is one: no more procs are made, and those
// in the queue stay. The file of its digest goes with the next fold, after which
// nobody reads it any more.
func (tx *Tx) DropFactory(cluster int) {
	row, _, err := tx.state().factories.get(cluster)
	must(err)
	tx.charge(row.Owner, Owner{Bytes: -row.bytes})
	delete(tx.digests, cluster)
	tx.put(record{Kind: 'f', Procs: pool.Procs{Cluster: cluster}})
}

// checkFactories holds that the clusters of new factories have been made.
func (tx *Tx) checkFactories() {
	for cluster := range tx.digests {
		if cluster >= tx.next {
			tx.fail(fmt.Errorf("cluster %d: a factory without the cluster", cluster))
		}
	}
}

// factory is a factory as it is kept: a row of the table.
type factory struct {
	Factory
	bytes int64    // of the digest
	sums  []uint32 // the CRC-32C of each of its blocks
}

var errNoSums = errors.New("as many checksums as the digest has blocks are wanted")

// factoryKeyName is the attribute that is the key of a factory's row.
const factoryKeyName = "Cluster"

func factoryAd(f factory) *classad.Ad {
	ad := classad.New()
	ad.SetInt(factoryKeyName, int64(f.Cluster))
	setText(ad, "Owner", f.Owner)
	setInt(ad, "Next", int64(f.Next))
	setInt(ad, "Jobs", int64(f.Jobs))
	setInt(ad, "MaxMaterialize", int64(f.MaxMaterialize))
	setInt(ad, "MaxIdle", int64(f.MaxIdle))
	setInt(ad, "Offset", f.Offset)
	setText(ad, "Charged", f.Charged)
	setText(ad, "Paused", f.Paused)
	setInt(ad, "Bytes", f.bytes)
	setText(ad, "Checksums", sumsText(f.sums))
	return ad
}

func factoryOf(r *row) (factory, error) {
	f := factory{
		Factory: Factory{
			Cluster: int(r.int(factoryKeyName)), Owner: r.optional("Owner"), Next: int(r.int("Next")), Jobs: int(r.int("Jobs")),
			MaxMaterialize: int(r.int("MaxMaterialize")), MaxIdle: int(r.int("MaxIdle")),
			Offset: r.int("Offset"), Charged: r.optional("Charged"), Paused: r.optional("Paused"),
		},
		bytes: r.int("Bytes"),
	}
	sums := r.optional("Checksums")
	if r.err != nil {
		return f, r.err
	}
	if err := f.check(); err != nil {
		return f, err
	}
	var err error
	f.sums, err = parseSums(sums)
	if err == nil && (f.bytes < 0 || int64(len(f.sums)) != blocksOf(f.bytes)) {
		err = errNoSums
	}
	return f, err
}

// sumsText writes checksums with blanks between.
func sumsText(sums []uint32) string {
	var b []byte
	for i, sum := range sums {
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%08x", sum)
	}
	return string(b)
}

// parseSums is the inverse of sumsText.
func parseSums(text string) (sums []uint32, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, " ") {
		sum, err := strconv.ParseUint(one, 16, 32)
		if err != nil || len(one) != 8 || strings.ToLower(one) != one {
			return nil, fmt.Errorf("%.20q: not a checksum", one)
		}
		sums = append(sums, uint32(sum))
	}
	return sums, nil
}

// factoryKey returns the key of a row.
func factoryKey(line []byte) (int, error) {
	if rest, ok := bytes.CutPrefix(line, []byte("F [ "+factoryKeyName+" = ")); ok {
		if end := bytes.IndexAny(rest, "; "); end > 0 {
			if cluster, err := strconv.Atoi(string(rest[:end])); err == nil {
				return cluster, nil
			}
		}
	}
	f, err := parseFactory(line, 0)
	return f.Cluster, err
}

func parseFactory(line []byte, _ uint64) (factory, error) {
	r, err := rowRecord(line, 'F')
	if err != nil {
		return factory{}, err
	}
	return *r.Factory, nil
}

// goneFactory reads the cluster of a factory that is gone.
func goneFactory(b []byte) (int, error) {
	cluster, _, err := number(b, '\n')
	return cluster, err
}
