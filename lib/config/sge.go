package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"fairspool/lib/accountant"
)

// SGEKeys is every key of the table [sge], in the order of the manual page:
// parameters of sched_conf(5) under their own names.
var SGEKeys = []Key{
	{Name: "halftime", Kind: Integer, Default: int64(168), Unit: "hours", Least: 0, Most: 200000,
		Help: "The half-life of decayed usage. With 0 nothing decays.",
		set:  func(c *Config, v any) { c.SGE.HalfTime = time.Duration(v.(int64)) * time.Hour }},
	{Name: "usage_weight_list", Kind: String, Default: "cpu=1", check: checkWeights,
		Help: "What cpu (seconds), mem (GB times seconds) and io (GB) count in the combined usage, as \"cpu=1,mem=0.5\". The weights are divided by their sum.",
		set:  func(c *Config, v any) { c.setWeights(v.(string)) }},
	{Name: "halflife_decay_list", Kind: String, Default: "none", check: checkHalfLives,
		Help: "Half-lives in minutes of single kinds of usage in the place of halftime, as \"cpu=30:mem=-1\": with 0 it does not decay, with -1 it is gone at once.",
		set:  func(c *Config, v any) { c.setHalfLives(v.(string)) }},
	{Name: "reprioritize_interval", Kind: Time, Default: 0.0, Unit: "s", Least: 0, Most: maxSeconds,
		Help: "How often the nice values of running jobs are set anew from their tickets. With 0 they keep the one they were started with.",
		set:  func(c *Config, v any) { c.RunTime.Interval = seconds(v) }},
	{Name: "execd_params", Kind: String, Default: "none", check: checkExecdParams,
		Help: "The nice values of the best and the worst off of the running jobs, as \"PTF_MAX_PRIORITY=0,PTF_MIN_PRIORITY=20\".",
		set:  func(c *Config, v any) { c.RunTime.Best, c.RunTime.Worst, _ = niceRange(v.(string)) }},
}

// RunTime is how the run-time priority of jobs is adjusted to their tickets.
type RunTime struct {
	Interval time.Duration // reprioritize_interval; 0: never
	// Best and Worst are the nice values of the best and the worst off of the jobs of a
	// machine, -20 to 20 both: PTF_MAX_PRIORITY and PTF_MIN_PRIORITY of execd_params.
	Best, Worst int
}

// laterSGE tells of parameters of sched_conf(5) that this version does not
// serve.
func laterSGE(name string) bool {
	return strings.HasPrefix(name, "weight_") || words("algorithm schedule_interval maxujobs queue_sort_method job_load_adjustments "+
		"load_adjustment_decay_time load_formula schedd_job_info flush_submit_sec flush_finish_sec params "+
		"compensation_factor share_override_tickets share_functional_shares max_functional_jobs_to_schedule report_pjob_tickets "+
		"max_pending_tasks_per_job policy_hierarchy max_reservation default_duration", name)
}

// usageNames are the kinds of usage that are measured.
const usageNames = "cpu, mem or io"

// entry is one NAME=NUMBER of a list.
type entry struct {
	name   string
	number float64
}

// entries reads a list of NAME=NUMBER.
func entries(list, separator string) ([]entry, error) {
	var out []entry
	seen := map[string]bool{}
	for _, one := range strings.Split(list, separator) {
		name, text, ok := strings.Cut(strings.TrimSpace(one), "=")
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case !ok || err != nil || math.IsNaN(n) || math.IsInf(n, 0):
			return nil, fmt.Errorf("%q: want NAME=NUMBER, with %q between two", one, separator)
		case name != "cpu" && name != "mem" && name != "io":
			return nil, fmt.Errorf("%q: want %s", name, usageNames)
		case seen[name]:
			return nil, fmt.Errorf("%s stands there twice", name)
		}
		seen[name] = true
		out = append(out, entry{name, n})
	}
	return out, nil
}

// usageParams returns what is set for one kind of usage.
func (c *Config) usageParams(name string) *accountant.UsageParams {
	switch name {
	case "mem":
		return &c.SGE.Memory
	case "io":
		return &c.SGE.IO
	}
	return &c.SGE.CPU
}

func checkWeights(list string) error {
	all, err := entries(list, ",")
	if err != nil {
		return err
	}
	sum := 0.0
	for _, e := range all {
		if e.number < 0 || e.number > maxFactor {
			return fmt.Errorf("%s=%s: want 0 to %s", e.name, number(e.number), number(maxFactor))
		}
		sum += e.number
	}
	if sum == 0 {
		return errors.New("no weight is above 0: usage would not count")
	}
	return nil
}

// setWeights takes a list that was checked. What is not in it has no weight.
func (c *Config) setWeights(list string) {
	all, _ := entries(list, ",")
	c.SGE.CPU.Weight, c.SGE.Memory.Weight, c.SGE.IO.Weight = 0, 0, 0
	for _, e := range all {
		c.usageParams(e.name).Weight = e.number
	}
}

// halfLives reads a list of half-lives; none is an empty one.
func halfLives(list string) ([]entry, error) {
	if strings.EqualFold(list, "none") {
		return nil, nil
	}
	return entries(list, ":")
}

func checkHalfLives(list string) error {
	all, err := halfLives(list)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.number != math.Trunc(e.number) || e.number < -1 || e.number > maxSeconds/60 {
			return fmt.Errorf("%s=%s: want whole minutes, 0 or -1", e.name, number(e.number))
		}
	}
	return nil
}

// setHalfLives takes a list that was checked.
func (c *Config) setHalfLives(list string) {
	all, _ := halfLives(list)
	for _, name := range []string{"cpu", "mem", "io"} {
		u := c.usageParams(name)
		u.Own, u.HalfLife = false, 0
	}
	for _, e := range all {
		u := c.usageParams(e.name)
		u.Own, u.HalfLife = true, time.Duration(e.number)*time.Minute
	}
}

// Nice values as Grid Engine has them on Linux.
const (
	bestNice, worstNice = 0, 20
	leastNice, mostNice = -20, 20
	unsetNice           = -999 // stands for the default

	// The higher the priority, the lower the value.
	bestName, worstName = "PTF_MAX_PRIORITY", "PTF_MIN_PRIORITY"
)

func checkExecdParams(list string) error { _, _, err := niceRange(list); return err }

// niceRange reads execd_params: words with commas or blanks between them, in which case
// does not count. There are many more in sge_conf(5), of daemons that are none here.
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
			return 0, 0, fmt.Errorf("%q: %w; want %s=NUMBER or %s=NUMBER", word, errNotServed, bestName, worstName)
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
