package condor2fairspool

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/clean"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
	"fairspool/lib/nearest"
)

// comment is the comment on a macro without a line.
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

// given reports whether the command line has all files that a value of LOCAL_CONFIG_FILE
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

// shown returns the beginning of a value for a message, without the separators that an
// empty reference leaves before the first item of a list.
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
	why := strings.TrimPrefix(c.why, c.value+": ") // a message may begin with the value
	return fmt.Sprintf("%s = %s: %s (%s)", c.name, cut(c.value, maxShown), why, c.from)
}

// standards are HTCondor's defaults that differ from ours and affect the division of the
// pool. docs/differences.md has the reasons for ours. NEGOTIATOR_PRE_JOB_RANK is missing
// here: our default serves better if it is unset.
var standards = []struct {
	key, value string
	// with is a macro without which it does not matter; says is a remark on the value.
	with, says string
}{
	{key: "DEFAULT_PRIO_FACTOR", value: "1000"},
	{key: "NICE_USER_PRIO_FACTOR", value: "10000000000"},
	{key: "REMOTE_PRIO_FACTOR", value: "10000000", with: "ACCOUNTANT_LOCAL_DOMAIN"},
	{key: "NEGOTIATOR_PIE", value: "htcondor",
		says: "HTCondor's way to divide the pool. Without this line it is max-min fairness, and a cycle makes several matches of a partitionable slot: see condor-shares(7)."},
	{key: "NEGOTIATE_ALL_JOBS_IN_CLUSTER", value: "false", with: "SIGNIFICANT_ATTRIBUTES"},
	{key: "PREEMPTION_REQUIREMENTS", value: "False"},
}

// standard sets a key that the files do not to HTCondor's default, if ours is another.
func (v *conversion) standard(k config.Key) {
	for _, s := range standards {
		if s.key != k.Name || s.with != "" && !v.isSet(s.with) {
			continue
		}
		value, err := tomlOf(k.Kind, s.value)
		if err != nil || value == defaultOf(k) {
			continue
		}
		line := tomlLine{key: k.Name, value: value, from: "HTCondor's default"}
		if s.says != "" {
			line.above = []string{s.says}
		}
		v.lines = append(v.lines, line)
	}
}

// nothings are what macros mean in HTCondor that are set to nothing, where that is not
// their default.
var nothings = map[string]struct{ value, says string }{
	"PREEMPTION_REQUIREMENTS":  {"True", "no expression at all"},
	"PREEMPTION_RANK":          {"0", "no expression at all"},
	"NEGOTIATOR_PRE_JOB_RANK":  {"0", "no expression at all"},
	"NEGOTIATOR_POST_JOB_RANK": {"0", "no expression at all"},
	"CLAIM_WORKLIFE":           {"-1", "no end of a claim"},
	"BASE_CGROUP":              {"", "no control groups"},

	"JOB_DEFAULT_REQUESTCPUS":   {"undefined", "no request"},
	"JOB_DEFAULT_REQUESTMEMORY": {"undefined", "no request"},
	"JOB_DEFAULT_REQUESTDISK":   {"undefined", "no request"},
}

// emptied sets a key with an empty macro to the meaning of that, unless leaving the key
// unset has the same meaning.
func (v *conversion) emptied(k config.Key) bool {
	means, is := nothings[k.Name]
	m, set := v.Lookup(k.Name)
	value, err := tomlOf(k.Kind, means.value)
	if !is || !set || err != nil {
		return false
	}
	above := "Set to nothing, which is not HTCondor's default but " + means.says + "."
	v.add(tomlLine{key: k.Name, value: value, from: m.Place.String(), above: []string{above}}, m, condorconfig.Expansion{})
	if k.Name == "PREEMPTION_REQUIREMENTS" {
		v.warn(m.Place, "%s: set to nothing: HTCondor asks for nothing then, as with True; write False for no preemption by priority", m.Name)
	}
	return true
}

// defaultOf returns our default as TOML has it.
func defaultOf(k config.Key) string {
	value, _ := tomlOf(k.Kind, textOf(k))
	return value
}

// textOf returns our default as a macro has it.
func textOf(k config.Key) string {
	switch d := k.Default.(type) {
	case float64:
		return strconv.FormatFloat(d, 'g', -1, 64)
	case []string:
		return strings.Join(d, ", ")
	}
	return fmt.Sprint(k.Default)
}

// facts are macros that HTCondor or the files that came with it have always defined,
// and that files refer to.
var facts = map[string]string{
	"minute":                       "60",
	"hour":                         "(60 * $(MINUTE))",
	"statetimer":                   "(time() - EnteredCurrentState)",
	"activitytimer":                "(time() - EnteredCurrentActivity)",
	"maxvacatetime":                "10 * $(MINUTE)",
	"start":                        "True",
	"rank":                         "0.0",
	"negotiator_pre_job_rank":      "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory",
	"uwcs_preemption_requirements": "((CurrentTime - EnteredCurrentState) > (1 * 60 * 60) && RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2) || (MY.NiceUser == True)",
	"uwcs_preemption_rank":         "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)",
	"uwcs_negotiator_pre_job_rank": "RemoteOwner =?= UNDEFINED",
	"uwcs_negotiator_post_job_rank": "(RemoteOwner =?= UNDEFINED) * (ifThenElse(isUndefined(KFlops), 1000, KFlops)" +
		" - SlotID - 1.0e10*(Offline=?=True))",
}

// condorDefault returns the value in HTCondor of a macro that no file defines. As a
// constant is as good as a variable here, a key's default is ours if both agree.
func condorDefault(name string) (text string, ok bool) {
	if text, ok = facts[strings.ToLower(name)]; ok {
		return text, true
	}
	for _, s := range standards {
		if strings.EqualFold(s.key, name) && len(macrosOf(s.key)) > 0 {
			return s.value, true
		}
	}
	i := slices.IndexFunc(config.Keys, func(k config.Key) bool {
		return caseless.Contains(macrosOf(k.Name), name)
	})
	if i < 0 {
		return "", false
	}
	text = textOf(config.Keys[i])
	return text, text != ""
}
