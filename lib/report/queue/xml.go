package queue

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// The names that Grid Engine's programs look for.
const (
	xmlHead   = "<?xml version='1.0'?>\n"
	schemas   = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/"
	jobInfo   = xmlHead + `<job_info  xmlns:xsd="` + schemas + `qstat.xsd">` + "\n"
	inElement = "      " // what stands in an element of a job is indented by
)

// xml writes the list, or with -f the slots, as Grid Engine's -xml does.
func (l Listing) xml(w io.Writer, c columns, rows []*row) error {
	x := xmlWriter{columns: c, w: w}
	placed := rows
	for i, r := range rows {
		if r.claim == nil {
			placed = rows[:i]
			break
		}
	}
	x.b = append(x.b, jobInfo+"  <queue_info>\n"...)
	if l.BySlot {
		for _, s := range l.instances(placed) {
			x.instance(s)
		}
	} else {
		x.jobs(placed)
	}
	x.b = append(x.b, "  </queue_info>\n  <job_info>\n"...)
	x.jobs(rows[len(placed):])
	x.b = append(x.b, "  </job_info>\n</job_info>\n"...)
	return x.flush()
}

// xmlWriter writes jobs as elements.
type xmlWriter struct {
	columns
	w      io.Writer
	b      []byte
	indent string // before less deep elements in a list of its own
	near   []byte
	err    error
}

func (x *xmlWriter) flush() error {
	if x.err == nil && len(x.b) > 0 {
		_, x.err = x.w.Write(x.b)
	}
	x.b = x.b[:0]
	return x.err
}

// instance writes a slot with its jobs.
func (x *xmlWriter) instance(s *instance) {
	x.b = append(x.b, "    <Queue-List>\n"...)
	x.b = element(x.b, "name", s.name)
	x.b = element(x.b, "qtype", s.kind)
	x.b = element(x.b, "slots_used", amount(s.used))
	x.b = element(x.b, "slots_resv", amount(s.reserved))
	x.b = element(x.b, "slots_total", amount(s.total))
	if s.loaded {
		x.b = element(x.b, "load_avg", strconv.FormatFloat(s.load, 'f', 5, 64))
	}
	x.b = element(x.b, "arch", s.arch)
	if s.states != "" {
		x.b = element(x.b, "state", s.states)
	}
	x.indent = "  "
	x.jobs(s.jobs)
	x.indent = ""
	x.b = append(x.b, "    </Queue-List>\n"...)
}

func (x *xmlWriter) jobs(rows []*row) {
	for _, r := range rows {
		kind := "pending"
		switch {
		case r.claim != nil:
			kind = "running"
		case r.state == "z":
			kind = "zombie"
		}
		x.b = append(append(append(append(x.b, x.indent...), `    <job_list state="`...), kind...), "\">\n"...)
		x.near = x.job(x.near[:0], r)
		if x.indent == "" {
			x.b = append(x.b, x.near...)
		} else {
			for line := range strings.Lines(string(x.near)) {
				x.b = append(append(x.b, x.indent...), line...)
			}
		}
		x.b = append(append(x.b, x.indent...), "    </job_list>\n"...)
		if len(x.b) >= full && x.flush() != nil {
			return
		}
	}
}

// job appends the elements of a job.
func (x *xmlWriter) job(b []byte, r *row) []byte {
	for i := range x.shown {
		switch c := &x.shown[i]; {
		case c.xml != nil:
			b = c.xml(b, r)
		case c.text != nil:
			b = element(b, c.element, c.text(r))
		default:
			b = append(append(append(b, inElement+"<"...), c.element...), '>')
			b = c.number(b, r)
			b = append(append(append(b, "</"...), c.element...), ">\n"...)
		}
	}
	b = append(b, inElement+"<tasks>"...)
	b = append(appendTasks(b, r.ranges), "</tasks>\n"...)
	if x.Requests {
		b = requestsXML(b, r)
	}
	return b
}

func requestsXML(b []byte, r *row) []byte {
	b = element(b, "full_job_name", r.name)
	if pe := r.asked.Environment; pe != "" {
		b = namedElement(b, "requested_pe", pe, r.asked.Wanted)
		if r.slot != "" {
			b = namedElement(b, "granted_pe", pe, strconv.FormatInt(r.slots, 10))
		}
	}
	adds := r.asked.Adds
	for line := range strings.SplitSeq(r.asked.hard, "\n") {
		var more, attribute string
		if more, adds, _ = strings.Cut(adds, "\n"); more != "" {
			attribute = ` resource_contribution="` + more + `"`
		}
		if key, value, ok := strings.Cut(line, "="); ok {
			b = namedElement(b, "hard_request", key, value, attribute)
		}
	}
	if key, value, ok := strings.Cut(r.asked.soft, "="); ok {
		b = namedElement(b, "soft_request", key, value)
	}
	if r.asked.after != "" {
		b = element(b, "predecessor_jobs_req", r.asked.after)
	}
	if r.asked.unmet != "" {
		b = element(b, "predecessor_jobs", r.asked.unmet)
	}
	return b
}

// element appends <name>text</name> on a line.
func element(b []byte, name, text string) []byte {
	b = append(append(append(b, inElement+"<"...), name...), '>')
	b = appendEscaped(b, text)
	return append(append(append(b, "</"...), name...), ">\n"...)
}

func wholeElement(b []byte, name string, n int64) []byte {
	return element(b, name, strconv.FormatInt(n, 10))
}

// namedElement appends an element that has its key as an attribute, and perhaps more of them,
// which are written already.
func namedElement(b []byte, name, key, text string, more ...string) []byte {
	b = append(append(append(b, inElement+"<"...), name...), ` name="`...)
	b = append(appendEscaped(b, key), '"')
	for _, attribute := range more {
		b = append(b, attribute...)
	}
	b = append(b, '>')
	return append(append(append(appendEscaped(b, text), "</"...), name...), ">\n"...)
}

// appendEscaped appends a text so that any XML holds it. What XML has no way to write
// is a question mark.
func appendEscaped(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\'':
			b = append(b, "&apos;"...)
		case r < ' ' && r != '\t' && r != '\n', r == utf8.RuneError, r == 0xfffe, r == 0xffff:
			b = append(b, '?')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// appendISO appends a point in local time as Grid Engine's XML has it.
func appendISO(b []byte, t time.Time) []byte { return t.Local().AppendFormat(b, "2006-01-02T15:04:05") }

func timeElement(b []byte, name string, t time.Time) []byte {
	b = append(append(append(b, inElement+"<"...), name...), '>')
	return append(append(append(appendISO(b, t), "</"...), name...), ">\n"...)
}

func startXML(b []byte, r *row) []byte {
	if r.claim != nil {
		return timeElement(b, "JAT_start_time", r.at)
	}
	return timeElement(b, "JB_submission_time", r.at)
}

func placeXML(b []byte, r *row) []byte {
	if r.place == 0 {
		return b
	}
	return wholeElement(b, "JobPlace", int64(r.place))
}

func deadlineXML(b []byte, r *row) []byte {
	if r.deadline == 0 {
		return b
	}
	return timeElement(b, "JB_deadline", unix(r.deadline))
}

func masterXML(b []byte, r *row) []byte {
	if r.slot == "" {
		return b
	}
	return element(b, "master", master(r))
}

// usageXML returns what appends a usage, if it is known.
func usageXML(name string, of func(used) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte {
		if x := of(r.used); x >= 0 && (r.claim != nil || r.state == "z") {
			return element(b, name, strconv.FormatFloat(x, 'f', 5, 64))
		}
		return b
	}
}

// SheetsXML writes the jobs as Grid Engine's -j -xml does: an element for the jobs of a
// cluster that are in one state, then why they wait.
func (q *Queue) SheetsXML(w io.Writer, procs []spool.Run) error {
	b := []byte(xmlHead + `<detailed_job_info  xmlns:xsd="` + schemas + "detailed_job_info.xsd\">\n  <djob_info>\n")
	last, claims := q.lastCycle(), q.claims(procs)
	var messages []byte
	for _, s := range procs {
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

// indented appends an element that is nested so many levels deeper than a job's.
func indented(b []byte, levels int, name, text string) []byte {
	return element(append(b, table.Blanks[:2*levels]...), name, text)
}

// jobXML appends the data of a row's jobs.
func (q *Queue) jobXML(b []byte, r *row) []byte {
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
	if r.shown != nil && r.shown.Credentials != nil {
		c := r.shown.Credentials
		some("JB_project", c.Project)
		some("JB_department", c.Department)
		b = wholeElement(b, "JB_jobshare", int64(c.JobShare))
		b = wholeElement(b, "JB_override_tickets", int64(c.OverrideTickets))
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
func (q *Queue) listsXML(b []byte, r *row, text func(string) string) []byte {
	read := q.reader()
	first := pool.JobID{Cluster: r.cluster, Proc: r.ranges[0].First}
	if run, ok := q.View.Run(first); ok {
		run.Procs = pool.Only(first)
		read.of(run)
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
