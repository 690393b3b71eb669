package sge

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// schema is that of this policy, beside others without tables.
var schema = config.NewSchema([]string{"condor", "maui", policyName}, Policy{}.Table())

// The defaults are those that Grid Engine's installer sets.
func TestSGEDefaults(t *testing.T) {
	want := sge.Config{
		WeightPriority: 1, WeightUrgency: 0.1, WeightTicket: 0.01, WeightDeadline: 3600000,
		WeightUser: 0.25, WeightProject: 0.25, WeightDepartment: 0.25, WeightJob: 0.25,
		ShareFunctional: true, ShareOverride: true, MaxFunctional: 200, MaxPendingTasks: 50,
		Compensation: 5, ReportPending: true, Hierarchy: []sge.TicketPolicy{sge.Override, sge.Functional, sge.ShareTree},
		Complexes: []sge.Complex{{Name: "slots", Shortcut: "s", Type: sge.Int, Urgency: 1000}},
	}
	if c := schema.Default(); !reflect.DeepEqual(*Settings(&c), want) {
		t.Errorf("the settings by default = %+v, want %+v", *Settings(&c), want)
	}
	if c, err := schema.Parse("f", nil); err != nil || !reflect.DeepEqual(*Settings(&c), want) || c.Warnings != nil {
		t.Errorf("SGE of an empty file = %+v, %v, want the default", *Settings(&c), err)
	}
}

// What stands in a sched_conf may be pasted: numbers, truth and times in quotes count too.
func TestSGEValues(t *testing.T) {
	for text, got := range map[string]func(config.Config) any{
		"weight_priority = 0.5":                                  func(c config.Config) any { return Settings(&c).WeightPriority == 0.5 },
		"weight_priority = \"0.500000\"":                         func(c config.Config) any { return Settings(&c).WeightPriority == 0.5 },
		"weight_urgency = -2":                                    func(c config.Config) any { return Settings(&c).WeightUrgency == -2 },
		"weight_ticket = 2":                                      func(c config.Config) any { return Settings(&c).WeightTicket == 2 },
		"weight_waiting_time = 0.278":                            func(c config.Config) any { return Settings(&c).WeightWaitingTime == 0.278 },
		"weight_deadline = \"1000.000000\"":                      func(c config.Config) any { return Settings(&c).WeightDeadline == 1000 },
		"weight_tickets_functional = 4294967295":                 func(c config.Config) any { return Settings(&c).TicketsFunctional == 4294967295 },
		"weight_tickets_share = \"100000\"":                      func(c config.Config) any { return Settings(&c).TicketsShare == 100000 },
		"weight_user = 1":                                        func(c config.Config) any { return Settings(&c).WeightUser == 1 },
		"weight_project = 1":                                     func(c config.Config) any { return Settings(&c).WeightProject == 1 },
		"weight_department = 1":                                  func(c config.Config) any { return Settings(&c).WeightDepartment == 1 },
		"weight_job = 1":                                         func(c config.Config) any { return Settings(&c).WeightJob == 1 },
		"share_functional_shares = \"FALSE\"":                    func(c config.Config) any { return !Settings(&c).ShareFunctional },
		"share_functional_shares = false":                        func(c config.Config) any { return !Settings(&c).ShareFunctional },
		"share_override_tickets = \"0\"":                         func(c config.Config) any { return !Settings(&c).ShareOverride },
		"share_override_tickets = 0":                             func(c config.Config) any { return !Settings(&c).ShareOverride },
		"report_pjob_tickets = \"false\"":                        func(c config.Config) any { return !Settings(&c).ReportPending },
		"report_pjob_tickets = 1":                                func(c config.Config) any { return Settings(&c).ReportPending },
		"max_functional_jobs_to_schedule = 5":                    func(c config.Config) any { return Settings(&c).MaxFunctional == 5 },
		"max_pending_tasks_per_job = \"1\"":                      func(c config.Config) any { return Settings(&c).MaxPendingTasks == 1 },
		"maxujobs = 3":                                           func(c config.Config) any { return Settings(&c).MaxUserJobs == 3 },
		"compensation_factor = \"2.000000\"":                     func(c config.Config) any { return Settings(&c).Compensation == 2 },
		"policy_hierarchy = \"none\"":                            func(c config.Config) any { return Settings(&c).Hierarchy == nil },
		"policy_hierarchy = \"SF\"":                              func(c config.Config) any { return fmt.Sprint(Settings(&c).Hierarchy) == "[S F]" },
		"weight_tickets_share = 1e6":                             func(c config.Config) any { return Settings(&c).TicketsShare == 1e6 },
		"halftime = \"24\"":                                      func(c config.Config) any { return c.Decay.HalfTime == 24*time.Hour },
		"compatibility = \"8.1.9\"":                              func(c config.Config) any { return c.Decay.Linear },
		"compatibility = \"\"":                                   func(c config.Config) any { return !c.Decay.Linear },
		"reprioritize_interval = \"1::1\"":                       func(c config.Config) any { return c.RunTime.Interval == time.Hour+time.Second },
		"reprioritize_interval = \"40\"":                         func(c config.Config) any { return c.RunTime.Interval == 40*time.Second },
		"usage_weight_list = \"NONE\"":                           func(c config.Config) any { return c.Decay == accountant.DecayParams{HalfTime: 168 * time.Hour} },
		"usage_weight_list = \"cpu=0.000000,mem=0\"":             func(c config.Config) any { return c.Decay.CPU.Weight == 0 },
		"usage_weight_list = \"cpu=1.0,vmem=0.0,io=2\"":          func(c config.Config) any { return c.Decay.CPU.Weight == 1 && c.Decay.IO.Weight == 2 },
		"halflife_decay_list = \"None\"":                         func(c config.Config) any { return !c.Decay.CPU.Own },
		"qconf_sc = []":                                          func(c config.Config) any { return settingsOf(&c).files == nil },
		"schedule_interval = \"0:0:15\"\nparams = \"NONE\"":      func(c config.Config) any { return settingsOf(&c).ignored == nil },
		"flush_submit_sec = \"0\"\nschedd_job_info = false":      func(c config.Config) any { return settingsOf(&c).ignored == nil },
		"load_adjustment_decay_time = \"0:7:30\"":                func(c config.Config) any { return settingsOf(&c).ignored == nil },
		"job_load_adjustments = \"NONE\"\nalgorithm=\"default\"": func(c config.Config) any { return settingsOf(&c).ignored == nil },
	} {
		c, err := schema.Parse("f", []byte("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\n"+text+"\n"))
		if err != nil || got(c) != true {
			t.Errorf("[sge] %s: %v; it gives %+v, %+v, %+v", text, err, *Settings(&c), c.Decay, c.RunTime)
		}
	}
}

func TestSGERefuses(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"weight_ticket = \"x\"", `f:2: sge.weight_ticket: "x": want a number`},
		{"weight_ticket = nan", `f:2: sge.weight_ticket: NaN: want -1000000000 to`},
		{"weight_ticket = \"inf\"", `f:2: sge.weight_ticket: +Inf: want`},
		{"weight_ticket = 1e10", `f:2: sge.weight_ticket: 10000000000: want -1000000000 to 1000000000`},
		{"weight_user = -1", `f:2: sge.weight_user: -1: want 0 to 1000000000`},
		{"weight_tickets_share = -1", `f:2: sge.weight_tickets_share: -1: want 0 to 4294967295`},
		{"weight_tickets_share = 1.5", `f:2: sge.weight_tickets_share: 1.5: want a whole number`},
		{"share_override_tickets = \"yes\"", `f:2: sge.share_override_tickets: "yes": want true or false`},
		{"share_override_tickets = 2", `f:2: sge.share_override_tickets: 2: want true or false`},
		{"policy_hierarchy = \"OO\"", `f:2: sge.policy_hierarchy: "OO": want some of the letters O, F and S`},
		{"policy_hierarchy = \"ofs\"", `f:2: sge.policy_hierarchy: "ofs": want some`},
		{"policy_hierarchy = \"\"", `f:2: sge.policy_hierarchy: "": want some`},
		{"compatibility = \"6.2\"", `f:2: sge.compatibility: "6.2": want "", "8.1.9"`},
		{"reprioritize_interval = \"::\"", `f:2: sge.reprioritize_interval: "::": want seconds`},
		{"weight_tiket = 1", `f:2: sge.weight_tiket: unknown key; did you mean weight_ticket?`},
		{"maxujobs = 1e10", `f:2: sge.maxujobs: 10000000000: want 0 to 2147483647`},
		{"user.alice.fshare = 1", `f:2: sge.user: unknown table; did you mean users?`},
		{"users = 5", `f:2: sge.users: 5: want a table of names`},
		{"share_tree = 5", `f:2: sge.share_tree: 5: want a table of paths`},
		{"qconf_sc = 5", `f:2: sge.qconf_sc: 5: want an array of strings, or a string of words`},
	} {
		_, err := schema.Parse("f", []byte("[sge]\n"+x.text+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("[sge] %s: %v, want %q", x.text, err, x.want)
		}
	}
}
