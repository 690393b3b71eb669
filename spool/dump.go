package spool

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// dumpFormat is the number of the notation of dumps.
const dumpFormat = 1

// Dump writes all that the spool holds as ads in long form, a blank line behind
// each (notation.go): clusters with their procs, slots, claims, submitters, slots
// left alone, tallies, marks, factories, the ads of the jobs that left, who did what, the files of slots.d
// and the last report, as of one transaction. A spool that was folded meanwhile,
// or restored from its dump, gives the same bytes again. Everything is checked
// while it is read; after any error what was written is no dump, for it lacks
// the last ad. In memory are the journal and one segment or cluster.
func (s *Spool) Dump(w io.Writer) (err error) {
	if s.inUse {
		return errNested
	}
	d := &dumping{spool: s, adWriter: adWriter{to: w}}
	if err := twice(d.read); err != nil {
		return err
	}
	if d.domain, err = d.domainThen(); err != nil {
		return err
	}
	defer d.state.base.release()
	for _, part := range []func() error{
		d.heading, d.clusters, d.slots, d.rows, d.history, d.log, d.handWritten, d.report, d.last, d.flush,
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
	adWriter
	spool   *Spool
	state   *state
	at      position
	journal []Logged // who did what, as the journal has it
	lines   [][]byte
	n       amounts
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

// amounts is how much a spool holds.
type amounts struct {
	Clusters, Jobs, Slots, Claims, Submitters int
	Left                                      int // ads of the history
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
		l, err := f.logged()
		if err != nil {
			return &DamageError{s.journal(d.at.generation), line, err.Error()}
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
	d.begin("Spool")
	d.number("DumpFormat", dumpFormat)
	d.text("UIDDomain", d.domain)
	d.text("SpoolId", d.spool.version.ID)
	d.number("Seq", int64(d.at.seq))
	d.number("NextCluster", int64(d.at.next))
	return d.end()
}

func (d *dumping) rows() error {
	claims, err := d.state.claims.all()
	if err != nil {
		return err
	}
	for _, id := range slices.SortedFunc(maps.Keys(claims), pool.JobID.Compare) {
		ad := claimAd(claims[id])
		ad.SetInt("Seq", int64(claims[id].Seq))
		if err := d.row("Claim", ad); err != nil {
			return err
		}
	}
	d.n.Claims = len(claims)
	d.n.Submitters, err = dumpRows(d, "Submitter", d.state.submitters, strings.Compare, submitterAd)
	if err == nil {
		_, err = dumpRows(d, "Backoff", d.state.backoffs, strings.Compare, backoffAd)
	}
	if err == nil {
		_, err = dumpRows(d, "Tally", d.state.tallies, accountant.Key.Compare, tallyAd)
	}
	if err == nil {
		err = d.marks()
	}
	if err == nil {
		err = d.factories()
	}
	return err
}

// dumpRows writes the rows of a small table, by key, and returns how many.
func dumpRows[K comparable, V any](d *dumping, kind string, t *table[K, V], order func(a, b K) int, adOf func(V) *classad.Ad) (int, error) {
	rows, err := t.all()
	if err != nil {
		return 0, err
	}
	for _, k := range slices.SortedFunc(maps.Keys(rows), order) {
		if err := d.row(kind, adOf(rows[k])); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

func (d *dumping) marks() error {
	marks, err := d.state.marks.all()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		d.begin("Mark")
		d.text("Name", name)
		d.text("Text", marks[name].Text)
		if err := d.end(); err != nil {
			return err
		}
	}
	return nil
}

// handWritten writes the files of slots.d.
func (d *dumping) handWritten() error {
	names, err := d.spool.handWrittenFiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := contents(d.spool.files, d.spool.path("slots.d/"+name))
		if err != nil {
			return err
		}
		d.begin("HandWritten")
		d.text("File", name)
		d.texts("Lines", strings.Split(string(b), "\n"))
		if err := d.end(); err != nil {
			return err
		}
	}
	return nil
}

// handWrittenFiles returns the names of the files in slots.d.
func (s *Spool) handWrittenFiles() (names []string, err error) {
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
	if err == nil && b != nil && d.spool.version.Format < format && !sealed(b) { // before it had a checksum
		if b, err = seal(b); err != nil {
			return nil // it was written by nobody who knew how
		}
	}
	if b == nil || err != nil {
		return err
	}
	d.begin("Report")
	d.texts("Lines", strings.Split(string(b), "\n"))
	return d.end()
}

// last writes the ad that tells that the dump is whole.
func (d *dumping) last() error {
	sum, ads := d.sum, d.ads
	d.begin("End")
	d.number("Ads", int64(ads))
	d.number("Clusters", int64(d.n.Clusters))
	d.number("Jobs", int64(d.n.Jobs))
	d.number("Slots", int64(d.n.Slots))
	d.number("Claims", int64(d.n.Claims))
	d.number("Submitters", int64(d.n.Submitters))
	d.number("Left", int64(d.n.Left))
	d.text("Checksum", fmt.Sprintf("%08x", sum))
	return d.end()
}
