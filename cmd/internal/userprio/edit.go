package userprio

import (
	"fmt"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/accountant/state"
	"fairspool/lib/lifecycle"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// opImport is the name of an import in the spool's log.
const opImport = "import accounting"

// trail makes the changes of an edit, and keeps what undoing it needs.
type trail struct {
	tx   *spool.Tx
	now  time.Time // in whole milliseconds, as events are
	rows []string
	was  []accountant.Record // those that were changed, before
}

// edited makes an edit in a transaction, and warns if now is before the last event. Only
// administrators may. It returns what tells of the edit: as -log does with -json, else in the words
// of done.
func edited(c *cmdline.Call, s *spool.Spool, make func(t *trail) error) (tell func(done string) error, err error) {
	who, err := c.Caller()
	if err == nil && !who.Admin {
		err = fmt.Errorf("you are %s: only administrators may change accounts", who.Name)
	}
	if err != nil {
		return nil, err
	}
	var t *trail
	err = lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
		t = &trail{tx: tx, now: c.Now.Truncate(time.Millisecond)}
		return make(t)
	})
	if err != nil {
		return nil, err
	}
	c.Changed()
	if late := lifecycle.Late(t.was, c.Now); late != "" {
		c.Warn("%s", late)
	}
	return func(done string) error {
		if c.Has("json") {
			return t.json(c)
		}
		_, err := fmt.Fprintln(c.Stdout, done)
		return err
	}, nil
}

// json prints the edit as -log does; none if nothing was committed.
func (t *trail) json(c *cmdline.Call) error {
	list := []accounts.Told{}
	if t.tx.Header.Seq > 0 {
		told, _, err := accounts.EditOf(spool.Logged{Transaction: t.tx.Header}).Tell(c.Config.Params, func(string) bool { return true })
		if err != nil {
			return err
		}
		list = append(list, told)
	}
	return printLog(c, list)
}

func (t *trail) change(before, after accountant.Entry) {
	if before.There && !after.There || after.There && after.At.Before(t.now) {
		lifecycle.ChangePast(t.tx)
	}
	switch {
	case after.There:
		t.tx.PutSubmitter(after.Record)
	case before.There:
		t.tx.DropSubmitter(before.Name)
	default:
		return
	}
	t.rows = append(t.rows, rowText(before), rowText(after))
	t.was = append(t.was, before.Record)
}

func (t *trail) changeTally(before, after accountant.TallyEntry) {
	switch {
	case after.There:
		t.tx.PutTally(after.Tally)
	case before.There:
		t.tx.DropTally(before.Key)
	default:
		return
	}
	t.rows = append(t.rows, state.TallyText(before), state.TallyText(after))
}

// name names the transaction.
func (t *trail) name(op string, words []string, why string) {
	if why != "" {
		words = append(words, accounts.ReasonMark+why)
	}
	t.tx.Op(op, append(append(words, accounts.RowsMark), t.rows...)...)
}

func rowText(e accountant.Entry) string {
	if !e.There {
		return ""
	}
	return spool.SubmitterRow(e.Record)
}
