package userprio

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// logged is one edit of the log.
type logged struct {
	spool.Logged
	words  []string // its arguments without reason and rows
	reason string
	rows   []string // of the records before and after, in pairs
	undoes uint64   // the edit that it takes back, 0 for none
	undone uint64   // the edit that took it back and is in force, 0 for none
	moved  moves    // how the clock was set since, by which its rows have to be told
}

// operations are the names of all edits.
func operations() map[string]bool {
	all := map[string]bool{opUndo: true, opImport: true}
	for _, op := range edit.Ops() {
		all[op] = true
	}
	return all
}

// readLog returns all edits, the oldest first.
func readLog(s *spool.Spool) (list []*logged, err error) {
	is := operations()
	var all moves
	err = s.Log(func(l spool.Logged) error {
		if j := operation.JumpOf(l.Transaction); j.By != 0 {
			all = append(all, j)
		}
		if d, ok := operation.RenamingOf(l.Transaction); ok {
			for _, before := range list {
				before.rename(d)
			}
		}
		if is[l.Op] {
			one := loggedOf(l)
			one.moved = all // those before it, until all are known
			list = append(list, one)
		}
		return nil
	})
	for _, l := range list {
		l.moved = all[len(l.moved):]
	}
	// From the newest: what is undone has no effect on what is older.
	for _, l := range slices.Backward(list) {
		if l.undoes == 0 || l.undone != 0 {
			continue
		}
		if of := find(list, l.undoes); of != nil {
			of.undone = l.Seq
		}
	}
	return list, err
}

// rename makes the edit speak of submitters by the names that they got later.
func (l *logged) rename(d operation.Renaming) {
	if len(l.words) > 0 {
		l.words = append([]string{d.Name(l.words[0])}, l.words[1:]...)
	}
	rows := make([]string, len(l.rows))
	for i, row := range l.rows {
		rows[i] = d.Text(row)
	}
	l.rows = rows
}

func loggedOf(t spool.Logged) *logged {
	l := &logged{Logged: t, words: t.Args}
	if i := slices.Index(t.Args, rowsMark); i >= 0 && (len(t.Args)-i)%2 == 1 {
		l.words, l.rows = t.Args[:i], t.Args[i+1:]
		if n := len(l.words); n > 0 && strings.HasPrefix(l.words[n-1], reasonMark) {
			l.words, l.reason = l.words[:n-1], l.words[n-1][len(reasonMark):]
		}
	}
	if t.Op == opUndo && len(l.words) == 1 {
		l.undoes, _ = strconv.ParseUint(l.words[0], 10, 64)
	}
	return l
}

// find returns the edit with a number; nil without one.
func find(list []*logged, number uint64) *logged {
	i, ok := slices.BinarySearchFunc(list, number, func(l *logged, n uint64) int {
		return int(min(max(int64(l.Seq-n), -1), 1))
	})
	if !ok {
		return nil
	}
	return list[i]
}

// changed is one attribute of one record that an edit changed.
type changed struct {
	name          string
	attribute     accountant.Attribute
	before, after accountant.Record
}

// changes returns what the edit changed of the records that are wanted. An
// edit that changed nothing of a record names it all the same.
func (l *logged) changes(p accountant.Params, wanted func(name string) bool) ([]changed, error) {
	list, err := l.edits()
	if err != nil {
		return nil, err
	}
	if len(l.rows) == 0 && len(l.words) > 0 && wanted(l.words[0]) {
		return []changed{{name: l.words[0]}}, nil // made before rows were kept
	}
	var all []changed
	for _, e := range list {
		if !wanted(e.Before.Name) {
			continue
		}
		what, before, after := e.Changed(p)
		for _, attribute := range what {
			all = append(all, changed{e.Before.Name, attribute, before, after})
		}
		if len(what) == 0 {
			all = append(all, changed{name: e.Before.Name})
		}
	}
	return all, nil
}

// showLog shows the edits of some submitters, or of everybody.
func showLog(c *cmdline.Call) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	list, err := readLog(s)
	if err != nil {
		return err
	}
	wanted := func(name string) bool {
		return len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(u string) bool { return edit.Named(name, u) })
	}
	shown, p := []told{}, c.Config.Params
	for _, l := range list {
		changes, err := l.changes(p, wanted)
		if err != nil {
			return err
		}
		if len(changes) > 0 || len(c.Args) == 0 {
			tallied := 0
			for range l.pairs(true) {
				tallied++
			}
			shown = append(shown, told{l, changes, tallied})
		}
	}
	if c.Has("json") {
		return logJSON(c, shown)
	}
	return logTable(c, shown)
}
