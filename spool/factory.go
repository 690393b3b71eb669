package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/rowtext"
)

// Factory is a cluster whose procs are made as others leave the queue, from a text, its digest, that tells of each what it is. The spool
// keeps both and makes nothing by itself. A factory stays until it is dropped, also when none of its procs is in the queue.
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
	rows := sorted(v.state().factories)
	list := make([]Factory, 0, len(rows))
	for _, r := range rows {
		if !v.listed || v.sees(r.Owner) != Unlisted {
			list = append(list, r.Factory)
		}
	}
	return list
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

// Digest opens the digest of a cluster's factory, the text that AddFactory was given. Its length is checked now, and each block of 1 MB
// when something is read of it for the first time, so that reading from an offset reads no more than that: a Read that meets damage returns
// a *DamageError. It may be read as long as the View lasts, and is to be closed. The error may be that there is no such factory.
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

// AddFactory makes a cluster a factory. The cluster must be one that this transaction makes with AddCluster, before or after. The digest
// may be any text; it goes to a file of its own before the transaction is committed, and is never changed. It is not copied, and is not to
// be changed until the transaction ends.
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
	tx.digests[f.Cluster] = digest
	tx.put(record{Kind: 'F', Row: row})
	tx.charge(f.Owner, Owner{Bytes: row.bytes})
}

// PutFactory changes a factory that is there, as a whole but for its digest. Without any change it costs nothing.
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
	tx.put(record{Kind: 'F', Row: row})
}

// DropFactory ends a factory, if there is one: no more procs are made, and those in the queue stay. The next fold removes the file of its
// digest.
func (tx *Tx) DropFactory(cluster int) {
	row, _, err := tx.state().factories.get(cluster)
	must(err)
	tx.charge(row.Owner, Owner{Bytes: -row.bytes})
	delete(tx.digests, cluster)
	tx.put(record{Kind: 'f', Key: cluster})
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

func writeFactory(ad rowtext.Attributes, f factory) {
	ad.SetInt("Cluster", int64(f.Cluster))
	rowtext.SetText(ad, "Owner", f.Owner)
	rowtext.SetInt(ad, "Next", int64(f.Next))
	rowtext.SetInt(ad, "Jobs", int64(f.Jobs))
	rowtext.SetInt(ad, "MaxMaterialize", int64(f.MaxMaterialize))
	rowtext.SetInt(ad, "MaxIdle", int64(f.MaxIdle))
	rowtext.SetInt(ad, "Offset", f.Offset)
	rowtext.SetText(ad, "Charged", f.Charged)
	rowtext.SetText(ad, "Paused", f.Paused)
	rowtext.SetInt(ad, "Bytes", f.bytes)
	rowtext.SetSums(ad, "Checksums", f.sums)
}

func factoryOf(r *rowtext.Row) (factory, error) {
	f := factory{
		Factory: Factory{
			Cluster: int(r.Int("Cluster")), Owner: r.Optional("Owner"), Next: int(r.Int("Next")), Jobs: int(r.Int("Jobs")),
			MaxMaterialize: int(r.Int("MaxMaterialize")), MaxIdle: int(r.Int("MaxIdle")),
			Offset: r.Int("Offset"), Charged: r.Optional("Charged"), Paused: r.Optional("Paused"),
		},
		bytes: r.Int("Bytes"),
	}
	sums := r.Optional("Checksums")
	if r.Err != nil {
		return f, r.Err
	}
	if err := f.check(); err != nil {
		return f, err
	}
	var err error
	f.sums, err = rowtext.Sums(sums)
	if err == nil && (f.bytes < 0 || int64(len(f.sums)) != blocksOf(f.bytes)) {
		err = errNoSums
	}
	return f, err
}

// digestBlock is how many bytes of a digest have a checksum of their own.
const digestBlock = 1 << 20

// blocksOf returns how many blocks that many bytes are.
func blocksOf(bytes int64) int64 { return (bytes + digestBlock - 1) / digestBlock }

// blockSums returns the CRC-32C of each block of a digest.
func blockSums(text []byte) (sums []uint32) {
	for block := range slices.Chunk(text, digestBlock) {
		sums = append(sums, checksum(block))
	}
	return sums
}

// digestName returns the file of a cluster's digest, in the spool.
func digestName(cluster int) string { return "factories/" + strconv.Itoa(cluster) }

// keepDigests makes the digests of new factories durable. The names that they get are those of clusters that were never given out: what
// lies there is a dead writer's.
func (s *Spool) keepDigests(tx *Tx) error {
	if len(tx.digests) == 0 {
		return nil
	}
	for _, cluster := range slices.Sorted(maps.Keys(tx.digests)) {
		if _, err := os.Lstat(s.path(digestName(cluster))); err == nil {
			// Its transaction may have been cut from the journal and not durably so: then a power cut would bring it back, with another
			// digest.
			if err := tx.settled(); err != nil {
				return err
			}
		}
		tx.kept = append(tx.kept, cluster)
		if err := files.WriteNew(s.files, s.path(digestName(cluster)), tx.digests[cluster]); err != nil {
			return fmt.Errorf("%s: %w", digestName(cluster), err)
		}
	}
	return s.files.SyncDir(s.path("factories"))
}

// openDigest opens the digest of a factory for reading.
func (s *Spool) openDigest(f factory) (*digestReader, error) {
	path := s.path(digestName(f.Cluster))
	file, err := s.files.Open(path, files.ReadOnly, 0)
	if err != nil {
		return nil, missing(path, err)
	}
	d := &digestReader{file: file, path: path, factory: f, at: -1}
	size, err := file.Size()
	if err == nil && size != f.bytes {
		err = &DamageError{path, 1, fmt.Sprintf("it has %d bytes instead of %d", size, f.bytes)}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return d, nil
}

// digestReader reads a digest block by block, and checks each.
type digestReader struct {
	factory
	file   files.File
	path   string
	offset int64
	block  []byte
	at     int64 // which block that is; -1: none yet
}

func (d *digestReader) Close() error { return d.file.Close() }

// Seek is that of io.Seeker.
func (d *digestReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += d.offset
	case io.SeekEnd:
		offset += d.bytes
	}
	if offset < 0 {
		return d.offset, fmt.Errorf("%s: %w: before its beginning", d.path, fs.ErrInvalid)
	}
	d.offset = offset
	return offset, nil
}

// Read is that of io.Reader.
func (d *digestReader) Read(b []byte) (int, error) {
	if d.offset >= d.bytes {
		return 0, io.EOF
	}
	if n := d.offset / digestBlock; n != d.at {
		if err := d.load(n); err != nil {
			return 0, err
		}
	}
	n := copy(b, d.block[d.offset%digestBlock:])
	d.offset += int64(n)
	return n, nil
}

// load reads block n.
func (d *digestReader) load(n int64) error {
	d.at = -1
	from := n * digestBlock
	size := min(d.bytes-from, digestBlock)
	d.block = slices.Grow(d.block[:0], int(size))[:size]
	got, err := d.file.ReadAt(d.block, from)
	if errors.Is(err, io.EOF) && int64(got) == size {
		err = nil
	}
	if errors.Is(err, io.EOF) {
		return &DamageError{d.path, 1, fmt.Sprintf("it has fewer bytes than %d", d.bytes)}
	}
	if err != nil {
		return err
	}
	if sum := checksum(d.block); sum != d.sums[n] {
		return &DamageError{d.path, d.line(from), fmt.Sprintf("the checksum of its block %d is %08x, recorded is %08x", n+1, sum, d.sums[n])}
	}
	d.at = n
	return nil
}

// line returns the line on which a byte of the file stands.
func (d *digestReader) line(at int64) int {
	b := make([]byte, at)
	n, _ := d.file.ReadAt(b, 0) // what cannot be read is not counted
	return 1 + bytes.Count(b[:n], newline)
}

// eachBlock hands over the blocks of a factory's digest one after the other, each checked, to look at until the function returns.
func (s *Spool) eachDigestBlock(f factory, do func([]byte) error) error {
	d, err := s.openDigest(f)
	if err != nil {
		return err
	}
	defer d.Close()
	for n := range blocksOf(f.bytes) {
		if err := d.load(n); err != nil {
			return err
		}
		if err := do(d.block); err != nil {
			return err
		}
	}
	return nil
}

// digestFiles returns the clusters for which there is a digest's file, ascending. Files with other names are not the spool's.
func (s *Spool) digestFiles() (clusters []int, err error) {
	entries, err := os.ReadDir(s.path("factories"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the spool was made before there were factories
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && strconv.Itoa(n) == e.Name() && e.Type().IsRegular() {
			clusters = append(clusters, n)
		}
	}
	slices.Sort(clusters)
	return clusters, err
}

// sweepDigests removes the digests that no reader of the generations can ask for: those of factories of which neither their tables nor
// their journals speak. The first generation is the one in force.
func (s *Spool) sweepDigests(kept []*generation) error {
	files, err := s.digestFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	named := map[int]bool{}
	for _, g := range kept {
		if err := s.nameDigests(g, named); err != nil {
			return err
		}
	}
	isNamed := func(cluster int) bool { return named[cluster] }
	if files = slices.DeleteFunc(files, isNamed); len(files) == 0 {
		return nil
	}
	// A writer may be making one of them just now: it is looked at again without writers. Processes that keep the lock leave it to a later
	// fold.
	err = s.writing(func(w *writing) error {
		if w.current.Generation != kept[0].number {
			return nil
		}
		// What was dropped is to be so after a power cut too.
		if err := w.journal.Sync(); err != nil {
			return err
		}
		if err := s.nameDigests(kept[0], named); err != nil {
			return err
		}
		for _, cluster := range slices.DeleteFunc(files, isNamed) {
			if err := s.files.Remove(s.path(digestName(cluster))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}

// nameDigests notes the factories of which a generation's table or journal speaks, also those that were dropped in it: a reader may have
// read only so far.
func (s *Spool) nameDigests(g *generation, named map[int]bool) error {
	var texts []chunk
	if load := s.tableOf(g, "factories"); load != nil {
		table, err := load()
		if err != nil {
			return err
		}
		texts = append(texts, table)
	}
	path := s.journal(g.number)
	journal, err := files.Contents(s.files, path)
	if err != nil {
		return missing(path, err)
	}
	for _, c := range append(texts, chunk{text: journal}) {
		for _, line := range c.lines() {
			if !bytes.HasPrefix(line, []byte("F ")) {
				continue
			}
			if cluster, err := factoryKind.keyIn(line); err == nil { // else the end of it is missing
				named[cluster] = true
			}
		}
	}
	return nil
}

// factories checks the digests of all factories, as the journal says, and mentions the others.
func (c *checker) factories(st *state, next int, sound bool) {
	rows, err := st.factories.all()
	if err != nil {
		c.digestless = "the table of factories is damaged"
		if sound { // or it was told when the table's file was looked at
			c.trouble("CURRENT", err)
		}
		return
	}
	for _, cluster := range slices.Sorted(maps.Keys(rows)) {
		name := digestName(cluster)
		c.named[name] = true
		if cluster >= next {
			c.damaged(name, 0, "its factory is of cluster %d, a number that was never given out", cluster)
			continue
		}
		err := c.s.eachDigestBlock(rows[cluster], func([]byte) error { return nil })
		if !c.trouble(name, err) {
			c.fine(name, "%s", plural.Count(int(rows[cluster].bytes), "byte"))
		}
	}
}

// digestsLeft mentions digests of no factory that was looked at.
func (c *checker) digestsLeft() {
	files, err := c.s.digestFiles()
	if c.trouble("factories", err) {
		return
	}
	for _, cluster := range files {
		switch name := digestName(cluster); {
		case c.named[name]:
		case c.digestless != "" || c.lost:
			c.fine(name, "not looked at: %s", cmp.Or(c.digestless, c.why))
		default:
			c.fine(name, leftOver)
		}
	}
}
