package jobad

import (
	"bytes"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

// TestPolicy checks the attributes of commands that say what becomes of a job
// by itself.
func TestPolicy(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		// hold
		{"", "JobStatus", "1"}, {"", "HoldReason", "-"}, {"hold = false", "JobStatus", "1"},
		{"hold = true", "JobStatus", "5"}, {"hold = true", "HoldReasonCode", "15"},
		{"hold = true", "HoldReason", `"submitted on hold at user's request"`},
		{"hold = true\n+HoldReason = \"mine\"", "HoldReason", `"submitted on hold at user's request"`},

		// what happens now and then
		{"", "PeriodicHold", "false"}, {"", "PeriodicRelease", "false"}, {"", "PeriodicRemove", "false"}, {"", "PeriodicVacate", "false"},
		{"", "OnExitHold", "false"}, {"", "OnExitRemove", "true"}, {"", "LeaveJobInQueue", "false"}, {"", "PeriodicHoldReason", "-"},
		{"PeriodicHold = a>b", "PeriodicHold", "a > b"}, {"periodic_remove = (x)", "PeriodicRemove", "(x)"},
		{`periodic_hold_reason = strcat("a", Owner)`, "PeriodicHoldReason", `strcat("a",Owner)`}, {"periodic_hold_subcode = 42", "PeriodicHoldSubCode", "42"},
		{"on_exit_hold = ExitCode != 0", "OnExitHold", "ExitCode != 0"}, {"on_exit_hold_reason = \"x\"", "OnExitHoldReason", `"x"`},
		{"OnExitHoldSubCode = 3", "OnExitHoldSubCode", "3"}, {"leave_in_queue = JobStatus == 4", "LeaveJobInQueue", "JobStatus == 4"},
		{"on_exit_remove = ExitBySignal == false", "OnExitRemove", "ExitBySignal == false"},
		{"+PeriodicHold = x\nperiodic_hold = y", "PeriodicHold", "x"},

		// retries
		{"", "JobMaxRetries", "-"}, {"max_retries = 5", "JobMaxRetries", "5"}, {"retry_until = 7", "JobMaxRetries", "2"},
		{"max_retries = 5", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0"},
		{"retry_until = 7", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitCode =?= 7"},
		{"retry_until = -7", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitCode =?= -7"},
		{"retry_until = ExitCode > 9", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || ExitCode > 9"},
		{"retry_until = a ? b : c", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || (a ? b : c)"},
		{`retry_until = X =?= "a?b"`, "OnExitRemove", `NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || X =?= "a?b"`},
		{"success_exit_code = 4", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= JobSuccessExitCode"},
		{"success_exit_code = 4", "JobSuccessExitCode", "4"}, {"success_exit_code = 4\nmax_retries = 1", "JobMaxRetries", "1"},
		{"max_retries = 5\nretry_until = x // why\non_exit_remove = y", "OnExitRemove", "NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || (x) || y"},
		{"on_exit_remove = (ExitBySignal == False) && (ExitCode == 0)\nmax_retries = 3", "OnExitRemove",
			"NumJobCompletions > JobMaxRetries || ExitCode =?= 0 || (ExitBySignal == false) && (ExitCode == 0)"},

		// deferral
		{"", "DeferralWindow", "-"}, {"deferral_time = 1700000100", "DeferralTime", "1700000100"}, {"deferral_time = QDate + 60", "DeferralTime", "QDate + 60"},
		{"deferral_time = 5", "DeferralWindow", "0"}, {"deferral_time = 5", "DeferralPrepTime", "300"},
		{"deferral_time = 5\ndeferral_window = 9\ncron_window = 8", "DeferralWindow", "8"}, {"cron_hour = 5\ncron_prep_time = 8", "DeferralPrepTime", "8"},
		{"deferral_window = 9", "DeferralWindow", "-"}, {"cron_minute = */15, 3-5", "CronMinute", `"*/15, 3-5"`}, {"CronDayOfWeek = 7", "CronDayOfWeek", `"7"`},
		{"cron_month = *", "DeferralWindow", "0"},
		{"cron_hour = 1\n+DeferralTime = 7", "DeferralTime", "7"},

		// dependencies
		{"", "AfterOk", "-"}, {"after_ok = 12 13", "AfterOk", `"12,13"`}, {"after_any = \"13,12, 13\"", "AfterAny", `"13,12"`}, {"AfterOk = 7", "AfterOk", `"7"`},
		{"after_ok = later\nargs = $(after_ok)", "AfterOk", "-"}, {"+DependenciesMet = true\nafter_any = 3", "DependenciesMet", "-"},

		// mail
		{"notification = Complete", "JobNotification", "2"}, {"notification = ALWAYS", "JobNotification", "1"}, {"notification = error", "JobNotification", "3"},
		{"notification = never", "JobNotification", "0"}, {"", "JobNotification", "0"}, {"JobNotification = 2", "JobNotification", "2"},
		{"notify_user = a@b", "NotifyUser", `"a@b"`}, {"email_attributes = RemoteHost,  Q", "EmailAttributes", `"RemoteHost,Q"`},

		// times
		{"", "JobLeaseDuration", "2400"}, {"job_lease_duration = 60", "JobLeaseDuration", "60"}, {"allowed_job_duration = 60*60", "AllowedJobDuration", "60 * 60"},
		{"allowed_execute_duration = 60", "AllowedExecuteDuration", "60"}, {"wall_time = 60", "WallTimeLimit", "60"}, {"deadline = 1800000000", "Deadline", "1800000000"},
		{"max_job_retirement_time = (60 * 60)", "MaxJobRetirementTime", "(60 * 60)"}, {"hold_kill_sig = 2", "HoldKillSig", `"SIGINT"`},
		{"universe = standard", "MaxJobRetirementTime", "0"}, {"universe = standard\nmax_job_retirement_time = 60", "MaxJobRetirementTime", "60"},
		{"universe = standard\n+MaxJobRetirementTime = 5", "MaxJobRetirementTime", "5"}, {"want_graceful_removal = MY.x", "WantGracefulRemoval", "MY.x"},
		{"transfer_checkpoint_files = a, b", "TransferCheckpoint", `"a, b"`},
		{"erase_output_and_error_on_restart = false", "DontAppend", "false"},
		{"deadline = 1800000000 + 60 * 60", "Deadline", "1800003600"}, {"deadline = \"2026-11-22T15:30:00Z\"", "Deadline", "1795361400"},
		{"deadline = tomorrow\nargs = $(deadline)", "Deadline", "-"}, {"+Deadline = QDate\ndeadline = 5", "Deadline", "QDate"},
		{"job_share = 10", "JobShare", "10"}, {"job_share = 2 * 3", "JobShare", "6"}, {"job_share = 4294967295", "JobShare", "4294967295"}, {"+OverrideTickets = 10", "OverrideTickets", "-"},
		{"parallel_slots = 4", "ParallelSlots", "4"}, {"parallel_slots = 2 - 8", "ParallelSlots", `"2-8"`}, {"parallel_slots = 8-2", "ParallelSlots", `"2-8"`},
		{"parallel_slots = -8", "ParallelSlots", `"1-8"`}, {"parallel_slots = 4-", "ParallelSlots", `"4-"`}, {"parallel_slots = \"9,2-4\"", "ParallelSlots", `"2-4,9"`},
		{"parallel_environment = mpi*", "ParallelEnvironment", `"mpi*"`}, {"ParallelEnvironment = \"mpi\"", "ParallelEnvironment", `"mpi"`}, {"+ParallelEnvironment = \"smp\"\nparallel_environment = mpi", "ParallelEnvironment", `"smp"`},
		{"wall_time = soon\nargs = $(wall_time)", "WallTimeLimit", "-"}, {"class = a b\nargs = $(class)", "Class", "-"},
		{"parallel_slots = no\nargs = $(parallel_slots)", "ParallelSlots", "-"},

		// the rest
		{"coresize = 34*1024", "CoreSize", "34816"}, {"core_size = -1", "CoreSize", "-1"}, {"image_size = 2 MB", "ImageSize", "2048"}, {"Image_Size = 28 Meg", "ImageSize", "28672"}, {"noop_job = false", "IsNoopJob", "false"},
		{"dagman_log = nodes.log\ninitialdir = d", "DAGManNodesLog", `"/home/alice/d/nodes.log"`}, {"x509userproxy = p", "x509userproxy", `"/home/alice/p"`},
		{"use_oauth_services = a, b", "OAuthServicesNeeded", `"a,b"`}, {"JobBatchName = \"run $(Cluster)\"", "JobBatchName", `"run 12"`},
		{"+JobBatchName = \"mine\"\nbatch_name = yours", "JobBatchName", `"mine"`}, {"remote_grid_resource = a b", "Remote_GridResource", `"a b"`},
	} {
		if got := first(t, sleep+c.text+"\nqueue\n", c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// TestCron checks when jobs with times in the manner of cron(8) are to be executed.
func TestCron(t *testing.T) {
	o := testOptions()
	o.Now = time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"cron_minute = 5", "2026-11-21 12:05"}, {"cron_minute = 0", "2026-11-21 13:00"}, {"cron_hour = 9", "2026-11-22 09:00"},
		{"cron_day_of_month = 1\ncron_hour = 3\ncron_minute = 30", "2026-12-01 03:30"}, {"cron_day_of_week = 7\ncron_minute = 0", "2026-11-22 00:00"},
		{"CronMonth = \"2\"\nCronDayOfMonth = 29\ncron_minute=0\ncron_hour = 0", "2028-02-29 00:00"},
		{"cron_minute = 5\ndeferral_time = 7", "2026-11-21 12:05"},
	} {
		d, _, err := read(sleep+c.text+"\nqueue\n", o)
		if err != nil {
			t.Errorf("read(%q) = %v", c.text, err)
			continue
		}
		cluster, err := d.Expand(1)
		if err != nil {
			t.Fatalf("Expand of %q = %v", c.text, err)
		}
		n, _ := cluster.Runs[0].Ad().Chain(cluster.Ad).EvalInt(&classad.Context{}, "DeferralTime")
		if got := time.Unix(n, 0).UTC().Format("2006-01-02 15:04"); got != c.want {
			t.Errorf("DeferralTime of %q = %s, want %s", c.text, got, c.want)
		}
	}
}

// TestLateCron checks that a proc that appears late gets the next time from then on.
func TestLateCron(t *testing.T) {
	o := testOptions()
	o.Now = time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)
	d, _, err := read(sleep+"cron_minute = 0\nmax_materialize = 1\nqueue 2\n", o)
	testenv.OK(t, err)
	_, digest, offset, err := d.Begin(7)
	testenv.OK(t, err)
	appears := o.Now.Add(90 * time.Minute)
	late, _, err := Materialize(bytes.NewReader(digest), "example.org", 7, 1, 1, offset, appears)
	testenv.OK(t, err)
	want := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC).Unix()
	if got, _ := late.Runs[0].Ad().Chain(late.Ad).EvalInt(&classad.Context{}, "DeferralTime"); got != want {
		t.Errorf("DeferralTime of a proc that appears at %v = %d, want %d", appears, got, want)
	}
}
