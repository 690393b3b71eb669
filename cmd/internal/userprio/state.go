package userprio

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/accountant/state"
	"fairspool/lib/plural"
	"fairspool/spool"
)

func exportState(c *cmdline.Call, o options) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var text []byte
	if err := s.View(func(v *spool.View) (err error) {
		text, err = state.JSON(v.Submitters(), v.Tallies(), c.Now, c.Config.Params)
		return err
	}); err != nil {
		return err
	}
	return writeState(c, s, o.arg, text)
}

// writeState writes an exported state to a file, or to standard output.
func writeState(c *cmdline.Call, s *spool.Spool, file string, text []byte) error {
	switch {
	case file == "":
		return cmdline.Usagef("-export: the name of the file is empty")
	case file == "-" && c.Has("json"):
		return cmdline.Usagef("-json: the state goes to standard output: name a file with -export")
	case file == "-":
		_, err := c.Data().Write(text)
		return err
	case spool.Inside(file, s.Dir()):
		return cmdline.Usagef("-export: %s is in the spool: give a file outside of it", file)
	}
	n, err := c.Replace(file, 0o600, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return fmt.Errorf("%s: not written: %w", file, cmdline.Cause(err))
	}
	if c.Has("json") {
		return c.JSON(cmdline.Wrote{File: file, Bytes: n})
	}
	_, err = fmt.Fprintf(c.Stdout, "The accounting state was written to %s.\n", file)
	return err
}

// importState replaces the accounting state. The weight in use stays charged.
func importState(c *cmdline.Call, o options) error {
	file := o.arg
	text, err := readState(c, file)
	if err != nil {
		return err
	}
	read, err := state.Parse(text)
	if err != nil {
		return fmt.Errorf("%s:%w", file, err)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	changed, ahead := 0, false
	tell, err := edited(c, s, func(t *trail) error {
		ahead = t.replace(read, c.Now.Truncate(time.Millisecond), c.Config.Params)
		t.name(opImport, []string{"from " + file}, o.reason)
		changed = len(t.rows) / 2
		return nil
	})
	if err != nil {
		return err
	}
	if ahead {
		c.Warn("%s: has figures from the future, which count as of now", file)
	}
	return tell(fmt.Sprintf("The accounting state was imported: %s and %s, %d changed.", plural.Count(len(read.Records), "record"), plural.Count(len(read.Tallies), "tally"), changed))
}

// replace replaces all accounts by the exported ones, and reports whether any of them was
// of a time after now: see countsFrom.
func (t *trail) replace(by *state.State, now time.Time, p accountant.Params) (ahead bool) {
	names := map[string]bool{}
	for _, r := range t.tx.Submitters() {
		names[r.Name] = true
	}
	for name := range by.Records {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r, there := t.tx.Submitter(name)
		before := accountant.Entry{Record: r, There: there}
		after := accountant.Entry{}
		if after.Record, after.There = by.Records[name]; !after.There {
			after.Record = accountant.Record{Name: name}
		}
		at := countsFrom(after.At, now, r.At)
		ahead = ahead || !at.Equal(after.At)
		if after.At = at; accountant.Holding(r) {
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

// countsFrom returns from when on figures of the time at count that are imported now, in
// the place of others with the last event at was. Nothing is charged before the last
// event, so figures of a future time would lose all use until then: they count as of now,
// or of was if that is in the future, too.
func countsFrom(at, now, was time.Time) time.Time {
	if was.After(now) {
		now = was
	}
	if at.After(now) {
		return now
	}
	return at
}

func (t *trail) replaceTallies(by *state.State, now time.Time, p accountant.Params) (ahead bool) {
	keys := map[accountant.Key]bool{}
	for _, y := range t.tx.Tallies() {
		keys[y.Key] = true
	}
	for key := range by.Tallies {
		keys[key] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(keys), accountant.Key.Compare) {
		y, there := t.tx.Tally(key)
		before := accountant.TallyEntry{Tally: y, There: there}
		after := accountant.TallyEntry{}
		if after.Tally, after.There = by.Tallies[key]; !after.There {
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
