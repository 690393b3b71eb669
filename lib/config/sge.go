package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/sge"
)

// SGEKeys is every key of the table [sge], in the order of the manual page: parameters of
// sched_conf(5) under their own names, with the defaults that Grid Engine's installer sets.
// What is said of users, projects and other objects is in SGEAttributes.
var SGEKeys = slices.Concat(qconfKeys, []Key{
	{Name: sgeCompatibility, Kind: String, Default: "", Choices: []string{"", sgeVersion},
		Help: "Whether usage decays as in Grid Engine 8.1.9, which takes a straight line for each minute and does not halve exactly.",
		set:  func(c *Config, v any) { c.Decay.Linear = v == sgeVersion }},
	weight("weight_priority", 1, "the normalised POSIX priority", func(s *sge.Config) *float64 { return &s.WeightPriority }),
	weight("weight_urgency", 0.1, "the normalised urgency", func(s *sge.Config) *float64 { return &s.WeightUrgency }),
	weight("weight_ticket", 0.01, "the normalised tickets", func(s *sge.Config) *float64 { return &s.WeightTicket }),
	weight("weight_waiting_time", 0, "each second since a job was submitted, in its urgency", func(s *sge.Config) *float64 { return &s.WeightWaitingTime }),
	weight("weight_deadline", 3600000, "a deadline that is a second away, in the urgency", func(s *sge.Config) *float64 { return &s.WeightDeadline }),
	tickets("weight_tickets_functional", "How many tickets the functional policy gives. With 0 it gives none.", func(s *sge.Config) *float64 { return &s.TicketsFunctional }),
	tickets("weight_tickets_share", "How many tickets the share tree policy gives. With 0 it gives none.", func(s *sge.Config) *float64 { return &s.TicketsShare }),
	part("weight_user", 0.25, "the users' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightUser }),
	part("weight_project", 0.25, "the projects' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightProject }),
	part("weight_department", 0.25, "the departments' shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightDepartment }),
	part("weight_job", 0.25, "the jobs' own shares, in functional tickets", func(s *sge.Config) *float64 { return &s.WeightJob }),
	{Name: "share_functional_shares", Kind: Boolean, Default: true,
		Help: "Whether the jobs of a user, project or department divide its functional shares. If false, each has all of them.",
		set:  func(c *Config, v any) { c.SGE.ShareFunctional = v.(bool) }},
	{Name: "share_override_tickets", Kind: Boolean, Default: true,
		Help: "Whether the jobs of a user, project or department divide its override tickets. If false, each has all of them.",
		set:  func(c *Config, v any) { c.SGE.ShareOverride = v.(bool) }},
	count("max_functional_jobs_to_schedule", 200, "jobs", "How many waiting jobs are given functional tickets one after the other, each by what those before it have.",
		func(s *sge.Config) *int { return &s.MaxFunctional }),
	count("max_pending_tasks_per_job", 50, "procs", "How many waiting procs of a cluster are given tickets at a time.",
		func(s *sge.Config) *int { return &s.MaxPendingTasks }),
	{Name: "policy_hierarchy", Kind: String, Default: "OFS", check: checkHierarchy,
		Help: "Letters of the ticket policies, O for override, F for functional and S for share tree, each of which goes on from what those before it gave; or \"NONE\".",
		set:  func(c *Config, v any) { c.SGE.Hierarchy = hierarchy(v.(string)) }},
	{Name: "compensation_factor", Kind: Real, Default: 5.0, Least: 0, Most: maxSGEWeight,
		Help: "How many times its long-term target a node of the share tree may have before its share is cut. 0: it never is.",
		set:  func(c *Config, v any) { c.SGE.Compensation = v.(float64) }},
	{Name: "halftime", Kind: Integer, Default: int64(168), Unit: "hours", Least: 0, Most: 200000,
		Help: "The half-life of decayed usage. With 0 nothing decays.",
		set:  func(c *Config, v any) { c.Decay.HalfTime = time.Duration(v.(int64)) * time.Hour }},
	{Name: "usage_weight_list", Kind: String, Default: "cpu=1", check: checkWeights,
		Help: "What cpu (seconds), mem (GB times seconds) and io (GB) count in the combined usage, as \"cpu=1,mem=0.5\". The weights are divided by their sum; if that is 0, no usage counts.",
		set:  func(c *Config, v any) { c.setWeights(v.(string)) }},
	{Name: "halflife_decay_list", Kind: String, Default: "none", check: checkHalfLives,
		Help: "Half-lives in minutes of single kinds of usage in the place of halftime, as \"cpu=30:mem=-1\": with 0 it does not decay, with -1 it is gone at once.",
		set:  func(c *Config, v any) { c.setHalfLives(v.(string)) }},
	{Name: "report_pjob_tickets", Kind: Boolean, Default: true,
		Help: "Whether the priorities of waiting jobs are shown, with what they are made of. If false, zeros are.",
		set:  func(c *Config, v any) { c.SGE.ReportPending = v.(bool) }},
	count("maxujobs", 0, "jobs", "How many jobs of a user may run. 0: any number.", func(s *sge.Config) *int { return &s.MaxUserJobs }),
	{Name: "reprioritize_interval", Kind: Time, Default: 0.0, Unit: "s", Least: 0, Most: maxSeconds,
		Help: "How often the nice values of running jobs are set anew from their tickets. With 0 they keep the one they were started with.",
		set:  func(c *Config, v any) { c.RunTime.Interval = seconds(v) }},
	{Name: "execd_params", Kind: String, Default: "none", check: checkExecdParams,
		Help: "The nice values of the best and the worst off of the running jobs, as \"PTF_MAX_PRIORITY=0,PTF_MIN_PRIORITY=20\".",
		set:  func(c *Config, v any) { c.RunTime.Best, c.RunTime.Worst, _ = niceRange(v.(string)) }},
}, ignoredKeys())

const (
	sgeCompatibility = "compatibility"
	sgeVersion       = "8.1.9"

	// maxSGEWeight bounds what Grid Engine takes any number for: products of weights,
	// urgencies and amounts stay far within the range of numbers.
	maxSGEWeight = 1e9
	maxShares    = sge.MostShares
)

// RunTime is how the run-time priority of jobs is adjusted to their tickets.
type RunTime struct {
	Interval time.Duration // reprioritize_interval; 0: never
	// Best and Worst are the nice values of the best and the worst off of the jobs of a
	// machine, -20 to 20 both: PTF_MAX_PRIORITY and PTF_MIN_PRIORITY of execd_params.
	Best, Worst int
}

// weight makes the key of a weight. Those below 0 are taken as in Grid Engine: they turn an
// order round.
func weight(name string, initial float64, counts string, of func(*sge.Config) *float64) Key {
	return Key{Name: name, Kind: Real, Default: initial, Least: -maxSGEWeight, Most: maxSGEWeight,
		Help: "What counts: " + counts + ".",
		set:  func(c *Config, v any) { *of(&c.SGE) = v.(float64) }}
}

// part makes the key of a weight that counts in comparison with others only: none is below
// 0, for the sum of them is what each is divided by.
func part(name string, initial float64, counts string, of func(*sge.Config) *float64) Key {
	k := weight(name, initial, counts, of)
	k.Least = 0
	return k
}

// tickets makes the key of a policy's tickets.
func tickets(name, help string, of func(*sge.Config) *float64) Key {
	return Key{Name: name, Kind: Integer, Default: int64(0), Unit: "tickets", Least: 0, Most: maxShares, Help: help,
		set: func(c *Config, v any) { *of(&c.SGE) = float64(v.(int64)) }}
}

// count makes the key of a number of jobs.
func count(name string, initial int64, unit, help string, of func(*sge.Config) *int) Key {
	return Key{Name: name, Kind: Integer, Default: initial, Unit: unit, Least: 0, Most: maxInteger, Help: help,
		set: func(c *Config, v any) { *of(&c.SGE) = int(v.(int64)) }}
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
