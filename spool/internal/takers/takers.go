// Package takers writes and reads the lines of a spool's log that say how a transaction found what decides which slots take jobs. With
// them a reader can go back in time from the present state:
//
//	s "slot1@n1"               the slot was not there
//	S "slot1@n1"               the slot, which was withdrawn, was there with the ad of the lines that follow
//	+ Cpus = 8                 an attribute of that ad
//	G "slot1@n1" Cpus = 4      the attribute of a slot that stays
//	g "slot1@n1" GPUs          the slot did not have the attribute
//	m "drained n1"             the machine was not drained, or M with the row of the mark; so for maintenances
//	i "7"                      the pilot was not there, or I with its number, machine and state
//
// Nothing is said of volatile attributes (pool.Volatile), except of LastHeardFrom when the ad's lifetime was over.
package takers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/logtext"
	"fairspool/spool/internal/poolrows"
	"fairspool/spool/internal/rowtext"
)

// Takers are what decides which slots take jobs: the advertised slots, by name, the texts of the marks of drained machines and
// of maintenances, by name, and of the pilots number, machine and state. What is nil, empty or without a state is gone.
type Takers struct {
	Slots  map[string]*classad.Ad
	Marks  map[string]string
	Pilots map[int]pool.Pilot
}

// New returns takers of nothing.
func New() Takers {
	return Takers{map[string]*classad.Ad{}, map[string]string{}, map[int]pool.Pilot{}}
}

// Touched is what a transaction does to a slot.
type Touched struct {
	Name       string
	Anew       bool     // its whole ad is written, or removed
	Attributes []string // that are set or removed
	Heard      string   // the new LastHeardFrom
}

// Take takes a line of a slot, behind its name.
func (t *Touched) Take(kind byte, rest []byte) error {
	if kind == 'S' || kind == 's' {
		t.Anew = true
		return nil
	}
	name, text, err := attrtext.ParseName(rest)
	if err != nil {
		return err
	}
	if kind == 'G' && strings.EqualFold(name, pool.AttrLastHeardFrom) {
		t.Heard = strings.TrimPrefix(string(text), " = ")
	}
	t.Attributes = append(t.Attributes, name)
	return nil
}

// RenewedBy reports whether the transaction renews the lifetime of an ad, which ends then or never (0), in time, and else changes
// volatile attributes only.
func (t *Touched) RenewedBy(until int64) bool {
	heard, err := strconv.ParseInt(t.Heard, 10, 64)
	return !t.Anew && err == nil && !slices.ContainsFunc(t.Attributes, func(name string) bool { return !pool.Volatile(name) }) &&
		(until == 0 || heard <= until)
}

// Before appends how the slot was.
func (t *Touched) Before(lines []string, ad *classad.Ad) []string {
	slot := strconv.Quote(t.Name)
	switch {
	case ad == nil:
		lines = append(lines, "s "+slot)
	case t.Anew:
		lines = append(lines, "S "+slot)
		for _, name := range ad.OwnNames() {
			e, _ := ad.Lookup(name)
			lines = append(lines, "+"+string(attrtext.Append(nil, name, e)))
		}
	default:
		for i, name := range t.Attributes {
			if slices.Contains(t.Attributes[:i], name) || pool.Volatile(name) && !(strings.EqualFold(name, pool.AttrLastHeardFrom) && t.late(ad)) {
				continue
			}
			if e, ok := ad.Lookup(name); ok {
				lines = append(lines, "G "+slot+string(attrtext.Append(nil, name, e)))
			} else {
				lines = append(lines, "g "+slot+" "+string(attrtext.AppendName(nil, name)))
			}
		}
	}
	return lines
}

// late reports whether the lifetime of the ad was over when the slot was heard of again.
func (t *Touched) late(ad *classad.Ad) bool {
	heard, err := strconv.ParseInt(t.Heard, 10, 64)
	until := pool.ValidUntil(&classad.Context{}, ad)
	return err == nil && until > 0 && heard > until
}

// Mark returns the line that says what the text of a mark was; empty: there was none.
func Mark(name, text string) string {
	if text == "" {
		return "m " + strconv.Quote(name)
	}
	return string(rowtext.Append([]byte("M "), func(to rowtext.Attributes) { to.SetString("Name", name); to.SetString("Text", text) }))
}

// Pilot returns the line that says what the pilot with an ID was; one without a state: there was none.
func Pilot(id int, p pool.Pilot) string {
	if p.State == 0 {
		return "i " + strconv.Quote(strconv.Itoa(id))
	}
	return string(rowtext.Append([]byte("I "), func(to rowtext.Attributes) { poolrows.WritePilot(to, Reduced(p)) }))
}

// IsMark reports whether a mark keeps jobs from slots.
func IsMark(name string) bool {
	return strings.HasPrefix(name, pool.DrainedMark) || strings.HasPrefix(name, pool.MaintenanceMark)
}

// Reduced returns of a pilot what decides whether its machine takes jobs.
func Reduced(p pool.Pilot) pool.Pilot {
	return pool.Pilot{ID: p.ID, Machine: p.Machine, State: p.State, Why: p.Why}
}

// Back goes back over a transaction, line by line.
type Back struct {
	Then, Now   Takers // made as they were before it; and as it left those that it changed
	Expressions *classad.Interner

	ad *classad.Ad // of the last S line
}

// ErrNoSlot is of an attribute of no slot.
var ErrNoSlot = errors.New("an attribute of no slot")

// Line makes the change of a line.
func (b *Back) Line(text string) error {
	if text, ok := strings.CutPrefix(text, "+ "); ok {
		return b.set(b.ad, text)
	}
	kind, rest, ok := strings.Cut(text, " ")
	if !ok || len(kind) != 1 {
		return fmt.Errorf("%.80q: not how a slot was", text)
	}
	switch kind {
	case "M":
		text, err := rowtext.Read(rest, func(r *rowtext.Row) ([2]string, error) { return [2]string{r.Text("Name"), r.Text("Text")}, r.Err })
		if err == nil {
			put(b.Then.Marks, b.Now.Marks, text[0], text[1])
		}
		return err
	case "I":
		p, err := rowtext.Read(rest, poolrows.PilotOf)
		if err == nil {
			put(b.Then.Pilots, b.Now.Pilots, p.ID, p)
		}
		return err
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return fmt.Errorf("%.80q: not how a slot was", text)
	}
	name, _ := strconv.Unquote(quoted)
	return b.named(kind, name, strings.TrimPrefix(rest[len(quoted):], " "))
}

// named makes the change of a line with the name of a slot, a mark or a pilot.
func (b *Back) named(kind, name, rest string) (err error) {
	if rest == "" != (kind != "G" && kind != "g") {
		return fmt.Errorf("%.80q: not what stands behind a name", rest)
	}
	switch kind {
	case "s":
		put(b.Then.Slots, b.Now.Slots, name, nil)
	case "S":
		b.ad = classad.New()
		put(b.Then.Slots, b.Now.Slots, name, b.ad)
	case "G", "g":
		ad := b.Then.Slots[name]
		if ad != nil {
			ad = ad.Clone()
			put(b.Then.Slots, b.Now.Slots, name, ad)
		}
		if kind == "G" {
			return b.set(ad, rest)
		}
		if name, _, err = attrtext.ParseName([]byte(rest)); ad != nil {
			ad.Delete(name)
		}
	case "m":
		put(b.Then.Marks, b.Now.Marks, name, "")
	case "i":
		var id int
		if id, err = strconv.Atoi(name); err == nil {
			put(b.Then.Pilots, b.Now.Pilots, id, pool.Pilot{})
		}
	default:
		err = fmt.Errorf("%.80q: not how a slot was", kind)
	}
	return err
}

// set sets an attribute, "Name = expression", of an ad.
func (b *Back) set(ad *classad.Ad, attribute string) error {
	name, text, err := attrtext.Split([]byte(attribute))
	if err != nil {
		return err
	}
	e, err := b.Expressions.ExprBytes(text)
	switch {
	case err != nil:
		return err
	case ad == nil:
		return ErrNoSlot
	}
	ad.Set(name, e)
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

// Change is what a transaction made of takers.
type Change struct {
	logtext.Transaction
	Takers
}

// Since is how takers were at a time.
type Since struct {
	Takers          // nothing of it is gone
	Later  []Change // what changed from then on, in the order of the transactions
	// Known is since when changes are known: the log of the time before was archived, or written by a version that kept none. Slots of
	// an earlier time are those of Known. Zero: all are known.
	Known time.Time
}

// Before returns from the present takers, which become these, how they were at a time, by policy time; list is the whole log, in any
// order, as far as it is known.
func Before(now Takers, list []logtext.Logged, known, at time.Time) (Since, error) {
	t := Since{Takers: now, Known: known}
	b := Back{Then: now, Expressions: classad.NewInterner()}
	slices.SortStableFunc(list, func(a, b logtext.Logged) int { return cmp.Compare(b.Seq, a.Seq) })
	for _, l := range list {
		switch {
		case len(l.Earlier) == 0:
			changed := strings.Contains(l.What, " advertised") || strings.Contains(l.What, " withdrawn")
			if changed && l.Policy.After(t.Known) {
				t.Known = l.Policy
			}
		case l.Policy.After(at):
			b.Now = New()
			for _, line := range l.Earlier {
				if err := b.Line(line); err != nil && !errors.Is(err, ErrNoSlot) { // transactions of other times may stand between
					return t, fmt.Errorf("transaction %d of the log: %w", l.Seq, err)
				}
			}
			t.Later = append(t.Later, Change{l.Transaction, b.Now})
		}
	}
	slices.Reverse(t.Later)
	if !t.Known.After(at) {
		t.Known = time.Time{}
	}
	return t, nil
}

// Check returns an error unless a text is such a line, as far as it says by itself.
func Check(line string) error {
	b := Back{Then: New(), Now: New(), Expressions: classad.NewInterner()}
	if strings.Contains(line, "\n") {
		return errors.New("two lines")
	}
	if err := b.Line(line); err != nil && !errors.Is(err, ErrNoSlot) {
		return err
	}
	return nil
}
