package userprio

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/classad"
	"fairspool/lib/report/accounts"
)

// options are the options of the command line.
type options struct {
	asked  string      // the flag of an edit or action; empty: submitters are shown
	arg    string      // its argument
	edit   edit.Change // the edit
	reason string      // of a change
	form   string      // long, json, af, autoformat, csv or classic; empty for people
	legacy bool
	until  float64 // an EUP; 0: none
	below  *string // a submitter; nil: none
	since  *string // a time; nil: as usual

	// Of a listing of submitters.
	file       *string // of ads; nil: the spool's submitters are listed
	listing    accounts.Listing
	everybody  bool     // however long ago they were active
	activeFrom []string // month, day, year; none: as usual
}

// refusals are the options that do not go together, in the order in which they are
// refused.
var refusals = []cmdline.Refusal{
	{Option: "long", Others: []string{"json", "af", "autoformat", "classic"}},
	{Option: "json", Others: []string{"af", "autoformat", "classic"}},
	{Option: "af", Others: []string{"autoformat", "classic"}},
	{Option: "autoformat", Others: []string{"classic"}},
	{Option: "legacy", Others: []string{"modular"}},
	{Option: "flat", Others: []string{"hierarchical"}},
	{Option: "until", Others: []string{"below"}},
	{Option: "csv", Others: []string{"json"}},
}

// askedOf returns the flag of the edit or action that a command line asks for; empty: none.
func askedOf(c *cmdline.Call) string {
	for _, f := range flags() {
		if c.Has(f.Name) && (isEdit(f.Name) || actions(nil)[f.Name].run != nil) {
			return f.Name
		}
	}
	return ""
}

// isEdit reports whether a flag is an edit's.
func isEdit(flag string) bool {
	return flag != "duration" && slices.ContainsFunc(edit.Flags, func(f cmdline.Flag) bool { return f.Name == flag })
}

// beside returns the options that go with an action, and whether it takes submitters' names as
// arguments. All other options except the common ones have no meaning with it.
func beside(asked string) (with []string, names bool) {
	if isEdit(asked) {
		with = []string{"reason", "json"}
		if edit.Leasable(asked) {
			with = append(with, "duration")
		}
		if edit.Creates(asked) {
			with = append(with, edit.Create.Name)
		}
		return with, false
	}
	if asked != "" {
		a := actions(nil)[asked]
		return a.with, a.names
	}
	for _, f := range slices.Concat(adprint.Flags, displayFlags, columnOptions()) {
		with = append(with, f.Name)
	}
	return append(with, "classic"), true
}

// conflict refuses options and arguments that have no meaning with an action.
func conflict(c *cmdline.Call, asked string) error {
	with, names := beside(asked)
	if len(c.Args) > 0 && isEdit(asked) {
		return cmdline.Usagef("-%s: one argument too many: %s", asked, c.Args[0])
	}
	for _, f := range flags() {
		switch {
		case f.Name == asked || !c.Has(f.Name) || slices.Contains(with, f.Name):
		case asked == "":
			where, _, _ := strings.Cut(f.Help, ":")
			return cmdline.Usagef("-%s: only %s", f.Name, where)
		case isEdit(asked) && f.Name == "duration":
			return cmdline.Usagef("-duration: only with -setfactor, -setceiling or -setfloor")
		case isEdit(asked) && f.Name == edit.Create.Name:
			return cmdline.Usagef("-create: only with an edit that sets something")
		default:
			return cmdline.Usagef("-%s and -%s: only one of them at a time", asked, f.Name)
		}
	}
	if len(c.Args) > 0 && !names {
		return cmdline.Usagef("-%s: one argument too many: %s", asked, c.Args[0])
	}
	if err := cmdline.Refuse(c.Has, refusals...); err != nil {
		return err
	}
	for _, o := range []string{"legacy", "modular"} {
		if c.Has(o) && !c.Has("long") {
			return cmdline.Usagef("-%s: only with -long", o)
		}
	}
	return nil
}

// value returns the argument of an option; nil without the option.
func value(c *cmdline.Call, option string) *string {
	if !c.Has(option) {
		return nil
	}
	text := c.Value(option)
	return &text
}

// optionsOf reads the command line. Errors are about its usage.
func optionsOf(c *cmdline.Call) (o options, err error) {
	o.asked = askedOf(c)
	if err := conflict(c, o.asked); err != nil {
		return o, err
	}
	forms := []string{"long", "json", "af", "autoformat", "csv", "classic"}
	if i := slices.IndexFunc(forms, c.Has); i >= 0 {
		o.form = forms[i]
	}
	o.arg, o.legacy, o.below, o.since = c.Value(o.asked), c.Has("legacy"), value(c, "below"), value(c, "since")
	if c.Has("until") {
		if o.until, err = positive(c.Value("until")); err != nil {
			return o, cmdline.Usagef("-until: %v", err)
		}
	}
	if isEdit(o.asked) {
		if o.edit, err = edit.Read(o.asked, c.Values(o.asked), c.Values("duration"), c.Has(edit.Create.Name), c.Config.Groups); err != nil {
			return o, err
		}
	}
	o.reason = strings.TrimSpace(c.Value("reason"))
	if c.Has("reason") && o.reason == "" || strings.ContainsFunc(o.reason, unicode.IsControl) {
		return o, cmdline.Usagef("-reason: %q: want a text in one line", o.reason)
	}
	if o.asked == "" {
		err = o.readListing(c)
	}
	return o, err
}

// readListing reads the options of a listing of submitters.
func (o *options) readListing(c *cmdline.Call) error {
	if err := noFactor(c.Args); err != nil {
		return err
	}
	o.file, o.everybody, o.activeFrom = value(c, "inputfile"), len(c.Args) > 0 || c.Has("allusers"), c.Values("activefrom")
	o.listing = accounts.Listing{
		Users: c.Args, Columns: columnsOf(c.Has), Quotas: c.Has("quotas") || c.Has("surplus"),
		Rollup: c.Has("grouprollup"), GroupsFirst: c.Has("grouporder"), Grouped: c.Has("hierarchical"),
		Flat: c.Has("flat") || c.Has("grouporder") && !c.Has("hierarchical"),
	}
	if c.Has("constraint") {
		e, err := classad.ParseExpr(c.Value("constraint"))
		if err != nil {
			return cmdline.Usagef("-constraint: %s: %v", c.Value("constraint"), err)
		}
		o.listing.Constraint = e
	}
	return nil
}

// listed returns the listing as of a time.
func (o options) listed(now time.Time) (accounts.Listing, error) {
	l := o.listing
	l.Context = &classad.Context{Now: now}
	switch {
	case o.everybody:
	case o.activeFrom != nil:
		day, err := date(o.activeFrom, now.Location())
		if err != nil {
			return l, err
		}
		l.Since = day
	default:
		l.Since = now.Add(-activeFor)
	}
	return l, nil
}

// columnsOf returns the columns that options select; without any those of -most.
func columnsOf(has func(option string) bool) []*accounts.Column {
	if asked := accounts.ColumnsWith(has); len(asked) > 0 {
		return asked
	}
	return accounts.ColumnsWith(func(option string) bool { return option == "most" })
}
