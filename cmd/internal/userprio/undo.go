package userprio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// undo takes back an edit. The log cannot be read inside a transaction: if
// somebody was faster, it is read again.
func undo(c *cmdline.Call) error {
	number, err := strconv.ParseUint(c.Value("undo"), 10, 64)
	if err != nil {
		return cmdline.Usagef("-undo: %q: want the number of an edit, see userprio -log", c.Value("undo"))
	}
	why, err := reason(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	for range mostTries {
		var u undoing
		if u, err = undoingOf(s, number, c.Config.Params); err != nil {
			return err
		}
		err = edited(c, s, func(t *trail) error { return u.make(t, c.Now, why) })
		if err == nil {
			_, err = fmt.Fprintf(c.Stdout, "Edit %d was undone: %s\n", number, strings.Join(append([]string{u.Op}, u.words...), " "))
			return err
		}
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fmt.Errorf("edit %d: %w: try again", number, errOvertaken)
}

// mostTries is how often the log is read while others change the spool.
const mostTries = 50

var errOvertaken = errors.New("others keep changing the spool")

// undoing is an edit to be taken back, and what was done later.
type undoing struct {
	*logged
	records []accountant.Edit
	counted []accountant.TallyEdit
	later   []*logged
	last    uint64 // the last transaction that the log is sure to have had
	p       accountant.Params
}

// undoingOf finds the edit, which must be in force and have kept what was there
// before.
func undoingOf(s *spool.Spool, number uint64, p accountant.Params) (undoing, error) {
	u := undoing{p: p}
	if err := s.View(func(v *spool.View) error { u.last = v.Seq(); return nil }); err != nil {
		return u, err
	}
	list, err := readLog(s)
	if err != nil {
		return u, err
	}
	u.logged = find(list, number)
	switch {
	case u.logged == nil:
		return u, fmt.Errorf("%d: no edit has this number: see userprio -log", number)
	case u.undone != 0:
		return u, fmt.Errorf("edit %d: already undone by %d", number, u.undone)
	case len(u.rows) == 0:
		return u, fmt.Errorf("edit %d: it did not keep what was there before: make the contrary edit", number)
	}
	for _, l := range list {
		if l.Seq > number && l.undone == 0 {
			u.later = append(u.later, l)
		}
	}
	if u.records, err = u.edits(); err != nil {
		return u, err
	}
	if u.counted, err = u.tallies(); err != nil {
		return u, err
	}
	return u, u.overlap()
}

// overlap refuses an edit whose attributes were changed again. Undoing, and what
// was undone, changed nothing on balance.
func (u undoing) overlap() error {
	list, err := u.touches(u.p)
	if err != nil {
		return err
	}
	wanted := map[touch]bool{}
	for _, t := range list {
		wanted[t] = true
	}
	return u.blame(wanted, func(l *logged) bool { return l.undoes == 0 })
}

// blame returns an error that names the newest of the later edits that changed
// one of these; nil if none did.
func (u undoing) blame(wanted map[touch]bool, counts func(*logged) bool) error {
	for _, l := range slices.Backward(u.later) {
		if !counts(l) {
			continue
		}
		list, err := l.touches(u.p)
		if err != nil {
			return err
		}
		for _, t := range list {
			if wanted[t] {
				return fmt.Errorf("edit %d: %s: edit %d changed its %s again: undo that first, userprio -undo %d",
					u.Seq, t.name, l.Seq, t.what, l.Seq)
			}
		}
	}
	return nil
}

// make takes the edit back.
func (u undoing) make(t *trail, now time.Time, why string) error {
	tx := t.tx
	if tx.Seq() > u.last+1 {
		return errOvertaken
	}
	for _, e := range u.records {
		r, there := tx.Submitter(e.Before.Name)
		current := accountant.Entry{Record: r, There: there}
		then, err := e.Undo(current, now, u.p)
		if err != nil {
			return u.changedSince(err)
		}
		t.change(current, then)
	}
	for _, e := range u.counted {
		y, there := tx.Tally(e.Before.Key)
		current := accountant.TallyEntry{Tally: y, There: there}
		t.changeTally(current, e.Undo(current, now, u.p))
	}
	if len(t.rows) == 0 {
		return fmt.Errorf("edit %d: nothing is left of it", u.Seq)
	}
	t.name(opUndo, []string{strconv.FormatUint(u.Seq, 10)}, why)
	return nil
}

// changedSince says which edit stands in the way.
func (u undoing) changedSince(err error) error {
	var since *accountant.ChangedSince
	if !errors.As(err, &since) {
		return err
	}
	wanted := map[touch]bool{{since.Name, string(since.Attribute)}: true}
	if blamed := u.blame(wanted, func(*logged) bool { return true }); blamed != nil {
		return blamed
	}
	return fmt.Errorf("edit %d: %w", u.Seq, err)
}
