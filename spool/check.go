package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/lib/pool"
)

// Finding is what a look at a spool found out about one of its files.
type Finding struct {
	File    string // with the directory
	Line    int    // 0: the whole file
	Damaged bool
	What    string // what is damaged, or what is there
}

// Check reads every byte of every file that the spool has written, also while
// others work with it, and tells each what it finds: all damage, and of sound
// files what is in them. It changes nothing. The error says that nothing could
// be looked at.
func Check(dir string, o Options, each func(Finding)) (sound bool, err error) {
	s, entries, err := inspect(dir, o, "VERSION", "CURRENT")
	if err != nil {
		return false, err
	}
	c := &checker{s: s, each: each, named: map[string]bool{}, sound: true}
	c.version()
	if c.s.version.Format == format {
		for _, name := range []string{"lock", "negotiate.lock", "fold.lock"} {
			c.lockFile(name)
		}
	}
	c.generations(entries)
	c.report()
	c.leftovers(entries)
	return c.sound, nil
}

// checker is a check at work.
type checker struct {
	s     *Spool
	each  func(Finding)
	named map[string]bool // files that belong to a generation
	sound bool
}

func (c *checker) fine(name, format string, args ...any) {
	c.each(Finding{File: c.s.path(name), What: fmt.Sprintf(format, args...)})
}

func (c *checker) damaged(name string, line int, format string, args ...any) {
	c.sound = false
	c.each(Finding{File: c.s.path(name), Line: line, Damaged: true, What: fmt.Sprintf(format, args...)})
}

// trouble reports an error about a file, nil for none, and tells whether there
// was one.
func (c *checker) trouble(name string, err error) bool {
	var d *DamageError
	switch {
	case err == nil:
		return false
	case errors.As(err, &d):
		c.sound = false
		c.each(Finding{File: d.File, Line: d.Line, Damaged: true, What: d.Why})
	default:
		c.damaged(name, 0, "%v", reason(err))
	}
	return true
}

func (c *checker) version() {
	v, err := c.s.readVersion()
	if errors.Is(err, fs.ErrNotExist) {
		err = &DamageError{c.s.path("VERSION"), 1, "the file is missing"}
	}
	c.s.version = v
	if c.trouble("VERSION", err) {
		c.s.version.Format = format
		return
	}
	c.fine("VERSION", "format %d, UID_DOMAIN %s", v.Format, v.Domain)
}

// lockFile checks what a lock file says. It may be empty or missing.
func (c *checker) lockFile(name string) {
	b, err := contents(c.s.files, c.s.path(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return
	}
	if c.trouble(name, err) {
		return
	}
	for n := range (len(b) + lineSize - 1) / lineSize {
		c.lockLine(name, n)
	}
	c.fine(name, "who holds it")
}

// lockLine checks one line of a lock file, which somebody may be writing just
// now.
func (c *checker) lockLine(name string, n int) {
	for range ackReads {
		b, err := contents(c.s.files, c.s.path(name))
		if err == nil && len(b) >= (n+1)*lineSize {
			if _, ok := checked(string(b[n*lineSize : (n+1)*lineSize])); ok && n < 2 {
				return
			}
		}
	}
	c.damaged(name, n+1, "it does not read as it was written: the next writer writes it anew")
}

// generations checks every generation that there is, the one in force with its
// journal put to its tables and segments.
func (c *checker) generations(entries []os.DirEntry) {
	base, current, err := c.s.pinCurrent()
	if !c.trouble("CURRENT", err) {
		defer base.release()
		c.fine("CURRENT", "generation %d", current.Generation)
		c.inForce(base, current)
	}
	for _, e := range entries {
		n, ok := numbered(e.Name(), "index.")
		if !ok || err == nil && n >= current.Generation {
			continue // a later one is on its way, or was left by a crash
		}
		pin, moved := pinFile(c.s.indexFile(n))
		if moved != nil {
			continue // it goes just now
		}
		g, why := c.s.readGeneration(n)
		if !c.trouble(e.Name(), why) {
			c.files(g)
		}
		pin.Close()
	}
}

// inForce checks the generation in force.
func (c *checker) inForce(base pinned, current ack) {
	sound := c.files(base.generation)
	st := newState(c.s, base)
	p := base.start()
	count := 0
	err := c.s.advance(&p, current, func(f frame, line int) error {
		count++
		return st.take(f.Body, f.Seq, c.s.journal(p.generation), line+1)
	})
	if c.trouble(filepath.Base(c.s.journal(base.number)), err) {
		return
	}
	if sound {
		c.contents(st)
	}
	c.fine(filepath.Base(c.s.journal(base.number)), "%d transactions", count)
	for _, month := range slices.Sorted(maps.Keys(st.history)) {
		c.months("history/"+month+".ads", st.history[month])
	}
	for _, month := range slices.Sorted(maps.Keys(base.log)) {
		c.months("log/"+month, base.log[month])
	}
}

// contents makes all that is there, as the journal says.
func (c *checker) contents(st *state) {
	clusters, err := st.jobs.all(newWorker)
	_, err2 := st.slots.all(newWorker)
	claims, err3 := st.claims.all()
	_, err4 := st.submitters.all()
	_, err5 := st.backoffs.all()
	for _, err := range []error{err, err2, err3, err4, err5} {
		if c.trouble("CURRENT", err) {
			return
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(claims), pool.JobID.Compare) {
		i, ok := slices.BinarySearchFunc(clusters, id.Cluster, func(c *Cluster, k int) int { return c.ID - k })
		if ok {
			_, ok = clusters[i].run(id.Proc)
		}
		if !ok {
			c.damaged(filepath.Base(c.s.journal(st.base.number)), 0, "job %v has a claim and is not in the queue", id)
		}
	}
}

// files checks the segments and tables of a generation, each once.
func (c *checker) files(g *generation) (sound bool) {
	before := c.sound
	c.sound = true
	name := filepath.Base(c.s.indexFile(g.number))
	if c.s.version.Format == format {
		c.fine(name, "%d segments, %d tables", len(g.jobs)+len(g.slots), len(g.tables))
	}
	checkSegments(c, newBlocks(c.s, "jobs", clusterKeys, g.jobs, clusterOf), "clusters")
	checkSegments(c, newBlocks(c.s, "slots", slotKeys, g.slots, slotOf), "slots")
	for _, table := range slices.Sorted(maps.Keys(g.tables)) {
		t := g.tables[table]
		if c.named[t.name] {
			continue
		}
		if _, err := c.s.tableOf(g, table)(); !c.trouble(t.name, err) {
			c.fine(t.name, "%d rows", t.rows)
		}
	}
	g.name(c.named)
	sound = c.sound
	c.sound = before && sound
	return sound
}

// checkSegments checks every block of every segment by itself.
func checkSegments[K int | string, V any](c *checker, b *blocks[K, V], what string) {
	dir := filepath.Base(b.dir)
	w := newWorker()
	for i, f := range b.base {
		name := dir + "/" + f.name
		if c.named[name] {
			continue
		}
		g, err := b.index(i)
		if c.trouble(name, err) {
			continue
		}
		from, err := g.reader(b.files, g.bytes, &w.buffer)
		if c.trouble(name, err) {
			continue
		}
		for n := range g.entries {
			e := &g.entries[n]
			text, err := from.block(e)
			if err == nil {
				_, err = b.assemble(w, e.key, g, e, text)
			}
			c.trouble(name, err)
		}
		from.Close()
		b.open[i] = nil // its index is no longer needed
		c.fine(name, "%d %s", f.blocks, what)
	}
}

// months checks a file that is only appended to. Old months may be packed or
// moved, and what stands behind the end never counted.
func (c *checker) months(name string, known stretch) {
	f, err := c.s.files.Open(c.s.path(name), readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		c.fine(name, "not here: moved, or packed")
		return
	}
	if c.trouble(name, err) {
		return
	}
	defer f.Close()
	size, err := f.Size()
	if c.trouble(name, err) {
		return
	}
	if size < known.end {
		c.fine(name, "shorter than on record: %d of %d bytes: somebody took some away", size, known.end)
		return
	}
	sum, err := sumTo(f, known.end)
	switch {
	case c.trouble(name, err):
	case sum != known.crc && c.s.version.Format == format:
		c.damaged(name, 0, "the checksum of its %d bytes is %08x, recorded is %08x", known.end, sum, known.crc)
	default:
		c.fine(name, "%d bytes", known.end)
	}
}

func (c *checker) report() {
	b, err := c.s.Report()
	if c.trouble("cycle.json", err) || b == nil {
		return
	}
	c.fine("cycle.json", "the last cycle's report")
}

// leftovers mentions what a crash left and the next writer or fold removes.
func (c *checker) leftovers(entries []os.DirEntry) {
	for _, e := range entries {
		if e.Name() == unfinished || strings.HasSuffix(e.Name(), ".new") || !c.named[e.Name()] && slices.ContainsFunc(append([]string{"index."}, swept...), func(p string) bool { _, ok := numbered(e.Name(), p); return ok }) {
			c.fine(e.Name(), "left over, or on its way: it does not count")
		}
	}
	for _, dir := range []string{"jobs", "slots"} {
		in, err := os.ReadDir(c.s.path(dir))
		if c.s.version.Format == format && c.trouble(dir, err) {
			continue
		}
		for _, e := range in {
			if !c.named[dir+"/"+e.Name()] {
				c.fine(dir+"/"+e.Name(), "left over, or on its way: it does not count")
			}
		}
	}
}
