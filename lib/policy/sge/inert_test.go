package sge

import (
	"strings"
	"testing"
)

func TestInertSGE(t *testing.T) {
	const tickets = "weight_tickets_functional = 1\nweight_tickets_share = 1\nusers.alice.fshare = 1\n"
	const tree = "weight_tickets_share = 1\nshare_tree.\"/alice\" = 1\n"
	for _, x := range []struct{ text, want string }{
		{"", ""},
		{"weight_urgency = 5", ""},
		{tree, ""},
		{"weight_tickets_share = 1", "f:3: sge.weight_tickets_share: has no effect: there is no share tree"},
		{"share_tree.\"/alice\" = 1", "sge.weight_tickets_share: is 0, so that the share tree has no effect"},
		{tickets + "share_tree.\"/alice\" = 1", ""},
		{tickets + "share_tree.\"/alice\" = 1\nweight_ticket = 0", "f:7: sge.weight_ticket: is 0, so that tickets have no effect on the order of waiting jobs"},
		{"weight_ticket = 0", ""},
		{tree + "weight_ticket = 0.0004", "f:5: sge.weight_ticket: all tickets count less than one step of priority, 0.00049: they have an effect among jobs of the same priority only"},
		{tree + "weight_ticket = 0.0004\nweight_priority = 0.5", ""},
		{"weight_ticket = 0.0004", ""},
		{tree + "usage_weight_list = \"cpu=0,mem=0\"", "f:5: sge.usage_weight_list: all weights are 0: no usage counts in the share tree"},
		{"usage_weight_list = \"NONE\"", ""},
		{"weight_tickets_functional = 5\nprojects.p.fshare = 1\nmax_functional_jobs_to_schedule = 0", "f:5: sge.max_functional_jobs_to_schedule: is 0, so that no waiting job gets functional tickets"},
		{"weight_ticket = 0\nusers.alice.oticket = 5", "f:3: sge.weight_ticket: is 0, so that tickets have no effect on the order of waiting jobs"},
		{"weight_ticket = 0\ndepartments.d.oticket = 5", "f:3: sge.weight_ticket: is 0, so that tickets have no effect on the order of waiting jobs"},
		{"weight_ticket = 0\nweight_urgency = 0\nweight_priority = 0", "f:5: sge.weight_priority: is 0, as are weight_urgency and weight_ticket: jobs go by the time of submission alone"},
		{"weight_urgency = 0", ""},
		{"weight_urgency = 0\ncomplexes.lic.urgency = 1", "f:3: sge.weight_urgency: is 0, so that the urgency of complexes has no effect"},
		{"weight_urgency = 0\ncomplexes.slots.urgency = 1", "f:3: sge.weight_urgency: is 0, so that the urgency of complexes has no effect"},
		{"weight_urgency = 0\ncomplexes.lic.type = \"INT\"", ""},
		{"weight_urgency = 0\nweight_waiting_time = 1", "f:4: sge.weight_waiting_time: has no effect while weight_urgency is 0"},
		{"users.alice.fshare = 1", "sge.weight_tickets_functional: is 0, so that fshare has no effect"},
		{"weight_tickets_functional = 5\nprojects.p.fshare = 1", ""},
		{"weight_tickets_functional = 5\nweight_project = 0\nprojects.p.fshare = 1", "f:4: sge.weight_project: is 0, so that fshare of projects has no effect"},
		{"weight_tickets_functional = 5\nweight_department = 0\ndepartments.p.fshare = 1", "f:4: sge.weight_department: is 0, so that fshare of departments has no effect"},
		{"weight_tickets_functional = 5", "f:3: sge.weight_tickets_functional: only jobs with a JobShare get such tickets: no user, project or department has an fshare"},
		{"weight_tickets_functional = 5\nweight_job = 0", "f:3: sge.weight_tickets_functional: has no effect: no user, project or department has an fshare, and weight_job is 0"},
		{"users.alice.default_project = \"pa\"", "f:3: sge.users.alice.default_project: there is no project pa"},
		{"users.alice.default_project = \"pa\"\nprojects.pa = {}", ""},
		{"projects.pa.acl = [\"a\", \"b\"]\nusersets.a = {}", "f:3: sge.projects.pa.acl: there is no userset b"},
		{"projects.pa.xacl = [\"a\", \"b\"]\ndepartments.b = {}", "f:3: sge.projects.pa.xacl: there is no userset a|f:3: sge.projects.pa.xacl: b is a department, not a userset: it lists no users"},
		{"projects.pa.acl = [\"b\"]\ndepartments.b = {}\nusersets.b = {}", ""},
		{"departments.b.entries = [\"alice\", \"@hpc\"]\ndepartments.a.entries = [\"bob\", \"alice\"]", "f:3: sge.departments.b.entries: alice is in department a, too"},
		{"departments.b.entries = [\"alice\", \"alice\"]", ""},
		{"complexes.a.shortcut = \"l\"\ncomplexes.L.urgency = 1", "f:4: sge.complexes.L: requests by this name are for a, which stands before it"},
		{"complexes.a.shortcut = \"l\"\ncomplexes.b.shortcut = \"S\"\ncomplexes.c.shortcut = \"c\"", "f:4: sge.complexes.b.shortcut: requests by S are for slots, which stands before it"},
		{tree + "share_tree.\"/Default\" = 1", "f:5: sge.share_tree./Default: is the node of a user of that name: the one for users without a node is called default"},
		{tree + "share_tree.\"/Default\" = 1\nusers.Default = {}", ""},
		{tree + "share_tree.\"/default\" = 1", ""},
		{"weight_tickets_share = 1\nshare_tree.\"/default\" = 1\nshare_tree.\"/default/alice\" = 1", "f:4: sge.share_tree./default: has nodes below it: users without a node get one beside it, each with its shares"},
		{"weight_tickets_share = 1\nshare_tree.\"/Root\" = 1\nshare_tree.\"/Root/alice\" = 1", "f:4: sge.share_tree./Root: is a node of its own: paths begin below the root, whose name is not in them"},
		{tree + "users.alice = {}\nprojects.alice = {}", "f:4: sge.share_tree./alice: is the project's: there is also a user alice, who has no node by it"},
		{tree + "share_tree.\"/g\" = 1\nshare_tree.\"/g/alice\" = 1", "f:6: sge.share_tree./g/alice: has no jobs: those of alice belong to the node of that name that stands before it"},
		{tree + "share_tree.\"/default\" = 1\nshare_tree.\"/g\" = 1\nshare_tree.\"/g/default\" = 1", "f:7: sge.share_tree./g/default: has no effect: users without a node get one beside the default that stands before it"},
		{tree + "share_tree.\"/g\" = 1\nshare_tree.\"/g/x\" = 1\nshare_tree.\"/g/x/bob\" = 1\nshare_tree.\"/h\" = 1\nshare_tree.\"/h/x\" = 1\nshare_tree.\"/h/x/carol\" = 1", ""},
		{tree + "projects.p = {}\nshare_tree.\"/p\" = 1\nshare_tree.\"/p/alice\" = 1\nshare_tree.\"/p/default\" = 1\nshare_tree.\"/default\" = 1", ""},
		{tree + "projects.p = {}\nshare_tree.\"/p\" = 1\nshare_tree.\"/g\" = 1\nshare_tree.\"/g/p\" = 1\nshare_tree.\"/g/p/alice\" = 1", "f:8: sge.share_tree./g/p: has no jobs: those of p belong to the node of that name that stands before it"},
		{tree + "projects.p = {}\nprojects.q = {}\nshare_tree.\"/p\" = 1\nshare_tree.\"/p/q\" = 1", "f:8: sge.share_tree./p/q: has no jobs of project q: it is below the node of project p"},
		{"schedule_interval = \"1:0:0\"", "f:3: sge.schedule_interval: has no effect: cycles begin when negotiate is run"},
		{"load_formula = \"slots\"", "f:3: sge.load_formula: has no effect: slots are ranked by the jobs' Rank and the NEGOTIATOR_..._JOB_RANK"},
		{"max_reservation = 5\ndefault_duration = 3600\nparams = \"PROFILE=1\"\nschedd_job_info = \"job_list 1\"",
			"f:6: sge.schedd_job_info: has no effect: negotiate -explain shows why a job waits|f:5: sge.params: has no effect: no parameter of it is served|" +
				"f:3: sge.max_reservation: has no effect: what is kept for wide jobs is RESERVE_POOL_FRACTION|f:4: sge.default_duration: has no effect: what is kept for wide jobs is RESERVE_POOL_FRACTION"},
		{"algorithm = \"fast\"\nqueue_sort_method = \"seqno\"\nflush_submit_sec = 1\nflush_finish_sec = 1\njob_load_adjustments = \"x=1\"\nload_adjustment_decay_time = 1",
			"f:3: sge.algorithm: has no effect: there is but one|f:5: sge.flush_submit_sec: has no effect: cycles begin when negotiate is run|" +
				"f:6: sge.flush_finish_sec: has no effect: cycles begin when negotiate is run|" +
				"f:4: sge.queue_sort_method: has no effect: slots are ranked by the jobs' Rank and the NEGOTIATOR_..._JOB_RANK|" +
				"f:7: sge.job_load_adjustments: has no effect: the load of machines is not looked at|f:8: sge.load_adjustment_decay_time: has no effect: the load of machines is not looked at"},
	} {
		c, err := schema.Parse("f", []byte("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\n"+x.text+"\n"))
		if got := strings.Join(c.Warnings, "|"); err != nil || got != x.want {
			t.Errorf("%s: %s, %v, want %s", x.text, got, err, x.want)
		}
	}
}

// What usage decays by counts under any policy, and the rest of [sge] under its own only.
func TestInertUnderOtherPolicy(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"halftime = 5":        "",
		"weight_priority = 1": "",
		"halftime = 5\nweight_ticket = 3\nmaxujobs = 5":    `f:4: sge.weight_ticket: has no effect while JOB_PRIORITY_POLICY is "maui"`,
		"users.alice.fshare = 5":                           `f:3: sge.users.alice.fshare: has no effect while JOB_PRIORITY_POLICY is "maui"`,
		"share_tree.\"/alice\" = 5":                        `f:3: sge.share_tree./alice: has no effect while JOB_PRIORITY_POLICY is "maui"`,
		"halflife_decay_list = \"cpu=5:finished_jobs=-1\"": "f:3: sge.halflife_decay_list: finished_jobs: has no effect: cpu, mem and io are what is measured",
	} {
		c, err := schema.Parse("f", []byte("JOB_PRIORITY_POLICY = \"maui\"\n[sge]\n"+text+"\n"))
		if got := strings.Join(c.Warnings, "|"); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	c := parsed(t, "[sge]\nschedule_interval = 5\n")
	if c, err := c.With([]string{"JOB_PRIORITY_POLICY=sge"}); err != nil || len(c.Warnings) != 1 {
		t.Errorf("With tells %q, %v, want one warning", c.Warnings, err)
	}
	if c, err := c.With([]string{"JOB_PRIORITY_POLICY=sge", "sge.schedule_interval=0:0:15"}); err != nil || c.Warnings != nil {
		t.Errorf("With tells %q, %v, want none", c.Warnings, err)
	}
}
