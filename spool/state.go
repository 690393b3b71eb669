package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/rowtext"
	"fairspool/spool/internal/summarytext"
)

// state is the spool in memory, as of one transaction: a generation, and what the journal says since. Lines are only looked through, and
// what they describe is made on demand, so that a command pays for what it needs. What a transaction changes goes through the same records,
// so that what it sees of its own changes is what everybody reads later.
type state struct {
	spool      *Spool
	base       pinned
	jobs       *blocks[int, Cluster]
	slots      *blocks[string, pool.Slot]
	tables     []rows // by the schema; those of them that are asked for:
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
	part       *portion // what views of a part of the ads have; nil: none was asked for
}

func newState(s *Spool, base pinned) *state {
	st := &state{spool: s, base: base, own: newWorker(), history: maps.Clone(base.history), log: maps.Clone(base.log)}
	st.jobs = newBlocks(s, "jobs", clusterKeys, base.jobs, clusterOf)
	st.slots = newBlocks(s, "slots", slotKeys, base.slots, slotOf)
	for _, k := range schema {
		name, _ := k.names()
		st.tables = append(st.tables, k.newTable(s.tableOf(base.generation, name)))
	}
	st.find()
	return st
}

// find finds the tables that are asked for.
func (s *state) find() {
	s.claims, s.submitters, s.backoffs = tableIn(s, claimKind), tableIn(s, submitterKind), tableIn(s, backoffKind)
	s.tallies, s.marks, s.factories, s.owners = tableIn(s, tallyKind), tableIn(s, markKind), tableIn(s, factoryKind), tableIn(s, ownerKind)
}

// fork returns a state that begins as this one, and whose changes do not show here.
func (s *state) fork() *state {
	f := *s
	f.base.pin = nil
	f.jobs, f.slots, f.history, f.log = s.jobs.fork(), s.slots.fork(), maps.Clone(s.history), maps.Clone(s.log)
	f.tables = nil
	for _, t := range s.tables {
		f.tables = append(f.tables, t.fork())
	}
	f.find()
	return &f
}

// take looks through the lines of a transaction, which begin on that line of a file.
func (s *state) take(body []byte, seq uint64, file string, line int) error {
	c := chunk{seq: seq, file: file, line: line}
	for len(body) > 0 {
		c.text = body
		n, err := s.note(&c)
		if err != nil {
			return err
		}
		c.line, body = c.line+n, body[len(c.text):]
	}
	return nil
}

// note takes the first lines of a chunk, as many as speak of the same thing, cuts the chunk to them, and returns how many they are.
func (s *state) note(c *chunk) (lines int, err error) {
	line, _, _ := bytes.Cut(c.text, newline)
	if len(line) < 3 || line[1] != ' ' {
		return 0, c.damaged(0, errors.New("not a record"))
	}
	switch line[0] {
	case 'C', 'N', 'A', 'D', 'L', 'Y':
		kept := []*blocks[int, Cluster]{s.jobs}
		if s.part != nil {
			kept = append(kept, s.part.jobs)
		}
		return noteBlock(kept, c, "CNADLY", s.applyJobs, s.own)
	case 'S', 'G', 'g', 's':
		kept := []*blocks[string, pool.Slot]{s.slots}
		if s.part != nil {
			kept = append(kept, s.part.slots)
		}
		return noteBlock(kept, c, "SGgs", s.applySlot, s.own)
	}
	c.text = c.text[:len(line)+1]
	rest := line[2:]
	switch line[0] {
	case 'H':
		err = parseStretch(s.history, string(rest))
	case 'h':
		err = s.archived(string(rest))
	default:
		if i := kindOf(line[0]); i >= 0 {
			err = s.tables[i].take(c, line)
		} else {
			err = fmt.Errorf("record of unknown kind %q", line[0])
		}
	}
	if err != nil {
		return 0, c.damaged(0, err)
	}
	return 1, nil
}

// noteBlock takes the lines that speak of the first line's key, into each of kept. They wait until what they describe is used, unless that
// was made before.
func noteBlock[K int | string, V any](kept []*blocks[K, V], c *chunk, kinds string, apply func(*blocks[K, V], record, uint64) error, w *worker) (lines int, err error) {
	k, rest, err := kept[0].keys.parse(c.text[2:lineEnd(c.text)])
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
	for _, b := range kept {
		b.touch(k)
		if _, made := b.made[k]; !made {
			b.pending[k] = append(b.pending[k], *c)
			b.listed = false
			continue
		}
		for n, line := range c.lines() {
			r, err := parseRecord(line, w.expressions)
			if err == nil {
				err = apply(b, r, c.seq)
			}
			if err != nil {
				return 0, c.damaged(n, err)
			}
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

// apply makes the change of one record of a transaction.
func (s *state) apply(r record, seq uint64) error {
	switch r.Kind {
	case 'C', 'N', 'A', 'D', 'L', 'Y':
		s.part = nil
		return s.applyJobs(s.jobs, r, seq)
	case 'S', 'G', 'g', 's':
		s.part = nil
		return s.applySlot(s.slots, r, seq)
	case 'H':
		s.history[r.Name] = stretch{r.End, r.CRC}
	case 'h':
		return s.archived(r.Name)
	default:
		s.tables[kindOf(r.Kind)].apply(r, seq)
	}
	return nil
}

// applyJobs changes a cluster, which is made at its first mention.
func (s *state) applyJobs(jobs *blocks[int, Cluster], r record, seq uint64) error {
	c, err := jobs.change(s.own, r.Cluster, (*Cluster).fork)
	if err != nil {
		return err
	}
	switch {
	case c != nil:
	case r.Kind != 'C' && r.Kind != 'N':
		return fmt.Errorf("cluster %d: not in the queue", r.Cluster)
	default:
		c = newCluster(r.Cluster)
		jobs.put(r.Cluster, c)
	}
	jobs.touch(r.Cluster)
	if err := c.apply(r, seq, s.own.expressions); err != nil {
		return err
	}
	if r.Kind == 'L' && len(c.Runs) == 0 {
		jobs.put(r.Cluster, nil)
	}
	return nil
}

// applySlot changes a slot. An ad of an earlier transaction may be in use and is copied.
func (s *state) applySlot(slots *blocks[string, pool.Slot], r record, seq uint64) error {
	switch r.Kind {
	case 'S':
		slots.put(r.Slot, &pool.Slot{Name: r.Slot, Ad: classad.New(), Seq: seq})
		return nil
	case 's':
		slots.put(r.Slot, nil)
		return nil
	}
	slot, err := slots.change(s.own, r.Slot, func(s *pool.Slot) *pool.Slot { f := *s; return &f })
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

// table is a small table: rows that are lines of one kind, by key. Its file is read when the table is first used, and a row is parsed when
// the row is.
type table[K comparable, V any] struct {
	kind  *Kind[K, V]
	load  func() (chunk, error) // the generation's file; nil once it is read, or if there is none
	under *table[K, V]          // in the place of a file, the table that this one is a fork of

	texts   map[K]chunk // rows not parsed yet, a line each; without a text: gone
	rows    map[K]V
	list    []V  // in the order of their keys, the rows but for texts and rows, which count more
	listed  bool // list is known: then there is neither a file nor a table under this one
	lent    bool // callers may have list
	spare   []V  // room for the next list
	changed bool // since the generation
}

func newTable[K comparable, V any](k *Kind[K, V], load func() (chunk, error)) *table[K, V] {
	return &table[K, V]{kind: k, load: load, texts: map[K]chunk{}, rows: map[K]V{}}
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

// noted reports whether texts or rows say something of a row.
func (t *table[K, V]) noted(k K) bool {
	_, put := t.rows[k]
	_, noted := t.texts[k]
	return put || noted
}

// fill makes texts and rows all there is: with the list, the generation's file, or what a fork lies over.
func (t *table[K, V]) fill() error {
	list := t.list
	if t.under != nil {
		var err error
		if list, err = t.under.inOrder(); err != nil {
			return err
		}
	}
	for _, v := range list {
		if k := t.kind.key(v); !t.noted(k) {
			t.rows[k] = v
		}
	}
	t.list, t.listed, t.under = nil, false, nil
	if t.load == nil {
		return nil
	}
	file, err := t.load()
	if err != nil {
		return err
	}
	for n, line := range file.lines() {
		k, err := t.kind.keyIn(line)
		if err != nil {
			return file.damaged(n, err)
		}
		if !t.noted(k) {
			t.texts[k] = chunk{text: line, file: file.file, line: file.line + n}
		}
	}
	t.load = nil
	return nil
}

// get returns a row.
func (t *table[K, V]) get(k K) (v V, ok bool, err error) {
	if v, ok := t.rows[k]; ok {
		return v, true, nil
	}
	c, ok := t.texts[k]
	switch {
	case !ok && t.load != nil:
		return t.stored(k)
	case !ok && t.under != nil:
		return t.under.get(k)
	case !ok:
		if i, there := slices.BinarySearchFunc(t.list, k, func(v V, k K) int { return t.kind.order(t.kind.key(v), k) }); there {
			return t.list[i], true, nil
		}
	}
	if !ok || c.text == nil {
		return v, false, nil
	}
	if v, err = t.kind.parse(c.text, c.seq); err != nil {
		return v, false, c.damaged(0, err)
	}
	t.rows[k] = v
	delete(t.texts, k)
	return v, true, nil
}

// stored returns a row of the generation's file, which has them in order.
func (t *table[K, V]) stored(k K) (v V, ok bool, err error) {
	file, err := t.load()
	if err != nil {
		return v, false, err
	}
	t.load = func() (chunk, error) { return file, nil }
	for from, to := 0, len(file.text); from < to; {
		at := bytes.LastIndexByte(file.text[:(from+to)/2], '\n') + 1
		line := file.text[at : at+lineEnd(file.text[at:])]
		key, err := t.kind.keyIn(line)
		order := t.kind.order(key, k)
		if err == nil && order == 0 {
			v, err = t.kind.parse(line, 0)
		}
		switch {
		case err != nil:
			return v, false, file.damaged(bytes.Count(file.text[:at], newline), err)
		case order < 0:
			from = min(at+len(line)+1, to)
		case order > 0:
			to = at
		default:
			t.rows[k] = v
			return v, true, nil
		}
	}
	return v, false, nil
}

// all returns the rows by key.
func (t *table[K, V]) all() (map[K]V, error) {
	if err := t.fill(); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		t.rows = make(map[K]V, len(t.texts))
	}
	return t.rows, t.parse()
}

// parse parses the rows of texts.
func (t *table[K, V]) parse() error {
	for k, c := range t.texts {
		if c.text == nil {
			continue
		}
		v, err := t.kind.parse(c.text, c.seq)
		if err != nil {
			return c.damaged(0, err)
		}
		t.rows[k] = v
		delete(t.texts, k)
	}
	if t.load == nil && t.under == nil && !t.listed {
		clear(t.texts) // there is nothing left of which rows could be gone
	}
	return nil
}

// inOrder returns the rows in the order of their keys. The caller changes none of them.
func (t *table[K, V]) inOrder() ([]V, error) {
	list, err := t.list, error(nil)
	switch {
	case t.load != nil:
		list, err = t.parsed()
	case t.under != nil:
		list, err = t.under.lend()
		t.lent = true
	}
	if err == nil {
		err = t.parse()
	}
	if err != nil {
		return nil, err
	}
	if len(t.rows)+len(t.texts) > 0 {
		all := slices.Grow(t.spare[:0], len(list)+len(t.rows))
		t.merged(list, func(some []V) { all = append(all, some...) })
		if t.spare = nil; t.listed && !t.lent {
			t.spare = list
		}
		list, t.lent = all, false
		clear(t.rows)
		clear(t.texts)
	}
	t.list, t.listed, t.load, t.under = list, true, nil, nil
	return list, nil
}

// lend returns the rows in the order of their keys, for as long as the caller likes.
func (t *table[K, V]) lend() ([]V, error) {
	list, err := t.inOrder()
	t.lent = true
	return list, err
}

// appendTo appends the rows in the order of their keys. Few changes are not made part of the table's own list.
func (t *table[K, V]) appendTo(to []V) ([]V, error) {
	if !t.listed || len(t.rows)+len(t.texts) > len(t.list)/4 {
		list, err := t.inOrder()
		return append(to, list...), err
	}
	err, to := t.parse(), slices.Grow(to, len(t.list)+len(t.rows))
	t.merged(t.list, func(some []V) { to = append(to, some...) })
	return to, err
}

// visit calls do for the rows, in the order of their keys. It makes no list of them.
func (t *table[K, V]) visit(do func(*V)) error {
	if !t.listed {
		if _, err := t.inOrder(); err != nil {
			return err
		}
	}
	err := t.parse()
	t.merged(t.list, func(some []V) {
		for i := range some {
			do(&some[i])
		}
	})
	return err
}

// keys returns the keys of what rows and texts say, in order. Texts are of rows that are gone, once they are parsed.
func (t *table[K, V]) keys() []K {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(t.rows)), maps.Keys(t.texts))
	slices.SortFunc(keys, t.kind.order)
	return keys
}

// merged calls do for the rows of a list with what rows and texts say of it, in their order, by stretches, which are gone when do returns.
func (t *table[K, V]) merged(list []V, do func([]V)) {
	var one [1]V
	for _, k := range t.keys() {
		n, there := slices.BinarySearchFunc(list, k, func(v V, k K) int { return t.kind.order(t.kind.key(v), k) })
		do(list[:n])
		if row, put := t.rows[k]; put {
			one[0] = row
			do(one[:])
		}
		if list = list[n:]; there {
			list = list[1:]
		}
	}
	do(list)
}

// parsed reads all rows of the generation's file, on all processors.
func (t *table[K, V]) parsed() ([]V, error) {
	file, err := t.load()
	if err != nil {
		return nil, err
	}
	list, err := eachRow(file, func(v *V, line string) error { return t.kind.parseInto(v, line, 0) })
	for i := 1; i < len(list) && err == nil; i++ {
		if t.kind.order(t.kind.key(list[i-1]), t.kind.key(list[i])) >= 0 {
			err = file.damaged(i, errors.New("a row that is out of order"))
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachRow reads the lines of a table's file, on all processors.
func eachRow[T any](file chunk, read func(to *T, line string) error) ([]T, error) {
	const piece = 64 << 10 // bytes
	var pieces [][]byte
	first := []int{0} // rows before each
	for rest := file.text; len(rest) > 0; rest = rest[len(pieces[len(pieces)-1]):] {
		some := rest[:min(piece, len(rest))]
		some = rest[:len(some)+lineEnd(rest[len(some):])]
		some = rest[:min(len(some)+1, len(rest))]
		pieces, first = append(pieces, some), append(first, first[len(first)-1]+bytes.Count(some, newline))
	}
	list, bad := make([]T, first[len(pieces)]), make([]error, len(pieces))
	parallel.Each(len(pieces), func(_, i int) {
		n := first[i]
		for line := range strings.Lines(unsafe.String(unsafe.SliceData(pieces[i]), len(pieces[i]))) { // which nothing changes
			if err := read(&list[n], strings.TrimSuffix(line, "\n")); err != nil {
				bad[i] = file.damaged(n, err)
				return
			}
			n++
		}
	})
	return list, cmp.Or(bad...)
}

// claimSummaries returns what totals need of claims, in the order of their jobs.
func claimSummaries(t *table[pool.JobID, pool.Claim]) ([]pool.ClaimSummary, error) {
	var list []pool.ClaimSummary
	if t.load == nil {
		rows, err := t.inOrder()
		for i := range rows {
			list = append(list, rows[i].Summary())
		}
		return list, err
	}
	file, err := t.load()
	if err != nil {
		return nil, err
	}
	t.load = func() (chunk, error) { return file, nil }
	list, err = eachRow(file, func(s *pool.ClaimSummary, line string) (err error) {
		if !summarytext.Claim(s, line) {
			var c pool.Claim
			err = t.kind.parseInto(&c, line, 0)
			*s = c.Summary()
		}
		return err
	})
	if err == nil {
		err = t.parse()
	}
	if err != nil || len(t.rows)+len(t.texts) == 0 {
		return list, err
	}
	list = slices.DeleteFunc(list, func(s pool.ClaimSummary) bool { return t.noted(s.Job) })
	for _, c := range t.rows {
		list = append(list, c.Summary())
	}
	slices.SortFunc(list, func(a, b pool.ClaimSummary) int { return a.Job.Compare(b.Job) })
	return list, nil
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

// tableOf returns what reads the file of a table and holds it to what index.N says; nil if the generation has none.
func (s *Spool) tableOf(g *generation, name string) func() (chunk, error) {
	t, ok := g.tables[name]
	if !ok {
		return nil
	}
	return func() (chunk, error) {
		path := s.path(t.name)
		b, err := files.Contents(s.files, path)
		if err != nil {
			return chunk{}, missing(path, err)
		}
		lines, crc, err := endline.Cut(b)
		if err != nil {
			return chunk{}, &DamageError{path, 1, err.Error()}
		}
		if int64(len(b)) != t.bytes || bytes.Count(lines, newline) != t.rows || crc != t.crc {
			return chunk{}, &DamageError{path, 1, "it is not the file that was recorded"}
		}
		return chunk{text: lines, file: path, line: 1}, nil
	}
}

// mark is a text that is kept under a name.
type mark struct{ Name, Text string }

// Mark returns the text of the mark of a name, or an empty text.
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

// PutMark keeps a text, which may be any without a zero byte, under a name; an empty one removes what was kept.
func (tx *Tx) PutMark(name, text string) {
	switch {
	case strings.Contains(name+text, "\x00"):
		tx.fail(fmt.Errorf("mark %q: a zero byte", name))
	case text == "":
		tx.put(record{Kind: 'm', Key: name})
	default:
		tx.put(record{Kind: 'M', Row: mark{name, text}})
	}
}

func writeMark(to rowtext.Attributes, m mark) {
	to.SetString("Name", m.Name)
	to.SetString("Text", m.Text)
}

func markOf(r *rowtext.Row) (mark, error) {
	m := mark{r.Text("Name"), r.Text("Text")}
	if r.Err == nil && m.Text == "" {
		return m, fmt.Errorf("mark %q: without a text", m.Name)
	}
	return m, r.Err
}
