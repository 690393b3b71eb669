package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// maxPriority bounds what may be set by hand, so that no product of a
// priority and a factor leaves the range of numbers.
const maxPriority = 1e100

// edits are the changes that userprio makes. Each takes a submitter's record
// and a number, and returns the changed record.
var edits = map[string]struct {
	op     string
	least  float64 // of the number; 0 when there is none
	create bool    // whether an unknown name is as good as a known one
	apply  func(r accountant.Record, x float64, c *cmdline.Call, p accountant.Params) accountant.Record
	done   func(name string, x float64) string
}{
	"setprio": {"set user priority", accountant.MinPriority, true,
		func(r accountant.Record, x float64, c *cmdline.Call, p accountant.Params) accountant.Record {
			r = r.Settle(c.Now, p)
			r.Priority = x
			return r
		},
		func(name string, x float64) string { return fmt.Sprintf("The priority of %s was set to %f", name, x) },
	},
	"setfactor": {"set priority factor", 1, true,
		func(r accountant.Record, x float64, c *cmdline.Call, p accountant.Params) accountant.Record {
			if r.At.IsZero() {
				r = r.Settle(c.Now, p)
			}
			r.Factor = x
			return r
		},
		func(name string, x float64) string {
			return fmt.Sprintf("The priority factor of %s was set to %f", name, x)
		},
	},
	"resetusage": {"reset usage", 0, false,
		func(r accountant.Record, _ float64, c *cmdline.Call, p accountant.Params) accountant.Record {
			return r.ResetUsage(c.Now, p)
		},
		func(name string, _ float64) string {
			return fmt.Sprintf("The accumulated usage of %s was reset", name)
		},
	},
	"delete": {"delete submitter", 0, false,
		// What is in use must go on being charged: without a record, the end
		// of a claim would take away what was never added.
		func(r accountant.Record, _ float64, c *cmdline.Call, p accountant.Params) accountant.Record {
			fresh := accountant.Record{Name: r.Name, ResourcesUsed: r.ResourcesUsed, InUse: r.InUse}
			return fresh.Settle(c.Now, p)
		},
		func(name string, _ float64) string {
			return fmt.Sprintf("The accountant record named %s was deleted", name)
		},
	},
}

// change makes one edit, as one transaction.
func change(c *cmdline.Call, flag string) error {
	if err := alone(c, flag); err != nil {
		return err
	}
	edit, values := edits[flag], c.Values(flag)
	name, x := values[0], 0.0
	if err := fullName(name); err != nil {
		return cmdline.Usagef("-%s: %v", flag, err)
	}
	// A record with such a name can go, but not come.
	if edit.create && strings.Count(name, "@") > 1 {
		return cmdline.Usagef("-%s: %q: want the full name of a submitter, with one @", flag, name)
	}
	if edit.least > 0 {
		var err error
		if x, err = number(values[1], edit.least); err != nil {
			return cmdline.Usagef("-%s: %v", flag, err)
		}
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	p := operation.Params(c.Config)
	err = s.Update(func(tx *spool.Tx) error {
		tx.Op(edit.op, values...)
		r, known := tx.Submitter(name)
		if !known && !edit.create {
			return unknown(name, tx.Submitters())
		}
		if r = edit.apply(r, x, c, p); flag == "delete" && r.ResourcesUsed == 0 {
			tx.DropSubmitter(name)
			return nil
		}
		tx.PutSubmitter(r)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, edit.done(name, x))
	return err
}

// alone refuses whatever else was asked for beside an edit.
func alone(c *cmdline.Call, flag string) error {
	if len(c.Args) > 0 {
		return cmdline.Usagef("-%s: one argument too many: %s", flag, c.Args[0])
	}
	for _, f := range flags() {
		if f.Name != flag && c.Has(f.Name) {
			return cmdline.Usagef("-%s and -%s: only one of them at a time", flag, f.Name)
		}
	}
	return nil
}

// fullName refuses what cannot be a submitter's name.
func fullName(name string) error {
	at := strings.LastIndexByte(name, '@')
	if at < 1 || at == len(name)-1 {
		return fmt.Errorf("%q: want the full name of a submitter, user@uid.domain", name)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '"' }) {
		return fmt.Errorf("%q: blanks, control characters or quotes in a submitter's name", name)
	}
	return nil
}

// number reads a decimal number from least up.
func number(text string, least float64) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q: not a number", text)
	}
	if x < least || x > maxPriority {
		return 0, fmt.Errorf("%s: want a number from %g to %g", text, least, maxPriority)
	}
	return x, nil
}
