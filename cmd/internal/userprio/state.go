package userprio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// stateFormat is the number of the format of exported states.
const stateFormat = 1

// stateJSON is the accounting state as -export writes it. Times are milliseconds
// since 1970, weights thousandths and usage whole units, as in the spool: nothing
// is rounded.
type stateJSON struct {
	Format     int
	Submitters []recordJSON
	Groups     []recordJSON
	Tallies    []tallyJSON
}

type recordJSON struct {
	Name           string
	Priority       float64
	At             int64 // of the figures: what is in use counts from then on
	HalfLifeNanos  int64
	PriorityFactor float64    `json:",omitempty"`
	FactorLease    *leaseJSON `json:",omitempty"`
	Ceiling        *int64     `json:",omitempty"`
	CeilingLease   *leaseJSON `json:",omitempty"`
	Floor          int64      `json:",omitempty"`
	FloorLease     *leaseJSON `json:",omitempty"`
	// What is in use is told, but not taken over by -import.
	ResourcesUsed  int   `json:",omitempty"`
	InUse          int64 `json:",omitempty"`
	Subtree        int64 `json:",omitempty"`
	SlotMillis     int64
	SlotRest       int64 `json:",omitempty"`
	WeightedMillis int64
	WeightedRest   int64 `json:",omitempty"`
	Begin          int64 `json:",omitempty"`
	Last           int64 `json:",omitempty"`
}

type leaseJSON struct {
	Until  int64
	Before float64
}

func exportState(c *cmdline.Call) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	state := stateJSON{Format: stateFormat, Submitters: []recordJSON{}, Groups: []recordJSON{}, Tallies: []tallyJSON{}}
	p := c.Config.Params
	if err := s.View(func(v *spool.View) error {
		for _, r := range v.Submitters() {
			if r.IsGroup() {
				state.Groups = append(state.Groups, recordOut(r, c.Now, p))
			} else {
				state.Submitters = append(state.Submitters, recordOut(r, c.Now, p))
			}
		}
		for _, y := range v.Tallies() {
			if y.InUse() {
				y = y.AsOf(c.Now, p)
			}
			state.Tallies = append(state.Tallies, tallyOut(y))
		}
		return nil
	}); err != nil {
		return err
	}
	text, err := cmdline.JSON(state)
	if err != nil {
		return err
	}
	return writeState(c, s, c.Value("export"), text)
}

// recordOut returns a record for export. Without anything in use it is written
// as it is kept, so that a pool at rest reads the same whenever it is written;
// else as of now, since use up to now is not to be lost.
func recordOut(r accountant.Record, now time.Time, p accountant.Params) recordJSON {
	if edit.Holding(r) {
		r = r.AsOf(now, p)
	}
	x := recordJSON{
		Name: r.Name, Priority: max(r.Priority, accountant.MinPriority), At: millis(r.At), HalfLifeNanos: r.HalfLife.Nanoseconds(),
		PriorityFactor: r.Factor, Floor: r.Floor, ResourcesUsed: r.ResourcesUsed, InUse: int64(r.InUse), Subtree: int64(r.Subtree),
		FactorLease: leaseOut(r.FactorLease), CeilingLease: leaseOut(r.CeilingLease), FloorLease: leaseOut(r.FloorLease),
		SlotMillis: r.Slots.Millis, SlotRest: r.Slots.Rest, WeightedMillis: r.Weighted.Millis, WeightedRest: r.Weighted.Rest,
		Begin: millis(r.Begin), Last: millis(r.Last),
	}
	if r.Ceiling.Set {
		x.Ceiling = &r.Ceiling.Slots
	}
	return x
}

func leaseOut(l accountant.Lease) *leaseJSON {
	if l.Until.IsZero() {
		return nil
	}
	return &leaseJSON{millis(l.Until), l.Before}
}

// millis returns milliseconds since 1970, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// writeState writes an exported state to a file, or to standard output.
func writeState(c *cmdline.Call, s *spool.Spool, file string, text []byte) error {
	switch {
	case file == "":
		return cmdline.Usagef("-export: the name of the file is empty")
	case file == "-":
		_, err := c.Data().Write(text)
		return err
	case spool.Inside(file, s.Dir()):
		return cmdline.Usagef("-export: %s lies in the spool: give a file outside of it", file)
	}
	_, err := c.Replace(file, 0o600, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return fmt.Errorf("%s: not written: %w", file, cmdline.Cause(err))
	}
	_, err = fmt.Fprintf(c.Stdout, "The accounting state was written to %s.\n", file)
	return err
}

// importState replaces the accounting state. What is in use stays charged.
func importState(c *cmdline.Call) error {
	why, err := reason(c)
	if err != nil {
		return err
	}
	file := c.Value("import")
	text, err := readState(c, file)
	if err != nil {
		return err
	}
	state, err := parseState(text)
	if err != nil {
		return fmt.Errorf("%s:%w", file, err)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	changed, ahead := 0, false
	if err := edited(c, s, func(t *trail) error {
		ahead = t.replace(state, c.Now.Truncate(time.Millisecond), c.Config.Params)
		t.name(opImport, []string{"from " + file}, why)
		changed = len(t.rows) / 2
		return nil
	}); err != nil {
		return err
	}
	if ahead {
		c.Warn("%s: has figures of a time after now, which count as of now", file)
	}
	_, err = fmt.Fprintf(c.Stdout, "The accounting state was imported: %s and %s, %d changed.\n", plural.Count(len(state.records), "record"), plural.Count(len(state.tallies), "tally"), changed)
	return err
}

// replace puts what was exported in the place of all there is, and tells whether
// any of it was of a time after now: see countsFrom.
func (t *trail) replace(by *state, now time.Time, p accountant.Params) (ahead bool) {
	names := map[string]bool{}
	for _, r := range t.tx.Submitters() {
		names[r.Name] = true
	}
	for name := range by.records {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r, there := t.tx.Submitter(name)
		before := accountant.Entry{Record: r, There: there}
		after := accountant.Entry{}
		if after.Record, after.There = by.records[name]; !after.There {
			after.Record = accountant.Record{Name: name}
		}
		at := countsFrom(after.At, now, r.At)
		ahead = ahead || !at.Equal(after.At)
		if after.At = at; edit.Holding(r) {
			after = accountant.Entry{Record: after.Settle(now, p), There: true}
			after.ResourcesUsed, after.InUse, after.Subtree = r.ResourcesUsed, r.InUse, r.Subtree
			after.OutsideSlots, after.Outside = r.OutsideSlots, r.Outside
		}
		if !after.Same(before) {
			t.change(before, after)
		}
	}
	return t.replaceTallies(by, now, p) || ahead
}

// countsFrom returns when figures of the time at count from that are imported now, in
// the place of others whose last event was at was. Nothing is charged before the
// last event, so one of a time to come would lose all use until then: it counts as
// of now, or of was where that is to come, too.
func countsFrom(at, now, was time.Time) time.Time {
	if was.After(now) {
		now = was
	}
	if at.After(now) {
		return now
	}
	return at
}

func (t *trail) replaceTallies(by *state, now time.Time, p accountant.Params) (ahead bool) {
	keys := map[accountant.Key]bool{}
	for _, y := range t.tx.Tallies() {
		keys[y.Key] = true
	}
	for key := range by.tallies {
		keys[key] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(keys), accountant.Key.Compare) {
		y, there := t.tx.Tally(key)
		before := accountant.TallyEntry{Tally: y, There: there}
		after := accountant.TallyEntry{}
		if after.Tally, after.There = by.tallies[key]; !after.There {
			after.Tally = accountant.Tally{Key: key}
		}
		at := countsFrom(after.At, now, y.At)
		ahead = ahead || !at.Equal(after.At)
		after.At = at
		if after.Cpus, after.PE = 0, 0; y.InUse() {
			after = accountant.TallyEntry{Tally: after.AsOf(now, p), There: true}
			after.Cpus, after.PE = y.Cpus, y.PE
		}
		if !after.Same(before) {
			t.changeTally(before, after)
		}
	}
	return ahead
}

// maxState is how large a file may be that is imported: it is read as a whole.
const maxState = 1 << 30

func readState(c *cmdline.Call, file string) ([]byte, error) {
	if file == "" {
		return nil, cmdline.Usagef("-import: the name of the file is empty")
	}
	from, err := c.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, cmdline.Cause(err))
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxState+1))
	if err == nil && len(text) > maxState {
		err = errors.New("too large for an accounting state")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, cmdline.Cause(err))
	}
	return text, nil
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
