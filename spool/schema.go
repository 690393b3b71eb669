package spool

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/poolrows"
	"fairspool/spool/internal/quotedtext"
	"fairspool/spool/internal/rowtext"
)

// Kind is a row of the schema: a kind of rows, which are a small table, lines of the journal and ads of a dump. A row is written whole, and
// its ad alone has its contents.
type Kind[K comparable, V any] struct {
	letter, gone byte   // of a row in the journal, and of the key of one that is gone
	table        string // begins the names of the files with the table
	title        string // MyType in a dump; empty: the rows are counted anew from the others
	lead         []string
	key          func(V) K
	order        func(a, b K) int
	texts        func(K) []string                 // the values of lead
	parseKey     func(texts []string) (K, error)  // the inverse
	write        func(to rowtext.Attributes, v V) // those of lead first
	read         func(*rowtext.Row) (V, error)
	changed      func(V) uint64    // the number of the transaction that changed the row last, if it is kept
	stamp        func(V, uint64) V // the row with another such number
	equal        func(V, V) bool   // nil: by what is written

	// What is to be done besides when a new spool gets a row, behind a row of a dump, and to find what of the rows of a damaged spool can
	// be kept.
	added  func(*creation, V) error
	behind func(*dumping, V) error
	rescue func(*salvage, map[K]V) error
}

// The lead of a kind is what a row begins with before each attribute of its key, so that an unused row need not be parsed. One that has
// them elsewhere is right all the same.
var (
	claimKind = &Kind[pool.JobID, pool.Claim]{
		letter: 'K', gone: 'k', table: "claims", title: "Claim", lead: []string{" [ Job = "},
		key: func(c pool.Claim) pool.JobID { return c.Job }, order: pool.JobID.Compare,
		texts: textOfJob, parseKey: jobOfText, write: poolrows.WriteClaim, read: poolrows.ClaimOf,
		changed: func(c pool.Claim) uint64 { return c.Seq }, stamp: func(c pool.Claim, seq uint64) pool.Claim { c.Seq = seq; return c },
	}
	submitterKind = named(Kind[string, accountant.Record]{
		letter: 'U', gone: 'u', table: "submitters", title: "Submitter", lead: []string{" [ Name = "},
		key: func(r accountant.Record) string { return r.Name }, write: poolrows.WriteSubmitter, read: poolrows.SubmitterOf,
	})
	backoffKind = named(Kind[string, pool.Backoff]{
		letter: 'B', gone: 'b', table: "backoffs", title: "Backoff", lead: []string{" [ Slot = "},
		key: func(b pool.Backoff) string { return b.Slot }, write: poolrows.WriteBackoff, read: poolrows.BackoffOf,
	})
	tallyKind = &Kind[accountant.Key, accountant.Tally]{
		letter: 'W', gone: 'w', table: "tallies", title: "Tally", lead: []string{" [ Kind = ", "; Name = "},
		key: func(y accountant.Tally) accountant.Key { return y.Key }, order: accountant.Key.Compare,
		texts: func(k accountant.Key) []string { return []string{k.Kind, k.Name} },
		parseKey: func(texts []string) (accountant.Key, error) {
			return accountant.Key{Kind: texts[0], Name: texts[1]}, nil
		},
		write: poolrows.WriteTally, read: poolrows.TallyOf,
	}
	markKind = named(Kind[string, mark]{
		letter: 'M', gone: 'm', table: "marks", title: "Mark", lead: []string{" [ Name = "},
		key: func(m mark) string { return m.Name }, write: writeMark, read: markOf,
	})
	factoryKind = &Kind[int, factory]{
		letter: 'F', gone: 'f', table: "factories", title: "Factory", lead: []string{" [ Cluster = "},
		key: func(f factory) int { return f.Cluster }, order: cmp.Compare[int],
		texts: textOfInt, parseKey: intOfText, write: writeFactory, read: factoryOf,
	}
	ownerKind = named(Kind[string, Owner]{
		letter: 'O', gone: 'o', table: "owners", lead: []string{" [ Name = "},
		key: func(o Owner) string { return o.Name }, write: writeOwner, read: ownerOf,
	})
)

// The kinds that are read and written whole, by Get, All, Put, Drop and Set.
var (
	// Endings are how the jobs of watched clusters end.
	Endings = &Kind[int, pool.Endings]{
		letter: 'X', gone: 'x', table: "endings", title: "Endings", lead: []string{" [ Cluster = "},
		key: func(e pool.Endings) int { return e.Cluster }, order: cmp.Compare[int],
		texts: textOfInt, parseKey: intOfText, write: poolrows.WriteEndings, read: poolrows.EndingsOf,
	}
	// Reservations are the partitionable slots that the last cycle keeps for wide jobs.
	Reservations = &Kind[pool.JobID, pool.Reservation]{
		letter: 'R', gone: 'r', table: "reservations", title: "Reservation", lead: []string{" [ Job = "},
		key: func(r pool.Reservation) pool.JobID { return r.Job }, order: pool.JobID.Compare,
		texts: textOfJob, parseKey: jobOfText, write: poolrows.WriteReservation, read: poolrows.ReservationOf,
	}
	// Succession is what claims may go on with when their jobs end before the next cycle, by the first job.
	Succession = &Kind[pool.JobID, pool.Successors]{
		letter: 'Q', gone: 'q', table: "succession", title: "Successors", lead: []string{" [ Jobs = "},
		key: poolrows.FirstSuccessor, order: pool.JobID.Compare,
		texts: textOfJob, parseKey: func(texts []string) (pool.JobID, error) { return poolrows.FirstOf(texts[0]) }, write: poolrows.WriteSuccessors, read: poolrows.SuccessorsOf,
		equal: pool.Successors.Equal,
	}
	// Entitlement is what submitters may have while some wait.
	Entitlement = named(Kind[string, pool.Entitled]{
		letter: 'P', gone: 'p', table: "entitlement", title: "Entitled", lead: []string{" [ Submitter = "},
		key: func(e pool.Entitled) string { return e.Submitter }, write: poolrows.WriteEntitled, read: poolrows.EntitledOf,
	})
	// Course is at most one row: what holds of all the succession.
	Course = named(Kind[string, pool.Course]{
		letter: 'J', gone: 'j', table: "course", title: "Course", lead: []string{" [ Queues = "},
		key: poolrows.QueuesOf, write: poolrows.WriteCourse, read: poolrows.CourseOf,
	})
	// Inputs are texts that jobs of other pools read and that no other user may see.
	Inputs = &Kind[int, pool.Input]{
		letter: 'Z', gone: 'z', table: "inputs", title: "Input", lead: []string{" [ Cluster = "},
		key: func(in pool.Input) int { return in.Cluster }, order: cmp.Compare[int],
		texts: textOfInt, parseKey: intOfText, write: poolrows.WriteInput, read: poolrows.InputOf,
	}
	// Pilots are the processes that run jobs on other machines, or are to.
	Pilots = &Kind[int, pool.Pilot]{
		letter: 'I', gone: 'i', table: "pilots", title: "Pilot", lead: []string{" [ ID = "},
		key: func(p pool.Pilot) int { return p.ID }, order: cmp.Compare[int],
		texts: textOfInt, parseKey: intOfText, write: poolrows.WritePilot, read: poolrows.PilotOf,
	}
	// Flocked are what submitters used of the slots of other pools.
	Flocked = named(Kind[string, accountant.Record]{
		letter: 'V', gone: 'v', table: "flocked", title: "Flocked", lead: []string{" [ Name = "},
		key: func(r accountant.Record) string { return r.Name }, write: poolrows.WriteSubmitter, read: poolrows.SubmitterOf,
	})
)

// schema are the kinds of rows, in the order in which a dump has them.
var schema = []rowKind{
	claimKind, submitterKind, backoffKind, tallyKind, markKind, factoryKind, ownerKind,
	Endings, Reservations, Succession, Entitlement, Course, Pilots, Inputs, Flocked,
}

func init() { // what is done there reads the schema
	claimKind.added, claimKind.rescue = func(n *creation, _ pool.Claim) error { n.n.Claims++; return nil }, (*salvage).claims
	submitterKind.added = func(n *creation, _ accountant.Record) error { n.n.Submitters++; return nil }
	factoryKind.added, factoryKind.behind, factoryKind.rescue = (*creation).beginDigest, (*dumping).digest, (*salvage).factories
}

func textOfInt(n int) []string                     { return []string{strconv.Itoa(n)} }
func intOfText(texts []string) (int, error)        { return strconv.Atoi(texts[0]) }
func textOfJob(id pool.JobID) []string             { return []string{id.String()} }
func jobOfText(texts []string) (pool.JobID, error) { return pool.ParseJobID(texts[0]) }

// named completes a kind whose key is one text.
func named[V any](k Kind[string, V]) *Kind[string, V] {
	k.order = strings.Compare
	k.texts = func(name string) []string { return []string{name} }
	k.parseKey = func(texts []string) (string, error) { return texts[0], nil }
	return &k
}

// rowKind is a kind whatever its rows are.
type rowKind interface {
	// letters returns those of the journal.
	letters() (row, gone byte)
	// names returns those of the table, and of a row in a dump.
	names() (table, title string)
	// append writes a record behind its letter, and parse reads one.
	append(b []byte, r record) []byte
	parseRecord(r *record, text string) error
	// check reads the text of a record, as parseRecord does, and keeps nothing of it.
	check(letter byte, text string) error
	// newTable returns a table that reads its rows, if there are any, from what load returns.
	newTable(load func() (chunk, error)) rows
}

// rows is a table whatever its rows are.
type rows interface {
	// take takes a line of the journal, and apply makes a record's change.
	take(c *chunk, line []byte) error
	apply(r record, seq uint64)
	// each reads all rows.
	each() error
	count() (int, error)
	fork() rows
	fold(s *Spool, g *generation, old map[string]tableFile) error
	dump(d *dumping) error
	restore(n *creation, text string) error
	salvage(v *salvage) error
}

// kindOf returns the kind to which a letter of the journal belongs, by its place in the schema, and -1 for none.
func kindOf(letter byte) int {
	return slices.IndexFunc(schema, func(k rowKind) bool {
		row, gone := k.letters()
		return letter == row || letter == gone
	})
}

// tableNames returns the names of the small tables.
func tableNames() (list []string) {
	for _, k := range schema {
		table, _ := k.names()
		list = append(list, table)
	}
	return list
}

func (k *Kind[K, V]) letters() (row, gone byte)    { return k.letter, k.gone }
func (k *Kind[K, V]) names() (table, title string) { return k.table, k.title }

func (k *Kind[K, V]) append(b []byte, r record) []byte {
	if r.Kind == k.gone {
		for i, text := range k.texts(r.Key.(K)) {
			if i > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendQuote(b, text)
		}
		return b
	}
	v := r.Row.(V)
	if k.stamp != nil {
		v = k.stamp(v, r.Seq)
	}
	return k.appendRow(b, v)
}

// appendRow writes a row behind its letter.
func (k *Kind[K, V]) appendRow(b []byte, v V) []byte {
	return rowtext.Append(b, func(to rowtext.Attributes) { k.write(to, v) })
}

func (k *Kind[K, V]) parseRecord(r *record, text string) (err error) {
	if r.Kind == k.gone {
		texts, err := quotedtext.All(text)
		if err != nil || len(texts) != len(k.lead) {
			return fmt.Errorf("%.80q: not the key of a row: %w", text, cmp.Or(err, errIncomplete))
		}
		r.Key, err = k.parseKey(texts)
		return err
	}
	v, err := k.parseText(text)
	if err == nil && k.changed != nil {
		r.Seq = k.changed(v)
	}
	r.Row = v
	return err
}

func (k *Kind[K, V]) check(letter byte, text string) error {
	if letter == k.gone {
		return k.parseRecord(&record{Kind: letter}, text)
	}
	_, err := k.parseText(text)
	return err
}

// parse reads a row's line, which transaction seq changed last where the row does not say which.
func (k *Kind[K, V]) parse(line []byte, seq uint64) (v V, err error) {
	err = k.parseInto(&v, string(line), seq)
	return v, err
}

// parseInto does as parse. The row's texts are parts of the line.
func (k *Kind[K, V]) parseInto(v *V, line string, seq uint64) (err error) {
	if len(line) < 2 || line[0] != k.letter || line[1] != ' ' {
		return fmt.Errorf("%.80q: not a row of this table", line)
	}
	*v, err = k.parseText(line[2:])
	if k.changed != nil && k.changed(*v) == 0 {
		*v = k.stamp(*v, seq)
	}
	return err
}

// parseText reads a row behind its letter.
func (k *Kind[K, V]) parseText(text string) (v V, err error) { return rowtext.Read(text, k.read) }

// leading returns the value behind lead at the beginning of b, a text without its quotes, and what follows.
func leading(b []byte, lead string) (text string, rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(b, []byte(lead)); !ok {
		return "", nil, false
	}
	if end := bytes.IndexAny(rest, "; "); end > 0 && rest[0] != '"' {
		return string(rest[:end]), rest[end:], true
	}
	var r record
	rest, err := r.slot(rest)
	return r.Slot, rest, err == nil
}

// keyIn returns the key of a row's line.
func (k *Kind[K, V]) keyIn(line []byte) (K, error) {
	var room [2]string
	texts, rest, ok := room[:0], line[min(1, len(line)):], true
	for _, lead := range k.lead {
		var text string
		if text, rest, ok = leading(rest, lead); !ok {
			break
		}
		texts = append(texts, text)
	}
	if ok {
		if key, err := k.parseKey(texts); err == nil {
			return key, nil
		}
	}
	v, err := k.parse(line, 0)
	return k.key(v), err
}

func (k *Kind[K, V]) newTable(load func() (chunk, error)) rows { return newTable(k, load) }

// tableIn returns the table of a kind.
func tableIn[K comparable, V any](s *state, k *Kind[K, V]) *table[K, V] {
	for _, t := range s.tables {
		if t, ok := t.(*table[K, V]); ok && t.kind == k {
			return t
		}
	}
	return nil
}

func (t *table[K, V]) take(c *chunk, line []byte) error {
	if line[0] == t.kind.gone {
		r := record{Kind: line[0]}
		err := t.kind.parseRecord(&r, string(line[2:]))
		if err == nil {
			t.drop(r.Key.(K))
		}
		return err
	}
	k, err := t.kind.keyIn(line)
	if err == nil {
		t.note(k, chunk{text: line, seq: c.seq, file: c.file, line: c.line})
	}
	return err
}

func (t *table[K, V]) apply(r record, seq uint64) {
	if r.Kind == t.kind.gone {
		t.drop(r.Key.(K))
		return
	}
	v := r.Row.(V)
	if t.kind.stamp != nil {
		v = t.kind.stamp(v, seq)
	}
	t.put(t.kind.key(v), v)
}

func (t *table[K, V]) each() error {
	_, err := t.inOrder()
	return err
}

func (t *table[K, V]) fork() rows {
	f := newTable(t.kind, nil)
	f.under = t
	return f
}

// fold writes the file of the table whole, if it changed.
func (t *table[K, V]) fold(s *Spool, g *generation, old map[string]tableFile) error {
	name := t.kind.table
	if !t.changed {
		if file, ok := old[name]; ok {
			g.tables[name] = file
		}
		return nil
	}
	rows, err := t.inOrder()
	if err != nil || len(rows) == 0 {
		return err
	}
	file := tableFile{name: fmt.Sprintf("%s.%d", name, g.number), rows: len(rows)}
	err = files.WriteNewBy(s.files, s.path(file.name), func(w io.Writer) (err error) {
		file.bytes, file.crc, err = endline.Write(w, rows, t.kind.appendLine)
		return err
	})
	g.tables[name] = file
	return err
}

// appendLine writes a row as a line.
func (k *Kind[K, V]) appendLine(b []byte, v V) []byte {
	return append(k.appendRow(append(b, k.letter, ' '), v), '\n')
}

// dump writes the rows, by key.
func (t *table[K, V]) dump(d *dumping) error {
	rows, err := t.inOrder()
	if err != nil || t.kind.title == "" {
		return err
	}
	for _, v := range rows {
		ad := classad.New()
		t.kind.write(ad, v)
		err := d.row(t.kind.title, ad)
		if err == nil && t.kind.behind != nil {
			err = t.kind.behind(d, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restore adds a row, whose text stands behind its letter, to the table of a new spool.
func (t *table[K, V]) restore(n *creation, text string) error {
	v, err := t.kind.parseText(text)
	if err != nil {
		return err
	}
	return t.add(n, v)
}

// add adds a row to the table of a new spool.
func (t *table[K, V]) add(n *creation, v V) error {
	k := t.kind.key(v)
	if _, ok := t.rows[k]; ok {
		return fmt.Errorf("%v: twice", k)
	}
	if t.kind.added != nil {
		if err := t.kind.added(n, v); err != nil {
			return err
		}
	}
	t.put(k, v)
	return nil
}

// salvage adds what there is of the rows to the new spool.
func (t *table[K, V]) salvage(v *salvage) error {
	if t.kind.title == "" {
		if t.load != nil {
			_, err := t.load()
			v.failed(v.s.path(v.g.tables[t.kind.table].name), err, "what "+t.kind.table+" have in the queue is counted anew")
		}
		return nil
	}
	rows := salvageRows(v, t)
	if t.kind.rescue != nil {
		return t.kind.rescue(v, rows)
	}
	to := tableIn(v.to.state, t.kind)
	for _, k := range slices.SortedFunc(maps.Keys(rows), t.kind.order) {
		if err := to.add(v.to, rows[k]); err != nil {
			return err
		}
	}
	return nil
}

// Get returns the row of a key; false if there is no row.
func (k *Kind[K, V]) Get(v *View, key K) (V, bool) {
	row, ok, err := tableIn(v.state(), k).get(key)
	must(err)
	return row, ok
}

// All returns the rows in the order of their keys.
func (k *Kind[K, V]) All(v *View) []V { return slices.Clone(sorted(tableIn(v.state(), k))) }

// Put adds a row or changes it as a whole.
func (k *Kind[K, V]) Put(tx *Tx, v V) { tx.put(record{Kind: k.letter, Row: v}) }

// Drop removes the row of a key.
func (k *Kind[K, V]) Drop(tx *Tx, key K) { tx.put(record{Kind: k.gone, Key: key}) }

// Set makes the rows those of a list. Only those that differ from what is there cost anything.
func (k *Kind[K, V]) Set(tx *Tx, list []V) {
	old, err := tableIn(tx.state(), k).all()
	must(err)
	old = maps.Clone(old)
	equal := k.equal
	if equal == nil {
		equal = func(a, b V) bool { return bytes.Equal(k.appendRow(nil, a), k.appendRow(nil, b)) }
	}
	for _, v := range list {
		if before, there := old[k.key(v)]; !there || !equal(before, v) {
			k.Put(tx, v)
		}
		delete(old, k.key(v))
	}
	for _, key := range slices.SortedFunc(maps.Keys(old), k.order) {
		k.Drop(tx, key)
	}
}

// SubmitterRow returns a submitter's record in one line, as the journal has it but for the kind: the ad between brackets. Times are of
// milliseconds in it.
func SubmitterRow(s accountant.Record) string { return string(submitterKind.appendRow(nil, s)) }

// ParseSubmitterRow is the inverse of SubmitterRow. The error says what is wrong with a text.
func ParseSubmitterRow(text string) (accountant.Record, error) { return submitterKind.parseText(text) }
