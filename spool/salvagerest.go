package spool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool/internal/cyclejson"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/left"
	"fairspool/spool/internal/logtext"
	"fairspool/spool/internal/takers"
)

// claimedJobs reads the claims, to know which jobs they need.
func (v *salvage) claimedJobs() error {
	for id := range salvageRows(v, v.state.claims) {
		v.claimed[id.Cluster] = append(v.claimed[id.Cluster], id)
	}
	return nil
}

// rows adds the small tables.
func (v *salvage) rows() error {
	for _, t := range v.state.tables {
		if err := t.salvage(v); err != nil {
			return err
		}
	}
	return nil
}

// claims adds the claims whose jobs are there and that do not contradict others.
func (v *salvage) claims(rows map[pool.JobID]pool.Claim) error {
	var sound []pool.Claim
	for _, id := range slices.SortedFunc(maps.Keys(rows), pool.JobID.Compare) {
		if !v.present[id] {
			v.losing(v.s.journal(v.g.number), 0, "the claim of job %v on slot %s is lost, because the job is missing", id, rows[id].Slot)
			continue
		}
		sound = append(sound, rows[id])
	}
	for _, x := range pool.Contradictions(sound) {
		v.losing(v.s.journal(v.g.number), 0, "the claim of job %v on slot %s is lost: %s", x.Claim.Job, x.Claim.Slot, x.Why)
		sound = slices.DeleteFunc(sound, func(c pool.Claim) bool { return c.Job == x.Claim.Job })
	}
	for _, c := range sound {
		if err := v.to.state.claims.add(v.to, c); err != nil {
			return err
		}
	}
	return nil
}

// salvageRows returns the rows of a table. Those of a file that does not check are taken if they can be read, for losing all is worse.
func salvageRows[K comparable, V any](v *salvage, t *table[K, V]) map[K]V {
	name := t.kind.table
	if t.load != nil {
		if file, err := t.load(); err != nil {
			path := v.s.path(v.g.tables[name].name)
			v.failed(path, err, "its rows are taken as they read, unverified: check them")
			unprovenRows(v, path, t)
			t.load = nil
		} else {
			t.load = func() (chunk, error) { return file, nil }
			v.telling(file.file, "%s taken", plural.Pick(v.g.tables[name].rows, "1 row is", "%d rows are"))
		}
	}
	for k, c := range t.texts { // the journal's are proven, and parse
		if c.text == nil {
			continue
		}
		if _, err := t.kind.parse(c.text, c.seq); err != nil {
			v.losing(c.file, c.line, "a row is lost: %v", err)
			delete(t.texts, k)
		}
	}
	all, err := t.all()
	v.failed(v.s.dir, err, "the rest of the "+name+" is lost")
	return all
}

// unprovenRows takes the rows of a table's file that can be read, unless the journal has newer ones.
func unprovenRows[K comparable, V any](v *salvage, path string, t *table[K, V]) {
	b, err := files.Contents(v.s.files, path)
	if err != nil {
		return
	}
	for n, line := range (chunk{text: b}).lines() {
		if bytes.HasPrefix(line, []byte("end ")) {
			continue
		}
		k, err := t.kind.keyIn(line)
		if err == nil {
			_, err = t.kind.parse(line, 0)
		}
		if err != nil {
			v.losing(path, n+1, "a row is lost: %v", err)
			continue
		}
		if _, noted := t.texts[k]; !noted {
			t.texts[k] = chunk{text: line, file: path, line: n + 1}
		}
	}
}

// there returns how many bytes are left of what was recorded of a file that is only appended to; ok reports whether it can be read. It
// reports what is missing.
func (v *salvage) there(name string, known stretch, recorded bool) (size int64, ok bool) {
	path := v.s.path(name)
	if known.end == 0 {
		v.telling(path, "archived")
		return 0, false
	}
	f, err := v.s.files.Open(path, files.ReadOnly, 0)
	if v.failed(path, err, "all in it is lost") {
		return 0, false
	}
	defer f.Close()
	size, err = f.Size()
	if v.failed(path, err, "all in it is lost") {
		return 0, false
	}
	switch {
	case !recorded:
		v.losing(path, 0, "no record says what of it counts: it is copied as far as it can be read")
	case size < known.end:
		v.losing(path, 0, "%d bytes are there, recorded are %d: the rest is lost", size, known.end)
	}
	return min(size, known.end), true
}

// eachLine reads the lines of what is left of a file that is only appended to. What keeps it from reading on is reported.
func (v *salvage) eachLine(name string, size int64, do func(n int, line []byte) error) (sum uint32, err error) {
	path := v.s.path(name)
	f, err := v.s.files.Open(path, files.ReadOnly, 0)
	if v.failed(path, err, "all in it is lost") {
		return 0, nil
	}
	defer f.Close()
	in := dumptext.NewLineReader(io.NewSectionReader(f, 0, size))
	for n := 0; ; n++ {
		line, err := in.Next()
		if errors.Is(err, io.EOF) || v.failed(path, err, "the rest of it is lost") {
			return in.Sum, nil
		}
		if err := do(n, line); err != nil {
			return in.Sum, err
		}
	}
}

// history adds the ads of the jobs that left.
func (v *salvage) history() error {
	for _, month := range slices.Sorted(maps.Keys(v.state.history)) {
		known := v.state.history[month]
		name := historyFile(month)
		size, ok := v.there(name, known, v.indexed || known != v.g.history[month])
		if !ok {
			continue
		}
		m := monthSalvage{salvage: v, month: month, path: v.s.path(name), reader: left.NewReader(Left{}, extracttext.SetLine)}
		_, err := v.eachLine(name, size, m.line)
		if err == nil {
			err = m.end(false)
		}
		if err != nil {
			return err
		}
		v.telling(m.path, "%s taken", plural.Pick(m.taken, "1 ad is", "%d ads are"))
	}
	return nil
}

func isDamage(err error) bool {
	var d *DamageError
	return errors.As(err, &d)
}

// monthSalvage is one month's history.
type monthSalvage struct {
	*salvage
	month, path string
	reader      *left.Reader // reads an ad as History does
	crc         uint32       // of the file up to the ad, as the footer before it says
	text        []byte       // the ad: its lines, with the newline before the first
	first       int          // where it begins
	taken       int          // ads
}

func (m *monthSalvage) line(n int, line []byte) error {
	switch {
	case len(line) == 0:
		return m.end(false)
	case line[0] == footerHead[0]:
		return m.footer(line)
	case len(m.text) == 0:
		m.first, m.text = n+1, append(m.text, '\n')
	}
	m.text = append(append(m.text, line...), '\n')
	return nil
}

// footer takes the ad that a footer follows. If the footer is damaged, the one behind the next ad tells of both.
func (m *monthSalvage) footer(line []byte) error {
	sum := crc32.Update(m.crc, castagnoli, m.text[min(1, len(m.text)):])
	recorded, behind, ok := footerOf(append(line, adEnd...))
	if !ok {
		_, behind, _ = footerOf(appendFooter(nil, sum))
	}
	m.crc = behind
	return m.end(ok && sum == recorded)
}

// end takes an ad, unless the reader would refuse it.
func (m *monthSalvage) end(proven bool) error {
	if len(m.text) == 0 {
		return nil
	}
	text := m.text
	m.text = m.text[:0]
	if _, _, err := m.reader.Read(text); err != nil {
		m.losing(m.path, m.first, "the ad of a job that left is lost: %v", err)
		return nil
	}
	if !proven {
		m.losing(m.path, m.first, "the ad of a job that left is taken as it reads, unverified: check it")
	}
	m.taken++
	return m.to.left(m.month, text[1:])
}

// log adds who did what.
func (v *salvage) log() error {
	for _, month := range slices.Sorted(maps.Keys(v.state.log)) {
		if err := v.logMonth(month, v.state.log[month]); err != nil {
			return err
		}
	}
	for _, l := range v.journal {
		if err := v.to.logged(l); err != nil {
			return err
		}
	}
	return nil
}

func (v *salvage) logMonth(month string, known stretch) error {
	name := logFile(month)
	size, ok := v.there(name, known, v.indexed)
	if !ok {
		return nil
	}
	var l Logged
	begun, told := false, false // its first line, and both
	sum, err := v.eachLine(name, size, func(n int, line []byte) (err error) {
		what, second := bytes.CutPrefix(line, []byte("= "))
		switch {
		case second && begun:
			begun, told, l.What = false, true, string(what)
			return v.to.logged(l)
		case told && bytes.HasPrefix(line, []byte(logtext.EarlierHead)):
			was := string(line[len(logtext.EarlierHead):])
			if err = takers.Check(was); err == nil {
				return v.to.earlier(month, was)
			}
		case bytes.HasPrefix(line, []byte("T ")):
			told = false
			l.Transaction, err = logtext.ParseHeader(string(line))
			if of := monthOf(l.Machine); err == nil && of != month {
				err = fmt.Errorf("it is of %s", of)
			}
			begun = err == nil
		case second:
			return nil // its first line was told
		case bytes.HasPrefix(line, []byte(logtext.EarlierHead)):
			return nil // and so were those before it
		default:
			err = errors.New("not a transaction")
		}
		if err != nil {
			v.losing(v.s.path(name), n+1, "a transaction of the log is lost: %v", err)
		}
		return nil
	})
	if err == nil && v.indexed && size == known.end && sum != known.crc {
		v.losing(v.s.path(name), 0, "its checksum is %08x, recorded is %08x: what can be read is copied, unverified", sum, known.crc)
	}
	return err
}

// handWritten copies the files of slots.d.
func (v *salvage) handWritten() error {
	names, err := v.s.handWrittenFiles()
	v.failed(v.s.path("slots.d"), err, "slots written by hand are lost")
	for _, name := range names {
		path := v.s.path("slots.d/" + name)
		b, err := files.Contents(v.s.files, path)
		if v.failed(path, err, "slots written by hand are lost") {
			continue
		}
		if err := v.to.handWritten(name, b); err != nil {
			return err
		}
	}
	return nil
}

// report copies the report of the last cycle.
func (v *salvage) report() error {
	b, err := v.s.Report()
	if v.failed(v.s.path("cycle.json"), err, "the last cycle's report is lost") || b == nil {
		return nil
	}
	if !cyclejson.Sealed(b) {
		if b, err = cyclejson.Seal([]byte(strings.TrimSpace(string(b)))); err != nil {
			return nil
		}
	}
	return v.to.report(b)
}
