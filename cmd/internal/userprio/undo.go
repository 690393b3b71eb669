package userprio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// operations are the names of all edits.
func operations() map[string]bool {
	all := map[string]bool{accounts.OpUndo: true, opImport: true}
	for _, op := range edit.Ops() {
		all[op] = true
	}
	return all
}

// showLog shows the edits of some submitters, or of everybody.
func showLog(c *cmdline.Call, o options) error {
	in, err := pooled(c)
	if err != nil {
		return err
	}
	list, err := in.Edits(operations())
	if err != nil {
		return err
	}
	wanted := func(name string) bool {
		return len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(u string) bool { return accountant.Named(name, u) })
	}
	shown := []accounts.Told{}
	for _, l := range list {
		t, some, err := l.Tell(c.Config.Params, wanted)
		if err != nil {
			return err
		}
		if some || len(c.Args) == 0 {
			shown = append(shown, t)
		}
	}
	if o.form == "json" {
		return printLog(c, shown)
	}
	return accounts.WriteLog(c.Stdout, shown)
}

// printLog prints edits as JSON.
func printLog(c *cmdline.Call, list []accounts.Told) error {
	return c.JSON(struct{ Edits []accounts.LogObject }{accounts.LogObjects(list)})
}

// undo takes back an edit. The log cannot be read inside a transaction: if another
// process was faster, undo reads it again.
func undo(c *cmdline.Call, o options) error {
	number, err := strconv.ParseUint(o.arg, 10, 64)
	if err != nil {
		return cmdline.Usagef("-undo: %q: want the number of an edit, see userprio -log", o.arg)
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
		tell, err := edited(c, s, func(t *trail) error { return u.make(t, c.Now, o.reason) })
		if err == nil {
			return tell(fmt.Sprintf("Edit %d was undone: %s", number, strings.Join(append([]string{u.Op}, u.Words...), " ")))
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

// undoing is an edit to be taken back, with later changes.
type undoing struct {
	*accounts.Edit
	changed []accountant.Edit
	counted []accountant.TallyEdit
	later   []*accounts.Edit
	last    uint64 // the last transaction that the log is sure to have had
	p       accountant.Params
}

// undoingOf finds the edit, which must be in force and have kept the earlier records.
func undoingOf(s *spool.Spool, number uint64, p accountant.Params) (undoing, error) {
	u := undoing{p: p}
	if err := s.View(func(v *spool.View) error { u.last = v.Seq(); return nil }); err != nil {
		return u, err
	}
	list, err := accounts.Pool{Spool: s}.Edits(operations())
	if err != nil {
		return u, err
	}
	u.Edit = accounts.Find(list, number)
	switch {
	case u.Edit == nil:
		return u, fmt.Errorf("%d: no edit has this number: see userprio -log", number)
	case u.Undone != 0:
		return u, fmt.Errorf("edit %d: already undone by %d", number, u.Undone)
	case len(u.Rows) == 0:
		return u, fmt.Errorf("edit %d: the values before it are not recorded: make the opposite edit", number)
	}
	for _, l := range list {
		if l.Seq > number && l.Undone == 0 {
			u.later = append(u.later, l)
		}
	}
	if u.changed, err = u.Edit.Records(); err != nil {
		return u, err
	}
	if u.counted, err = u.Tallies(); err != nil {
		return u, err
	}
	return u, u.overlap()
}

// overlap refuses an edit of attributes that were changed again. An undo and the edit
// that it undid change nothing together.
func (u undoing) overlap() error {
	list, err := u.Touches(u.p)
	if err != nil {
		return err
	}
	wanted := map[accounts.Touch]bool{}
	for _, t := range list {
		wanted[t] = true
	}
	return u.blame(wanted, func(l *accounts.Edit) bool { return l.Undoes == 0 })
}

// blame returns an error that names the newest of the later edits that changed
// one of these; nil if none did.
func (u undoing) blame(wanted map[accounts.Touch]bool, counts func(*accounts.Edit) bool) error {
	for _, l := range slices.Backward(u.later) {
		if !counts(l) {
			continue
		}
		list, err := l.Touches(u.p)
		if err != nil {
			return err
		}
		for _, t := range list {
			if wanted[t] {
				return fmt.Errorf("edit %d: %s: edit %d changed its %s again: undo that first, userprio -undo %d",
					u.Seq, t.Name, l.Seq, t.What, l.Seq)
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
	for _, e := range u.changed {
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
		return fmt.Errorf("edit %d: nothing of it is left to undo", u.Seq)
	}
	t.name(accounts.OpUndo, []string{strconv.FormatUint(u.Seq, 10)}, why)
	return nil
}

// changedSince says which edit stands in the way.
func (u undoing) changedSince(err error) error {
	var since *accountant.ChangedSince
	if !errors.As(err, &since) {
		return err
	}
	wanted := map[accounts.Touch]bool{{Name: since.Name, What: string(since.Attribute)}: true}
	if blamed := u.blame(wanted, func(*accounts.Edit) bool { return true }); blamed != nil {
		return blamed
	}
	return fmt.Errorf("edit %d: %w", u.Seq, err)
}
