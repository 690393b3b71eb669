package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"fairspool/lib/accountant"
)

// State is an exported state, by names.
type State struct {
	Records map[string]accountant.Record
	Tallies map[accountant.Key]accountant.Tally
}

// Parse reads an exported state. Whatever -export would not have written is
// an error, `line: what: why`.
func Parse(text []byte) (*State, error) {
	in, err := newStateReader(text)
	if err == nil {
		err = in.whole(in.state)
	}
	if err != nil {
		return nil, fmt.Errorf("%d: %w", in.line(err), err)
	}
	return &in.read, nil
}

// stateReader reads the JSON piece by piece, so that it knows the places of errors and
// finds duplicates.
type stateReader struct {
	text []byte
	dec  *json.Decoder
	read State
}

func newStateReader(text []byte) (*stateReader, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	in := &stateReader{text, d, State{map[string]accountant.Record{}, map[accountant.Key]accountant.Tally{}}}
	if !utf8.Valid(text) {
		return in, errors.New("no UTF-8")
	}
	return in, nil
}

// whole reads one value, and sees that nothing comes behind.
func (in *stateReader) whole(read func() error) error {
	if err := read(); err != nil {
		return err
	}
	if _, err := in.dec.Token(); err != io.EOF {
		return errors.New("something behind the end")
	}
	return nil
}

// line returns the line that was read last.
func (in *stateReader) line(err error) int {
	at := in.dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	return 1 + bytes.Count(in.text[:min(at, int64(len(in.text)))], []byte("\n"))
}

func (in *stateReader) state() error {
	format := int64(0)
	list := func(element func() error) func() error {
		return func() error {
			if format != stateFormat {
				return wrong("Format", "want %d, before all else", stateFormat)
			}
			return in.array(element)
		}
	}
	return in.object(members{
		"Format":     in.int(&format, stateFormat, stateFormat),
		"Submitters": list(func() error { return in.record(false) }),
		"Groups":     list(func() error { return in.record(true) }),
		"Tallies":    list(in.tally),
	}, "Format", "Submitters", "Groups", "Tallies")
}

// record reads one record.
func (in *stateReader) record(group bool) error {
	var r accountant.Record
	var at, halfLife, begin, last, used, inUse, subtree int64
	ceiling := int64(-1)
	if err := in.object(members{
		"Name":           in.string(&r.Name),
		"Priority":       in.real(&r.Priority, accountant.MinPriority, accountant.MaxPriority),
		"At":             in.int(&at, 0, accountant.MaxTime*1000),
		"HalfLifeNanos":  in.int(&halfLife, 0, math.MaxInt64),
		"PriorityFactor": in.real(&r.Factor, 1, accountant.MaxPriority),
		"FactorLease":    in.lease(&r.FactorLease, 0, accountant.MaxPriority, false),
		"Ceiling":        in.int(&ceiling, 0, accountant.MaxLimit),
		"CeilingLease":   in.lease(&r.CeilingLease, -1, accountant.MaxLimit, true),
		"Floor":          in.int(&r.Floor, 0, accountant.MaxLimit),
		"FloorLease":     in.lease(&r.FloorLease, 0, accountant.MaxLimit, true),
		"ResourcesUsed":  in.int(&used, 0, math.MaxInt64),
		"InUse":          in.int(&inUse, 0, math.MaxInt64),
		"Subtree":        in.int(&subtree, 0, math.MaxInt64),
		"SlotMillis":     in.int(&r.Slots.Millis, 0, math.MaxInt64),
		"SlotRest":       in.int(&r.Slots.Rest, 0, int64(accountant.One)-1),
		"WeightedMillis": in.int(&r.Weighted.Millis, 0, math.MaxInt64),
		"WeightedRest":   in.int(&r.Weighted.Rest, 0, int64(accountant.One)-1),
		"Begin":          in.int(&begin, 0, accountant.MaxTime*1000),
		"Last":           in.int(&last, 0, accountant.MaxTime*1000),
	}, "Name", "Priority", "At", "HalfLifeNanos", "SlotMillis", "WeightedMillis"); err != nil {
		return err
	}
	if err := in.named(r, group); err != nil {
		return err
	}
	if at != 0 && halfLife == 0 {
		return fmt.Errorf("%s: HalfLifeNanos: want a number above 0", r.Name)
	}
	r.At, r.Begin, r.Last = fromMillis(at), fromMillis(begin), fromMillis(last)
	r.HalfLife, r.Ceiling = time.Duration(halfLife), accountant.LimitOf(ceiling)
	in.read.Records[r.Name] = r
	return nil
}

// named checks the name of a record.
func (in *stateReader) named(r accountant.Record, group bool) error {
	if err := accountant.RecordName(r.Name); err != nil {
		return wrong("Name", "%w", err)
	}
	if _, twice := in.read.Records[r.Name]; twice {
		return wrong("Name", "%s is there twice", r.Name)
	}
	if r.IsGroup() != group {
		return wrong("Name", "%s: submitters have an @, groups do not", r.Name)
	}
	return nil
}

func fromMillis(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// lease reads a lease of a setting; whole: the setting is a whole number.
func (in *stateReader) lease(to *accountant.Lease, least, most float64, whole bool) func() error {
	return func() error {
		var until, n int64
		before := in.real(&to.Before, least, most)
		if whole {
			before = in.int(&n, int64(least), int64(most))
		}
		err := in.object(members{"Until": in.int(&until, 1, accountant.MaxTime*1000), "Before": before}, "Until", "Before")
		if whole {
			to.Before = float64(n)
		}
		if err == nil && !whole && to.Before != 0 && to.Before < 1 {
			err = wrong("Before", "want 0 or a number from 1 to %g", most)
		}
		to.Until = fromMillis(until)
		return err
	}
}

// tallyJSON is one of the other policies' tallies.
type tallyJSON struct {
	Kind, Name    string
	At            int64
	Cpus          int64        `json:",omitempty"` // this and PE are written, but -import ignores them
	PE            int64        `json:",omitempty"` // thousandths; without it, Cpus
	IntervalNanos int64        `json:",omitempty"`
	Windows       []windowJSON `json:",omitempty"`
	Decayed       *recentJSON  `json:",omitempty"`
	LongTerm      *recentJSON  `json:",omitempty"`
}

type windowJSON struct {
	DedicatedMillis  int64
	DedicatedRest    int64 `json:",omitempty"`
	EquivalentMillis int64 // if it is missing, it is the dedicated time
	EquivalentRest   int64 `json:",omitempty"`
	UtilizedMillis   int64
	UtilizedRest     int64 `json:",omitempty"`
}

type recentJSON struct{ CPU, Memory, IO float64 }

func tallyOut(y accountant.Tally) tallyJSON {
	x := tallyJSON{Kind: y.Kind, Name: y.Name, At: millis(y.At), Cpus: y.Cpus, PE: int64(y.PE), IntervalNanos: y.Interval.Nanoseconds(),
		Decayed: recentOut(y.Decayed), LongTerm: recentOut(y.LongTerm)}
	for _, w := range y.Windows {
		x.Windows = append(x.Windows, windowJSON{
			w.Dedicated.Millis, w.Dedicated.Rest, w.Equivalent.Millis, w.Equivalent.Rest, w.Utilized.Millis, w.Utilized.Rest})
	}
	return x
}

func recentOut(r accountant.Recent) *recentJSON {
	if r == (accountant.Recent{}) {
		return nil
	}
	x := recentJSON(r)
	return &x
}

// none is a number that is not given, where 0 is one.
const none = int64(-1)

// tally reads one tally.
func (in *stateReader) tally() error {
	var y accountant.Tally
	var at, interval int64
	equivalents := none
	if err := in.object(members{
		"Kind":          in.string(&y.Kind),
		"Name":          in.string(&y.Name),
		"At":            in.int(&at, 0, accountant.MaxTime*1000),
		"Cpus":          in.int(&y.Cpus, 0, math.MaxInt64),
		"PE":            in.int(&equivalents, 0, math.MaxInt64),
		"IntervalNanos": in.int(&interval, 0, math.MaxInt64),
		"Windows":       func() error { return in.array(func() error { return in.window(&y.Windows) }) },
		"Decayed":       in.recent(&y.Decayed),
		"LongTerm":      in.recent(&y.LongTerm),
	}, "Kind", "Name", "At"); err != nil {
		return err
	}
	if y.Kind == "" || y.Name == "" {
		return wrong("Name", "this and Kind must not be empty")
	}
	if err := fitting(y); err != nil {
		return err
	}
	if _, twice := in.read.Tallies[y.Key]; twice {
		return wrong("Name", "%s %s is there twice", y.Kind, y.Name)
	}
	if y.PE = accountant.Weight(equivalents); equivalents == none {
		y.PE = accountant.EquivalentsOf(y.Cpus)
	}
	y.At, y.Interval = fromMillis(at), time.Duration(interval)
	in.read.Tallies[y.Key] = y
	return nil
}

// fitting refuses a tally of an unused kind, and one with figures that its kind does not
// have: it would stay forever, and be shown nowhere.
func fitting(y accountant.Tally) error {
	switch y.Kind {
	case accountant.KindOwn, accountant.KindProject, accountant.KindWithin:
		if len(y.Windows) > 0 {
			return wrong("Windows", "%s %s has none: its kind has Decayed and LongTerm", y.Kind, y.Name)
		}
		return nil
	}
	if !y.Windowed() {
		return wrong("Kind", "%s: no kind of tally has this name", y.Kind)
	}
	if y.Decayed != (accountant.Recent{}) || y.LongTerm != (accountant.Recent{}) {
		return wrong("Decayed", "%s %s has none, and no LongTerm: its kind has Windows", y.Kind, y.Name)
	}
	return nil
}

func (in *stateReader) window(to *[]accountant.Window) error {
	w := accountant.Window{Equivalent: accountant.Usage{Millis: none}}
	if len(*to) == accountant.MaxDepth {
		return fmt.Errorf("more than %d of them", accountant.MaxDepth)
	}
	const rest = int64(accountant.One) - 1
	err := in.object(members{
		"DedicatedMillis":  in.int(&w.Dedicated.Millis, 0, math.MaxInt64),
		"DedicatedRest":    in.int(&w.Dedicated.Rest, 0, rest),
		"EquivalentMillis": in.int(&w.Equivalent.Millis, 0, math.MaxInt64),
		"EquivalentRest":   in.int(&w.Equivalent.Rest, 0, rest),
		"UtilizedMillis":   in.int(&w.Utilized.Millis, 0, math.MaxInt64),
		"UtilizedRest":     in.int(&w.Utilized.Rest, 0, rest),
	}, "DedicatedMillis", "UtilizedMillis")
	if w.Equivalent.Millis == none {
		w.Equivalent = w.Dedicated
	}
	*to = append(*to, w)
	return err
}

func (in *stateReader) recent(to *accountant.Recent) func() error {
	return func() error {
		return in.object(members{
			"CPU":    in.real(&to.CPU, 0, math.MaxFloat64),
			"Memory": in.real(&to.Memory, 0, math.MaxFloat64),
			"IO":     in.real(&to.IO, 0, math.MaxFloat64),
		}, "CPU", "Memory", "IO")
	}
}

// TallyText is a tally in the log: as it is exported, in one line; empty for
// none.
func TallyText(e accountant.TallyEntry) string {
	if !e.There {
		return ""
	}
	text, err := json.Marshal(tallyOut(e.Tally))
	if err != nil { // not a number: there is nothing to go back to
		return ""
	}
	return string(text)
}

// ParseTally reads what TallyText wrote.
func ParseTally(text string) (accountant.Tally, error) {
	in, err := newStateReader([]byte(text))
	if err == nil {
		err = in.whole(in.tally)
	}
	for _, y := range in.read.Tallies {
		return y, err
	}
	return accountant.Tally{}, err
}

// members says how the members of an object are read.
type members map[string]func() error

// object reads an object: members that are known, each once at most, and among
// them those that are needed.
func (in *stateReader) object(known members, needed ...string) error {
	if err := in.open('{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for in.dec.More() {
		key, err := in.token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder takes nothing else
		read, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("%q: no member of this name is known", name)
		case seen[name]:
			return wrong(name, "is there twice")
		}
		seen[name] = true
		if err := read(); err != nil {
			return wrong(name, "%w", err)
		}
	}
	if _, err := in.token(); err != nil {
		return err
	}
	for _, name := range needed {
		if !seen[name] {
			return wrong(name, "is missing")
		}
	}
	return nil
}

// wrong is the error about a member.
func wrong(member, format string, args ...any) error {
	return fmt.Errorf("%s: %w", member, fmt.Errorf(format, args...))
}

// array reads an array, element by element.
func (in *stateReader) array(element func() error) error {
	if err := in.open('[', "an array"); err != nil {
		return err
	}
	for in.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := in.token()
	return err
}

func (in *stateReader) open(delim json.Delim, what string) error {
	t, err := in.token()
	if err == nil && t != delim {
		err = fmt.Errorf("want %s", what)
	}
	return err
}

func (in *stateReader) token() (json.Token, error) {
	t, err := in.dec.Token()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.New("ends too early")
	}
	return t, err
}

func (in *stateReader) string(to *string) func() error {
	return func() error {
		t, err := in.token()
		text, ok := t.(string)
		if err == nil && !ok {
			err = errors.New("want a string")
		}
		*to = text
		return err
	}
}

func (in *stateReader) int(to *int64, least, most int64) func() error {
	return func() error {
		n, err := in.number()
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseInt(n, 10, 64); least == most && *to != least {
			return fmt.Errorf("%s: want %d", n, least)
		}
		if err != nil || *to < least || *to > most {
			return fmt.Errorf("%s: want a whole number from %d to %d", n, least, most)
		}
		return nil
	}
}

func (in *stateReader) real(to *float64, least, most float64) func() error {
	return func() error {
		n, err := in.number()
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseFloat(n, 64); err != nil || *to < least || *to > most {
			return fmt.Errorf("%s: want a number from %g to %g", n, least, most)
		}
		return nil
	}
}

func (in *stateReader) number() (string, error) {
	t, err := in.token()
	n, ok := t.(json.Number)
	if err == nil && !ok {
		err = errors.New("want a number")
	}
	return n.String(), err
}
