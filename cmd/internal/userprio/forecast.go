package userprio

import (
	"fmt"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
)

// pooled returns what accounts are read from, at the pool's time.
func pooled(c *cmdline.Call) (in accounts.Pool, err error) {
	s, err := c.Spool()
	return accounts.Pool{Spool: s, Config: c.Config, Now: c.Now}, err
}

// answer prints an answer as JSON or in words.
func answer(c *cmdline.Call, o options, object any, text string) error {
	if o.form == "json" {
		return c.JSON(object)
	}
	_, err := fmt.Fprintln(c.Stdout, text)
	return err
}

// asked returns what accounts are read from, all records, and that which is asked about; waiting is the
// number of its idle jobs if it is in no spool yet.
func asked(c *cmdline.Call, o options) (in accounts.Pool, records []accountant.Record, r accountant.Record, waiting int, err error) {
	if in, err = pooled(c); err != nil {
		return in, nil, r, 0, err
	}
	if records, err = in.Everybody(); err != nil {
		return in, nil, r, 0, err
	}
	r, waiting, err = in.Sought(o.arg, records)
	return in, records, r, waiting, err
}

// why prints a submitter's priority and place, and how they are computed.
func why(c *cmdline.Call, o options) error {
	in, records, r, waiting, err := asked(c, o)
	if err != nil {
		return err
	}
	if !slices.Contains(records, r) {
		records = append(records, r)
	}
	w, err := in.StandingOf(r, waiting, records)
	if err != nil {
		return err
	}
	if o.form == "json" {
		return c.JSON(w)
	}
	return w.Write(c.Stdout)
}

// forecast prints a submitter's future EUP, if nothing changes.
func forecast(c *cmdline.Call, o options) error {
	in, records, r, waiting, err := asked(c, o)
	if err != nil {
		return err
	}
	f := in.Future(r, waiting)
	switch {
	case o.until > 0:
		object, text := f.Until(o.until)
		return answer(c, o, object, text)
	case o.below != nil:
		other, _, err := in.Sought(*o.below, records)
		if err == nil && other.Name == r.Name {
			err = fmt.Errorf("-below: %s: want another submitter than that of -forecast", r.Name)
		}
		if err != nil {
			return err
		}
		object, text := f.Below(other)
		return answer(c, o, object, text)
	}
	if o.form == "json" {
		return c.JSON(f.Object(records))
	}
	return f.Write(c.Stdout, records)
}

// positive reads a number above zero.
func positive(text string) (float64, error) {
	x, err := edit.Number(text, 0)
	if err == nil && x == 0 {
		err = fmt.Errorf("%s: want a number above 0", text)
	}
	return x, err
}
