package qstat

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// identity says whose jobs these are, and where they stand.
func (d *sheet) identity() {
	d.line("job_number", fmt.Sprint(d.cluster))
	d.line("job-array tasks", tasksHere)
	d.line("state", d.state)
	d.line("state_since", d.since(pool.AttrEnteredStatus))
	d.line("submission_time", clock(unix(d.key.QDate)))
	d.line("execution_time", d.since(jobpolicy.AttrDeferralTime))
	d.line("deadline", d.since("Deadline"))
	if d.slot != "" {
		d.line("start_time", clock(d.at))
		d.line("queue", d.slot)
	}
	if d.past {
		d.line("start_time", d.since(pool.AttrCurrentStartDate))
		d.line("end_time", d.since(pool.AttrEnteredStatus))
		d.line("ending", ending(d.context, d.ad))
	}
	d.line("owner", d.value(pool.AttrOwner))
	d.line("submitter", d.submitter(d.ad))
	d.line("account", d.value(pool.AttrAccountingGroup))
	for _, a := range [...]struct{ key, attr string }{
		{"group", pool.AttrUnixGroup}, {"project", pool.AttrProject}, {"department", "Department"},
		{"qos", pool.AttrQOS}, {"class", pool.AttrClass}, {"submit_key", "SubmitKey"},
	} {
		d.line(a.key, d.credential(a.attr))
	}
	if nice, ok := d.ad.EvalBool(d.context, pool.AttrNiceUser); ok && nice {
		d.line("nice_user", "true")
	}
}

// credential returns what the job goes by, such as its project, which the policy "sge" may
// know where the ad says nothing.
func (d *sheet) credential(attr string) string {
	if d.ranked != nil {
		switch attr {
		case pool.AttrProject:
			return d.ranked.job.Project
		case sge.AttrDepartment:
			return d.ranked.job.Department
		}
	}
	return d.value(attr)
}

// program says what is executed, with which files, and who is told of it.
func (d *sheet) program() {
	d.line("job_name", d.name)
	d.line("script_file", d.value(pool.AttrCmd))
	d.line("job_args", first(d.value(pool.AttrArguments), d.value(pool.AttrArgs)))
	d.line("env_list", d.variables())
	d.line("cwd", d.value(pool.AttrIwd))
	d.line("stdin_path_list", d.file(pool.AttrIn))
	d.line("stdout_path_list", d.file(pool.AttrOut))
	d.line("stderr_path_list", d.file(pool.AttrErr))
	d.line("log", d.value(pool.AttrUserLog))
	d.line("transfer_input_files", d.value(pool.AttrTransferInput))
	d.line("transfer_output_files", d.value(pool.AttrTransferOutput))
	if n := d.number(pool.AttrJobNotification); n != 0 {
		d.line("mail_options", nth(int(n), "", "always", "complete", "error", "start"))
		d.line("mail_list", first(d.value(pool.AttrNotifyUser), d.value(pool.AttrOwner)))
	}
}

// file leaves out the file that stands for none.
func (d *sheet) file(name string) string {
	if v := d.value(name); v != "/dev/null" {
		return v
	}
	return ""
}

// variables names the job's environment variables. Their values may be secrets, and
// stay with -long.
func (d *sheet) variables() string {
	list, err := jobargs.EnvFromAd(d.ad)
	if err != nil {
		return "does not read: " + err.Error()
	}
	for i, v := range list {
		list[i], _, _ = strings.Cut(v, "=")
	}
	return strings.Join(list, ",")
}

// nth returns one of several texts by its number, and the number for another.
func nth(n int, texts ...string) string {
	if n >= 0 && n < len(texts) {
		return texts[n]
	}
	return fmt.Sprint(n)
}

// requests says what the jobs ask of a slot, and in which order.
func (d *sheet) requests() {
	for _, p := range [...]struct{ key, attr string }{
		{"pre_priority_1", pool.AttrPreJobPrio1}, {"pre_priority_2", pool.AttrPreJobPrio2}, {d.priorityKey(), pool.AttrJobPrio},
		{"post_priority_1", pool.AttrPostJobPrio1}, {"post_priority_2", pool.AttrPostJobPrio2},
	} {
		d.line(p.key, zeroless(d.value(p.attr)))
	}
	d.line("hard resource_list", d.resources())
	d.line("concurrency_limits", d.value(pool.AttrConcurrencyLimits))
	d.line("requirements", d.expression(pool.AttrRequirements))
	d.line("rank", d.expression(pool.AttrRank, "0", "0.0"))
}

// priorityKey is what JobPrio stands under: with a policy of one queue another number may be
// called the priority.
func (d *sheet) priorityKey() string {
	if d.hierarchy != nil {
		return d.hierarchy.userKey()
	}
	return "priority"
}

func zeroless(text string) string {
	if text == "0" {
		return ""
	}
	return text
}

// resources writes what the jobs ask of a slot: the usual three, then all others.
func (d *sheet) resources() string {
	usual := []string{pool.AttrRequestCpus, pool.AttrRequestMemory, pool.AttrRequestDisk}
	others := slices.DeleteFunc(requestsAmong(d.ad.Names()), func(name string) bool {
		return caseless.Contains(usual, name)
	})
	var list []string
	for _, name := range slices.Concat(usual, others) {
		if v := d.value(name); v != "" {
			list = append(list, strings.ToLower(name[len(requestPrefix):])+"="+v)
		}
	}
	return strings.Join(list, ",")
}

// policy writes what the jobs want done with them at times, as far as it is not what
// all want. The keys are the commands of the description.
func (d *sheet) policy() {
	for _, p := range [...]struct{ key, attr, usual string }{
		{"periodic_hold", "PeriodicHold", "false"}, {"periodic_release", "PeriodicRelease", "false"},
		{"periodic_remove", "PeriodicRemove", "false"}, {"periodic_vacate", "PeriodicVacate", "false"},
		{"on_exit_hold", "OnExitHold", "false"}, {"on_exit_remove", "OnExitRemove", "true"},
		{"leave_in_queue", "LeaveJobInQueue", "false"}, {"max_retries", "JobMaxRetries", ""},
		{"success_exit_code", pool.AttrJobSuccessExitCode, ""},
		{"allowed_job_duration", "AllowedJobDuration", ""}, {"allowed_execute_duration", "AllowedExecuteDuration", ""},
		{"wall_time_limit", "WallTimeLimit", ""}, {"deferral_window", "DeferralWindow", "0"},
		{"job_max_vacate_time", pool.AttrMaxVacateTime, ""}, {"kill_sig", pool.AttrKillSig, ""},
		{"remove_kill_sig", pool.AttrRemoveKillSig, ""}, {"hold_kill_sig", "HoldKillSig", ""},
	} {
		d.line(p.key, d.expression(p.attr, p.usual))
	}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
