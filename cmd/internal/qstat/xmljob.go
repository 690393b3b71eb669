package qstat

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// detailsXML writes the jobs as Grid Engine's -j -xml does: an element for those of a
// cluster that are in one state, then why they wait.
func (q queue) detailsXML(w io.Writer, spans []selection.Span) error {
	b := []byte(xmlHead + `<detailed_job_info  xmlns:xsd="` + schemas + "detailed_job_info.xsd\">\n  <djob_info>\n")
	last, claims := q.report(), q.claims(spans)
	var messages []byte
	for _, s := range spans {
		for _, r := range q.split(s, claims) {
			b = q.jobXML(b, r)
			var why []string
			if moving := q.moving(r); moving != "" {
				why = []string{moving}
			} else if r.state == "qw" {
				why = last.scheduling(r)
			}
			for _, line := range why {
				messages = messageXML(messages, r, line)
			}
		}
	}
	b = append(b, "  </djob_info>\n  <messages>\n    <element>\n"...)
	b = append(append(b, messages...), "    </element>\n  </messages>\n</detailed_job_info>\n"...)
	_, err := w.Write(b)
	return err
}

func messageXML(b []byte, r *row, text string) []byte {
	b = append(b, "      <SME_message_list>\n        <element>\n          <MES_job_number_list>\n            <ulong_sublist>\n"...)
	b = append(indented(b, 4, "ULNG_value", strconv.Itoa(r.cluster)), "            </ulong_sublist>\n          </MES_job_number_list>\n"...)
	b = indented(b, 2, "MES_message", strings.TrimSpace(text))
	return append(b, "        </element>\n      </SME_message_list>\n"...)
}

// indented appends an element that stands so many levels deeper than those of a job.
func indented(b []byte, levels int, name, text string) []byte {
	return element(append(b, blanks[:2*levels]...), name, text)
}

// jobXML appends what is known of a row's jobs.
func (q queue) jobXML(b []byte, r *row) []byte {
	ctx := q.context()
	text := func(name string) string {
		v := r.ad.Eval(ctx, name, nil)
		if s, ok := v.Text(); ok || v.Kind() == classad.KindUndefined {
			return s
		}
		return v.String()
	}
	some := func(name, value string) {
		if value != "" {
			b = element(b, name, value)
		}
	}
	b = append(b, "    <element>\n"...)
	b = wholeElement(b, "JB_job_number", int64(r.cluster))
	b = wholeElement(b, "JB_submission_time", r.key.QDate)
	if r.claim != nil {
		b = wholeElement(b, "JAT_start_time", r.at.Unix())
	}
	some("JB_owner", r.user)
	some("JB_group", text(pool.AttrUnixGroup))
	some("JB_account", text(pool.AttrAccountingGroup))
	if r.ranked != nil {
		some("JB_project", r.ranked.job.Project)
		some("JB_department", r.ranked.job.Department)
		b = wholeElement(b, "JB_jobshare", int64(r.ranked.job.JobShare))
		b = wholeElement(b, "JB_override_tickets", int64(r.ranked.job.OverrideTickets))
	} else {
		some("JB_project", text(pool.AttrProject))
		some("JB_department", text("Department"))
	}
	some("JB_job_name", r.name)
	some("state", r.state)
	some("JB_cwd", text(pool.AttrIwd))
	b = q.listsXML(b, r, text)
	some("JB_script_file", text(pool.AttrCmd))
	b = wholeElement(b, "JB_execution_time", r.int(ctx, "DeferralTime"))
	b = wholeElement(b, "JB_deadline", r.int(ctx, "Deadline"))
	b = wholeElement(b, "JB_priority", r.key.JobPrio)
	some("queue_name", r.slot)
	some("hold_reason", text(pool.AttrHoldReason))
	some("remove_reason", text(pool.AttrRemoveReason))
	some("vacate_reason", text(pool.AttrVacateReason))
	b = append(b, inElement+"<JB_ja_structure>\n"...)
	for _, s := range r.ranges {
		b = append(b, "        <task_id_range>\n"...)
		b = indented(b, 2, "RN_min", strconv.Itoa(s.First))
		b = indented(b, 2, "RN_max", strconv.Itoa(s.Last))
		b = append(indented(b, 2, "RN_step", "1"), "        </task_id_range>\n"...)
	}
	return append(b, inElement+"</JB_ja_structure>\n    </element>\n"...)
}

func (r *row) int(ctx *classad.Context, name string) int64 {
	n, _ := r.ad.EvalInt(ctx, name)
	return n
}

// listsXML appends what stands in lists: requests, arguments, paths.
func (q queue) listsXML(b []byte, r *row, text func(string) string) []byte {
	read := q.reader()
	first := pool.JobID{Cluster: r.cluster, Proc: r.ranges[0].First}
	if run, ok := q.view.Run(first); ok {
		read.of(selection.Span{Procs: pool.Only(first), Run: run})
		b = append(b, inElement+"<JB_hard_resource_list>\n"...)
		for line := range strings.SplitSeq(read.asked().hard, "\n") {
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				continue
			}
			b = append(b, "        <qstat_l_requests>\n"...)
			b = indented(indented(b, 2, "CE_name", key), 2, "CE_stringval", value)
			if x, err := strconv.ParseFloat(value, 64); err == nil {
				b = indented(b, 2, "CE_doubleval", strconv.FormatFloat(x, 'f', 6, 64))
			}
			b = append(b, "        </qstat_l_requests>\n"...)
		}
		b = append(b, inElement+"</JB_hard_resource_list>\n"...)
	}
	if args := cmp.Or(text(pool.AttrArguments), text(pool.AttrArgs)); args != "" {
		b = append(b, inElement+"<JB_job_args>\n        <element>\n"...)
		b = append(indented(b, 2, "ST_name", args), "        </element>\n"+inElement+"</JB_job_args>\n"...)
	}
	for _, x := range [...]struct{ list, attr string }{
		{"JB_stdin_path_list", pool.AttrIn}, {"JB_stdout_path_list", pool.AttrOut}, {"JB_stderr_path_list", pool.AttrErr},
	} {
		if file := text(x.attr); file != "" {
			b = append(append(append(b, inElement+"<"...), x.list...), ">\n        <path_list>\n"...)
			b = append(indented(b, 2, "PN_path", file), "        </path_list>\n"+inElement+"</"...)
			b = append(append(b, x.list...), ">\n"...)
		}
	}
	return b
}
