package queue

import (
	"slices"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
)

// Options say how a list shows jobs.
type Options struct {
	policy.Options
	Requests bool // show each job's requests below it
	Single   bool // no two procs share a line
	Master   bool // say of jobs with a slot that this is their master
	BySlot   bool // show the slots with their jobs, then the others
	Taken    bool // with BySlot, leave out those without jobs
	Brief    bool // in the brief layout
	Width    int  // places of a line of the terminal; 0: there is none
}

// options are the options of a list under a policy.
type options struct {
	Options
	oneQueue bool // all jobs stand in one queue, whatever their submitters' EUPs
	display  policy.Display
}

// columns are the shown columns, in their order.
type columns struct {
	options
	shown []column
}

// columns returns those that options ask for.
func (q *Queue) columns(o Options) columns {
	p := registry.Of(q.Config)
	own := options{Options: o, oneQueue: p.OneQueue(), display: p.Display(q.Config)}
	return columns{own, columnsWith(own)}
}

// columnsWith returns the columns that options ask for.
func columnsWith(o options) (list []column) {
	var without []string
	if o.display.Without != nil {
		without = o.display.Without(o.Options.Options)
	}
	for _, c := range every {
		if c.brief == o.Brief && (c.when == nil || c.when(o)) && !slices.Contains(without, c.head) {
			list = append(list, c)
		}
	}
	if o.Brief {
		return list
	}
	at := len(list)
	for _, c := range o.display.Columns {
		if c.After != "" {
			if at = 1 + slices.IndexFunc(list, func(x column) bool { return x.head == c.After }); at == 0 {
				at = len(list)
			}
		}
		if c.When != nil && !c.When(o.Options.Options) {
			continue
		}
		list = slices.Insert(list, at, columnOf(c))
		at++
	}
	return list
}

// columnOf returns a policy's column.
func columnOf(c policy.Column) column {
	x := column{head: c.Head, width: c.Width, left: c.Left, element: c.Element,
		number: func(b []byte, r *row) []byte {
			if r.shown == nil {
				return b
			}
			return c.Cell(b, r.shown.Cells)
		}}
	if c.XML != nil {
		x.xml = func(b []byte, r *row) []byte { return element(b, c.Element, string(c.XML(nil, r.shown.Cells))) }
	}
	return x
}

// reads returns the attributes that the columns read besides those of every listing.
func (c columns) reads() (names []string) {
	for _, x := range c.shown {
		names = append(names, wordsOf(x.reads...)...)
	}
	return names
}

// column describes a column of the lists of jobs.
type column struct {
	head  string
	width int
	// right: the heading stands over the last place of the column, as numbers do. Numbers
	// do so anyway unless they are left, and are never cut.
	right, left bool
	brief       bool               // it stands in the brief layout, and there alone
	when        func(options) bool // nil: always
	// reads are the attributes that fill copies to a row. Without fill, every row has the
	// column's value.
	reads []*classad.Name
	fill  func(m *maker, r *row)
	// text returns the cell of a column of texts. The column is cut to its width, with dots if
	// dots is set. If least is not 0, it gives way on a terminal down to least; otherwise it
	// keeps its width.
	text  func(*row) string
	dots  bool
	least int
	part  int // of a terminal's line it gets one of so many parts at most, or least; 0: any
	// number appends the cell of one of numbers or times, empty for nothing known.
	number func(b []byte, r *row) []byte
	// element is the XML element that holds the cell; where that does not depend on the
	// job alone, xml appends it.
	element string
	xml     func(b []byte, r *row) []byte
}

// every is all columns of lists of jobs, except those of policies, in their order. A new column is
// one row here.
var every = []column{
	{head: "job-ID", width: 7, number: jobID, xml: func(b []byte, r *row) []byte { return wholeElement(b, "JB_job_number", int64(r.cluster)) }},
	{head: "prior", width: 7, element: "JAT_prio", number: integer(func(r *row) int64 { return r.prior })},
	{head: "pre1", width: 5, right: true, when: withPri, element: pool.AttrPreJobPrio1,
		fill: func(_ *maker, r *row) { r.pre1 = r.key.PreJobPrio1 }, number: integer(func(r *row) int64 { return r.pre1 })},
	{head: "pre2", width: 5, right: true, when: withPri, element: pool.AttrPreJobPrio2,
		fill: func(_ *maker, r *row) { r.pre2 = r.key.PreJobPrio2 }, number: integer(func(r *row) int64 { return r.pre2 })},
	{head: "ppri", width: 5, right: true, when: withPri, element: "JB_priority", number: integer(func(r *row) int64 { return r.prior })},
	{head: "post1", width: 5, right: true, when: withPri, element: pool.AttrPostJobPrio1,
		fill: func(_ *maker, r *row) { r.post1 = r.key.PostJobPrio1 }, number: integer(func(r *row) int64 { return r.post1 })},
	{head: "post2", width: 5, right: true, when: withPri, element: pool.AttrPostJobPrio2,
		fill: func(_ *maker, r *row) { r.post2 = r.key.PostJobPrio2 }, number: integer(func(r *row) int64 { return r.post2 })},
	{head: "RUP", width: 12, right: true, when: func(o options) bool { return o.Ext && !o.oneQueue }, element: "RealPriority",
		number: func(b []byte, r *row) []byte { return strconv.AppendFloat(b, r.who.rup, 'f', 2, 64) }},
	{head: "EUP", width: 12, right: true, when: func(o options) bool { return (o.Urg || o.Ext) && !o.oneQueue }, element: "EffectivePriority",
		number: func(b []byte, r *row) []byte { return strconv.AppendFloat(b, r.who.eup, 'f', 2, 64) }},
	{head: "place", width: 5, right: true, when: func(o options) bool { return o.Urg && !o.oneQueue }, element: "SubmitterPlace",
		number: integer(func(r *row) int64 { return int64(r.who.place) })},
	{head: "place", width: 7, right: true, when: func(o options) bool { return (o.Urg || o.Ext) && o.oneQueue }, number: place, xml: placeXML},
	{head: "name", width: 10, least: 6, element: "JB_name", text: func(r *row) string { return r.name }},
	{head: "user", width: 12, least: 6, element: "JB_owner", text: func(r *row) string { return r.user }},
	{head: "project", width: 16, least: 7, when: withExt, reads: []*classad.Name{projectName},
		fill: func(m *maker, r *row) { r.project = clean.Line(m.text(projectName)) }, text: func(r *row) string { return known(r.project) },
		xml: func(b []byte, r *row) []byte { return element(b, "JB_project", r.project) }},
	{head: "department", width: 10, least: 6, when: withExt, reads: []*classad.Name{departName},
		fill: func(m *maker, r *row) { r.department = clean.Line(m.text(departName)) }, text: func(r *row) string { return known(r.department) },
		xml: func(b []byte, r *row) []byte { return element(b, "JB_department", r.department) }},
	{head: "state", width: 5, element: "state", text: func(r *row) string { return r.state }},
	{head: "submit/start at", width: 19,
		number: func(b []byte, r *row) []byte { return appendClock(b, r.at) }, xml: startXML},
	{head: " deadline", width: 19, when: withUrg, reads: []*classad.Name{deadlineName},
		fill: func(m *maker, r *row) { r.deadline = m.int(deadlineName) }, number: deadline, xml: deadlineXML},
	{head: "waited", width: 11, right: true, when: func(o options) bool { return o.Wide || o.Urg }, reads: []*classad.Name{beganName, enteredName},
		fill:   func(m *maker, r *row) { r.waited = m.waited(r) },
		number: func(b []byte, r *row) []byte { return elapsed.AppendDays(b, int64(r.waited/time.Second), '+') },
		xml:    func(b []byte, r *row) []byte { return wholeElement(b, "waited", int64(r.waited/time.Second)) }},
	{head: "cpu", width: 10, left: true, when: withExt, reads: []*classad.Name{userCPUName, sysCPUName},
		fill: func(m *maker, r *row) { r.used.cpu = m.used(r, 1, userCPUName, sysCPUName) }, number: cpu, xml: usageXML("cpu_usage", func(u used) float64 { return u.cpu })},
	{head: "mem", width: 7, left: true, when: withExt, reads: []*classad.Name{residentName},
		fill:   func(m *maker, r *row) { r.used.mem = m.used(r, kib/gib, residentName) },
		number: usage(func(u used) float64 { return u.mem }), xml: usageXML("mem_usage", func(u used) float64 { return u.mem })},
	{head: "io", width: 7, left: true, when: withExt, reads: []*classad.Name{bytesInName, bytesOutName},
		fill:   func(m *maker, r *row) { r.used.io = m.used(r, 1/gib, bytesInName, bytesOutName) },
		number: usage(func(u used) float64 { return u.io }), xml: usageXML("io_usage", func(u used) float64 { return u.io })},
	{head: "queue", width: 30, least: 8, when: func(o options) bool { return !o.BySlot }, element: "queue_name", text: func(r *row) string { return r.slot }},
	{head: "slots", width: 5, when: func(o options) bool { return !o.Master }, element: "slots", number: integer(func(r *row) int64 { return r.slots })},
	{head: "master", width: 6, when: func(o options) bool { return o.Master }, text: master, xml: masterXML},

	// The brief layout has the command behind these, in the rest of a line.
	{head: "job", brief: true, least: 8, part: 5, text: briefID, dots: true},
	{head: "owner", brief: true, least: 5, part: 6, text: func(r *row) string { return r.user }},
	{head: "state", brief: true, reads: []*classad.Name{enteredName, bySignalName, signalName, exitName, argumentsName, argsName},
		fill: (*maker).inBrief, text: func(r *row) string { return r.brief.state }},
	{head: "time", brief: true, number: func(b []byte, r *row) []byte { return append(b, r.brief.since...) }},
	{head: "slot or reason", brief: true, least: 14, part: 3, text: func(r *row) string { return r.brief.where }},
}

func withPri(o options) bool { return o.Pri }
func withUrg(o options) bool { return o.Urg }
func withExt(o options) bool { return o.Ext }

// integer returns what appends a whole number.
func integer(of func(*row) int64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendInt(b, of(r), 10) }
}

// jobID appends the job's name in commands: cluster.proc. For several jobs on a line it
// is the cluster; ja-task-ID has the procs.
func jobID(b []byte, r *row) []byte {
	b = strconv.AppendInt(b, int64(r.cluster), 10)
	if len(r.ranges) == 1 && r.ranges[0].First == r.ranges[0].Last {
		b = strconv.AppendInt(append(b, '.'), int64(r.ranges[0].First), 10)
	}
	return b
}

// known returns s, or Grid Engine's word for a missing value.
func known(s string) string {
	if s == "" {
		return "NA"
	}
	return s
}

// master says of a job with a slot that this is where it runs.
func master(r *row) string {
	if r.slot == "" {
		return ""
	}
	return "MASTER"
}

// place appends where a job stands in the queue of all jobs: of several on a line, the
// first.
func place(b []byte, r *row) []byte {
	if r.place == 0 {
		return b
	}
	return strconv.AppendInt(b, int64(r.place), 10)
}

func deadline(b []byte, r *row) []byte {
	if r.deadline == 0 {
		return b
	}
	return appendClock(b, unix(r.deadline))
}

func cpu(b []byte, r *row) []byte {
	switch {
	case r.slot == "" && r.state != "z":
		return b
	case r.used.cpu < 0:
		return append(b, "NA"...)
	}
	return elapsed.AppendDays(b, int64(min(r.used.cpu, 1e9)), ':')
}

func usage(of func(used) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte {
		switch x := of(r.used); {
		case r.slot == "" && r.state != "z":
			return b
		case x < 0:
			return append(b, "NA"...)
		default:
			return strconv.AppendFloat(b, x, 'f', 5, 64)
		}
	}
}

// Clock writes a point in local time as the table has it.
func Clock(t time.Time) string { return string(appendClock(nil, t)) }

func appendClock(b []byte, t time.Time) []byte {
	return t.Local().AppendFormat(b, "01/02/2006 15:04:05")
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }
