package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// Salvaged says what was saved of a damaged spool.
type Salvaged struct {
	Contents
	Lost int // findings that are damage
}

// Salvage writes what is whole in the spool dir, however damaged, into a new one in the directory to, which is empty or not there yet. each
// receives what is lost, what is copied unverified (Damaged), and the amounts of what is copied. The new spool is read back, all of it,
// before Salvage returns. Nothing is written to dir, and no lock is waited for. The UID_DOMAIN is that of dir or, when its VERSION does not
// check, that of the Options. The error says that nothing could be saved, and then there is no new spool.
func Salvage(dir, to string, o Options, each func(Finding)) (Salvaged, error) {
	v, err := newSalvage(dir, o, each)
	if err == nil {
		to, err = filepath.Abs(to)
	}
	if err == nil && Inside(to, v.s.dir) {
		err = fmt.Errorf("spool %s: it is in the old one, which must not change: give another directory", to)
	}
	if err == nil {
		err = v.identify()
	}
	if err == nil {
		v.to, err = newCreation(to, o, files.Disk{})
	}
	if err != nil {
		return Salvaged{}, err
	}
	err = v.save()
	if err == nil {
		err = v.to.readBack(o)
	}
	if err != nil {
		v.to.abandon()
		return Salvaged{}, fmt.Errorf("spool %s: %w", to, err)
	}
	v.to.n.Factories = len(v.to.state.factories.list)
	return Salvaged{v.to.n, v.lost}, nil
}

// salvage is a Salvage at work.
type salvage struct {
	s    *Spool // the old one
	to   *creation
	each func(Finding)
	lost int

	version version
	g       *generation // what its index says, or all that can be found
	indexed bool        // it is what its index says
	state   *state
	seq     uint64 // the last transaction
	started bool   // seq is known
	next    int
	journal []Logged
	claimed map[int][]pool.JobID // by cluster: jobs with a claim
	present map[pool.JobID]bool  // those of them that are in the queue
	last    map[int]int          // by cluster: the last proc that is in the queue
}

func newSalvage(dir string, o Options, each func(Finding)) (*salvage, error) {
	s, _, err := inspect(dir, o, "VERSION", "CURRENT", "jobs")
	if err != nil {
		return nil, err
	}
	return &salvage{s: s, each: each, claimed: map[int][]pool.JobID{}, present: map[pool.JobID]bool{}, last: map[int]int{}}, nil
}

// losing reports damage. The file is a whole path.
func (v *salvage) losing(file string, line int, format string, args ...any) {
	v.lost++
	v.each(Finding{File: file, Line: line, Damaged: true, What: legible(fmt.Sprintf(format, args...))})
}

func (v *salvage) telling(file, format string, args ...any) {
	v.each(Finding{File: file, What: fmt.Sprintf(format, args...)})
}

// failed reports an error about a file, nil for none, and what follows from it; it reports whether there was one.
func (v *salvage) failed(file string, err error, so string) bool {
	var d *DamageError
	switch {
	case err == nil:
		return false
	case errors.As(err, &d):
		v.losing(d.File, d.Line, "%s: %s", d.Why, so)
	case errors.Is(err, fs.ErrNotExist):
		v.losing(file, 0, "the file is missing: %s", so)
	default:
		v.losing(file, 0, "%v: %s", reason(err), so)
	}
	return true
}

// identify finds out whose spool it is.
func (v *salvage) identify() (err error) {
	file := v.s.path("VERSION")
	v.version, err = v.s.readVersion()
	if v.version.Domain == "" {
		if v.s.ofNewer(err) {
			return fmt.Errorf("spool %s: %w", v.s.dir, err)
		}
		why := "it does not check"
		if errors.Is(err, fs.ErrNotExist) {
			why = "the file is missing"
		}
		domain := v.s.options.UIDDomain
		if domain == "" {
			return fmt.Errorf("spool %s: its VERSION is lost, and with it its UID_DOMAIN: say which it was, by UID_DOMAIN in the configuration", v.s.dir)
		}
		if v.version, err = newVersion(domain); err != nil {
			return err
		}
		v.losing(file, 0, "%s: the new spool has another id, and the UID_DOMAIN %s of the configuration", why, domain)
	}
	v.s.version = v.version
	if domain := v.s.options.UIDDomain; domain != "" && domain != v.version.Domain {
		return errOtherDomain(v.s.dir, v.version.Domain, domain)
	}
	return nil
}

// numbers returns the numbers of the files of that prefix, ascending.
func (v *salvage) numbers(prefix string) (list []int) {
	entries, _ := os.ReadDir(v.s.dir)
	for _, e := range entries {
		if n, ok := numbered(e.Name(), prefix); ok {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// save makes the new spool.
func (v *salvage) save() error {
	v.basis()
	v.replay()
	for _, part := range []func() error{v.claimedJobs, v.clusters, v.slots, v.rows, v.history, v.log, v.handWritten, v.report} {
		if err := part(); err != nil {
			return err
		}
	}
	v.version.Domain, v.version.Renaming = v.version.domainAt(v.seq), ""
	return v.to.finish(v.version, v.seq, max(v.next, v.to.lastCluster()+1, v.to.lastFactory()+1))
}

// basis finds the generation that the journal is put on.
func (v *salvage) basis() {
	s := v.s
	current, err := v.current()
	damaged := v.failed(s.path("CURRENT"), err, "the newest index is taken instead")
	if !damaged {
		v.next, v.seq = current.Next, 0
		g, err := s.readGeneration(current.Generation)
		if !v.failed(s.indexFile(current.Generation), err, "what it would name is looked for") {
			v.take(g)
			return
		}
	}
	list := v.numbers("index.")
	for _, n := range slices.Backward(list) {
		if g, err := s.readGeneration(n); err == nil {
			v.take(g)
			return
		}
	}
	number := current.Generation
	if damaged {
		journals := v.numbers("journal.")
		number = slices.Max(append(append(journals, list...), 1))
	}
	v.losing(s.indexFile(number), 0, "no index is left: every segment and table there is counts, also such as were out of use")
	v.g = v.scan(number)
}

// current returns what CURRENT says, unless it is damaged.
func (v *salvage) current() (ack, error) {
	current, err := v.s.current()
	if err == nil {
		err = v.s.superseded(current)
	}
	return current, err
}

// take makes a generation the basis.
func (v *salvage) take(g *generation) {
	v.g, v.indexed, v.started = g, true, true
	v.seq, v.next = g.base.Seq, max(v.next, g.base.Next)
}

// scan makes a generation of all that was written up to one.
func (v *salvage) scan(number int) *generation {
	g := noGeneration(number)
	g.jobs = scanSegments[int](v.s, "jobs", number)
	g.slots = scanSegments[string](v.s, "slots", number)
	for _, table := range tableNames() {
		for _, n := range slices.Backward(v.numbers(table + ".")) {
			name := fmt.Sprintf("%s.%d", table, n)
			b, err := files.Contents(v.s.files, v.s.path(name))
			if n > number || err != nil {
				continue
			}
			g.tables[table] = tableFile{name, int64(len(b)), strings.Count(string(b), "\n") - 1, checksum(b)}
			break
		}
	}
	for folder, months := range map[string]map[string]stretch{"history": g.history, "log": g.log} {
		entries, _ := os.ReadDir(v.s.path(folder))
		for _, e := range entries {
			if month := strings.TrimSuffix(e.Name(), ".ads"); aMonth.MatchString(month) {
				if info, err := e.Info(); err == nil {
					months[month] = stretch{end: info.Size()}
				}
			}
		}
	}
	return g
}

// replay takes the transactions of the journal, or when it is not certain which one is in force, of all there are.
func (v *salvage) replay() {
	v.state = newState(v.s, pinned{generation: v.g})
	current, err := v.current()
	if err == nil && current.Generation == v.g.number {
		v.replayOne(current, true)
		return
	}
	if err != nil {
		current = ack{Generation: v.g.number}
		if f, err := v.s.files.Open(v.s.path("lock"), files.ReadOnly, 0); err == nil {
			if a, state, err := v.s.readAck(f); err == nil && state == ackGood {
				current.Generation = a.Generation
			}
			f.Close()
		}
	}
	list := v.numbers("journal.")
	if !slices.Contains(list, current.Generation) {
		list = append(list, current.Generation) // to say that it is missing
	}
	for _, n := range list {
		if n == current.Generation {
			v.replayOne(current, true)
		} else {
			v.replayOne(ack{Generation: n}, false)
		}
	}
}

// replayOne takes the transactions of a journal that follow those already taken. It has to be there, if it is the one in force.
func (v *salvage) replayOne(current ack, inForce bool) {
	path := v.s.journal(current.Generation)
	b, err := files.Contents(v.s.files, path)
	if err != nil {
		if inForce {
			v.failed(path, err, "all since the last fold is lost")
		}
		return
	}
	line, taken := 1, 0
	for len(b) > 0 {
		at, f := nextFrame(b)
		if f.Size == 0 {
			break
		}
		if !v.started {
			v.started, v.seq = true, f.Seq-1
		}
		if at > 0 || f.Seq != v.seq+1 {
			v.between(path, line, b, at, f.Seq)
		}
		line += bytes.Count(b[:at], newline)
		if f.Seq > v.seq {
			v.takeFrame(path, line, f)
			taken++
		}
		line += bytes.Count(b[at:at+f.Size], newline)
		b = b[at+f.Size:]
	}
	if inForce {
		v.tail(path, line, b, current)
	}
	v.telling(path, "%s taken", plural.Pick(taken, "1 transaction is", "%d transactions are"))
}

// between reports what does not check before a transaction that does, which stands at at.
func (v *salvage) between(path string, line int, b []byte, at int, seq uint64) {
	_, why := parseFrame(b, v.seq+1)
	switch {
	case seq > v.seq+1:
		v.lostOnes(path, line, v.seq+1, seq-1, why)
	case at > 0:
		v.losing(path, line, "%d bytes are no transaction and are left out", at)
	case seq > v.g.base.Seq && path == v.s.journal(v.g.number):
		v.losing(path, line, "transaction %d stands here once more", seq)
	}
}

// lostOnes reports transactions that do not check; why speaks of the first.
func (v *salvage) lostOnes(path string, line int, first, last uint64, why error) {
	if first < last {
		v.losing(path, line, "transactions %d to %d are lost: %v", first, last, why)
		return
	}
	text := strings.TrimPrefix(why.Error(), fmt.Sprintf("transaction %d: ", first))
	if text == fmt.Sprintf("no transaction %d here", first) {
		text = "it does not stand here"
	}
	v.losing(path, line, "transaction %d is lost: %s", first, text)
}

func (v *salvage) takeFrame(path string, line int, f frame) {
	v.seq, v.next = f.Seq, max(v.next, f.Next)
	l, err := f.logged()
	if err == nil {
		l.Earlier, _ = v.state.earlier(f.Body) // without what is lost of slots
	}
	v.failed(path, err, fmt.Sprintf("the log lacks transaction %d", f.Seq))
	if err == nil {
		v.journal = append(v.journal, l)
	}
	err = v.state.take(f.Body, f.Seq, path, line+1)
	v.failed(path, err, fmt.Sprintf("the rest of transaction %d is lost", f.Seq))
}

// tail judges what stands behind the last transaction of the journal in force.
func (v *salvage) tail(path string, line int, b []byte, current ack) {
	known, sure, err := v.s.acknowledged(current)
	if err != nil {
		sure = false
	}
	last := v.seq
	v.seq, v.next = max(v.seq, known.Seq), max(v.next, known.Next)
	switch {
	case !v.started && known.End > 0:
		v.losing(path, line, "its transactions, up to number %d, are lost", known.Seq)
	case v.started && known.Seq > last:
		_, why := parseFrame(b, last+1)
		v.lostOnes(path, line, last+1, known.Seq, why)
	case len(b) > 0 && sure:
		v.telling(path, "%d bytes of a transaction that was never completed are left out", len(b))
	case len(b) > 0:
		v.losing(path, line, "%d bytes are no transaction and are left out; the lock file, which would say whether they ever counted, does not check either", len(b))
	}
}

// nextFrame finds the first whole transaction in b, and where it begins; its size is 0 when there is none.
func nextFrame(b []byte) (at int, f frame) {
	for at < len(b) {
		if rest, ok := bytes.CutPrefix(b[at:], []byte("T ")); ok {
			digits, _, _ := bytes.Cut(rest[:min(len(rest), 24)], []byte(" "))
			if seq, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
				if f, err := parseFrame(b[at:], seq); err == nil {
					return at, f
				}
			}
		}
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return len(b), frame{}
}
