package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
	"fairspool/spool/internal/logtext"
	"fairspool/spool/internal/reserve"
)

// Finding is what a look at a spool found out about one of its files.
type Finding struct {
	File    string // with the directory
	Line    int    // 0: the whole file
	Damaged bool
	Older   bool   // it is of a generation that is no longer in force
	What    string // what is damaged, or what is there
}

// Check reads every byte of every file that the spool has written, also while others work with it, and tells each what it finds: all
// damage, and of sound files what is in them. It changes nothing. The error says that nothing could be looked at, such as a spool of a
// later format.
func Check(dir string, o Options, each func(Finding)) (sound bool, err error) {
	s, entries, err := inspect(dir, o, "VERSION", "CURRENT")
	if err != nil {
		return false, err
	}
	c := &checker{s: s, each: each, named: map[string]bool{}, sound: true}
	if err := c.version(); err != nil {
		return false, fmt.Errorf("spool %s: %w", s.dir, err)
	}
	for _, name := range []string{"lock", "negotiate.lock", "fold.lock"} {
		c.lockFile(name)
	}
	c.folders()
	c.generations(entries)
	c.report()
	c.samples()
	c.reserve()
	c.leftovers(entries)
	return c.sound, nil
}

// checker is a check at work.
type checker struct {
	s     *Spool
	each  func(Finding)
	named map[string]bool // files that belong to a generation, or were told of
	sound bool
	quiet bool // what is fine is not told
	blind int  // files up to this generation may belong to one whose index is damaged
	why   string
	lost  bool // the generation in force is not known

	digestless string // why the digests were not looked at
}

// reserve tells of the room that is kept for when the disk is full, if there is any.
func (c *checker) reserve() {
	if held, size := reserve.Held(c.s.path(reserveName)); size > 0 {
		c.fine(reserveName, "room for %d of %d KB", held>>10, ReserveSize>>10)
	}
}

func (c *checker) fine(name, format string, args ...any) {
	if !c.quiet {
		c.each(Finding{File: c.s.path(name), What: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) damaged(name string, line int, format string, args ...any) {
	c.sound = false
	c.each(Finding{File: c.s.path(name), Line: line, Damaged: true, What: legible(fmt.Sprintf(format, args...))})
}

// trouble reports an error about a file, nil for none, and reports whether there was one.
func (c *checker) trouble(name string, err error) bool {
	var d *DamageError
	switch {
	case err == nil:
		return false
	case errors.As(err, &d):
		c.sound = false
		c.each(Finding{File: d.File, Line: d.Line, Damaged: true, What: legible(d.Why)})
	default:
		c.damaged(name, 0, "%v", reason(err))
	}
	return true
}

// version reads VERSION. The error says that the format is newer than what this program knows, which is no damage.
func (c *checker) version() error {
	v, err := c.s.readVersion()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = &DamageError{c.s.path("VERSION"), 1, "the file is missing"}
	case c.s.ofNewer(err):
		return err
	case err != nil && !isFile(err) && !isDamage(err):
		err = &DamageError{c.s.path("VERSION"), 1, "it does not read as it was written"}
	}
	c.s.version = v
	if !c.trouble("VERSION", err) {
		c.fine("VERSION", "format %d, UID_DOMAIN %s", format, v.Domain)
	}
	return nil
}

// ofNewer reports whether an error of readVersion is about a later format, and not about a digit of the number that was damaged: then a
// checksum is there, and is not right.
func (s *Spool) ofNewer(err error) bool {
	if err == nil || isDamage(err) || isFile(err) {
		return false
	}
	b, err := files.Contents(s.files, s.path("VERSION"))
	if err != nil {
		return false
	}
	_, _, err = endline.Cut(b)
	return err == nil || !bytes.Contains(b, []byte("\nend "))
}

// isFile reports whether an error is one of the file system.
func isFile(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

// lockFile checks what a lock file says. It may be empty or missing.
func (c *checker) lockFile(name string) {
	b, err := files.Contents(c.s.files, c.s.path(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return
	}
	if c.trouble(name, err) {
		return
	}
	for n := range (len(b) + lockline.Size - 1) / lockline.Size {
		if !c.lockLine(name, n) {
			c.damaged(name, n+1, "it does not read as it was written: the next writer writes it anew")
			return
		}
	}
	c.fine(name, "who holds it")
}

// lockLine reports whether a line of a lock file, which may be in the middle of being written, reads as it was written.
func (c *checker) lockLine(name string, n int) bool {
	for range ackReads {
		b, err := files.Contents(c.s.files, c.s.path(name))
		if err == nil && len(b) >= (n+1)*lockline.Size {
			line := b[n*lockline.Size : (n+1)*lockline.Size]
			if _, ok := lockline.Text(string(line)); (ok || lockline.IsEmpty(line)) && n < 2 {
				return true
			}
		}
	}
	return false
}

// generations checks every generation that there is, the one in force with its journal put to its tables and segments.
func (c *checker) generations(entries []os.DirEntry) {
	base, current, err := c.s.pinCurrent()
	if current != (ack{}) {
		if older := c.s.superseded(current); older != nil {
			base.release()
			current, err = ack{}, older // it counts as missing
		}
	}
	switch known := current != (ack{}); {
	case err == nil:
		defer base.release()
		c.fine("CURRENT", "generation %d", current.Generation)
		c.inForce(base, current)
	case known:
		c.fine("CURRENT", "generation %d", current.Generation)
		c.trouble(filepath.Base(c.s.indexFile(current.Generation)), err)
		c.miss(current.Generation)
		c.lost = true
	default:
		c.trouble("CURRENT", err)
		c.lost, c.blind, c.why = true, math.MaxInt, "CURRENT, which would say what counts, is damaged"
	}
	for _, e := range entries {
		n, ok := numbered(e.Name(), "index.")
		if !ok || current != (ack{}) && n >= current.Generation {
			continue // a later one is on its way, or was left by a crash
		}
		c.older(n, current == (ack{}))
	}
}

// miss notes that the index of a generation does not read, which was told.
func (c *checker) miss(number int) {
	c.named[filepath.Base(c.s.indexFile(number))] = true
	if number >= c.blind {
		c.blind, c.why = number, "the index that would name it is damaged"
	}
}

// older checks a generation that is no longer in force, or when CURRENT is lost may be.
func (c *checker) older(number int, unsure bool) {
	pin, moved := c.s.pinFile(c.s.indexFile(number))
	if moved != nil {
		return // it goes just now
	}
	defer pin.Unlock()
	g, err := c.s.readGeneration(number)
	if c.trouble(filepath.Base(c.s.indexFile(number)), err) {
		c.miss(number)
		return
	}
	if unsure {
		c.files(g)
		delete(c.named, filepath.Base(c.s.journal(number))) // it is not looked at
		return
	}
	c.quiet = true
	sound := c.files(g)
	c.quiet = false
	if sound {
		c.each(Finding{File: c.s.indexFile(number), Older: true, What: fmt.Sprintf("generation %d, kept for its readers", number)})
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
		if _, err := logtext.ParseHeader(string(f.head)); err != nil {
			return &DamageError{c.s.journal(p.generation), line, err.Error()}
		}
		return st.take(f.Body, f.Seq, c.s.journal(p.generation), line+1)
	})
	if c.trouble(filepath.Base(c.s.journal(base.number)), err) {
		c.digestless = "the journal, which would say what counts, is damaged"
		return
	}
	if sound {
		c.contents(st)
	}
	c.factories(st, p.next, sound)
	torn := ""
	if n := c.torn(p); n > 0 {
		torn = fmt.Sprintf(", and %s of one that was never completed", plural.Count(n, "byte"))
	}
	c.fine(filepath.Base(c.s.journal(base.number)), "%s%s", plural.Count(count, "transaction"), torn)
	for _, month := range slices.Sorted(maps.Keys(st.history)) {
		c.month(historyFile(month), st.history[month], func(known stretch) error {
			_, err := c.s.pastMonth(month, known, func(block) (bool, int, error) { return true, 0, nil })
			return err
		})
	}
	for _, month := range slices.Sorted(maps.Keys(st.log)) {
		c.month(logFile(month), st.log[month], func(known stretch) error {
			_, err := c.s.logMonth(month, known)
			return err
		})
	}
}

// torn returns how many bytes of a transaction that is not whole end the journal behind a position: those of a dead writer, or of one that
// is at it.
func (c *checker) torn(p position) int {
	f, err := c.s.files.Open(c.s.journal(p.generation), files.ReadOnly, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := files.Tail(f, p.off)
	if err != nil {
		return 0
	}
	for len(b) > 0 {
		f, err := parseFrame(b, p.seq+1)
		if err != nil {
			break
		}
		p.pass(f, b[:f.Size]) // it was added meanwhile
		b = b[f.Size:]
	}
	return len(b)
}

// contents makes all that is there, as the journal says.
func (c *checker) contents(st *state) {
	clusters, err := st.jobs.all(newWorker)
	_, err2 := st.slots.all(newWorker)
	all := []error{err, err2}
	for _, t := range st.tables {
		all = append(all, t.each())
	}
	for _, err := range all {
		if c.trouble("CURRENT", err) {
			return
		}
	}
	c.checkOwners(clusters, st)
	for _, claim := range st.claims.list {
		id := claim.Job
		i, ok := slices.BinarySearchFunc(clusters, id.Cluster, func(c *Cluster, k int) int { return c.ID - k })
		if ok {
			_, ok = clusters[i].run(id.Proc)
		}
		if !ok {
			c.damaged(filepath.Base(c.s.journal(st.base.number)), 0, "job %v has a claim and is not in the queue", id)
		}
	}
	for _, wrong := range pool.Contradictions(st.claims.list) {
		c.damaged(filepath.Base(c.s.journal(st.base.number)), 0, "%s", wrong.Why)
	}
}

// files checks the segments and tables of a generation, each once.
func (c *checker) files(g *generation) (sound bool) {
	before := c.sound
	c.sound = true
	name := filepath.Base(c.s.indexFile(g.number))
	c.fine(name, "%s, %s", plural.Count(len(g.jobs)+len(g.slots), "segment"), plural.Count(len(g.tables), "table"))
	checkSegments(c, newBlocks(c.s, "jobs", clusterKeys, g.jobs, clusterOf), "cluster", clusterEntry)
	checkSegments(c, newBlocks(c.s, "slots", slotKeys, g.slots, slotOf), "slot", slotEntry)
	for _, table := range slices.Sorted(maps.Keys(g.tables)) {
		t := g.tables[table]
		if c.named[t.name] {
			continue
		}
		if _, err := c.s.tableOf(g, table)(); !c.trouble(t.name, err) {
			c.fine(t.name, "%s", plural.Count(t.rows, "row"))
		}
	}
	g.name(c.named)
	sound = c.sound
	c.sound = before && sound
	return sound
}

// checkSegments checks every block of every segment by itself, and that the index has the summary of what it makes.
func checkSegments[K int | string, V any](c *checker, b *blocks[K, V], what string, entryOf func(*V) entry[K]) {
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
			var v *V
			if err == nil {
				v, err = b.assemble(w, e.key, g, e, text)
			}
			if err == nil && e.summary != "" && (v == nil || e.summary != entryOf(v).summary) {
				err = g.damage(b.files, e.at, 0, "the index has another summary of this %s: %.80q", what, e.summary)
			}
			c.trouble(name, err)
		}
		from.Close()
		b.open[i] = nil // its index is no longer needed
		c.fine(name, "%s", plural.Count(f.blocks, what))
	}
}

// month checks a file that is only appended to. What stands behind the recorded end never counted.
func (c *checker) month(name string, known stretch, read func(stretch) error) {
	if known.end == 0 {
		what := "archived"
		if _, err := os.Stat(c.s.path(name)); err == nil {
			what += "; what is here does not count"
		}
		c.fine(name, "%s", what)
		return
	}
	if !c.trouble(name, read(known)) {
		c.fine(name, "%s", plural.Count(int(known.end), "byte"))
	}
}

func (c *checker) report() {
	b, err := c.s.Report()
	switch {
	case errors.Is(err, ErrOutdated): // the next cycle leaves another one
		c.fine("cycle.json", "%v", ErrOutdated)
		return
	case c.trouble("cycle.json", err) || b == nil:
		return
	}
	c.fine("cycle.json", "the last cycle's report")
}

// leftovers mentions files that belong to nothing that was looked at: what a crash left and the next writer or fold removes, or, where an
// index is damaged, perhaps what it named.
func (c *checker) leftovers(entries []os.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		n, generational := generationOf(name)
		switch {
		case c.named[name]:
		case name == unfinished || strings.HasSuffix(name, ".new"):
			c.fine(name, leftOver)
		case generational:
			c.unnamed(name, n)
		}
	}
	for _, dir := range []string{"jobs", "slots"} {
		in, err := os.ReadDir(c.s.path(dir))
		if !errors.Is(err, fs.ErrNotExist) && c.trouble(dir, err) {
			continue
		}
		for _, e := range in {
			n, _ := numbered(filepath.Ext(e.Name()), ".")
			if name := dir + "/" + e.Name(); !c.named[name] {
				c.unnamed(name, n)
			}
		}
	}
	c.digestsLeft()
	if !c.lost {
		return
	}
	for _, dir := range []string{"history", "log"} {
		in, _ := os.ReadDir(c.s.path(dir))
		for _, e := range in {
			c.fine(dir+"/"+e.Name(), "not looked at: %s", c.why)
		}
	}
}

// folders mentions the folders that are missing. What the spool says that was in them is missing by itself.
func (c *checker) folders() {
	for _, name := range folders {
		if _, err := os.Lstat(c.s.path(name)); errors.Is(err, fs.ErrNotExist) {
			c.fine(name, "missing: the next command that writes makes it anew")
		}
	}
}

// generationOf returns the number of a file that belongs to a generation by its name.
func generationOf(name string) (n int, ok bool) {
	if n, ok = numbered(name, "index."); ok {
		return n, true
	}
	return swept(name)
}

const leftOver = "left over, or on its way: it does not count"

// unnamed mentions a file of a generation, by its name, that no index names.
func (c *checker) unnamed(name string, generation int) {
	if c.blind > 0 && generation <= c.blind {
		c.fine(name, "not looked at: %s", c.why)
		return
	}
	c.fine(name, leftOver)
}
