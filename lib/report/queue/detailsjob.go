package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
)

// identity writes the jobs' owner and place.
func (d *sheet) identity() {
	d.line("job_number", fmt.Sprint(d.cluster))
	d.line("job-array tasks", tasksHere)
	d.line("state", d.state)
	d.line("state_since", d.since(pool.AttrEnteredStatus))
	d.line("submission_time", Clock(unix(d.key.QDate)))
	d.line("execution_time", d.since(jobpolicy.AttrDeferralTime))
	d.line("deadline", d.since("Deadline"))
	if d.slot != "" {
		d.line("start_time", Clock(d.at))
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

// credential returns a name under which the job is charged, such as its project. A policy
// may know it if the ad does not.
func (d *sheet) credential(attr string) string {
	if d.shown != nil && d.shown.Credentials != nil {
		c := d.shown.Credentials
		switch attr {
		case pool.AttrProject:
			return c.Project
		case "Department":
			return c.Department
		}
	}
	return d.value(attr)
}

// program writes the program, its files, and the user to notify.
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

// requests writes the jobs' requests for a slot, and their order.
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
		return cmp.Or(d.hierarchy.display.PriorityKey, "priority")
	}
	return "priority"
}

func zeroless(text string) string {
	if text == "0" {
		return ""
	}
	return text
}

// resources words the jobs' requests: the usual three, then all others.
func (d *sheet) resources() string {
	usual := []string{pool.AttrRequestCpus, pool.AttrRequestMemory, pool.AttrRequestDisk}
	others := slices.DeleteFunc(requestsAmong(d.ad.Names()), func(name string) bool {
		return caseless.Contains(usual, name)
	})
	var list []string
	for _, name := range slices.Concat(usual, others) {
		if v := d.value(name); v != "" {
			list = append(list, strings.ToLower(name[len(pool.RequestPrefix):])+"="+v)
		}
	}
	return strings.Join(list, ",")
}

// policy writes the jobs' own policy, without expressions that have the usual value. The
// keys are the commands of the description.
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

// dependencies names the clusters that the jobs wait for, and the state of each.
func (d *sheet) dependencies() {
	ok, either := jobpolicy.After(d.ad)
	d.line("after_ok", d.clusters(ok)...)
	d.line("after_any", d.clusters(either)...)
}

func (d *sheet) clusters(ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, fmt.Sprintf("%d %s", id, d.clusterState(id)))
	}
	return list
}

// clusterState words the state of a cluster.
func (d *sheet) clusterState(id int) string {
	jobs := 0
	if c, ok := d.View.Cluster(id); ok {
		for _, r := range c.Runs {
			if n, _ := r.Ad.EvalInt(d.context, pool.AttrJobStatus); n != int64(pool.Completed) && n != int64(pool.Removed) {
				jobs += r.Count()
			}
		}
	}
	if f, ok := d.View.Factory(id); ok {
		jobs += f.Jobs - f.Next
	}
	var words []string
	if e, ok := lifecycle.EndingsOf(d.View, id); ok {
		for _, x := range []struct {
			n    int
			what string
		}{{e.Succeeded, "succeeded"}, {e.Failed + e.Signalled, "failed"}, {e.Removed, "removed"}} {
			if x.n > 0 {
				words = append(words, fmt.Sprintf("%d %s", x.n, x.what))
			}
		}
	}
	if jobs > 0 {
		words = append(words, fmt.Sprintf("%d still to end", jobs))
	}
	if len(words) == 0 {
		return "(has ended)"
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// course writes the jobs' past: attempts, holds, and the end of the last attempt.
func (d *sheet) course() {
	if starts := d.number(pool.AttrNumJobStarts); starts > 0 {
		text := fmt.Sprint(starts) + at(", the first at ", d.time(pool.AttrJobStartDate), "")
		if starts > 1 {
			text += at(", the last at ", d.time(pool.AttrCurrentStartDate), "")
		}
		d.line("starts", text)
	}
	if n := d.number(pool.AttrNumJobMatches); n > d.number(pool.AttrNumJobStarts) {
		d.line("matches", fmt.Sprint(n)+at(", the last at ", d.time(pool.AttrLastMatchTime), ""))
	}
	d.line("last_queue", d.value(pool.AttrLastRemoteHost))
	if d.ad.Has(pool.AttrExitCode) || d.ad.Has(pool.AttrExitSignal) {
		d.line("last_exit", ending(d.context, statusless(d.ad)))
	}
	d.line("usage", d.usage())
	if n := d.number(pool.AttrNumCkpts); n > 0 {
		d.line("checkpoints", fmt.Sprint(n)+at(", the last at ", d.time(pool.AttrLastCkptTime), ""))
	}
	if why := d.value(pool.AttrVacateReason); why != "" && d.claim == nil {
		d.line("vacate reason", why+at(" (at ", d.time(pool.AttrLastVacateTime), ")"))
	}
	if n := d.number(pool.AttrNumHolds); n > 0 {
		d.line("holds", fmt.Sprint(n))
	}
	d.line("hold reason", d.reason(pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode))
	d.line("last hold reason", d.reason(pool.AttrLastHoldReason, pool.AttrLastHoldReasonCode, pool.AttrLastHoldReasonSubCode))
	d.line("release reason", d.value(pool.AttrReleaseReason))
	d.line("remove reason", d.value(pool.AttrRemoveReason))
}

// statusless returns the ad without the job's state, so that its exit is worded
// independently of the state.
func statusless(ad *classad.Ad) *classad.Ad {
	own := classad.New().Chain(ad)
	own.SetInt(pool.AttrJobStatus, int64(pool.Completed))
	return own
}

// at returns a point in time between two texts, nothing if there is none.
func at(before string, t time.Time, after string) string {
	if t.IsZero() {
		return ""
	}
	return before + Clock(t) + after
}

// reason writes a reason with its codes.
func (d *sheet) reason(text, code, subcode string) string {
	why := d.value(text)
	if why == "" || !d.ad.Has(code) {
		return why
	}
	if n := d.number(subcode); n != 0 {
		return fmt.Sprintf("%s (code %d, subcode %d)", why, d.number(code), n)
	}
	return fmt.Sprintf("%s (code %d)", why, d.number(code))
}

// usage writes what all attempts used, empty for nothing.
func (d *sheet) usage() string {
	sum := func(names ...string) (total float64) {
		for _, name := range names {
			if x, ok := d.ad.EvalNumber(d.context, name); ok {
				total += x
			}
		}
		return total
	}
	wall, cpu, rss := sum(pool.AttrWallClock), sum(pool.AttrUserCPU, pool.AttrSysCPU), d.number(pool.AttrResidentSetSize)
	if wall == 0 && cpu == 0 && rss == 0 {
		return ""
	}
	text := fmt.Sprintf("wallclock=%s, cpu=%s", dayTime(seconds(wall)), dayTime(seconds(cpu)))
	if rss > 0 {
		text += fmt.Sprintf(", maxrss=%.3fM", float64(rss)/1024)
	}
	if wasted := sum(pool.AttrWastedTime); wasted > 0 {
		text += ", wasted=" + dayTime(seconds(wasted))
	}
	return text
}

// release says what would release held jobs, or start those that wait for others.
func (d *sheet) release() (list []string) {
	switch {
	case pool.Status(d.number(pool.AttrJobStatus)) == pool.Held:
		list = append(list, "is held until it is released: qrls "+argumentHere)
		if e := d.expression("PeriodicRelease", "false"); e != "" {
			list = append(list, "is released when this becomes true: "+e)
		}
	case d.state == "hqw":
		list = append(list, "waits for the end of other jobs: "+d.expected())
	case d.past:
		list = append(list, "has left the queue")
	case d.state == "z":
		list = append(list, "has ended, and stays in the queue as long as leave_in_queue is true: qdel "+argumentHere)
	}
	return list
}

// held says why jobs are held, or which others they wait for; empty for neither.
func (d *sheet) held() string {
	switch {
	case pool.Status(d.number(pool.AttrJobStatus)) == pool.Held:
		return d.reason(pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode)
	case d.state == "hqw":
		return "waits for the end of other jobs: " + d.expected()
	}
	return ""
}

// expected names the clusters that have not ended.
func (d *sheet) expected() string {
	ok, either := jobpolicy.After(d.ad)
	var list []string
	for _, id := range append(ok, either...) {
		if _, there := d.View.Cluster(id); there {
			list = append(list, fmt.Sprint(id))
		} else if _, there := d.View.Factory(id); there {
			list = append(list, fmt.Sprint(id))
		}
	}
	if len(list) == 0 {
		return "all have ended, and the next negotiation cycle takes note of it"
	}
	return strings.Join(list, ", ")
}
