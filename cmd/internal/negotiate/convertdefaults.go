package negotiate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
)

// standards are HTCondor's defaults that are not ours, where it matters to who gets
// what. docs/differences.md has the reasons for ours. NEGOTIATOR_PRE_JOB_RANK is not
// here: who sets nothing is better off with ours.
var standards = []struct {
	key, value string
	// with is a macro without which it does not matter; says is told beside the value.
	with, says string
}{
	{key: "DEFAULT_PRIO_FACTOR", value: "1000"},
	{key: "NICE_USER_PRIO_FACTOR", value: "10000000000"},
	{key: "REMOTE_PRIO_FACTOR", value: "10000000", with: "ACCOUNTANT_LOCAL_DOMAIN"},
	{key: "NEGOTIATOR_PIE", value: "htcondor",
		says: "HTCondor's way to divide the pool. Without this line it is max-min fairness, and a cycle makes several matches of a partitionable slot: see negotiate(8)."},
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

// emptied sets a key whose macro is set to nothing to what that means, if it is not the same
// as not to set it.
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
		v.warn(m.Place, "%s: set to nothing: HTCondor asks for nothing then, as with True; write False if nobody is to be preempted for priority", m.Name)
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

// condorDefault returns what a macro is worth in HTCondor that no file defines. As a
// constant is as good as a variable here, that of a key is ours where they agree.
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
