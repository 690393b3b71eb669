package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/logtext"
)

// creation is a spool in the making that begins with things in it: they go to the files of its first generation. Until the very end there
// is no VERSION, and a file says that the directory is no spool yet.
type creation struct {
	spool  *Spool
	state  *state // holds the small tables
	jobs   segmentWriter[int]
	slots  segmentWriter[string]
	months map[string]*month // by folder and month
	n      Contents

	digesting *factory // the one that was added last
	blocks    int      // of its digest that have come
	made      bool     // the directory too
}

// unfinished is the file that keeps others from making a spool in a directory in which one is being made. A crash leaves it.
const unfinished = "unfinished"

const unfinishedText = "A spool was being made here. If no command makes it any more, remove this directory and begin again.\n"

// newCreation begins a spool in a directory that is empty, or not there but could be.
func newCreation(dir string, o Options, fsys files.Layer) (*creation, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	made, err := makeRoom(dir, fsys)
	if err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, err)
	}
	s, err := settle(dir, o, fsys)
	if err != nil {
		if made {
			fsys.Remove(dir)
		}
		return nil, err
	}
	n := &creation{spool: s, months: map[string]*month{}, made: made}
	n.state = newState(s, pinned{generation: noGeneration(1)})
	n.jobs = segmentWriter[int]{files: fsys, dir: s.path("jobs"), generation: 1, keys: clusterKeys}
	n.slots = segmentWriter[string]{files: fsys, dir: s.path("slots"), generation: 1, keys: slotKeys}
	if err := n.occupy(); err != nil {
		return nil, fmt.Errorf("spool %s: %w", s.dir, err)
	}
	return n, nil
}

// makeRoom makes the directory of a new spool if it is not there. The one that it lies in has to be: a slip of the pen shall not become a
// tree of folders.
func makeRoom(dir string, fsys files.Layer) (made bool, err error) {
	_, err = os.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return false, reason(err)
	}
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); err != nil {
		return false, fmt.Errorf("cannot be made in %s: %w", parent, reason(err))
	}
	if err := fsys.Mkdir(dir, 0o700); err != nil {
		return false, fmt.Errorf("cannot be made: %w", reason(err))
	}
	if err := fsys.SyncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
		fsys.Remove(dir)
		return false, reason(err)
	}
	return true, nil
}

// occupy makes the directory ours, if it is empty, and the folders in it.
func (n *creation) occupy() error {
	s := n.spool
	entries, err := os.ReadDir(s.dir)
	if err == nil {
		err = s.checkWhole()
	}
	if err != nil {
		return n.vacate(reason(err))
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is there: give an empty or a new directory", entries[0].Name())
	}
	f, err := s.files.Open(s.path(unfinished), files.ReadWrite|files.Create|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("cannot be made: %w", reason(err))
	}
	if err != nil {
		return n.vacate(reason(err))
	}
	_, err = f.WriteAt([]byte(unfinishedText), 0)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	for _, name := range folders {
		if err == nil {
			err = s.files.Mkdir(s.path(name), 0o700)
		}
	}
	if err != nil {
		n.abandon()
	}
	return err
}

// abandon takes back what was made, as far as that succeeds, VERSION first and the file that says so last.
func (n *creation) abandon() {
	s := n.spool
	n.close()
	s.files.Remove(s.path("VERSION"))
	for _, name := range folders {
		in, _ := os.ReadDir(s.path(name))
		for _, e := range in {
			s.files.Remove(filepath.Join(s.path(name), e.Name()))
		}
		s.files.Remove(s.path(name))
	}
	in, _ := os.ReadDir(s.dir)
	for _, e := range in {
		if e.Name() != unfinished {
			s.files.Remove(s.path(e.Name()))
		}
	}
	s.files.Remove(s.path(unfinished))
	n.vacate(nil)
}

// vacate removes the directory, if it was made and is empty again, and returns the error that it is given.
func (n *creation) vacate(err error) error {
	if n.made {
		n.spool.files.Remove(n.spool.dir)
	}
	return err
}

// close closes what is open.
func (n *creation) close() (err error) {
	for _, m := range n.months {
		err = cmp.Or(err, m.file.Close())
	}
	clear(n.months)
	return err
}

// cluster adds a cluster; they come by ascending id.
func (n *creation) cluster(c *Cluster) error { return n.clusterBlock(c, clusterBlock(nil, c)) }

// clusterBlock adds a cluster whose lines are known.
func (n *creation) clusterBlock(c *Cluster, text []byte) error {
	e := clusterEntry(c)
	switch {
	case e.key < 1 || e.key > math.MaxInt32:
		return fmt.Errorf("cluster %d: not a cluster's number", e.key)
	case len(c.Runs) == 0:
		return fmt.Errorf("cluster %d: no procs", e.key)
	case e.key <= n.lastCluster():
		return fmt.Errorf("cluster %d: it comes after %d", e.key, n.lastCluster())
	case len(text) > math.MaxInt32:
		return fmt.Errorf("cluster %d: larger than %d bytes", e.key, math.MaxInt32)
	}
	n.n.Clusters++
	n.n.Jobs += e.jobs
	n.charge(c.owner, Owner{Clusters: 1, Jobs: e.jobs, Bytes: c.bytes})
	return n.jobs.add(e, text)
}

// charge counts for an owner what was added.
func (n *creation) charge(owner string, by Owner) {
	if owner != "" {
		o := n.state.owners.rows[owner]
		o.Name = owner
		n.state.owners.put(owner, o.plus(by))
	}
}

// lastCluster returns the id of the cluster that was added last, 0 without one.
func (n *creation) lastCluster() int {
	switch w := &n.jobs; {
	case len(w.index) > 0:
		return w.index[len(w.index)-1].key
	case len(w.done) > 0:
		return w.done[len(w.done)-1].last
	}
	return 0
}

// slot adds a slot; they come in the order of their names' bytes.
func (n *creation) slot(s *pool.Slot) error { return n.slotBlock(slotEntry(s), slotBlock(nil, s)) }

func (n *creation) slotBlock(e entry[string], text []byte) error {
	last := ""
	switch w := &n.slots; {
	case len(w.index) > 0:
		last = w.index[len(w.index)-1].key
	case len(w.done) > 0:
		last = w.done[len(w.done)-1].last
	}
	if n.n.Slots > 0 && e.key <= last {
		return fmt.Errorf("slot %s: it comes after %s", e.key, last)
	}
	n.n.Slots++
	return n.slots.add(e, text)
}

// beginDigest begins the digest of a new factory, whose blocks follow.
func (n *creation) beginDigest(f factory) error {
	if err := n.digestWhole(); err != nil {
		return err
	}
	n.digesting = &f
	n.charge(f.Owner, Owner{Bytes: f.bytes})
	return files.WriteNew(n.spool.files, n.spool.path(digestName(f.Cluster)), nil)
}

// digest adds a block to the digest of the factory that was added last.
func (n *creation) digest(cluster int, block []byte) error {
	f := n.digesting
	if f == nil || f.Cluster != cluster {
		return fmt.Errorf("factory %d: its digest is not expected here", cluster)
	}
	at := int64(n.blocks) * digestBlock
	if int64(len(block)) != min(f.bytes-at, digestBlock) || len(block) == 0 || checksum(block) != f.sums[n.blocks] {
		return fmt.Errorf("factory %d: block %d of its digest is not what was recorded", cluster, n.blocks+1)
	}
	n.blocks++
	file, err := n.spool.files.Open(n.spool.path(digestName(cluster)), files.ReadWrite, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(block, at)
	return cmp.Or(err, file.Sync(), file.Close())
}

// digestWhole reports whether the last factory's digest has come.
func (n *creation) digestWhole() error {
	if f := n.digesting; f != nil && n.blocks < len(f.sums) {
		return fmt.Errorf("factory %d: its digest is not whole", f.Cluster)
	}
	n.digesting, n.blocks = nil, 0
	return nil
}

// lastFactory returns the largest cluster number of a factory, 0 without one.
func (n *creation) lastFactory() (last int) {
	for cluster := range n.state.factories.rows {
		last = max(last, cluster)
	}
	return last
}

// left adds the lines of the ad of a job that left in a month.
func (n *creation) left(month string, lines []byte) error {
	n.n.Left++
	m, err := n.month("history", month, historyFile(month))
	if err != nil {
		return err
	}
	return m.putAd(lines)
}

// logged adds a transaction to the log.
func (n *creation) logged(l Logged) error {
	name := monthOf(l.Machine)
	m, err := n.month("log", name, logFile(name))
	if err != nil {
		return err
	}
	m.put(l.Append(nil))
	if len(m.buffer) < historyBuffer {
		return nil
	}
	return m.flush()
}

// earlier adds a line to the transaction that was added to a month's log last.
func (n *creation) earlier(name, line string) error {
	m, err := n.month("log", name, logFile(name))
	if err == nil {
		m.put([]byte(logtext.EarlierHead), []byte(line), newline)
	}
	return err
}

var aMonth = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}$`)

// month returns a file that is only appended to.
func (n *creation) month(folder, name, path string) (*month, error) {
	if !aMonth.MatchString(name) {
		return nil, fmt.Errorf("%q: not a month", name)
	}
	m := n.months[folder+"/"+name]
	if m == nil {
		f, err := n.spool.files.Open(n.spool.path(path), files.ReadWrite|files.Create, 0o600)
		if err != nil {
			return nil, err
		}
		m = &month{name: name, file: f}
		n.months[folder+"/"+name] = m
	}
	return m, nil
}

// handWritten adds a file of slots.d.
func (n *creation) handWritten(name string, text []byte) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q: not the name of a file", name)
	}
	return files.WriteNew(n.spool.files, n.spool.path("slots.d/"+name), text)
}

// report adds the report of the last cycle.
func (n *creation) report(text []byte) error {
	return files.WriteNew(n.spool.files, n.spool.path("cycle.json"), text)
}

// finish makes it a spool whose last transaction has that number.
func (n *creation) finish(v version, seq uint64, next int) error {
	s := n.spool
	if err := n.digestWhole(); err != nil {
		return err
	}
	switch last := max(n.lastCluster(), n.lastFactory()); {
	case v.Domain == "" || strings.ContainsAny(v.Domain+v.ID, " \t\r\n@"):
		return fmt.Errorf("%q, %q: not a UID_DOMAIN and an id: neither has blanks or @", v.Domain, v.ID)
	case next <= last || next > math.MaxInt32:
		return fmt.Errorf("%d cannot be the next cluster's number: it comes after %d", next, last)
	}
	g := n.state.base.generation
	g.base.Seq, g.base.Next = seq, next
	err := cmp.Or(n.jobs.flush(), n.slots.flush())
	if err == nil {
		err = (&fold{spool: s, state: n.state}).writeTables(g)
	}
	g.jobs, g.slots = n.jobs.done, n.slots.done
	for name, m := range n.months {
		folder, _, _ := strings.Cut(name, "/")
		if err == nil {
			err = m.keep(s, folder)
		}
		months := g.log
		if folder == "history" {
			months = g.history
		}
		months[m.name] = stretch{m.end, m.crc}
	}
	err = cmp.Or(err, n.close())
	if err == nil {
		err = s.lay(g, v)
	}
	if err == nil {
		err = s.files.Remove(s.path(unfinished))
	}
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	return err
}

// readBack reads all of the spool that was made, as commands will.
func (n *creation) readBack(o Options) error {
	dir := n.spool.dir
	var bad error
	if _, err := Check(dir, o, func(f Finding) {
		if f.Damaged && bad == nil {
			bad = &DamageError{f.File, f.Line, f.What}
		}
	}); err != nil || bad != nil {
		return cmp.Or(err, bad)
	}
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	defer s.Close()
	left := 0
	if err := s.History(Left{}, func(*classad.Ad) bool { left++; return true }); err != nil {
		return err
	}
	if left != n.n.Left {
		return fmt.Errorf("%d ads of the history were written, and %d can be read", n.n.Left, left)
	}
	return s.Log(func(Logged) error { return nil })
}
