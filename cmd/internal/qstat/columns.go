package qstat

import (
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
)

// options are what the command line says of the listing's columns and lines.
type options struct {
	pri, urg, ext, wide bool
	requests            bool // -r
	single              bool // -g d: no two procs share a line
	master              bool // -g t
	slotless            bool // -f: the slot stands above its jobs
	brief               bool // the columns are the brief layout's
	oneQueue            bool // all jobs stand in one queue, whatever their submitters' EUPs
	sge                 bool // the columns are those of the policy "sge"
	xml                 bool
}

// columns are those that are shown, in their order.
type columns struct {
	options
	shown []column
	line  func() int // see lineOf
}

// more tells whether columns show more than what every listing has.
func (o options) more() bool {
	return o.pri || o.urg || o.ext || o.wide || o.requests || o.brief
}

// columnsOf reads -pri, -urg, -ext, -w, -r and -g d and t.
func columnsOf(c *cmdline.Call, form string) (columns, error) {
	o := options{pri: c.Has("pri"), urg: c.Has("urg"), ext: c.Has("ext"), wide: c.Has("w"), requests: c.Has("r"), slotless: form == "f",
		oneQueue: operation.OneQueue(c.Config), sge: c.Config.JobPriorityPolicy == "sge", xml: c.Has("xml")}
	var err error
	if o.brief, err = isBrief(c, form); err != nil {
		return columns{}, err
	}
	if form == ownForm && o.sge {
		o.pri, o.urg, o.ext = true, true, true // what is shown is all of it
	}
	for _, g := range c.Repeated("g") {
		o.single = o.single || g[0] == "d"
		o.master = o.master || g[0] == "t"
	}
	if o.wide && c.Has("xml") {
		return columns{}, cmdline.Usagef("-w and -xml: only one of them at a time, and in XML names are never cut")
	}
	if o.brief {
		return columns{o, briefColumns, func() int { width, _ := c.Screen(); return width }}, nil
	}
	return columns{o, columnsWith(o), lineOf(c)}, nil
}

// columnsWith returns the columns that options ask for.
func columnsWith(o options) []column {
	list := columnsUsual
	if o.sge {
		list = sgeColumns
	}
	return slices.DeleteFunc(slices.Clone(list), func(c column) bool { return c.when != nil && !c.when(o) })
}

// column describes a column of the list. A policy of other factors has a table of them, and
// nothing else.
type column struct {
	head  string
	width int
	// right: the heading stands over the last place of the column, as numbers do. Numbers
	// do so anyway, and are never cut.
	right bool
	when  func(options) bool // nil: always
	// text returns the cell of a column of texts, which are cut to its width, and on a
	// terminal are what has to give way, to no less than least places; it stays at its
	// width if that is 0.
	text  func(*row) string
	least int
	part  int // of a terminal's line it gets one of so many parts at most, or least; 0: any
	// number appends the cell of one of numbers or times, empty for nothing known.
	number func(b []byte, r *row) []byte
	// element is the XML element that holds the cell; where that does not depend on the
	// job alone, xml appends it.
	element string
	xml     func(b []byte, r *row) []byte
}

// columnsUsual are the list's where the policy has none of its own.
var columnsUsual = []column{
	jobIDColumn,
	{head: "prior", width: 7, element: "JAT_prio", number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.prior, 10) }},
	{head: "pre1", width: 5, right: true, when: withPri, element: pool.AttrPreJobPrio1, number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.pre1, 10) }},
	{head: "pre2", width: 5, right: true, when: withPri, element: pool.AttrPreJobPrio2, number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.pre2, 10) }},
	{head: "ppri", width: 5, right: true, when: withPri, element: "JB_priority", number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.prior, 10) }},
	{head: "post1", width: 5, right: true, when: withPri, element: pool.AttrPostJobPrio1, number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.post1, 10) }},
	{head: "post2", width: 5, right: true, when: withPri, element: pool.AttrPostJobPrio2, number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.post2, 10) }},
	{head: "RUP", width: 12, right: true, when: withReal, element: "RealPriority", number: func(b []byte, r *row) []byte { return strconv.AppendFloat(b, r.who.rup, 'f', 2, 64) }},
	{head: "EUP", width: 12, right: true, when: withPriority, element: "EffectivePriority", number: func(b []byte, r *row) []byte { return strconv.AppendFloat(b, r.who.eup, 'f', 2, 64) }},
	{head: "place", width: 5, right: true, when: withTurn, element: "SubmitterPlace", number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, int64(r.who.place), 10) }},
	{head: "place", width: 7, right: true, when: withPlace, number: place, xml: placeXML},
	nameColumn, userColumn, projectColumn, departmentColumn, stateColumn, startColumn(nil), deadlineColumn, waitedColumn(withWaited),
	cpuColumn, memColumn, ioColumn, slotColumn, slotsColumn, masterColumn,
}

// The columns that every policy's list has.
var (
	jobIDColumn   = column{head: "job-ID", width: 7, number: jobID, xml: func(b []byte, r *row) []byte { return wholeElement(b, "JB_job_number", int64(r.cluster)) }}
	nameColumn    = column{head: "name", width: 10, least: 6, element: "JB_name", text: func(r *row) string { return r.name }}
	userColumn    = column{head: "user", width: 12, least: 6, element: "JB_owner", text: func(r *row) string { return r.user }}
	projectColumn = column{head: "project", width: 16, least: 7, when: withExt, text: func(r *row) string { return known(r.project) },
		xml: func(b []byte, r *row) []byte { return element(b, "JB_project", r.project) }}
	departmentColumn = column{head: "department", width: 10, least: 6, when: withExt, text: func(r *row) string { return known(r.department) },
		xml: func(b []byte, r *row) []byte { return element(b, "JB_department", r.department) }}
	stateColumn    = column{head: "state", width: 5, element: "state", text: func(r *row) string { return r.state }}
	deadlineColumn = column{head: " deadline", width: 19, when: withUrg, number: deadline, xml: deadlineXML}
	cpuColumn      = column{head: "cpu", width: 10, when: withExt, number: cpu, xml: usageXML("cpu_usage", func(u used) float64 { return u.cpu })}
	memColumn      = column{head: "mem", width: 7, when: withExt, number: usage(func(u used) float64 { return u.mem }), xml: usageXML("mem_usage", func(u used) float64 { return u.mem })}
	ioColumn       = column{head: "io", width: 7, when: withExt, number: usage(func(u used) float64 { return u.io }), xml: usageXML("io_usage", func(u used) float64 { return u.io })}
	slotColumn     = column{head: "queue", width: 30, least: 8, when: withSlot, element: "queue_name", text: func(r *row) string { return r.slot }}
	slotsColumn    = column{head: "slots", width: 5, when: withSlots, element: "slots", number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.slots, 10) }}
	masterColumn   = column{head: "master", width: 6, when: withMaster, text: master, xml: masterXML}
)

func startColumn(when func(options) bool) column {
	return column{head: "submit/start at", width: 19, when: when, number: func(b []byte, r *row) []byte { return appendClock(b, r.at) }, xml: startXML}
}

func waitedColumn(when func(options) bool) column {
	return column{head: "waited", width: 11, right: true, when: when, number: func(b []byte, r *row) []byte { return elapsed.AppendDays(b, int64(r.waited/time.Second), '+') },
		xml: func(b []byte, r *row) []byte { return wholeElement(b, "waited", int64(r.waited/time.Second)) }}
}

// jobID appends how commands name the job: cluster.proc. Of several on a line it is
// the cluster, of which ja-task-ID has the procs.
func jobID(b []byte, r *row) []byte {
	b = strconv.AppendInt(b, int64(r.cluster), 10)
	if len(r.ranges) == 1 && r.ranges[0].first == r.ranges[0].last {
		b = strconv.AppendInt(append(b, '.'), int64(r.ranges[0].first), 10)
	}
	return b
}

func withPri(o options) bool      { return o.pri }
func withUrg(o options) bool      { return o.urg }
func withExt(o options) bool      { return o.ext }
func withReal(o options) bool     { return o.ext && !o.oneQueue }
func withPriority(o options) bool { return (o.urg || o.ext) && !o.oneQueue }
func withTurn(o options) bool     { return o.urg && !o.oneQueue }
func withPlace(o options) bool    { return (o.urg || o.ext) && o.oneQueue }
func withWaited(o options) bool   { return o.urg || o.wide }
func withSlot(o options) bool     { return !o.slotless }
func withSlots(o options) bool    { return !o.master }
func withMaster(o options) bool   { return o.master }

// known is Grid Engine's way to show that there is none.
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

// clock writes a point in local time as the table has it.
func clock(t time.Time) string { return string(appendClock(nil, t)) }

func appendClock(b []byte, t time.Time) []byte {
	return t.Local().AppendFormat(b, "01/02/2006 15:04:05")
}

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }
