package edit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/plural"
)

// Kind is one kind of change to a submitter's record.
type Kind struct {
	Op      string    // as the spool's log names it
	takes   *quantity // what is given beside the name; nil: nothing
	creates bool      // whether it may make a record
	// apply returns the record, which is as of now, with the change made.
	apply func(r accountant.Record, v Given) (accountant.Record, error)
	done  func(name string, v Given) string
}

// Given is what an edit was given beside the name.
type Given struct {
	text string
	x    float64
	n    int64         // the same, where it is whole
	span time.Duration // of the lease; 0: for good
	now  time.Time
	p    accountant.Params
}

// The operations that are known by name.
const (
	OpSetFactor = "set priority factor"
	OpResetAll  = "reset all usage"
)

// kinds are the changes, by their flags.
var kinds = map[string]Kind{
	"setprio": {"set user priority", &quantity{least: accountant.MinPriority, most: MaxPriority}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			r.Priority = v.x
			return r, nil
		},
		wasSet("The priority of %s was set to %f", asReal),
	},
	"setfactor":  setting(OpSetFactor, &quantity{least: 1, most: MaxPriority}, &factorLease, "The priority factor of %s was set to %f", asReal),
	"setceiling": setting("set ceiling", &quantity{least: -1, most: MaxLimit, whole: true}, &ceilingLease, "The ceiling of %s was set to %d", asWhole),
	"setfloor":   setting("set floor", &quantity{least: 0, most: MaxLimit, whole: true}, &floorLease, "The floor of %s was set to %d", asWhole),
	"setaccum": {"set accumulated usage", &quantity{least: 0, most: MaxUsage}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			var err error
			r.Weighted, err = accountant.UsageOf(v.x)
			return r, err
		},
		wasSet("The Accumulated Usage of %s was set to %f", asReal),
	},
	"setbegin": {"set begin usage time", &quantity{least: 0, most: MaxTime, whole: true}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			r.Begin = v.time()
			return r, nil
		},
		wasSet("The Begin Usage Time of %s was set to %d", asWhole),
	},
	"setlast": {"set last usage time", &quantity{least: 0, most: MaxTime, whole: true}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			r.Last = v.time()
			return r, nil
		},
		wasSet("The Last Usage Time of %s was set to %d", asWhole),
	},
	"resetusage": {"reset usage", nil, false,
		func(r accountant.Record, v Given) (accountant.Record, error) { return r.ResetUsage(v.now, v.p), nil },
		func(name string, _ Given) string { return fmt.Sprintf("The accumulated usage of %s was reset", name) },
	},
	// What is in use must go on being charged: without a record, the end of a
	// claim would take away what was never added.
	"delete": {"delete submitter", nil, false,
		func(r accountant.Record, _ Given) (accountant.Record, error) {
			return accountant.Record{Name: r.Name, At: r.At, Priority: accountant.MinPriority, HalfLife: r.HalfLife,
				ResourcesUsed: r.ResourcesUsed, InUse: r.InUse, Subtree: r.Subtree, OutsideSlots: r.OutsideSlots, Outside: r.Outside}, nil
		},
		func(name string, _ Given) string {
			return fmt.Sprintf("The accountant record named %s was deleted", name)
		},
	},
	"cancelfactorlease":  cancelling("cancel priority-factor lease", &factorLease),
	"cancelceilinglease": cancelling("cancel ceiling lease", &ceilingLease),
	"cancelfloorlease":   cancelling("cancel floor lease", &floorLease),
	"resetall": {OpResetAll, nil, false, // of every record there is
		func(r accountant.Record, v Given) (accountant.Record, error) { return r.ResetUsage(v.now, v.p), nil },
		func(string, Given) string { return "The accumulated usage was reset for all users" },
	},
}

// Ops returns the names of all edits in the spool's log, sorted.
func Ops() []string {
	var ops []string
	for _, k := range kinds {
		ops = append(ops, k.Op)
	}
	slices.Sort(ops)
	return ops
}

// wasSet words that a value was set.
func wasSet(format string, show func(Given) any) func(string, Given) string {
	return func(name string, v Given) string { return fmt.Sprintf(format, name, show(v)) }
}

func asReal(v Given) any  { return v.x }
func asWhole(v Given) any { return v.n }

// time is the Unix seconds given, of which 0 means never.
func (v Given) time() time.Time {
	if v.n == 0 {
		return time.Time{}
	}
	return time.Unix(v.n, 0).UTC()
}

// Change is one edit with all that it was given.
type Change struct {
	Kind
	flag, name string
	given      Given
	create     bool // also of a submitter that the pool does not know
}

// Pool is what an edit asks about submitters without a record.
type Pool struct {
	Domain string          // that submitters' names have in it
	Queued func() []string // the submitters of the jobs in the queue
}

// Leasable reports whether what the flag sets may be set on time, with -duration.
func Leasable(flag string) bool { return leasable[flag] != nil }

// Creates reports whether the edit may make a record, with -create also of a submitter
// that the pool does not know.
func Creates(flag string) bool { return kinds[flag].creates }

// Read reads what was given to one of Flags but -duration: its arguments, and those
// of -duration, none without it; create reports whether -create was. The name is spelled as
// the groups have it. It fails as a wrong use of the flag.
func Read(flag string, args, duration []string, create bool, groups *accountant.Groups) (Change, error) {
	ch := Change{Kind: kinds[flag], flag: flag, create: create}
	if create && !ch.creates {
		return ch, cmdline.Usagef("-create: only with an edit that sets something")
	}
	if flag == "resetall" {
		return ch, nil
	}
	ch.name = groups.Spelled(args[0])
	err := editable(ch.name, flag, ch.creates)
	if err == nil && ch.takes != nil {
		ch.given, err = ch.takes.read(args[1])
	}
	if err != nil {
		return ch, cmdline.Usagef("-%s: %v", flag, err)
	}
	if len(duration) > 0 {
		seconds, err := span.read(duration[0])
		if err != nil {
			return ch, cmdline.Usagef("-duration: %v", err)
		}
		ch.given.span = time.Duration(seconds.n) * time.Second
	}
	return ch, nil
}

// Words are what was given, as the spool's log has it.
func (ch Change) Words() []string {
	if ch.name == "" {
		return nil
	}
	words := []string{ch.name}
	if ch.given.text != "" {
		words = append(words, ch.given.text)
	}
	if ch.given.span > 0 {
		words = append(words, "for "+plural.Count(int(ch.given.span/time.Second), "second"))
	}
	return words
}

// Done says that the change was made.
func (ch Change) Done() string { return ch.done(ch.name, ch.given) }

// Records are all records of the accounts. Submitter returns for an unknown name a
// record that has nothing else.
type Records interface {
	Submitter(name string) (accountant.Record, bool)
	Submitters() []accountant.Record
}

// Altered is a record before and after a change.
type Altered struct{ Before, After accountant.Entry }

// Make returns what the change at now makes of the records.
func (ch Change) Make(in Records, of Pool, now time.Time, p accountant.Params) ([]Altered, error) {
	ch.given.now, ch.given.p = now, p
	before, err := ch.find(in, of)
	if err != nil {
		return nil, err
	}
	changed := make([]Altered, len(before))
	for i, e := range before {
		after := accountant.Entry{There: true}
		if after.Record, err = ch.apply(e.Settle(now, p), ch.given); err != nil {
			return nil, err
		}
		if ch.flag == "delete" {
			after.There = Holding(after.Record)
		}
		changed[i] = Altered{e, after}
	}
	return changed, nil
}

// find returns the records that are to be changed. A group's, whose name has no @, can
// only be deleted. A record is made of a submitter with jobs, and with create of any.
func (ch Change) find(in Records, of Pool) ([]accountant.Entry, error) {
	if ch.flag == "resetall" {
		var all []accountant.Entry
		for _, r := range in.Submitters() {
			all = append(all, accountant.Entry{Record: r, There: true})
		}
		return all, nil
	}
	r, known := in.Submitter(ch.name)
	switch {
	case known || ch.create:
		return []accountant.Entry{{Record: r, There: known}}, nil
	case !strings.Contains(ch.name, "@"):
		return nil, cmdline.Usagef("-%s: %v", ch.flag, errFullName(ch.name))
	case !ch.creates:
		return nil, Unknown(ch.name, in.Submitters())
	}
	all := in.Submitters()
	for _, name := range of.Queued() {
		if name == ch.name {
			return []accountant.Entry{{Record: r}}, nil
		}
		all = append(all, accountant.Record{Name: name})
	}
	return nil, stranger(ch.name, of.Domain, all)
}

// Holding reports whether anything is charged to the record.
func Holding(r accountant.Record) bool { return r.ResourcesUsed != 0 || r.InUse != 0 || r.Subtree != 0 }
