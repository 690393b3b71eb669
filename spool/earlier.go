package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/summarytext"
)

// A transaction's line in the log is followed by how it found the slots that it changed, and the rows that keep jobs from
// machines, so that a reader can go back in time from the present state:
//
//	< s "slot1@n1"               the slot was not there
//	< S "slot1@n1"               the slot, which was withdrawn, was there with the ad of the lines that follow
//	< + Cpus = 8                 an attribute of that ad
//	< G "slot1@n1" Cpus = 4      the attribute of a slot that stays
//	< g "slot1@n1" GPUs          the slot did not have the attribute
//	< m "drained n1"             the machine was not drained, or < M with the row of the mark; so for maintenances
//	< i "7"                      the pilot was not there, or < I with its number, machine and state
//
// Nothing is said of volatile attributes (pool.Volatile), except of LastHeardFrom when the ad's lifetime was over.
const earlierHead = "< "

// touched is what a transaction does to a slot.
type touched struct {
	name       string
	anew       bool // its whole ad is written, or removed
	attributes []string
	heard      string // the new LastHeardFrom
}

// earlier returns how the transaction with that body, which is the next of the state, finds slots and what keeps jobs from
// them.
func (s *state) earlier(body []byte) (lines []string, err error) {
	var slots []*touched
	byName := map[string]*touched{}
	for _, line := range (chunk{text: body}).lines() {
		if len(line) < 3 {
			continue
		}
		var was string
		switch line[0] {
		case 'S', 'G', 'g', 's':
			var r record
			var rest []byte
			if rest, err = r.slot(line[2:]); err != nil {
				return nil, err
			}
			t := byName[r.Slot]
			if t == nil {
				t = &touched{name: r.Slot}
				byName[r.Slot], slots = t, append(slots, t)
			}
			err = t.take(line[0], rest)
		case 'M', 'm':
			was, err = s.markBefore(line)
		case 'I', 'i':
			was, err = s.pilotBefore(line)
		}
		if err != nil {
			return nil, err
		}
		if was != "" {
			lines = append(lines, was)
		}
	}
	for _, t := range slots {
		if s.justHeard(t) {
			continue
		}
		before, err := s.slotBefore(t.name)
		if err != nil {
			return nil, err
		}
		lines = t.before(lines, before)
	}
	return lines, nil
}

// take takes a line of a slot, behind its name.
func (t *touched) take(kind byte, rest []byte) error {
	if kind == 'S' || kind == 's' {
		t.anew = true
		return nil
	}
	name, text, err := parseName(rest)
	if err != nil {
		return err
	}
	if kind == 'G' && strings.EqualFold(name, pool.AttrLastHeardFrom) {
		t.heard = strings.TrimPrefix(string(text), " = ")
	}
	t.attributes = append(t.attributes, name)
	return nil
}

// justHeard reports whether a transaction renews the lifetime of an ad in time, as the index of its segment says, and does nothing
// else to the slot: of the many renewals in a large pool no ad is read.
func (s *state) justHeard(t *touched) bool {
	if t.anew || len(t.attributes) != 1 || t.heard == "" {
		return false
	}
	if _, made := s.slots.made[t.name]; made || s.slots.under != nil {
		return false
	}
	_, e, err := s.slots.entry(t.name)
	if err != nil || e == nil {
		return false
	}
	for _, c := range s.slots.pending[t.name] {
		if bytes.Count(c.text, newline) != 1 || c.text[0] != 'G' { // more than renewals
			return false
		}
	}
	var summary pool.SlotSummary
	heard, err := strconv.ParseInt(t.heard, 10, 64)
	return err == nil && summarytext.Read(&summary, e.summary) && (summary.Until == 0 || heard <= summary.Until)
}

// slotBefore returns the ad of an advertised slot, nil if there is none.
func (s *state) slotBefore(name string) (*classad.Ad, error) {
	slot, made := s.slots.made[name]
	if !made {
		var err error
		if slot, err = s.slots.make(s.own, name); err != nil {
			return nil, err
		}
	}
	if slot == nil {
		return nil, nil
	}
	return slot.Ad, nil
}

// before appends how the slot was.
func (t *touched) before(lines []string, ad *classad.Ad) []string {
	slot := strconv.Quote(t.name)
	switch {
	case ad == nil:
		lines = append(lines, "s "+slot)
	case t.anew:
		lines = append(lines, "S "+slot)
		for _, name := range ad.OwnNames() {
			e, _ := ad.Lookup(name)
			lines = append(lines, "+"+string(appendAttribute(nil, name, e)))
		}
	default:
		for i, name := range t.attributes {
			if slices.Contains(t.attributes[:i], name) || pool.Volatile(name) && !(strings.EqualFold(name, pool.AttrLastHeardFrom) && t.late(ad)) {
				continue
			}
			if e, ok := ad.Lookup(name); ok {
				lines = append(lines, "G "+slot+string(appendAttribute(nil, name, e)))
			} else {
				lines = append(lines, "g "+slot+" "+string(appendName(nil, name)))
			}
		}
	}
	return lines
}

// late reports whether the lifetime of the ad was over when the slot was heard of again.
func (t *touched) late(ad *classad.Ad) bool {
	heard, err := strconv.ParseInt(t.heard, 10, 64)
	until := pool.ValidUntil(&classad.Context{}, ad)
	return err == nil && until > 0 && heard > until
}

// markBefore returns how the mark of a line was, if it keeps jobs from slots.
func (s *state) markBefore(line []byte) (string, error) {
	name, err := keyOf(markKind, line)
	if err != nil || !strings.HasPrefix(name, pool.DrainedMark) && !strings.HasPrefix(name, pool.MaintenanceMark) {
		return "", err
	}
	m, there, err := s.marks.get(name)
	return rowBefore(markKind, name, m, there), err
}

// pilotBefore returns how the pilot of a line was, if its state changes: of its row only what decides whether its machine takes jobs.
func (s *state) pilotBefore(line []byte) (string, error) {
	id, err := keyOf(Pilots, line)
	if err != nil {
		return "", err
	}
	p, there, err := tableIn(s, Pilots).get(id)
	if err == nil && there && line[0] == Pilots.letter {
		var now pool.Pilot
		if now, err = Pilots.parse(line, 0); now.State == p.State && now.Machine == p.Machine {
			return "", err
		}
	}
	return rowBefore(Pilots, id, pool.Pilot{ID: p.ID, Machine: p.Machine, State: p.State, Why: p.Why}, there), err
}

// keyOf returns the key of a line that writes or removes a row.
func keyOf[K comparable, V any](k *Kind[K, V], line []byte) (key K, err error) {
	if line[0] == k.letter {
		return k.keyIn(line)
	}
	r := record{Kind: line[0]}
	if err := k.parseRecord(&r, string(line[2:])); err != nil {
		return key, err
	}
	return r.Key.(K), nil
}

// rowBefore returns the line that makes a row what it was.
func rowBefore[K comparable, V any](k *Kind[K, V], key K, v V, there bool) string {
	r := record{Kind: k.gone, Key: key}
	if there {
		r = record{Kind: k.letter, Row: v}
	}
	return strings.TrimSuffix(string(r.append(nil)), "\n")
}

// Takers are what decides which slots take jobs: the advertised slots, by name, the texts of the marks of drained machines and
// of maintenances, by name, and of the pilots number, machine and state. What is nil, empty or without a state is gone.
type Takers struct {
	Slots  map[string]*classad.Ad
	Marks  map[string]string
	Pilots map[int]pool.Pilot
}

func newTakers() Takers {
	return Takers{map[string]*classad.Ad{}, map[string]string{}, map[int]pool.Pilot{}}
}

// TakersChange is what a transaction made of them.
type TakersChange struct {
	Transaction
	Takers
}

// TakersSince is how the takers were at a time.
type TakersSince struct {
	Takers                // nothing of it is gone
	Later  []TakersChange // what changed from then on, in the order of the transactions
	// Known is since when changes are known: the log of the time before was archived, or written by a version that kept none. Slots of
	// an earlier time are those of Known. Zero: all are known.
	Known time.Time
}

// Takers returns what decided which slots take jobs at a time, by policy time, and what changed since.
func (s *Spool) Takers(at time.Time) (t TakersSince, err error) {
	d := dumping{spool: s}
	if err := twice(d.read); err != nil {
		return t, err
	}
	defer d.state.base.release()
	var list []Logged
	for name, known := range d.state.log {
		if known.end == 0 {
			if end, err := time.Parse("2006-01", name); err == nil {
				t.Known = latest(t.Known, end.AddDate(0, 1, 0))
			}
			continue
		}
		text, err := s.logMonth(name, known)
		if err == nil {
			err = eachLogged(s.path(logFile(name)), text, func(l Logged) error { list = append(list, l); return nil })
		}
		if err != nil {
			return t, err
		}
	}
	list = append(list, d.journal...)
	expressions := classad.NewInterner()
	slices.SortStableFunc(list, func(a, b Logged) int { return cmp.Compare(b.Seq, a.Seq) })
	if t.Takers, err = d.state.takers(); err != nil {
		return t, err
	}
	for _, l := range list {
		switch {
		case len(l.earlier) == 0:
			if strings.Contains(l.What, " advertised") || strings.Contains(l.What, " withdrawn") {
				t.Known = latest(t.Known, l.Policy)
			}
		case l.Policy.After(at):
			now := newTakers()
			for b := (back{then: t.Takers, now: now, expressions: expressions}); len(l.earlier) > 0; l.earlier = l.earlier[1:] {
				if err := b.line(l.earlier[0]); err != nil && !errors.Is(err, errNoSlot) { // transactions of other times may stand between
					return t, fmt.Errorf("transaction %d of the log: %w", l.Seq, err)
				}
			}
			t.Later = append(t.Later, TakersChange{l.Transaction, now})
		}
	}
	slices.Reverse(t.Later)
	if !t.Known.After(at) {
		t.Known = time.Time{}
	}
	return t, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// takers returns those of the state.
func (s *state) takers() (Takers, error) {
	t := newTakers()
	slots, err := s.slots.all(newWorker)
	marks, err2 := s.marks.all()
	pilots, err3 := tableIn(s, Pilots).all()
	for _, slot := range slots {
		t.Slots[slot.Name] = slot.Ad
	}
	for name, m := range marks {
		if strings.HasPrefix(name, pool.DrainedMark) || strings.HasPrefix(name, pool.MaintenanceMark) {
			t.Marks[name] = m.Text
		}
	}
	for id, p := range maps.All(pilots) {
		t.Pilots[id] = pool.Pilot{ID: p.ID, Machine: p.Machine, State: p.State, Why: p.Why}
	}
	return t, errors.Join(err, err2, err3)
}

// back goes back over a transaction, line by line.
type back struct {
	then, now Takers      // made as they were before it; and as it left those that it changed
	ad        *classad.Ad // of the last S line

	expressions *classad.Interner
}

var errNoSlot = errors.New("an attribute of no slot")

// line makes the change of a line of earlier.
func (b *back) line(text string) error {
	if attribute, ok := strings.CutPrefix(text, "+ "); ok {
		var r record
		if b.ad == nil {
			return errNoSlot
		}
		err := r.attribute([]byte(attribute), b.expressions)
		if err == nil {
			b.ad.Set(r.Name, r.Expr)
		}
		return err
	}
	r, err := parseRecord([]byte(text), b.expressions)
	if err != nil {
		return err
	}
	switch row := r.Row.(type) {
	case mark:
		b.mark(row.Name, row.Text)
		return nil
	case pool.Pilot:
		b.pilot(row.ID, row)
		return nil
	}
	switch r.Kind {
	case 's':
		b.slot(r.Slot, nil)
	case 'S':
		b.ad = classad.New()
		b.slot(r.Slot, b.ad)
	case 'G', 'g':
		ad := b.then.Slots[r.Slot]
		if ad == nil {
			return errNoSlot
		}
		ad = ad.Clone()
		if b.slot(r.Slot, ad); r.Kind == 'G' {
			ad.Set(r.Name, r.Expr)
		} else {
			ad.Delete(r.Name)
		}
	case 'm':
		b.mark(r.Key.(string), "")
	case 'i':
		b.pilot(r.Key.(int), pool.Pilot{})
	default:
		return fmt.Errorf("%.80q: not how a slot was", text)
	}
	return nil
}

// put makes the value under a key what it was, and notes what it is.
func put[K, V comparable](then, now map[K]V, k K, was V) {
	if _, known := now[k]; !known {
		now[k] = then[k]
	}
	var none V
	if then[k] = was; was == none {
		delete(then, k)
	}
}

func (b *back) slot(name string, was *classad.Ad) { put(b.then.Slots, b.now.Slots, name, was) }
func (b *back) mark(name, was string)             { put(b.then.Marks, b.now.Marks, name, was) }
func (b *back) pilot(id int, was pool.Pilot)      { put(b.then.Pilots, b.now.Pilots, id, was) }

// checkEarlier returns an error unless a line is one of earlier, as far as it says by itself.
func checkEarlier(line string) error {
	b := back{newTakers(), newTakers(), classad.New(), classad.NewInterner()}
	if strings.Contains(line, "\n") {
		return errors.New("two lines")
	}
	if err := b.line(line); err != nil && !errors.Is(err, errNoSlot) {
		return err
	}
	return nil
}
