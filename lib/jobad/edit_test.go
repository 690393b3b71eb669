package jobad

import (
	"strings"
	"testing"

	"fairspool/lib/classad"
)

func TestCheckEdit(t *testing.T) {
	const (
		status = "is what the pool does with the job: use qhold, qrls or qdel"
		count  = "is the pool's own count: only administrators may change it"
		prios  = "want a whole number from -2147483648 to 2147483647"
	)
	for _, c := range []struct{ name, expr, want string }{
		{"Foo", "1", ""}, {"Foo", "undefined", ""}, {"Foo", "error", ""}, {"a.b", "1", `"a.b": no name of an attribute: want letters, digits and _`},
		{"1a", "1", `"1a": no name of an attribute: want letters, digits and _`}, {"", "1", `"": no name of an attribute: want letters, digits and _`},
		{"a\nb", "1", `"a b": no name of an attribute: want letters, digits and _`},

		// whose it is
		{"JobStatus", "5", "JobStatus: " + status}, {"jobstatus", "1", "jobstatus: " + status}, {"ReleaseReason", `"x"`, "ReleaseReason: " + status},
		{"LastHoldReason", `"x"`, "LastHoldReason: " + status}, {"DependenciesMet", "true", "DependenciesMet: " + status},
		{"Owner", `"bob"`, "Owner: says which job it is, and whose: it cannot be changed"}, {"ProcId", "7", "ProcId: says which job it is, and whose: it cannot be changed"},
		{"NumJobStarts", "0", "NumJobStarts: " + count}, {"NumHolds", "0", "NumHolds: " + count}, {"QDate", "0", "QDate: " + count},
		{"ExitCode", "0", "ExitCode: is the pool's own record of the job's runs: it cannot be changed"},
		{"RemoteUserPrio", "1", "RemoteUserPrio: is what a negotiation cycle says: it cannot be changed"},
		{"OverrideTickets", "10", "OverrideTickets: only administrators may set it"},
		{"EligibleSince", "0", "EligibleSince: " + count}, {"BypassCount", "3", "BypassCount: " + count}, {"bypasscount", "undefined", "bypasscount: " + count},
		{"SystemPriority", "1000", "SystemPriority: is for administrators to set: prio -system N JOB"},
		{"NiceUser", "true", "NiceUser: was settled at submission: AccountingGroup says who is charged"},
		{"JobMaterializeLimit", "3", "JobMaterializeLimit: was settled at submission: qdel gives up the procs that are still to come"},

		// conditions
		{"PeriodicHold", "7", "PeriodicHold: 7: want true, false or an expression for them"}, {"PeriodicHold", "true", ""}, {"PeriodicHold", "NumJobStarts > 3", ""},
		{"periodicremove", `"yes"`, `periodicremove: "yes": want true, false or an expression for them`}, {"OnExitRemove", "undefined", ""}, {"LeaveJobInQueue", "1", ""},
		{"Requirements", "2", "Requirements: 2: want true, false or an expression for them"}, {"Requirements", "undefined", "Requirements: undefined: want a value"},
		{"Requirements", "TARGET.Memory > 5", ""}, {"PeriodicHold", "error", "PeriodicHold: error: want a value"}, {"PeriodicRelease", "1.5", "PeriodicRelease: 1.5: want true, false or an expression for them"},

		{"DiskLimitedBy", `"/etc"`, "DiskLimitedBy: is the pool's own record of the job's runs: it cannot be changed"},
		{"VacateReasonCode", "0", "VacateReasonCode: is the pool's own record of the job's runs: it cannot be changed"},
		{"WastedTime", "0", "WastedTime: " + count}, {"CheckpointExitCode", "85", ""}, {"TransferCheckpoint", `"a,b"`, ""}, {"MaxJobRetirementTime", "-1", "MaxJobRetirementTime: -1: want seconds, a whole number from 0 up"},

		// numbers
		{"JobPrio", "7", ""}, {"JobPrio", "-(2*3)", ""}, {"JobPrio", "2147483648", "JobPrio: 2147483648: " + prios}, {"JobPrio", "1.5", "JobPrio: 1.5: " + prios},
		{"JobPrio", "QDate", "JobPrio: QDate: " + prios}, {"JobPrio", "random(9)", "JobPrio: random(9): " + prios}, {"JobPrio", "time() / time()", "JobPrio: time() / time(): " + prios},
		{"JobPrio", "undefined", "JobPrio: undefined: " + prios}, {"PreJobPrio1", "undefined", ""}, {"PostJobPrio2", "x", "PostJobPrio2: x: " + prios},
		{"JobPrio", "ifThenElse(isUndefined(X), 1, 2)", "JobPrio: ifThenElse(isUndefined(X),1,2): " + prios},
		{"JobMaxRetries", "-1", "JobMaxRetries: -1: want a whole number from 0 to 2147483647"}, {"JobMaxRetries", "3", ""}, {"JobShare", "-1", "JobShare: -1: want a whole number from 0 to 4294967295"}, {"JobShare", "4294967295", ""},
		{"Deadline", "1800000000", ""}, {"Deadline", "undefined", ""},
		{"Deadline", "QDate + 60", "Deadline: QDate + 60: want Unix seconds, for which prio -dl reads a time: a whole number from 0 to 253402300799"},
		{"Deadline", "time()", "Deadline: time(): want Unix seconds, for which prio -dl reads a time: a whole number from 0 to 253402300799"},
		{"ParallelSlots", "4", ""}, {"ParallelSlots", `"2-8,16-"`, ""}, {"ParallelSlots", "undefined", ""}, {"ParallelSlots", "0", `ParallelSlots: "0": a number of slots must be greater than zero`},
		{"ParallelSlots", "true", "ParallelSlots: true: want a number of slots, or ranges in double quotes"}, {"ParallelSlots", `"many"`, `ParallelSlots: "many": want a number of slots such as 4, a range such as 2-8, 4- or -8, or several with commas between them`},
		{"ParallelEnvironment", `"mpi*"`, ""}, {"ParallelEnvironment", "mpi", ""}, {"ParallelEnvironment", "5", "ParallelEnvironment: 5: want a text in double quotes"}, {"Department", `""`, "Department: empty name"},
		{"AllowedJobDuration", "-1", "AllowedJobDuration: -1: want seconds, a whole number from 0 up"}, {"AllowedJobDuration", "undefined", ""},
		{"WallTimeLimit", "1.5", "WallTimeLimit: 1.5: want seconds, a whole number from 0 up"}, {"DeferralTime", `"noon"`, `DeferralTime: "noon": want seconds, a whole number from 0 up`},
		{"DeferralTime", "QDate + 60", ""}, {"Rank", `"x"`, `Rank: "x": want a number`}, {"Rank", "Memory", ""}, {"CoreSize", "1.5", "CoreSize: 1.5: want a whole number"},
		{"JobNotification", "4", ""}, {"JobNotification", "5", "JobNotification: 5: want 0 never, 1 always, 2 complete, 3 error or 4 start"},

		// requests
		{"RequestCpus", "4", ""}, {"RequestCpus", "-1", "RequestCpus: -1: want a whole number from 0 to 1000000"}, {"RequestCpus", "1.5", "RequestCpus: 1.5: want a whole number from 0 to 1000000"},
		{"RequestMemory", `"2 GB"`, `RequestMemory: "2 GB": want a number from 0 up, in MB for memory and KB for disk`}, {"RequestMemory", "-1", "RequestMemory: -1: want a number from 0 up, in MB for memory and KB for disk"},
		{"RequestDisk", "true", "RequestDisk: true: want a number from 0 up, in MB for memory and KB for disk"}, {"RequestMemory", "MemoryUsage * 2", ""}, {"RequestMemory", "undefined", ""},
		{"RequestTpus", "-2", "RequestTpus: -2: want a number from 0 up, or a text in double quotes"}, {"RequestTpus", `"v4"`, ""},

		// names and texts
		{"AccountingGroup", `"physics.bob"`, ""}, {"AccountingGroup", `"bob@x"`, `AccountingGroup: "bob@x": give the name without @ and domain`}, {"AccountingGroup", "7", "AccountingGroup: 7: want a text in double quotes"},
		{"QOS", `"a b"`, `QOS: "a b": want a name without blanks and double quotes`}, {"ConcurrencyLimits", `"sw.matlab:2,x"`, ""},
		{"ConcurrencyLimits", `"a:0"`, `ConcurrencyLimits: "a:0": want names of limits, as in license, sw.matlab:2`}, {"KillSig", `"SIGTERM"`, ""}, {"KillSig", "9", ""},
		{"KillSig", `"SIGFOO"`, `KillSig: "SIGFOO": not a signal, want a name as SIGTERM or a number from 1 to 31`}, {"HoldKillSig", "99", `HoldKillSig: "99": not a signal, want a name as SIGTERM or a number from 1 to 31`},
		{"JobDescription", "7", "JobDescription: 7: want a text in double quotes"}, {"JobBatchName", `"x"`, ""}, {"Iwd", `"run"`, `Iwd: "run": want a path that begins with a slash`}, {"Iwd", "undefined", "Iwd: undefined: want a value"},
		{"CronMinute", `"60"`, `CronMinute: want numbers from 0 to 59 as in crontab(5): 5, 1-10, */2, *`}, {"CronMinute", `"*/5"`, ""}, {"WhenToTransferOutput", `"later"`, `WhenToTransferOutput: "later": want one of ON_EXIT, ON_EXIT_OR_EVICT, ON_SUCCESS`},
		{"AfterOk", `"12,13"`, ""}, {"AfterOk", "12", ""}, {"AfterAny", `"soon"`, `AfterAny: "soon": want numbers of clusters, such as 12, 13`}, {"AfterAny", "undefined", ""},
		{"AfterOk", `strcat("1","2")`, `AfterOk: strcat("1","2"): want numbers of clusters, such as 12, 13`}, {"afterany", "X", "afterany: X: want numbers of clusters, such as 12, 13"},
	} {
		e, err := classad.ParseExpr(c.expr)
		if err != nil {
			t.Fatalf("ParseExpr(%q) = %v", c.expr, err)
		}
		got := ""
		if err := CheckEdit(c.name, e, false); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("CheckEdit(%q, %s) = %s, want %s", c.name, c.expr, got, c.want)
		}
		if err := CheckEdit(c.name, e, true); (err == nil) != (c.want == "" || strings.HasSuffix(c.want, "only administrators may change it") || strings.HasSuffix(c.want, "only administrators may set it")) {
			t.Errorf("CheckEdit(%q, %s) of an administrator = %v", c.name, c.expr, err)
		}
	}
}

// TestEditsOfCounts: administrators may set what a queue is made from, to a number.
func TestEditsOfCounts(t *testing.T) {
	for _, name := range []string{"EligibleSince", "BypassCount"} {
		for expr, want := range map[string]bool{"0": true, "1700000000": true, "undefined": true, "-1": false, "1.5": false, `"0"`: false, "QDate": false, "time()": false} {
			e, err := classad.ParseExpr(expr)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckEdit(name, e, true); (err == nil) != want {
				t.Errorf("CheckEdit(%s, %s) of an administrator = %v, want it to be good: %v", name, expr, err, want)
			}
		}
	}
}

// TestEditsOfSubmission checks that what submission sets may be set.
func TestEditsOfSubmission(t *testing.T) {
	texts := []string{
		"", "request_gpus = 1\nrequest_tpus = \"v4\"\nrank = Memory\nrequirements = Memory > 5", "max_retries = 3\nretry_until = 2\nsuccess_exit_code = 4\nafter_ok = 3 4",
		"notify_command = tell --of 'my jobs'\nnotify_events = held, ended",
		"arguments = a \"b\"\nenvironment = A=1;B=2", "arguments = \"a 'b c'\"\nenvironment = \"A=1\"\nnotification = start\nnotify_user = a@b\nconcurrency_limits = a:2,b",
		"cron_minute = */5\ndeferral_window = 7\nkill_sig = 9\nkill_sig_timeout = 4\nwall_time = 5\nnice_user = true\nlog = l\nqos = high",
		"should_transfer_files = YES\nwhen_to_transfer_output = ON_SUCCESS\ntransfer_input_files = a,b\ntransfer_output_files = c\ntransfer_output_remaps = \"c=d\"",
	}
	for _, c := range Commands() {
		if c.kind != elsewhere && c.Attr != "" {
			texts = append(texts, c.Name+" = "+samples[c.kind][0])
		}
	}
	for _, text := range texts {
		d, _ := parse(t, strings.ReplaceAll(sleep+text+"\nqueue\n", `a "b"`, `a \"b\"`))
		c, err := d.Expand(1)
		if err != nil {
			t.Fatalf("Expand of %q = %v", text, err)
		}
		ad := c.Runs[0].Ad().Chain(c.Ad)
		for _, name := range ad.Names() {
			e, _ := ad.Lookup(name)
			if err := CheckEdit(name, e, true); err != nil && !isProtected(name) {
				t.Errorf("CheckEdit(%s, %s) of %q = %v, want no error: submission sets it", name, e, text, err)
			}
		}
	}
}

// TestCheckedAttributes checks that the attributes that are looked at are no misspelt ones:
// each is one that a command sets, or that this names.
func TestCheckedAttributes(t *testing.T) {
	known := map[string]bool{"acctgroupuser": true, "accountinggroup": true, "args": true, "arguments": true, "env": true, "environment": true, "acctgroup": true,
		"prejobprio1": true, "prejobprio2": true, "postjobprio1": true, "postjobprio2": true, "eligiblesince": true, "bypasscount": true, "notifyarguments": true}
	for _, c := range Commands() {
		known[strings.ToLower(c.Attr)] = true
	}
	for name := range checks() {
		if !known[name] {
			t.Errorf("a check of %s, which no command sets", name)
		}
	}
	for name := range fixedNumbers {
		if !known[name] {
			t.Errorf("a check of %s, which no command sets", name)
		}
	}
}

func FuzzCheckEdit(f *testing.F) {
	for name := range checks() {
		f.Add(name, "1")
	}
	f.Add("JobPrio", "-1")
	f.Add("a b", "{1, [a = \"\n\"]}")
	f.Fuzz(func(t *testing.T, name, text string) {
		e, err := classad.ParseExpr(text)
		if err != nil {
			return
		}
		if err := CheckEdit(name, e, len(text)%2 == 0); err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("CheckEdit(%q, %q) = %q, want one line", name, text, err)
		}
	})
}
