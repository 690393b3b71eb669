// Package edit holds the changes that people make to the records of the accounts with userprio.
//
// An edit is found by its flag (Of) and reads its arguments (Kind.Read); Make returns the
// changed records, and changes none.
package edit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/report"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// Kind is one kind of change to a submitter's record.
type Kind struct {
	Op      string    // as the spool's log names it
	takes   *quantity // the argument besides the name; nil: none
	creates bool      // whether it may make a record
	// apply returns the record, which is as of now, with the change made.
	apply func(r accountant.Record, v Given) (accountant.Record, error)
	done  func(name string, v Given) string
}

// Given is the arguments of an edit besides the name.
type Given struct {
	text string
	x    float64
	n    int64         // the same, where it is whole
	span time.Duration // of the lease; 0: permanent
	now  time.Time
	p    accountant.Params
}

// The operations that are known by name.
const (
	OpResetAll = "reset all usage"
)

// kinds are the changes, by their flags.
var kinds = map[string]Kind{
	"setprio": {"set user priority", &quantity{least: accountant.MinPriority, most: accountant.MaxPriority}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			r.Priority = v.x
			return r, nil
		},
		wasSet("The priority of %s was set to %f", asReal),
	},
	"setfactor":  setting(accounts.OpSetFactor, &quantity{least: 1, most: accountant.MaxPriority}, &factorLease, "The priority factor of %s was set to %f", asReal),
	"setceiling": setting("set ceiling", &quantity{least: -1, most: accountant.MaxLimit, whole: true}, &ceilingLease, "The ceiling of %s was set to %d", asWhole),
	"setfloor":   setting("set floor", &quantity{least: 0, most: accountant.MaxLimit, whole: true}, &floorLease, "The floor of %s was set to %d", asWhole),
	"setaccum": {"set accumulated usage", &quantity{least: 0, most: accountant.MaxUsage}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			var err error
			r.Weighted, err = accountant.UsageOf(v.x)
			return r, err
		},
		wasSet("The Accumulated Usage of %s was set to %f", asReal),
	},
	"setbegin": {"set begin usage time", &quantity{least: 0, most: accountant.MaxTime, whole: true}, true,
		func(r accountant.Record, v Given) (accountant.Record, error) {
			r.Begin = v.time()
			return r, nil
		},
		wasSet("The Begin Usage Time of %s was set to %d", asWhole),
	},
	"setlast": {"set last usage time", &quantity{least: 0, most: accountant.MaxTime, whole: true}, true,
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
	// The weight in use must go on being charged: without a record, the end of a claim
	// would subtract charges that were never added.
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

// time returns the given Unix seconds as a time; 0 means never.
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

// Leasable reports whether the flag's setting may be temporary, with -duration.
func Leasable(flag string) bool { return leasable[flag] != nil }

// Creates reports whether the edit may make a record, with -create also of a submitter
// that the pool does not know.
func Creates(flag string) bool { return kinds[flag].creates }

// Read reads the arguments of one of Flags except -duration, and those of -duration, none
// without it; create reports whether -create was given. The name is spelled as in the
// groups. It fails as a wrong use of the flag.
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

// Words are the arguments, for the spool's log.
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

// Altered is a record before and after a change.
type Altered struct{ Before, After accountant.Entry }

// Make returns the records of a view of the pool in a domain after the change at now.
func (ch Change) Make(in *spool.View, domain string, now time.Time, p accountant.Params) ([]Altered, error) {
	ch.given.now, ch.given.p = now, p
	before, err := ch.find(in, domain, p.Groups)
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
			after.There = accountant.Holding(after.Record)
		}
		changed[i] = Altered{e, after}
	}
	return changed, nil
}

// find returns the records to change. A group's, with a name without @, can only be
// deleted. A record is made for a submitter with jobs, and with create for any.
func (ch Change) find(in *spool.View, domain string, groups *accountant.Groups) ([]accountant.Entry, error) {
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
		return nil, cmdline.Usagef("-%s: %v", ch.flag, accountant.ErrFullName(ch.name))
	case !ch.creates:
		return nil, accounts.Unknown(ch.name, in.Submitters())
	}
	all := in.Submitters()
	for _, name := range slices.Sorted(maps.Keys(lifecycle.IdleJobs(in, domain, groups))) {
		if name == ch.name {
			return []accountant.Entry{{Record: r}}, nil
		}
		all = append(all, accountant.Record{Name: name})
	}
	return nil, stranger(ch.name, domain, all)
}

// Create is the flag with which an edit makes a record of a submitter that the pool does
// not know.
var Create = cmdline.Flag{Name: "create", Help: "with an edit that sets something: accept a submitter without record and jobs"}

// Flags are userprio's flags of edits, and -duration, in the order in which HTCondor's
// tool tries abbreviations.
var Flags = []cmdline.Flag{
	{Name: "setprio", Args: []string{"USER", "RUP"}, Min: 1, Help: "set the real user priority, at least 0.5"},
	{Name: "setfactor", Args: []string{"USER", "FACTOR"}, Min: 1, Help: "set the priority factor, at least 1, instead of the computed one"},
	{Name: "setfloor", Args: []string{"USER", "WEIGHT"}, Min: 1, Help: "set the slot weight that the submitter gets before shares count; 0 for none"},
	{Name: "setceiling", Args: []string{"USER", "WEIGHT"}, Min: 1, Help: "set the slot weight that the submitter may use at most; -1 for unlimited"},
	{Name: "duration", Args: []string{"SECONDS"}, Min: 1, Help: "with -setfactor, -setceiling or -setfloor: end the change after SECONDS"},
	{Name: "cancelceilinglease", Args: []string{"USER"}, Min: 1, Help: "end a ceiling set with -duration now"},
	{Name: "cancelfloorlease", Args: []string{"USER"}, Min: 1, Help: "end a floor set with -duration now"},
	{Name: "cancelfactorlease", Args: []string{"USER"}, Min: 1, Help: "end a factor set with -duration now"},
	{Name: "setbegin", Args: []string{"USER", "TIME"}, Min: 1, Help: "set the time of the first usage, in Unix seconds"},
	{Name: "setaccum", Args: []string{"USER", "SECONDS"}, Min: 1, Help: "set the accumulated usage, in weight seconds"},
	{Name: "setlast", Args: []string{"USER", "TIME"}, Min: 1, Help: "set the time of the last usage, in Unix seconds"},
	{Name: "resetusage", Args: []string{"USER"}, Min: 1, Help: "set the accumulated usage to 0; priority and factor stay"},
	{Name: "delete", Args: []string{"USER"}, Min: 3, Help: "delete the record of the submitter: priority, factor, limits and usage start anew; its slots stay charged to it"},
	{Name: "resetall", Min: 1, Help: "set the accumulated usage of all submitters to 0"},
}

// lease is how one of the settings that may be on time is kept.
type lease struct {
	word  string // "floor"
	flag  string // that ends it
	form  string // how its value is printed
	show  func(Given) any
	in    func(*accountant.Record) *accountant.Lease
	value func(accountant.Record) float64
	set   func(*accountant.Record, float64)
}

var factorLease = lease{"priority-factor", "cancelfactorlease", "%f", asReal,
	func(r *accountant.Record) *accountant.Lease { return &r.FactorLease },
	func(r accountant.Record) float64 { return r.Factor },
	func(r *accountant.Record, x float64) { r.Factor = x },
}

var ceilingLease = lease{"ceiling", "cancelceilinglease", "%d", asWhole,
	func(r *accountant.Record) *accountant.Lease { return &r.CeilingLease },
	func(r accountant.Record) float64 { return float64(r.Ceiling.Int()) },
	func(r *accountant.Record, x float64) { r.Ceiling = accountant.LimitOf(int64(x)) },
}

var floorLease = lease{"floor", "cancelfloorlease", "%d", asWhole,
	func(r *accountant.Record) *accountant.Lease { return &r.FloorLease },
	func(r accountant.Record) float64 { return float64(r.Floor) },
	func(r *accountant.Record, x float64) { r.Floor = int64(x) },
}

// leasable are the edits that take -duration.
var leasable = map[string]*lease{"setfactor": &factorLease, "setceiling": &ceilingLease, "setfloor": &floorLease}

// setting returns the edit that sets it: permanently, which ends a lease of it, or for a
// time.
func setting(op string, takes *quantity, l *lease, format string, show func(Given) any) Kind {
	return Kind{op, takes, true,
		func(r accountant.Record, v Given) (accountant.Record, error) { return l.give(r, v) },
		func(name string, v Given) string {
			if v.span == 0 {
				return wasSet(format, show)(name, v)
			}
			return fmt.Sprintf("Set %s lease on %s to "+l.form+" for %s", l.word, name, l.show(v), plural.Count(int(v.span/time.Second), "second"))
		},
	}
}

func (l *lease) give(r accountant.Record, v Given) (accountant.Record, error) {
	now := accountant.Lease{}
	if v.span > 0 {
		if until := l.in(&r).Until; !until.IsZero() {
			return r, fmt.Errorf("%s: its %s is leased already, until %s: end that first, with -%s", r.Name, l.word, report.Moment(until), l.flag)
		}
		now = accountant.Lease{Until: v.now.Truncate(time.Millisecond).Add(v.span).UTC(), Before: l.value(r)}
	}
	*l.in(&r) = now
	l.set(&r, v.x)
	return r, nil
}

// cancelling is the edit that ends a lease.
func cancelling(op string, l *lease) Kind {
	return Kind{op, nil, false,
		func(r accountant.Record, _ Given) (accountant.Record, error) {
			now := l.in(&r)
			if now.Until.IsZero() {
				return r, fmt.Errorf("%s: no %s lease is in effect", r.Name, l.word)
			}
			l.set(&r, now.Before)
			*now = accountant.Lease{}
			return r, nil
		},
		func(name string, _ Given) string { return fmt.Sprintf("Cancelled %s lease for %s", l.word, name) },
	}
}

// maxSpan is how long a lease may be, in seconds.
const maxSpan = 100 * 366 * 86400

// quantity is a kind of number that is given to an edit.
type quantity struct {
	least, most float64
	whole       bool
}

// span is how long a lease may be, in seconds.
var span = quantity{least: 1, most: maxSpan, whole: true}

// read reads a decimal number.
func (q quantity) read(text string) (Given, error) {
	v := Given{text: text}
	var err error
	v.x, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v.x) || math.IsInf(v.x, 0) || strings.Trim(text, "+-.0123456789eE") != "" {
		return v, fmt.Errorf("%q: not a number", text)
	}
	if v.x == 0 {
		v.x = 0 // and not -0
	}
	kind := "number"
	if q.whole {
		kind = "whole number"
		v.n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || v.x < q.least || v.x > q.most {
		return v, fmt.Errorf("%s: want a %s from %s to %s", text, kind, bound(q.least), bound(q.most))
	}
	return v, nil
}

func bound(x float64) string {
	if math.Abs(x) < 1e13 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// editable refuses names that the edit of this flag cannot be for. A record with
// a bad name can go, but not come.
func editable(name, flag string, creates bool) error {
	if flag == "delete" && !strings.Contains(name, "@") && name != "" {
		return nil
	}
	if err := accountant.FullName(name); err != nil {
		return err
	}
	user, _ := accountant.Apart(name)
	switch {
	case !creates:
		return nil
	case strings.Count(name, "@") > 1:
		return fmt.Errorf("%q: want the full name of a submitter, with one @", name)
	case strings.HasPrefix(user, ".") || strings.HasSuffix(user, ".") || strings.Contains(user, ".."):
		return fmt.Errorf("%q: want a name on either side of a dot: group.user@uid.domain", name)
	case strings.EqualFold(user, accountant.RootGroup):
		return fmt.Errorf("%q: %s is the group of submitters without a group", name, accountant.RootGroup)
	}
	return nil
}

// Number reads a decimal number from least up.
func Number(text string, least float64) (float64, error) {
	v, err := quantity{least: least, most: accountant.MaxPriority}.read(text)
	return v.x, err
}

// stranger returns what Unknown does, with what to do if the name is right. Of a name in
// another domain than the pool's, the same user in the pool's is meant.
func stranger(name, domain string, records []accountant.Record) error {
	user, _ := accountant.Apart(name)
	here := user + "@" + domain
	if here != name && slices.ContainsFunc(records, func(r accountant.Record) bool { return r.Name == here }) {
		return fmt.Errorf("%s: no such submitter; did you mean %s? -create makes a new one", name, here)
	}
	err := accounts.Unknown(name, records)
	if strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w -create makes a new one", err)
	}
	if here != name {
		return fmt.Errorf("%w, and names of the pool end in @%s; -create makes a new one", err, domain)
	}
	return fmt.Errorf("%w; -create makes a new one", err)
}
