package spool

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// state is the spool in memory, as of one transaction: a generation, and what
// the journal says since. Lines are only looked through, and what they make is
// made when somebody asks for it, so that a command pays for what it needs. What a
// transaction changes goes through the same records, so that what it sees of
// its own changes is what everybody reads later.
type state struct {
	spool      *Spool
	base       pinned
	jobs       *blocks[int, Cluster]
	slots      *blocks[string, pool.Slot]
	claims     *table[pool.JobID, pool.Claim]
	submitters *table[string, accountant.Record]
	backoffs   *table[string, pool.Backoff]
	tallies    *table[accountant.Key, accountant.Tally]
	marks      *table[string, mark]
	factories  *table[int, factory]
	owners     *table[string, Owner]
	history    map[string]stretch // by month; an end of 0: archived
	log        map[string]stretch // by month, what was folded; an end of 0: archived
	own        *worker
}

func newState(s *Spool, base pinned) *state {
	st := &state{spool: s, base: base, own: newWorker(), history: maps.Clone(base.history), log: maps.Clone(base.log)}
	st.jobs = newBlocks(s, "jobs", clusterKeys, base.jobs, clusterOf)
	st.slots = newBlocks(s, "slots", slotKeys, base.slots, slotOf)
	st.claims = newTable(s.tableOf(base.generation, "claims"), claimKey, parseClaim)
	st.submitters = newTable(s.tableOf(base.generation, "submitters"), submitterKey, parseSubmitter)
	st.backoffs = newTable(s.tableOf(base.generation, "backoffs"), backoffKey, parseBackoff)
	st.tallies = newTable(s.tableOf(base.generation, "tallies"), tallyKey, parseTally)
	st.marks = newTable(s.tableOf(base.generation, "marks"), markKey, parseMark)
	st.factories = newTable(s.tableOf(base.generation, "factories"), factoryKey, parseFactory)
	st.owners = newTable(s.tableOf(base.generation, "owners"), ownerKey, parseOwner)
	return st
}

// fork returns a state that begins as this one, and whose changes do not show here.
func (s *state) fork() *state {
	f := *s
	f.base.pin = nil
	f.jobs, f.slots, f.history, f.log = s.jobs.fork(), s.slots.fork(), maps.Clone(s.history), maps.Clone(s.log)
	f.claims, f.submitters, f.backoffs, f.tallies = s.claims.fork(), s.submitters.fork(), s.backoffs.fork(), s.tallies.fork()
	f.marks, f.factories, f.owners = s.marks.fork(), s.factories.fork(), s.owners.fork()
	return &f
}

// take looks through the lines of a transaction in a file, which begin on a
// line of it.
func (s *state) take(body []byte, seq uint64, file string, line int) error {
	for len(body) > 0 {
		c := chunk{text: body, seq: seq, file: file, line: line}
		n, err := s.note(&c)
		if err != nil {
			return err
		}
		line += n
		body = body[len(c.text):]
	}
	return nil
}

// note takes the first lines of a chunk, as many as speak of the same thing,
// cuts the chunk to them, and returns how many they are.
func (s *state) note(c *chunk) (lines int, err error) {
	line, _, _ := bytes.Cut(c.text, newline)
	if len(line) < 3 || line[1] != ' ' {
		return 0, c.damaged(0, errors.New("not a record"))
	}
	switch line[0] {
	case 'C', 'N', 'A', 'D', 'L', 'Y':
		return noteBlock(s, s.jobs, c, "CNADLY")
	case 'S', 'G', 'g', 's':
		return noteBlock(s, s.slots, c, "SGgs")
	}
	c.text = c.text[:len(line)+1]
	rest := line[2:]
	switch line[0] {
	case 'K':
		err = noteRow(s.claims, c, line)
	case 'k':
		err = noteGone(s.claims, rest, func(b []byte) (pool.JobID, error) { return pool.ParseJobID(string(b)) })
	case 'U':
		err = noteRow(s.submitters, c, line)
	case 'u':
		err = noteGone(s.submitters, rest, unquote)
	case 'B':
		err = noteRow(s.backoffs, c, line)
	case 'b':
		err = noteGone(s.backoffs, rest, unquote)
	case 'W':
		err = noteRow(s.tallies, c, line)
	case 'w':
		err = noteGone(s.tallies, rest, goneTally)
	case 'F':
		err = noteRow(s.factories, c, line)
	case 'f':
		err = noteGone(s.factories, rest, goneFactory)
	case 'O':
		err = noteRow(s.owners, c, line)
	case 'o':
		err = noteGone(s.owners, rest, unquote)
	case 'M':
		err = s.noteMark(c, line)
	case 'H':
		err = parseStretch(s.history, string(rest))
	case 'h':
		err = s.archived(string(rest))
	default:
		err = fmt.Errorf("record of unknown kind %q", line[0])
	}
	if err != nil {
		return 0, c.damaged(0, err)
	}
	return 1, nil
}

// noteBlock takes the lines that speak of the first line's key. They wait until
// somebody asks for what they make, unless that was made before.
func noteBlock[K int | string, V any](s *state, b *blocks[K, V], c *chunk, kinds string) (lines int, err error) {
	k, rest, err := b.keys.parse(c.text[2:lineEnd(c.text)])
	if err != nil {
		return 0, c.damaged(0, err)
	}
	head := c.text[1 : lineEnd(c.text)-len(rest)] // the key with its blanks
	end := 0
	for end < len(c.text) {
		line := c.text[end : end+lineEnd(c.text[end:])]
		if len(line) < 2 || bytes.IndexByte([]byte(kinds), line[0]) < 0 || !bytes.HasPrefix(line[1:], head) {
			break
		}
		end += len(line) + 1
		lines++
		if len(rest) == 0 { // the whole line is the key: another could have it for its head
			break
		}
	}
	c.text = c.text[:end]
	if _, made := b.made[k]; !made {
		b.pending[k] = append(b.pending[k], *c)
		b.listed = false
		return lines, nil
	}
	for n, line := range c.lines() {
		r, err := parseRecord(line, s.own.expressions)
		if err == nil {
			err = s.apply(r, c.seq)
		}
		if err != nil {
			return 0, c.damaged(n, err)
		}
	}
	return lines, nil
}

// lineEnd returns how long the first line is, without its newline.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}

func noteRow[K comparable, V any](t *table[K, V], c *chunk, line []byte) error {
	k, err := t.key(line)
	if err == nil {
		t.note(k, chunk{text: line, seq: c.seq, file: c.file, line: c.line})
	}
	return err
}

func noteGone[K comparable, V any](t *table[K, V], b []byte, parse func([]byte) (K, error)) error {
	k, err := parse(b)
	if err == nil {
		t.drop(k)
	}
	return err
}

// apply makes one record's change.
func (s *state) apply(r record, seq uint64) error {
	switch r.Kind {
	case 'C', 'N', 'A', 'D', 'L', 'Y':
		return s.applyJobs(r, seq)
	case 'S', 'G', 'g', 's':
		return s.applySlot(r, seq)
	case 'K':
		r.Claim.Seq = seq
		s.claims.put(r.Claim.Job, r.Claim)
	case 'k':
		s.claims.drop(r.Claim.Job)
	case 'U':
		s.submitters.put(r.Submitter.Name, r.Submitter)
	case 'u':
		s.submitters.drop(r.Name)
	case 'B':
		s.backoffs.put(r.Backoff.Slot, r.Backoff)
	case 'b':
		s.backoffs.drop(r.Name)
	case 'W':
		s.tallies.put(r.Tally.Key, *r.Tally)
	case 'w':
		s.tallies.drop(r.Tally.Key)
	case 'F':
		s.factories.put(r.Factory.Cluster, *r.Factory)
	case 'f':
		s.factories.drop(r.Cluster)
	case 'O':
		s.owners.put(r.Owner.Name, *r.Owner)
	case 'o':
		s.owners.drop(r.Name)
	case 'M':
		s.setMark(mark{r.Name, r.Text})
	case 'H':
		s.history[r.Name] = stretch{r.End, r.CRC}
	case 'h':
		return s.archived(r.Name)
	default:
		return fmt.Errorf("record of unknown kind %q", r.Kind)
	}
	return nil
}

// applyJobs changes a cluster, which is made at its first mention.
func (s *state) applyJobs(r record, seq uint64) error {
	c, err := s.jobs.change(s.own, r.Cluster, (*Cluster).fork)
	if err != nil {
		return err
	}
	switch {
	case c != nil:
	case r.Kind != 'C' && r.Kind != 'N':
		return fmt.Errorf("cluster %d: not in the queue", r.Cluster)
	default:
		c = newCluster(r.Cluster)
		s.jobs.put(r.Cluster, c)
	}
	if err := c.apply(r, seq); err != nil {
		return err
	}
	if r.Kind == 'L' && len(c.Runs) == 0 {
		s.jobs.put(r.Cluster, nil)
	}
	return nil
}

// applySlot changes a slot. An ad of an earlier transaction may be in
// somebody's hands and is copied.
func (s *state) applySlot(r record, seq uint64) error {
	switch r.Kind {
	case 'S':
		s.slots.put(r.Slot, &pool.Slot{Name: r.Slot, Ad: classad.New(), Seq: seq})
		return nil
	case 's':
		s.slots.put(r.Slot, nil)
		return nil
	}
	slot, err := s.slots.change(s.own, r.Slot, func(s *pool.Slot) *pool.Slot { f := *s; return &f })
	if err != nil {
		return err
	}
	if slot == nil {
		return fmt.Errorf("slot %s: not advertised", r.Slot)
	}
	if slot.Seq != seq {
		slot.Ad, slot.Seq = slot.Ad.Clone(), seq
	}
	if r.Kind == 'G' {
		slot.Ad.Set(r.Name, r.Expr)
	} else {
		slot.Ad.Delete(r.Name)
	}
	return nil
}

func unquote(b []byte) (string, error) {
	var r record
	_, err := r.slot(b)
	return r.Slot, err
}

// len returns the number of jobs in the queue.
func (s *state) len() (int, error) {
	return s.jobs.count(s.own, func(f segmentFile[int]) int { return f.jobs }, func(e *entry[int]) int { return e.jobs }, (*Cluster).jobs)
}

// table is a small table: rows that are lines of one kind, by key. Its file is
// read when somebody asks for the table, and a row is parsed when somebody
// asks for the row.
type table[K comparable, V any] struct {
	load  func() (chunk, error) // the generation's file; nil once it is read, or if there is none
	under *table[K, V]          // in the place of a file, the table that this one is a fork of
	key   func(line []byte) (K, error)
	parse func(line []byte, seq uint64) (V, error)

	texts   map[K]chunk // rows not parsed yet, a line each; without a text: gone
	rows    map[K]V
	changed bool // since the generation
}

func newTable[K comparable, V any](load func() (chunk, error), key func([]byte) (K, error), parse func([]byte, uint64) (V, error)) *table[K, V] {
	return &table[K, V]{load: load, key: key, parse: parse, texts: map[K]chunk{}, rows: map[K]V{}}
}

// fork returns a table that begins as this one, and whose changes do not show here.
func (t *table[K, V]) fork() *table[K, V] {
	f := newTable(nil, t.key, t.parse)
	f.under = t
	return f
}

// note adds a row of the journal, or with a nil text takes it away.
func (t *table[K, V]) note(k K, c chunk) {
	delete(t.rows, k)
	t.texts[k] = c
	t.changed = true
}

// put adds a row or changes it.
func (t *table[K, V]) put(k K, v V) {
	delete(t.texts, k)
	t.rows[k] = v
	t.changed = true
}

// drop takes a row away.
func (t *table[K, V]) drop(k K) { t.note(k, chunk{}) }

// fill reads the generation's file. What the journal says counts more.
func (t *table[K, V]) fill() error {
	if t.under != nil {
		return t.copyUnder()
	}
	if t.load == nil {
		return nil
	}
	file, err := t.load()
	if err != nil {
		return err
	}
	for n, line := range file.lines() {
		k, err := t.key(line)
		if err != nil {
			return file.damaged(n, err)
		}
		_, noted := t.texts[k]
		if _, put := t.rows[k]; !put && !noted {
			t.texts[k] = chunk{text: line, file: file.file, line: file.line + n}
		}
	}
	t.load = nil
	return nil
}

// copyUnder takes over the rows of the table that this one is a fork of.
func (t *table[K, V]) copyUnder() error {
	rows, err := t.under.all()
	if err != nil {
		return err
	}
	for k, v := range rows {
		_, noted := t.texts[k]
		if _, put := t.rows[k]; !put && !noted {
			t.rows[k] = v
		}
	}
	t.under = nil
	return nil
}

// get returns a row.
func (t *table[K, V]) get(k K) (v V, ok bool, err error) {
	if v, ok := t.rows[k]; ok {
		return v, true, nil
	}
	c, ok := t.texts[k]
	if !ok && t.load != nil {
		if err := t.fill(); err != nil {
			return v, false, err
		}
		c, ok = t.texts[k]
	}
	if !ok && t.under != nil {
		return t.under.get(k)
	}
	if !ok || c.text == nil {
		return v, false, nil
	}
	if v, err = t.parse(c.text, c.seq); err != nil {
		return v, false, c.damaged(0, err)
	}
	t.rows[k] = v
	delete(t.texts, k)
	return v, true, nil
}

// all returns the rows by key.
func (t *table[K, V]) all() (map[K]V, error) {
	if err := t.fill(); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		t.rows = make(map[K]V, len(t.texts))
	}
	for k, c := range t.texts {
		if c.text == nil {
			continue
		}
		v, err := t.parse(c.text, c.seq)
		if err != nil {
			return nil, c.damaged(0, err)
		}
		t.rows[k] = v
	}
	// Gone rows need no note any more: there is no file left to read.
	clear(t.texts)
	return t.rows, nil
}

// count returns how many rows there are. It parses none.
func (t *table[K, V]) count() (int, error) {
	if err := t.fill(); err != nil {
		return 0, err
	}
	n := len(t.rows)
	for _, c := range t.texts {
		if c.text != nil {
			n++
		}
	}
	return n, nil
}

// tableText is the text of a table's file: the rows' lines in the order of
// their keys, and the checksum.
func tableText[K comparable, V any](rows map[K]V, order func(a, b K) int, appendRow func([]byte, V) []byte) []byte {
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(rows), order) {
		b = appendRow(b, rows[k])
	}
	return appendEnd(b)
}

// tableOf returns what reads the file of a table and holds it to what index.N
// says; nil if the generation has none.
func (s *Spool) tableOf(g *generation, name string) func() (chunk, error) {
	t, ok := g.tables[name]
	if !ok {
		return nil
	}
	return func() (chunk, error) {
		path := s.path(t.name)
		b, err := contents(s.files, path)
		if err != nil {
			return chunk{}, missing(path, err)
		}
		lines, err := checkedEnd(b)
		if err != nil {
			return chunk{}, &DamageError{path, 1, err.Error()}
		}
		if int64(len(b)) != t.bytes || bytes.Count(lines, newline) != t.rows || checksum(b) != t.crc {
			return chunk{}, &DamageError{path, 1, "it is not the file that was recorded"}
		}
		return chunk{text: lines, file: path, line: 1}, nil
	}
}

// mark is a text that is kept under a name.
type mark struct{ Name, Text string }

// Mark returns the text that is kept under a name, empty if there is none.
func (v *View) Mark(name string) string {
	m, _, err := v.state().marks.get(name)
	must(err)
	return m.Text
}

// Marks returns the names that begin with a prefix, sorted.
func (v *View) Marks(prefix string) (names []string) {
	all, err := v.state().marks.all()
	must(err)
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// PutMark keeps a text, which may be any, under a name; an empty one removes
// what was kept.
func (tx *Tx) PutMark(name, text string) {
	tx.put(record{Kind: 'M', Name: name, Text: text})
}

// setMark puts a mark into the table, or takes it away.
func (s *state) setMark(m mark) {
	if m.Text == "" {
		s.marks.drop(m.Name)
		return
	}
	s.marks.put(m.Name, m)
}

// noteMark takes the line of a mark.
func (s *state) noteMark(c *chunk, line []byte) error {
	m, err := markOf(line)
	if err == nil && m.Text == "" {
		s.marks.drop(m.Name)
	} else if err == nil {
		s.marks.note(m.Name, chunk{text: line, seq: c.seq, file: c.file, line: c.line})
	}
	return err
}

func markKey(line []byte) (string, error) {
	m, err := parseMark(line, 0)
	return m.Name, err
}

// parseMark reads a row of the table, in which no mark is empty.
func parseMark(line []byte, _ uint64) (mark, error) {
	m, err := markOf(line)
	if err == nil && m.Text == "" {
		err = fmt.Errorf("mark %q: without a text", m.Name)
	}
	return m, err
}

// markOf reads a line M "name" "text".
func markOf(line []byte) (m mark, err error) {
	rest, ok := bytes.CutPrefix(line, []byte("M "))
	if !ok {
		return m, fmt.Errorf("%.80q: not a mark", line)
	}
	m.Name, m.Text, err = twoTexts(rest)
	return m, err
}

// appendTwo writes two quoted texts.
func appendTwo(b []byte, first, second string) []byte {
	return strconv.AppendQuote(append(strconv.AppendQuote(b, first), ' '), second)
}

// twoTexts is the inverse of appendTwo.
func twoTexts(b []byte) (first, second string, err error) {
	texts, err := quoted(string(b))
	if err == nil && len(texts) != 2 {
		err = errors.New("not two texts")
	}
	if err != nil {
		return "", "", err
	}
	return texts[0], texts[1], nil
}
