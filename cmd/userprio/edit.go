package main

import (
	"fmt"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

// edit is one kind of change to a submitter's record.
type edit struct {
	op      string
	takes   *quantity // what is given beside the name; nil: nothing
	creates bool      // whether an unknown name is as good as a known one
	// apply returns the record, which is as of now, with the change made.
	apply func(r accountant.Record, v given) (accountant.Record, error)
	done  func(name string, v given) string
}

// given is what an edit was given beside the name.
type given struct {
	text string
	x    float64
	n    int64         // the same, where it is whole
	span time.Duration // of the lease; 0: for good
	now  time.Time
	p    accountant.Params
}

// edits are the changes, by their flags.
var edits = map[string]edit{
	"setprio": {"set user priority", &quantity{least: accountant.MinPriority, most: maxPriority}, true,
		func(r accountant.Record, v given) (accountant.Record, error) {
			r.Priority = v.x
			return r, nil
		},
		wasSet("The priority of %s was set to %f", asReal),
	},
	"setfactor":  setting(opSetFactor, &quantity{least: 1, most: maxPriority}, &factorLease, "The priority factor of %s was set to %f", asReal),
	"setceiling": setting("set ceiling", &quantity{least: -1, most: maxLimit, whole: true}, &ceilingLease, "The ceiling of %s was set to %d", asWhole),
	"setfloor":   setting("set floor", &quantity{least: 0, most: maxLimit, whole: true}, &floorLease, "The floor of %s was set to %d", asWhole),
	"setaccum": {"set accumulated usage", &quantity{least: 0, most: maxUsage}, true,
		func(r accountant.Record, v given) (accountant.Record, error) {
			var err error
			r.Weighted, err = accountant.UsageOf(v.x)
			return r, err
		},
		wasSet("The Accumulated Usage of %s was set to %f", asReal),
	},
	"setbegin": {"set begin usage time", &quantity{least: 0, most: maxTime, whole: true}, true,
		func(r accountant.Record, v given) (accountant.Record, error) {
			r.Begin = v.time()
			return r, nil
		},
		wasSet("The Begin Usage Time of %s was set to %d", asWhole),
	},
	"setlast": {"set last usage time", &quantity{least: 0, most: maxTime, whole: true}, true,
		func(r accountant.Record, v given) (accountant.Record, error) {
			r.Last = v.time()
			return r, nil
		},
		wasSet("The Last Usage Time of %s was set to %d", asWhole),
	},
	"resetusage": {"reset usage", nil, false,
		func(r accountant.Record, v given) (accountant.Record, error) { return r.ResetUsage(v.now, v.p), nil },
		func(name string, _ given) string { return fmt.Sprintf("The accumulated usage of %s was reset", name) },
	},
	// What is in use must go on being charged: without a record, the end of a
	// claim would take away what was never added.
	"delete": {"delete submitter", nil, false,
		func(r accountant.Record, _ given) (accountant.Record, error) {
			return accountant.Record{Name: r.Name, At: r.At, Priority: accountant.MinPriority, HalfLife: r.HalfLife,
				ResourcesUsed: r.ResourcesUsed, InUse: r.InUse, Subtree: r.Subtree, OutsideSlots: r.OutsideSlots, Outside: r.Outside}, nil
		},
		func(name string, _ given) string {
			return fmt.Sprintf("The accountant record named %s was deleted", name)
		},
	},
	"cancelfactorlease":  cancelling("cancel priority-factor lease", &factorLease),
	"cancelceilinglease": cancelling("cancel ceiling lease", &ceilingLease),
	"cancelfloorlease":   cancelling("cancel floor lease", &floorLease),
	"resetall":           {op: opResetAll}, // resetAll makes it
}

// wasSet words that a value was set.
func wasSet(format string, show func(given) any) func(string, given) string {
	return func(name string, v given) string { return fmt.Sprintf(format, name, show(v)) }
}

func asReal(v given) any  { return v.x }
func asWhole(v given) any { return v.n }

// time is the Unix seconds given, of which 0 means never.
func (v given) time() time.Time {
	if v.n == 0 {
		return time.Time{}
	}
	return time.Unix(v.n, 0).UTC()
}

// change makes one edit, as one transaction.
func change(c *cmdline.Call, flag string) error {
	if flag == "resetall" {
		return resetAll(c)
	}
	e := edits[flag]
	name, v, err := e.read(c, flag)
	if err != nil {
		return err
	}
	why, err := reason(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	v.now, v.p = c.Now, operation.Params(c.Config)
	err = edited(c, s, func(t *trail) error {
		before, err := e.find(t.tx, flag, name)
		if err != nil {
			return err
		}
		after := accountant.Entry{There: true}
		if after.Record, err = e.apply(before.Settle(v.now, v.p), v); err != nil {
			return err
		}
		if flag == "delete" {
			after.There = holding(after.Record)
		}
		t.change(before, after)
		t.name(e.op, v.words(name), why)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, e.done(name, v))
	return err
}

// read reads what the edit was given.
func (e edit) read(c *cmdline.Call, flag string) (name string, v given, err error) {
	leases := leasable[flag] != nil
	also := []string{"reason"}
	if leases {
		also = append(also, "duration")
	}
	if err := alone(c, flag, also...); err != nil {
		return "", v, err
	}
	values := c.Values(flag)
	name = c.Config.Groups.Spelled(values[0])
	if err := editable(name, flag, e.creates); err != nil {
		return name, v, cmdline.Usagef("-%s: %v", flag, err)
	}
	if e.takes != nil {
		if v, err = e.takes.read(values[1]); err != nil {
			return name, v, cmdline.Usagef("-%s: %v", flag, err)
		}
	}
	if leases && c.Has("duration") {
		seconds, err := span.read(c.Value("duration"))
		if err != nil {
			return name, v, cmdline.Usagef("-duration: %v", err)
		}
		v.span = time.Duration(seconds.n) * time.Second
	}
	return name, v, nil
}

// words are the edit's in the log.
func (v given) words(name string) []string {
	words := []string{name}
	if v.text != "" {
		words = append(words, v.text)
	}
	if v.span > 0 {
		words = append(words, fmt.Sprintf("for %d seconds", v.span/time.Second))
	}
	return words
}

// find returns the record that is to be changed. A group's, whose name has no @, can
// only be deleted.
func (e edit) find(tx *spool.Tx, flag, name string) (accountant.Entry, error) {
	r, known := tx.Submitter(name)
	if known || e.creates {
		return accountant.Entry{Record: r, There: known}, nil
	}
	if !strings.Contains(name, "@") {
		return accountant.Entry{}, cmdline.Usagef("-%s: %v", flag, errFullName(name))
	}
	return accountant.Entry{}, unknown(name, tx.Submitters())
}

// holding tells whether anything is charged to the record.
func holding(r accountant.Record) bool { return r.ResourcesUsed != 0 || r.InUse != 0 || r.Subtree != 0 }

// resetAll resets the usage of every submitter and group.
func resetAll(c *cmdline.Call) error {
	if err := alone(c, "resetall", "reason"); err != nil {
		return err
	}
	why, err := reason(c)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	p := operation.Params(c.Config)
	if err := edited(c, s, func(t *trail) error {
		for _, r := range t.tx.Submitters() {
			after := r.Settle(c.Now, p).ResetUsage(c.Now, p)
			t.change(accountant.Entry{Record: r, There: true}, accountant.Entry{Record: after, There: true})
		}
		t.name(opResetAll, nil, why)
		return nil
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "The accumulated usage was reset for all users")
	return err
}
