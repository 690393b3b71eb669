package negotiate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/clean"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
	"fairspool/lib/nearest"
)

// comment is what is said of a macro that is in no line.
type comment struct{ name, value, why, from string }

// comments returns what to say of the macros that are in no line, in the order of the
// files, and the names of those that are there only to be put into others.
func (v *conversion) comments() (list []comment, putIn []string, err error) {
	values, used, err := v.values()
	if err != nil {
		return nil, nil, err
	}
	advertised := v.attributes()
	for i, m := range v.Macros() {
		name := strings.ToLower(m.Name)
		if v.set[name] {
			continue
		}
		why := cmp.Or(v.reasons[name], v.elsewhere(m), v.shadowed(m), v.meaningless(m, values[i]), advertised[name])
		switch {
		case why != "":
		case v.put[name]:
			continue
		case used[name]:
			putIn = append(putIn, m.Name)
			continue
		default:
			why = v.stranger(m)
		}
		list = append(list, comment{m.Name, values[i], why, m.Place.String()})
	}
	return list, putIn, nil
}

// values returns what each macro is worth, and which of them are put into others.
func (v *conversion) values() (values []string, used map[string]bool, err error) {
	used = map[string]bool{}
	for _, m := range v.Macros() {
		x, err := v.Shown(m)
		if err != nil {
			return nil, nil, err
		}
		values = append(values, strings.TrimSpace(x.Text))
		for _, name := range x.Used {
			used[strings.ToLower(name)] = true
		}
	}
	return values, used, nil
}

// subsystems are the daemons that a macro's name may begin with.
var subsystems = strings.Fields("MASTER COLLECTOR SCHEDD STARTD STARTER SHADOW KBDD TOOL SUBMIT GRIDMANAGER CREDD HAD JOB_ROUTER SHARED_PORT DEFRAG LEASEMANAGER")

// elsewhere returns why a macro does not count for the negotiator: its name begins
// with another daemon, or with the local name of one.
func (v *conversion) elsewhere(m condorconfig.Macro) string {
	prefix, rest, dotted := strings.Cut(m.Name, ".")
	if _, group := ofGroup(m.Name); !dotted || group || strings.EqualFold(prefix, "NEGOTIATOR") && !strings.Contains(rest, ".") {
		return ""
	}
	is := func(name string) bool { return strings.EqualFold(name, prefix) }
	if slices.ContainsFunc(subsystems, is) || slices.ContainsFunc(v.daemons(), is) || is("NEGOTIATOR") {
		return "counts for the daemon " + prefix + " only"
	}
	return ""
}

// daemons returns those that the files start, by their local names.
func (v *conversion) daemons() []string {
	return condorconfig.List(v.text("DAEMON_LIST"))
}

// text returns the value of a macro as it stands, empty for none.
func (v *conversion) text(name string) string {
	m, _ := v.Lookup(name)
	return m.Text
}

// shadowed returns why a macro that another goes before does not count.
func (v *conversion) shadowed(m condorconfig.Macro) string {
	if counts, ok := v.Lookup(v.Plain(m.Name)); ok && counts.Name != m.Name {
		return counts.Name + " goes before it"
	}
	return ""
}

// meaningless returns why a macro has no meaning here.
func (v *conversion) meaningless(m condorconfig.Macro, value string) string {
	name := v.Plain(m.Name)
	if caseless.Contains(v.daemons(), name) {
		return noDaemons
	}
	why := family(name)
	switch known, nothing := v.asksNothing(m); {
	case why == configRead && !v.isEmpty(m) && !v.given(value):
		v.warn(m.Place, "%s = %s: %s", m.Name, shown(value), why)
	case nothing && (why == "" || strings.HasPrefix(why, noControl)):
		return "as it is here without it"
	case why == "" && known:
		why = "not part of this version"
		v.warn(m.Place, "%s: not taken over: %s", m.Name, why)
	case strings.HasPrefix(why, noControl):
		v.warn(m.Place, "%s: %s", m.Name, why)
	}
	if why != "" {
		return why
	}
	if group, ok := ofGroup(name); ok {
		return "GROUP_NAMES has no group " + group + ": HTCondor does not look at it"
	}
	return ""
}

// asksNothing reports whether a macro is a key that this version does not serve, and whether its
// value, read as a text, a truth or a number, asks for nothing.
func (v *conversion) asksNothing(m condorconfig.Macro) (known, nothing bool) {
	x, err := v.Expand(m)
	if err != nil {
		return false, false
	}
	values := []any{x.Text}
	if yes, ok := condorconfig.Truth(x.Text); ok {
		values = append(values, yes)
	}
	if c, ok := condorconfig.Constant(x.Text); ok {
		if n, ok := c.Number(); ok {
			values = append(values, n)
		}
	}
	for _, value := range values {
		known, nothing = config.AsksNothing(strings.ToUpper(v.Plain(m.Name)), value)
		if nothing {
			break
		}
	}
	return known, nothing
}

// given tells whether the command line has all files that a value of LOCAL_CONFIG_FILE
// names, or one of the directory that it names.
func (v *conversion) given(value string) bool {
	return !slices.ContainsFunc(condorconfig.List(value), func(item string) bool {
		return !slices.ContainsFunc(v.files, func(f condorconfig.Source) bool {
			return path.Base(f.Name) == path.Base(item) || path.Dir(f.Name) == path.Clean(item)
		})
	})
}

// attributes returns why macros have no meaning that the files advertise as
// attributes, by lower-case name.
func (v *conversion) attributes() map[string]string {
	why := map[string]string{}
	for _, of := range []struct{ lists, why string }{
		{"STARTD_ATTRS STARTD_EXPRS STARTD_JOB_EXPRS STARTD_SLOT_ATTRS SYSTEM_STARTD_ATTRS", "an attribute of slot ads: slots advertise it, see slots(8)"},
		{"SUBMIT_EXPRS SUBMIT_ATTRS SYSTEM_SUBMIT_ATTRS", "an attribute of job ads: the submit description sets it, as +NAME = ..."},
	} {
		for _, list := range strings.Fields(of.lists) {
			for _, name := range condorconfig.List(v.text(list)) {
				why[strings.ToLower(name)] = of.why
			}
		}
	}
	return why
}

// stranger returns what to say of a macro that nothing is known of, and warns when it
// looks like a mistake.
func (v *conversion) stranger(m condorconfig.Macro) string {
	name := v.Plain(m.Name)
	for _, ready := range []string{"UWCS_", "TESTINGMODE_"} {
		if strings.HasPrefix(strings.ToUpper(name), ready) {
			return "one of HTCondor's ready-made policies, which no macro of the files refers to"
		}
	}
	var known []string
	for _, k := range config.Keys {
		known = append(known, macrosOf(k.Name)...)
	}
	known = slices.DeleteFunc(known, func(k string) bool { return !strings.EqualFold(k[:1], name[:1]) })
	if near, ok := nearest.Name(name, known); ok {
		v.warn(m.Place, "%s: no macro that fairspool knows; did you mean %s?", m.Name, near)
		return "no macro that fairspool knows; " + near + " is one"
	}
	return "no macro that fairspool knows"
}

// shown returns the beginning of a value for a message, without what a reference of a
// list to nothing leaves before its first item.
func shown(value string) string {
	return cut(value, 100)
}

// cut returns the first so many characters of a value, which may have several lines.
func cut(value string, most int) string {
	value = strings.TrimLeft(strings.Join(strings.Fields(clean.Blanked(value)), " "), ", ")
	if r := []rune(value); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return value
}

// maxShown is how much of a value a comment shows: what may have to be copied into a
// slot ad is there as a whole.
const maxShown = 1000

func (c comment) String() string {
	if c.value == "" {
		return fmt.Sprintf("%s is empty: %s (%s)", c.name, c.why, c.from)
	}
	why := strings.TrimPrefix(c.why, c.value+": ") // a message may begin with what is wrong
	return fmt.Sprintf("%s = %s: %s (%s)", c.name, cut(c.value, maxShown), why, c.from)
}
