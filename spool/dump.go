package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/logtext"
)

// dumpFormat is the number of the notation of dumps.
const dumpFormat = 1

// Dump writes all that the spool holds as ads in long form, a blank line behind each (dumptext): clusters with their procs, slots, claims,
// submitters, slots left alone, tallies, marks, factories, the ads of the jobs that left, who did what, the files of slots.d and the last
// report, as of one transaction. A spool that was folded meanwhile, or restored from its dump, gives the same bytes again. Everything is
// checked while it is read; after any error the output is not a valid dump, because it lacks the last ad. In memory are the journal and one
// segment or cluster.
func (s *Spool) Dump(w io.Writer) (err error) {
	if s.inUse {
		return errNested
	}
	d := &dumping{spool: s, Writer: dumptext.Writer{To: w}}
	if err := twice(d.read); err != nil {
		return err
	}
	if d.domain, err = d.domainThen(); err != nil {
		return err
	}
	defer d.state.base.release()
	for _, part := range []func() error{
		d.heading, d.clusters, d.slots, d.rows, d.history, d.log, d.handWritten, d.report, d.last, d.Flush,
	} {
		err := part()
		if isDamage(err) && d.outdated() {
			return errors.New("a month was archived meanwhile: run the command again")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outdated reports whether a month that is to be dumped has been archived since.
func (d *dumping) outdated() bool {
	now, ok := d.spool.recordedNow()
	if !ok {
		return false
	}
	less := func(then, now map[string]stretch) bool {
		for month, known := range then {
			if now[month].end < known.end {
				return true
			}
		}
		return false
	}
	return less(d.state.history, now.history) || less(d.state.log, now.log)
}

// dumping is a Dump at work.
type dumping struct {
	dumptext.Writer
	spool   *Spool
	state   *state
	at      position
	journal []Logged // who did what, as the journal has it
	lines   [][]byte
	n       Contents
	domain  string // as of that transaction
}

// domainThen returns the domain as of the transaction up to which was read.
func (d *dumping) domainThen() (string, error) {
	v, err := d.spool.readVersion()
	if err == nil && v.Renaming == "" && v.Domain != d.spool.domain {
		err = errors.New("the domain was renamed meanwhile: run the command again")
	}
	return v.domainAt(d.at.seq), err
}

// Contents is how much a spool holds.
type Contents struct {
	Clusters, Jobs, Slots, Claims, Submitters int
	Left                                      int `json:"HistoryJobs"`
	Factories                                 int // counted in what Restore and Salvage return
}

// read brings a state of its own to the journal's end.
func (d *dumping) read() error {
	s := d.spool
	base, current, err := s.pinCurrent()
	if err != nil {
		return err
	}
	d.state, d.at, d.journal = newState(s, base), base.start(), nil
	err = s.advance(&d.at, current, func(f frame, line int) error {
		l, err := f.loggedIn(d.state, s.journal(d.at.generation), line)
		if err != nil {
			return err
		}
		d.journal = append(d.journal, l)
		return d.state.take(f.Body, f.Seq, s.journal(d.at.generation), line+1)
	})
	if err != nil {
		base.release()
	}
	return err
}

func (d *dumping) heading() error {
	d.Begin("Spool")
	d.Number("DumpFormat", dumpFormat)
	d.Text("UIDDomain", d.domain)
	d.Text("SpoolId", d.spool.version.ID)
	d.Number("Seq", int64(d.at.seq))
	d.Number("NextCluster", int64(d.at.next))
	return d.End()
}

func (d *dumping) rows() error {
	for _, t := range d.state.tables {
		if err := t.dump(d); err != nil {
			return err
		}
	}
	d.n.Claims, d.n.Submitters = len(d.state.claims.list), len(d.state.submitters.list)
	return nil
}

// row writes a row of a small table, whose attributes are all ours.
func (d *dumping) row(kind string, ad *classad.Ad) error {
	d.Begin(kind)
	for _, name := range ad.OwnNames() {
		e, _ := ad.Lookup(name)
		d.Attribute(attrtext.Append(nil, name, e)[1:])
	}
	return d.End()
}

// handWritten writes the files of slots.d.
func (d *dumping) handWritten() error {
	names, err := d.spool.handWrittenFiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := files.Contents(d.spool.files, d.spool.path("slots.d/"+name))
		if err != nil {
			return err
		}
		d.Begin("HandWritten")
		d.Text("File", name)
		d.Texts("Lines", strings.Split(string(b), "\n"))
		if err := d.End(); err != nil {
			return err
		}
	}
	return nil
}

// handWrittenFiles returns the names of the files in slots.d.
func (s *Spool) handWrittenFiles() (names []string, err error) {
	if s.forked != nil {
		return nil, nil
	}
	entries, err := os.ReadDir(s.path("slots.d"))
	for _, e := range entries {
		if info, err := os.Stat(s.path("slots.d/" + e.Name())); err == nil && info.Mode().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d *dumping) report() error {
	b, err := d.spool.Report()
	if errors.Is(err, ErrOutdated) {
		d.spool.warn("%v: it is left out", err)
		return nil
	}
	if b == nil || err != nil {
		return err
	}
	d.Begin("Report")
	d.Texts("Lines", strings.Split(string(b), "\n"))
	return d.End()
}

// last writes the ad that tells that the dump is whole.
func (d *dumping) last() error {
	sum, ads := d.Sum, d.Ads
	d.Begin("End")
	d.Number("Ads", int64(ads))
	d.Number("Clusters", int64(d.n.Clusters))
	d.Number("Jobs", int64(d.n.Jobs))
	d.Number("Slots", int64(d.n.Slots))
	d.Number("Claims", int64(d.n.Claims))
	d.Number("Submitters", int64(d.n.Submitters))
	d.Number("Left", int64(d.n.Left))
	d.Text("Checksum", fmt.Sprintf("%08x", sum))
	return d.End()
}

func (d *dumping) clusters() error {
	return eachBlock(d.state.jobs, clusterEntry, clusterBlock, d.cluster)
}

// cluster writes a cluster whose lines are those of a segment.
func (d *dumping) cluster(id int, text []byte) error {
	d.n.Clusters++
	d.Begin("Cluster")
	d.Number("Cluster", int64(id))
	d.lines = d.lines[:0]
	run := record{}
	for _, line := range (chunk{text: text}).lines() {
		r := record{}
		rest, err := r.job(line)
		switch {
		case err != nil:
			return err
		case r.Cluster != id || (r.Kind == 'C' || r.Kind == 'Y') && run.Kind != 0 || r.Kind == 'A' && r.Procs != run.Procs:
			return fmt.Errorf("%.80q: not expected here", line)
		case r.Kind == 'Y':
			d.Text("Owner", r.Name)
			d.Number("Bytes", r.End)
			continue
		case r.Kind == 'N':
			if err := d.Attributes(d.lines); err != nil {
				return err
			}
			run, d.lines = r, d.lines[:0]
			d.procs(r)
			continue
		}
		d.lines = append(d.lines, rest)
	}
	return d.Attributes(d.lines)
}

func (d *dumping) procs(r record) {
	d.n.Jobs += r.Count()
	d.Begin("Procs")
	d.Number("Cluster", int64(r.Cluster))
	d.Number("First", int64(r.First))
	d.Number("Last", int64(r.Last))
	d.Number("Seq", int64(r.Seq))
}

// job reads a line of a cluster's block, an attribute's without looking at it: that is the rest.
func (r *record) job(line []byte) (rest []byte, err error) {
	if len(line) < 3 {
		return nil, errors.New("not a record")
	}
	switch r.Kind = line[0]; r.Kind {
	case 'C':
		r.Cluster, rest, err = number(line[2:], ' ')
	case 'A':
		rest, err = r.procs(line[2:])
	case 'Y':
		err = r.parseCharge(line[2:])
	case 'N':
		if rest, err = r.procs(line[2:]); err == nil {
			r.Seq, err = sequence(rest, 0)
		}
	default:
		err = fmt.Errorf("%.80q: not expected here", line)
	}
	return rest, err
}

func (d *dumping) slots() error { return eachBlock(d.state.slots, slotEntry, slotBlock, d.slot) }

// slot writes a slot whose lines are those of a segment.
func (d *dumping) slot(name string, text []byte) error {
	d.n.Slots++
	d.Begin("Slot")
	d.Text("Name", name)
	d.lines = d.lines[:0]
	for n, line := range (chunk{text: text}).lines() {
		if len(line) < 3 {
			return errors.New("not a record")
		}
		r := record{Kind: line[0]}
		rest, err := r.slot(line[2:])
		switch {
		case err != nil:
			return err
		case r.Slot != name || (r.Kind == 'S') != (n == 0) || n > 0 && r.Kind != 'G':
			return fmt.Errorf("%.80q: not expected here", line)
		case n > 0:
			d.lines = append(d.lines, rest)
			continue
		}
		if r.Seq, err = sequence(rest, 0); err != nil {
			return err
		}
		d.Number("Seq", int64(r.Seq))
	}
	return d.Attributes(d.lines)
}

func (d *dumping) history() error {
	for _, month := range slices.Sorted(maps.Keys(d.state.history)) {
		lines := dumptext.Lines{}
		end := func() error {
			if len(lines.All) == 0 {
				return nil
			}
			d.n.Left++
			d.Begin("History")
			d.Text("Month", month)
			err := d.Attributes(lines.Split())
			lines.Clear()
			return err
		}
		err := d.spool.eachLine(historyFile(month), d.state.history[month], func(_ int, line []byte) error {
			switch {
			case len(line) == 0:
				return end()
			case !bytes.HasPrefix(line, []byte(footerHead)):
				lines.Add(line)
			}
			return nil
		})
		if err == nil {
			err = end()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dumping) log() error {
	months := map[string][]Logged{}
	for month := range d.state.log {
		months[month] = nil
	}
	for _, l := range d.journal {
		month := monthOf(l.Machine)
		months[month] = append(months[month], l)
	}
	for _, month := range slices.Sorted(maps.Keys(months)) {
		if known, ok := d.state.log[month]; ok {
			if err := d.logMonth(month, known); err != nil {
				return err
			}
		}
		for _, l := range months[month] {
			if err := d.transaction(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// logMonth writes what a month's log holds.
func (d *dumping) logMonth(month string, known stretch) error {
	name := logFile(month)
	path := d.spool.path(name)
	r, n := logtext.Reader{Each: d.transaction}, 0
	if err := d.spool.eachLine(name, known, func(_ int, line []byte) error {
		err := inLog(&r, path, n, r.Line(line))
		n++
		return err
	}); err != nil {
		return err
	}
	return r.End()
}

func (d *dumping) transaction(l Logged) error {
	d.Begin("Transaction")
	d.Number("Seq", int64(l.Seq))
	d.Text("Machine", l.Machine.UTC().Format(logtext.Layout))
	d.Text("Policy", l.Policy.UTC().Format(logtext.Layout))
	d.Number("UID", int64(l.UID))
	d.Text("User", l.User)
	d.Text("Program", l.Program)
	d.Text("Op", l.Op)
	d.Texts("Args", l.Args)
	d.Text("What", l.What)
	if len(l.Earlier) > 0 {
		d.Texts("Earlier", l.Earlier)
	}
	return d.End()
}

// eachLine hands over the lines that count of a file that is only appended to, from 0. A *DamageError says that the file is not as
// recorded: then the lines that were handed over may not be either.
func (s *Spool) eachLine(name string, known stretch, do func(n int, line []byte) error) error {
	if known.end == 0 {
		return nil
	}
	path := s.path(name)
	f, err := s.files.Open(path, files.ReadOnly, 0)
	if err != nil {
		return missing(path, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	in := dumptext.NewLineReader(io.NewSectionReader(f, 0, min(size, known.end)))
	for n := 0; ; n++ {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = do(n, line)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case size < known.end:
		return shorter(path, size, known)
	case in.Sum != known.crc:
		return otherSum(path, in.Sum, known)
	}
	return nil
}

// digest writes the digest of a factory, a block an ad.
func (d *dumping) digest(f factory) error {
	return d.spool.eachDigestBlock(f, func(block []byte) error {
		d.Begin("Digest")
		d.Number("Cluster", int64(f.Cluster))
		d.Texts("Lines", strings.Split(string(block), "\n"))
		return d.End()
	})
}

// factories adds the factories whose digests are whole.
func (v *salvage) factories(rows map[int]factory) error {
	for _, cluster := range slices.SortedFunc(maps.Keys(rows), cmp.Compare[int]) {
		f := rows[cluster]
		so := fmt.Sprintf("the factory of cluster %d is lost: its procs from %d on are not created", cluster, f.Next)
		path := v.s.path(digestName(cluster))
		if last, ok := v.last[cluster]; ok && last >= f.Next {
			v.losing(path, 0, "%s; what made proc %d is lost", so, last)
			continue
		}
		if v.failed(path, v.s.eachDigestBlock(f, func([]byte) error { return nil }), so) {
			continue
		}
		err := v.to.state.factories.add(v.to, f)
		if err == nil {
			err = v.s.eachDigestBlock(f, func(block []byte) error { return v.to.digest(cluster, block) })
		}
		if err != nil {
			return err
		}
		v.telling(path, "%s", plural.Count(int(f.bytes), "byte"))
	}
	return nil
}
