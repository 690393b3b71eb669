package sge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// Keys is every key of the table [sge], in the order of the manual page: parameters of
// sched_conf(5) under their own names, with the defaults that Grid Engine's installer sets.
// Attributes has the settings of userKind, projects and other objects.
var Keys = slices.Concat(qconfKeys, []config.Key{
	{Name: compatibilityKey, Kind: config.String, Default: "", Choices: []string{"", version},
		Help: "Whether usage decays as in Grid Engine 8.1.9: linearly in each minute, which does not halve it exactly.",
		Set:  func(c *config.Config, v any) { c.Decay.Linear = v == version }},
	weightKey("weight_priority", 1, "the normalised POSIX priority", func(s *sge.Config) *float64 { return &s.WeightPriority }),
	weightKey("weight_urgency", 0.1, "the normalised urgency", func(s *sge.Config) *float64 { return &s.WeightUrgency }),
	weightKey("weight_ticket", 0.01, "the normalised tickets", func(s *sge.Config) *float64 { return &s.WeightTicket }),
	weightKey("weight_waiting_time", 0, "each second since a job was submitted, in its urgency", func(s *sge.Config) *float64 { return &s.WeightWaitingTime }),
	weightKey("weight_deadline", 3600000, "a deadline that is a second away, in the urgency", func(s *sge.Config) *float64 { return &s.WeightDeadline }),
	ticketsKey("weight_tickets_functional", "The tickets of the functional policy. 0: none.", func(s *sge.Config) *float64 { return &s.TicketsFunctional }),
	ticketsKey("weight_tickets_share", "The tickets of the share tree policy. 0: none.", func(s *sge.Config) *float64 { return &s.TicketsShare }),
	partKey("weight_user", 0.25, "the users' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightUser }),
	partKey("weight_project", 0.25, "the projects' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightProject }),
	partKey("weight_department", 0.25, "the departments' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightDepartment }),
	partKey("weight_job", 0.25, "the jobs' own shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightJob }),
	{Name: "share_functional_shares", Kind: config.Boolean, Default: true,
		Help: "Whether the jobs of a user, project or department divide its functional shares. If false, each job has all of them.",
		Set:  func(c *config.Config, v any) { Settings(c).ShareFunctional = v.(bool) }},
	{Name: "share_override_tickets", Kind: config.Boolean, Default: true,
		Help: "Whether the jobs of a user, project or department divide its override tickets. If false, each job has all of them.",
		Set:  func(c *config.Config, v any) { Settings(c).ShareOverride = v.(bool) }},
	countKey("max_functional_jobs_to_schedule", 200, "jobs", "How many waiting jobs get functional tickets one after the other, each depending on the jobs before it.",
		func(s *sge.Config) *int { return &s.MaxFunctional }),
	countKey("max_pending_tasks_per_job", 50, "procs", "How many waiting procs of a cluster get tickets at a time.",
		func(s *sge.Config) *int { return &s.MaxPendingTasks }),
	{Name: "policy_hierarchy", Kind: config.String, Default: "OFS", Check: checkHierarchy,
		Help: "The order of the ticket policies, by letters: O override, F functional, S share tree; or \"NONE\".",
		Set:  func(c *config.Config, v any) { Settings(c).Hierarchy = hierarchy(v.(string)) }},
	{Name: "compensation_factor", Kind: config.Real, Default: 5.0, Least: 0, Most: maxWeight,
		Help: "How many times its long-term target a node of the share tree may have before its share is cut. 0: no cut.",
		Set:  func(c *config.Config, v any) { Settings(c).Compensation = v.(float64) }},
	{Name: "halftime", Kind: config.Integer, Default: int64(168), Unit: "hours", Least: 0, Most: 200000,
		Help: "The half-life of decayed usage. 0: no decay.",
		Set:  func(c *config.Config, v any) { c.Decay.HalfTime = time.Duration(v.(int64)) * time.Hour }},
	{Name: "usage_weight_list", Kind: config.String, Default: "cpu=1", Check: checkWeights,
		Help: "The weights of cpu (seconds), mem (GB times seconds) and io (GB) in the combined usage, as \"cpu=1,mem=0.5\"; they are divided by their sum.",
		Set:  func(c *config.Config, v any) { setWeights(c, v.(string)) }},
	{Name: "halflife_decay_list", Kind: config.String, Default: "none", Check: checkHalfLives,
		Help: "Half-lives in minutes for kinds of usage that override halftime, as \"cpu=30:mem=-1\". 0: no decay. -1: no usage.",
		Set:  func(c *config.Config, v any) { setHalfLives(c, v.(string)) }},
	{Name: "report_pjob_tickets", Kind: config.Boolean, Default: true,
		Help: "Whether the priorities of waiting jobs are shown with their parts. If false, zeros are shown.",
		Set:  func(c *config.Config, v any) { Settings(c).ReportPending = v.(bool) }},
	countKey("maxujobs", 0, "jobs", "The most running jobs of a user. 0: no limit.", func(s *sge.Config) *int { return &s.MaxUserJobs }),
	{Name: "reprioritize_interval", Kind: config.Time, Default: 0.0, Unit: "s", Least: 0, Most: config.MaxSeconds,
		Help: "How often the nice values of running jobs are set from their tickets. 0: only at the start.",
		Set:  func(c *config.Config, v any) { c.RunTime.Interval = config.Duration(v) }},
	{Name: "execd_params", Kind: config.String, Default: "none", Check: checkExecdParams,
		Help: "The nice values of the running jobs with the highest and the lowest priority on a machine, as \"PTF_MAX_PRIORITY=0,PTF_MIN_PRIORITY=20\".",
		Set:  func(c *config.Config, v any) { c.RunTime.Best, c.RunTime.Worst, _ = niceRange(v.(string)) }},
}, ignoredKeys())

const (
	compatibilityKey = "compatibility"
	version          = "8.1.9"

	// maxWeight bounds what Grid Engine takes any number for: products of weights,
	// urgencies and amounts stay far within the range of numbers.
	maxWeight = 1e9
	maxShares = sge.MostShares
)

// weightKey makes the key of a weight. Those below 0 are taken as in Grid Engine: they turn an
// order round.
func weightKey(name string, initial float64, counts string, of func(*sge.Config) *float64) config.Key {
	return config.Key{Name: name, Kind: config.Real, Default: initial, Least: -maxWeight, Most: maxWeight,
		Help: "The weight of " + counts + ".",
		Set:  func(c *config.Config, v any) { *of(Settings(c)) = v.(float64) }}
}

// partKey makes the key of a weight that counts in comparison with others only: none is below
// 0, for the sum of them is what each is divided by.
func partKey(name string, initial float64, counts string, of func(*sge.Config) *float64) config.Key {
	k := weightKey(name, initial, counts, of)
	k.Least = 0
	return k
}

// ticketsKey makes the key of a policy's tickets.
func ticketsKey(name, help string, of func(*sge.Config) *float64) config.Key {
	return config.Key{Name: name, Kind: config.Integer, Default: int64(0), Unit: "tickets", Least: 0, Most: maxShares, Help: help,
		Set: func(c *config.Config, v any) { *of(Settings(c)) = float64(v.(int64)) }}
}

// countKey makes the key of a number of jobs.
func countKey(name string, initial int64, unit, help string, of func(*sge.Config) *int) config.Key {
	return config.Key{Name: name, Kind: config.Integer, Default: initial, Unit: unit, Least: 0, Most: config.MaxInteger, Help: help,
		Set: func(c *config.Config, v any) { *of(Settings(c)) = int(v.(int64)) }}
}

// checkHierarchy takes letters of the three policies, each once at most.
func checkHierarchy(s string) error {
	wrong := fmt.Errorf("%q: want some of the letters O, F and S, each once at most, or NONE", s)
	if strings.EqualFold(s, "none") {
		return nil
	}
	for i, letter := range s {
		if !strings.ContainsRune("OFS", letter) || strings.ContainsRune(s[:i], letter) {
			return wrong
		}
	}
	if s == "" {
		return wrong
	}
	return nil
}

// hierarchy returns the policies of letters that were checked.
func hierarchy(s string) []sge.TicketPolicy {
	var list []sge.TicketPolicy
	if strings.EqualFold(s, "none") {
		return nil
	}
	for _, letter := range s {
		for p := range sge.TicketPolicies {
			if p.String() == string(letter) {
				list = append(list, p)
			}
		}
	}
	return list
}

// maxWhole bounds the whole numbers that all have a number of the file for themselves.
const maxWhole = 1 << 53

// pasted returns a value as the key of [sge] takes it: people paste lines of a sched_conf,
// where numbers, truth and times are text, and quote them all.
func pasted(k config.Key, v any) any {
	text, isString := v.(string)
	text = strings.TrimSpace(text)
	if x, ok := v.(float64); ok && k.Kind == config.Integer && x == math.Trunc(x) && math.Abs(x) < maxWhole {
		return int64(x) // 1e6, which its message would show as the whole number that it is
	}
	switch {
	case k.Kind == config.Boolean:
		return truth(v)
	case isString && k.Kind == config.Real:
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
	case isString && k.Kind == config.Integer:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case isString && k.Kind == config.Time:
		return filled(text)
	case k.Kind == config.String:
		if text, ok := config.PlainText(v); ok {
			return text
		}
		if yes, ok := v.(bool); ok {
			return fmt.Sprint(yes)
		}
	}
	return v
}

// truth returns what TRUE, FALSE, 1 and 0 stand for, and other values as they are.
func truth(v any) any {
	switch strings.ToLower(fmt.Sprint(v)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return v
}

// filled returns a time with omitted parts, such as 1::30, with zeros for them.
func filled(text string) string {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || text == "::" {
		return text
	}
	for i, p := range parts {
		if p == "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ":")
}

// Grid Engine's nice values on Linux.
const (
	bestNice, worstNice = 0, 20
	leastNice, mostNice = -20, 20
	unsetNice           = -999 // stands for the default

	// The higher the priority, the lower the value.
	bestName, worstName = "PTF_MAX_PRIORITY", "PTF_MIN_PRIORITY"
)

func checkExecdParams(list string) error { _, _, err := niceRange(list); return err }

// niceRange reads execd_params: words with commas or blanks between them; case does not
// count. sge_conf(5) has many more, of daemons that do not exist here.
func niceRange(list string) (best, worst int, err error) {
	best, worst = bestNice, worstNice
	if strings.EqualFold(strings.TrimSpace(list), "none") {
		return best, worst, nil
	}
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		name, text, _ := strings.Cut(word, "=")
		name = strings.ToUpper(name)
		value, unset := &best, bestNice
		if name == worstName {
			value, unset = &worst, worstNice
		}
		switch {
		case name != bestName && name != worstName:
			return 0, 0, fmt.Errorf("%q: %w; want %s=NUMBER or %s=NUMBER", word, config.ErrNotServed, bestName, worstName)
		case seen[name]:
			return 0, 0, fmt.Errorf("%s stands there twice", name)
		}
		seen[name] = true
		if *value, err = niceValue(text, unset); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case len(seen) == 0:
		return 0, 0, fmt.Errorf("empty: want \"none\", %s=NUMBER or %s=NUMBER", bestName, worstName)
	case best > worst:
		return 0, 0, fmt.Errorf("%s=%d is above %s=%d: the higher priority is the lower nice value", bestName, best, worstName, worst)
	}
	return best, worst, nil
}

// niceValue reads a nice value; -999 stands for unset.
func niceValue(text string, unset int) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == unsetNice:
		return unset, nil
	case err != nil || n < leastNice || n > mostNice:
		return 0, fmt.Errorf("%q: want a whole number, %d to %d", text, leastNice, mostNice)
	}
	return n, nil
}

// usageNames are the kinds of usage that are measured.
var usageNames = []string{"cpu", "mem", "io"}

const usageWanted = "cpu, mem or io"

// entry is one NAME=NUMBER of a list.
type entry struct {
	name   string
	number float64
}

// entries reads a list of NAME=NUMBER; none is an empty one. Each name stands there once.
func entries(list, separator string) ([]entry, error) {
	if strings.EqualFold(strings.TrimSpace(list), "none") {
		return nil, nil
	}
	var out []entry
	seen := map[string]bool{}
	for _, one := range strings.Split(list, separator) {
		name, text, ok := strings.Cut(strings.TrimSpace(one), "=")
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "" || err != nil || math.IsNaN(n) || math.IsInf(n, 0):
			return nil, fmt.Errorf("%q: want NAME=NUMBER, with %q between two", one, separator)
		case seen[name]:
			return nil, fmt.Errorf("%s stands there twice", config.OneLine(name))
		}
		seen[name] = true
		out = append(out, entry{name, n})
	}
	return out, nil
}

// usageParams returns the parameters of one kind of usage.
func usageParams(c *config.Config, name string) *accountant.UsageParams {
	switch name {
	case "mem":
		return &c.Decay.Memory
	case "io":
		return &c.Decay.IO
	}
	return &c.Decay.CPU
}

// weightsOf reads a list of NAME=NUMBER with commas or blanks between two: qconf prints commas,
// and Grid Engine's own file has blanks.
func weightsOf(list string) ([]entry, error) {
	list = strings.Join(strings.Fields(list), " ")
	for _, sign := range []string{"=", ","} {
		list = strings.ReplaceAll(strings.ReplaceAll(list, " "+sign, sign), sign+" ", sign)
	}
	return entries(strings.ReplaceAll(list, " ", ","), ",")
}

// checkWeights refuses weights other than 0 of usage that is not measured.
func checkWeights(list string) error {
	all, err := weightsOf(list)
	if err != nil {
		return err
	}
	for _, e := range all {
		switch {
		case !slices.Contains(usageNames, e.name) && e.number != 0:
			return fmt.Errorf("%q: want %s", e.name, usageWanted)
		case e.number < 0 || e.number > config.MaxFactor:
			return fmt.Errorf("%s=%s: want 0 to %s", e.name, config.Number(e.number), config.Number(config.MaxFactor))
		}
	}
	return nil
}

// setWeights stores a checked list. Usage that it does not name has no weight.
func setWeights(c *config.Config, list string) {
	all, _ := weightsOf(list)
	c.Decay.CPU.Weight, c.Decay.Memory.Weight, c.Decay.IO.Weight = 0, 0, 0
	for _, e := range all {
		if slices.Contains(usageNames, e.name) {
			usageParams(c, e.name).Weight = e.number
		}
	}
}

func checkHalfLives(list string) error {
	all, err := entries(list, ":")
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.number != math.Trunc(e.number) || e.number < -1 || e.number > config.MaxSeconds/60 {
			return fmt.Errorf("%s=%s: want whole minutes, 0 or -1", config.OneLine(e.name), config.Number(e.number))
		}
	}
	return nil
}

// setHalfLives takes a list that was checked. Grid Engine measures more kinds of usage, and
// keeps a number of finished jobs as one of them.
func setHalfLives(c *config.Config, list string) {
	all, _ := entries(list, ":")
	for _, name := range usageNames {
		u := usageParams(c, name)
		u.Own, u.HalfLife = false, 0
	}
	settingsOf(c).unmeasured = nil
	for _, e := range all {
		if !slices.Contains(usageNames, e.name) {
			settingsOf(c).unmeasured = append(settingsOf(c).unmeasured, e.name)
			continue
		}
		u := usageParams(c, e.name)
		u.Own, u.HalfLife = true, time.Duration(e.number)*time.Minute
	}
}

// defaultProjects returns the default projects of users, by user.
func defaultProjects(c *sge.Config) map[string]string {
	var of map[string]string
	for user, record := range c.Users {
		if record.DefaultProject != "" {
			of = noted(of, user, record.DefaultProject)
		}
	}
	return of
}
