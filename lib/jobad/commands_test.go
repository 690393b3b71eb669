package jobad

import (
	"slices"
	"strings"
	"testing"
)

// TestTable holds the table of commands to its own rules.
func TestTable(t *testing.T) {
	seen := map[string]string{}
	for _, c := range Commands() {
		for _, n := range append([]string{c.Name}, c.Also...) {
			if other, twice := seen[n]; twice {
				t.Errorf("%q names %s and %s", n, other, c.Name)
			}
			seen[n] = c.Name
			if n != strings.ToLower(n) || !isAttributeName(n) {
				t.Errorf("%s: %q is no name in lower case", c.Name, n)
			}
		}
		if c.Attr != "" && !isAttributeName(c.Attr) {
			t.Errorf("%s: %q is no attribute", c.Name, c.Attr)
		}
		if c.Fate == Refused && c.Why == "" {
			t.Errorf("%s is refused without a reason", c.Name)
		}
	}
}

// TestActedOn: whatever the starter acts on is not said to be kept only.
func TestActedOn(t *testing.T) {
	for _, name := range []string{
		"append_files", "erase_output_and_error_on_restart", "coresize", "kill_sig", "remove_kill_sig", "hold_kill_sig",
		"kill_sig_timeout", "job_max_vacate_time", "want_graceful_removal", "max_job_retirement_time", "checkpoint_exit_code",
		"transfer_checkpoint_files", "job_machine_attrs", "ulog_execute_attrs", "retry_request_memory",
	} {
		if c := byName()[name]; c == nil || c.Fate != Served {
			t.Errorf("%s: %+v, want one that is served", name, c)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, command string }{
		{"args", "arguments"}, {"initial_dir", "initialdir"}, {"iwd", "initialdir"}, {"cmd", "executable"}, {"stdin", "input"},
		{"periodichold", "periodic_hold"}, {"whentotransferoutput", "when_to_transfer_output"}, {"jobnotification", "notification"},
		{"transferinputfiles", "transfer_input_files"}, {"requestmemory", "request_memory"}, {"jobbatchname", "batch_name"},
		{"transfererr", "transfer_error"}, {"jobuniverse", "universe"}, {"leavejobinqueue", "leave_in_queue"}, {"jobmaxretries", "max_retries"},
		{"core_size", "coresize"}, {"materialize_max_idle", "max_idle"}, {"jobprio", "priority"}, {"nodecount", "machine_count"},
		{"maxretries", "max_retries"}, {"userlogusexml", "log_xml"}, {"dockeroverrideentrypoint", "docker_override_entrypoint"},
	} {
		if got := byName()[c.name]; got == nil || got.Name != c.command {
			t.Errorf("command of %q = %+v, want %s", c.name, got, c.command)
		}
	}
	for _, name := range []string{"transferoutput", "transferinput", "in", "out", "err", "foo", "require_", "transform_body_", "jobset.",
		"_oauth_permissions_x", "box_oauth_permissionsx", "box_oauth_resource_"} {
		if isCommand(name) {
			t.Errorf("isCommand(%q) = true, want false", name)
		}
	}
	for _, name := range []string{"request_boats", "require_boats", "jobset.name", "ec2_tag_x", "transform_body_x", "box_oauth_permissions"} {
		if !isCommand(name) {
			t.Errorf("isCommand(%q) = false, want true", name)
		}
	}
}

// samples are values that commands of a kind take, and what the ad then has.
var samples = map[kind][2]string{
	text: {`"a b"`, `"a b"`}, list: {"a, b", `"a,b"`}, file: {"x", `"/home/alice/x"`}, truthful: {"yes", "true"},
	whole: {"2*3", "6"}, natural: {"7", "7"}, seconds: {"60", "60"}, expr: {"Foo > 1", "Foo > 1"},
}

// TestSimpleCommands gives each command of one attribute a value, under each of
// its names.
func TestSimpleCommands(t *testing.T) {
	for _, c := range Commands() {
		if c.kind == elsewhere || c.Attr == "" {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Also...) {
			line := name + " = " + samples[c.kind][0]
			if got := first(t, sleep+line+"\nqueue\n", c.Attr); got != samples[c.kind][1] {
				t.Errorf("%s of %q = %s, want %s", c.Attr, line, got, samples[c.kind][1])
			}
		}
	}
}

// TestWaiting checks what is said of commands that nothing acts on.
func TestWaiting(t *testing.T) {
	const kept = "kept in the ad, the pool does not act on it"
	for _, c := range []struct {
		text string
		want []string
	}{
		{"keep_claim_idle = 60\nperiodic_hold = JobRunCount > 3\nperiodic_hold_reason = \"x\"", []string{"a.sub:2: keep_claim_idle: " + kept}},
		{"periodic_hold = false\nperiodic_release = False\non_exit_remove = true\nleave_in_queue = false\nnotification = never", nil},
		{"KeepClaimIdle = 60\nqueue\nqueue", []string{"a.sub:2: KeepClaimIdle: " + kept}},
		{"notification = error\nnotify_user = alice\nemail_attributes = RemoteHost", nil},
		{"notify_user = never", []string{"a.sub:2: notify_user: would send mail to a user called never; for no mail write notification = never"}},
		{"on_exit_remove = false\nsuccess_exit_code = 0\nmax_retries = 3\nretry_until = 4\nleave_in_queue = true", nil},
		{"max_retries = 0\nnotification = \"Never\"", nil},
		{"deferral_time = 5\ndeferral_window = 6\nallowed_job_duration = 60\nallowed_execute_duration = 6\nwall_time = 7\nhold_kill_sig = 2", nil},
		{"cron_minute = 5", []string{"a.sub:2: cron_minute: the job runs once and leaves the queue: on_exit_remove = false has it run every time, on_exit_remove = true says that once is right"}},
		{"cron_minute = 5\non_exit_remove = false", nil}, {"cron_minute = 5\nmax_retries = 1", nil}, {"cron_minute = 5\n+OnExitRemove = x", nil},
		{"cron_minute = 5\ndeferral_time = 7\non_exit_remove = true", []string{"a.sub:3: deferral_time: has no effect beside cron_minute"}},
		{"after_ok = 12, 13\nafter_any = 14", nil}, {"after_ok = then\nargs = $(after_ok)", nil},
		{"coresize = 5\nmax_job_retirement_time = 60\ncheckpoint_exit_code = 85\ntransfer_checkpoint_files = a\nerase_output_and_error_on_restart = true", nil},
		{"retry_request_memory = 2GB\nretry_request_disk_max = 1GB\nwant_graceful_removal = false", nil},
		{"ulog_execute_attrs = Cpus\njob_machine_attrs = Cpus\njob_ad_information_attrs = Cmd", nil},
		{"next_job_start_delay = 5", []string{"a.sub:2: next_job_start_delay: " + kept}},
		{"hold = true", []string{"a.sub:2: hold: the jobs wait for qrls"}},
		{"universe = local", []string{"a.sub:2: universe: local: waits for a slot like any other job"}},
		{"universe = standard", []string{"a.sub:2: universe: standard: runs as a vanilla job, with checkpoints only where the machine can take them"}},
		{"universe = java\nargs = x", []string{"a.sub:2: universe: java: waits until a slot says HasJava"}},
		{"universe = docker\ndocker_image = x", nil},
		{"container_image = x.sif", nil},
		{"machine_count = 4", []string{"a.sub:2: machine_count: has a meaning only in the parallel universe; for several processors write request_cpus = 4"}},
		{"nice_user = true\naccounting_group = g", []string{"a.sub:2: nice_user: has no effect beside an accounting group: nice users are a group of their own"}},
		{"stack_size = 5\nwant_graceful_removal = true\ndescription = x\nlog_xml = false\nkeep_claim_idle = 0\ncopy_to_spool = false", nil},
		{"grid_resource = x\nvm_type = kvm\nec2_ami_id = x\ncloud_label_a = b", nil},
		{"env = A=1\nenvironment = B=1", []string{"a.sub:2: env: has no effect beside environment"}},
		{"args = x\narguments = $(args)", nil},
		{"priority = 2.5", []string{"a.sub:2: priority: 2.5: cut to 2, as a priority is a whole number"}}, {"priority = 2.0", nil},
		{"+overridetickets = 5", []string{"a.sub:2: +overridetickets: administrators give them to a job in the queue: prio -ot N JOB, this line has no effect"}},
		{"+ClusterId = 5", []string{"a.sub:2: +ClusterId: submit itself sets this attribute, this line has no effect"}},
	} {
		text := sleep + c.text
		if !strings.Contains(text, "queue\n") {
			text += "\nqueue"
		}
		_, warnings := parse(t, text)
		var got []string
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("warnings of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestProtected checks that nobody can write into the ad what the pool keeps
// its records by.
func TestProtected(t *testing.T) {
	for _, c := range []struct{ line, name, want string }{
		{`+Owner = "bob"`, "Owner", `"alice"`}, {`MY.user = "bob@x"`, "User", `"alice@example.org"`}, {"+Owner = undefined", "Owner", `"alice"`},
		{"+JobStatus = 2", "JobStatus", "1"}, {"+NiceUser = true", "NiceUser", "-"}, {`+GlobalJobId = "x"`, "GlobalJobId", "-"},
		{"+ClusterId = 1", "ClusterId", "-"}, {`+RemoteUser = "bob"`, "RemoteUser", "-"}, {"+QDate = 0", "QDate", "1700000000"},
		{"+JobUniverse = 7", "JobUniverse", "5"}, {"+NumJobCompletions = 9", "NumJobCompletions", "0"},
		{"+SubmitterUserPrio = 0.1", "SubmitterUserPrio", "-"}, {`+SubmitterGroup = "physics"`, "SubmitterGroup", "-"},
		{"MY.RemoteUserPrio = 1e9", "RemoteUserPrio", "-"}, {`+ReleaseReason = "x"`, "ReleaseReason", "-"}, {`+LastHoldReason = "x"`, "LastHoldReason", "-"},
		{"+DependenciesMet = true", "DependenciesMet", "-"}, {"+NumHolds = 7", "NumHolds", "-"}, {"+CommittedTime = 7", "CommittedTime", "0"},
	} {
		text := sleep + c.line + "\nqueue\n"
		if got := first(t, text, c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.line, got, c.want)
		}
		if _, warnings := parse(t, text); len(warnings) != 1 || !strings.Contains(warnings[0].Msg, "has no effect") {
			t.Errorf("warnings of %q = %q, want one that it has no effect", c.line, warnings)
		}
	}
}
