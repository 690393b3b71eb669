package qstat

import (
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The names that Grid Engine's programs look for.
const (
	xmlHead   = "<?xml version='1.0'?>\n"
	schemas   = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/"
	jobInfo   = xmlHead + `<job_info  xmlns:xsd="` + schemas + `qstat.xsd">` + "\n"
	inElement = "      " // what stands in an element of a job is indented by
)

// xml writes the list, or with -f the slots, as Grid Engine's -xml does.
func (d display) xml(q queue, rows []*row) error {
	x := xmlWriter{columns: d.columns, w: q.call.Data()}
	placed := rows
	for i, r := range rows {
		if r.claim == nil {
			placed = rows[:i]
			break
		}
	}
	x.b = append(x.b, jobInfo+"  <queue_info>\n"...)
	if d.form == "f" {
		for _, s := range d.instances(q, placed) {
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
	indent string // before what is less deep in a list of its own
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
	if x.requests {
		b = requestsXML(b, r)
	}
	return b
}

func requestsXML(b []byte, r *row) []byte {
	b = element(b, "full_job_name", r.name)
	if pe := r.asked.pe; pe != "" {
		b = namedElement(b, "requested_pe", pe, r.asked.wanted)
		if r.slot != "" {
			b = namedElement(b, "granted_pe", pe, strconv.FormatInt(r.slots, 10))
		}
	}
	adds := r.asked.adds
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
