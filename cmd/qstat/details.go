package main

import (
	"fmt"
	"io"
	"strings"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// details writes everything that matters about the jobs, as Grid Engine's
// -j does: a rule before each, then keys and values.
func (q queue) details(w io.Writer, spans []selection.Span) error {
	claims := q.claims(spans)
	last := q.report()
	for _, s := range spans {
		for _, r := range q.split(s, claims) {
			if err := q.detail(w, r, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// claims returns the claims of jobs.
func (q queue) claims(spans []selection.Span) map[pool.JobID]pool.Claim {
	claims := map[pool.JobID]pool.Claim{}
	for _, s := range spans {
		for p := s.First; p <= s.Last; p++ {
			if c, ok := q.view.Claim(pool.JobID{Cluster: s.Cluster, Proc: p}); ok {
				claims[c.Job] = c
			}
		}
	}
	return claims
}

func (q queue) detail(w io.Writer, r *row, last cycle) error {
	var b strings.Builder
	b.WriteString(strings.Repeat("=", 62) + "\n")
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-27s %s\n", key+":", printable(value))
		}
	}
	ctx := q.context()
	value := func(name string) string {
		v := r.ad.Eval(ctx, name, nil)
		if s, ok := v.Text(); ok {
			return s
		}
		if v.Kind() == classad.KindUndefined {
			return ""
		}
		return v.String()
	}
	expr := func(name string) string {
		if e, ok := r.ad.Lookup(name); ok {
			return e.String()
		}
		return ""
	}
	line("job_number", fmt.Sprint(r.cluster))
	line("job-array tasks", tasks(r.ranges))
	line("state", r.state)
	line("submission_time", clock(unix(r.key.QDate)))
	if r.slot != "" {
		line("start_time", clock(r.at))
		line("queue", r.slot)
	}
	line("owner", r.user)
	line("submitter", q.submitter(r.ad))
	line("account", value(pool.AttrAccountingGroup))
	line("job_name", r.name)
	line("script_file", value(pool.AttrCmd))
	line("job_args", first(value(pool.AttrArguments), value(pool.AttrArgs)))
	line("cwd", value(pool.AttrIwd))
	line("stdin_path_list", value(pool.AttrIn))
	line("stdout_path_list", value(pool.AttrOut))
	line("stderr_path_list", value(pool.AttrErr))
	line("log", value(pool.AttrUserLog))
	if r.prior != 0 {
		line("priority", fmt.Sprint(r.prior))
	}
	line("hard resource_list", q.resources(r))
	line("requirements", expr(pool.AttrRequirements))
	line("rank", expr(pool.AttrRank))
	line("hold reason", value(pool.AttrHoldReason))
	line("remove reason", value(pool.AttrRemoveReason))
	line("scheduling info", q.moving(r))
	if r.state == "qw" {
		line("vacate reason", value(pool.AttrVacateReason))
		for i, why := range last.scheduling(r) {
			if i == 0 {
				line("scheduling info", why)
				continue
			}
			fmt.Fprintf(&b, "%27s %s\n", "", printable(why))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// resources writes what the job asks of a slot.
func (q queue) resources(r *row) string {
	var list []string
	for _, a := range []struct{ attr, name string }{
		{pool.AttrRequestCpus, "cpus"}, {pool.AttrRequestMemory, "memory"}, {pool.AttrRequestDisk, "disk"},
	} {
		if v := r.ad.Eval(q.context(), a.attr, nil); v.Kind() != classad.KindUndefined {
			list = append(list, a.name+"="+v.String())
		}
	}
	return strings.Join(list, ",")
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
