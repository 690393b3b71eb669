package qstat

import (
	"math"
	"strconv"

	"fairspool/lib/sge"
)

// sgeColumns are the list's under the policy "sge", in Grid Engine's order, which is another
// one in its XML. A column of both kinds stands here twice.
var sgeColumns = []column{
	jobIDColumn,
	{head: "prior", width: 7, element: "JAT_prio", number: five(func(n *sge.Numbers) float64 { return n.Prio })},
	ntcktsColumn(func(o options) bool { return o.xml && (o.pri || o.ext) }),
	nurgColumn(func(o options) bool { return !o.xml && (o.pri || o.urg) }),
	{head: "npprior", width: 7, when: withPri, element: "JB_nppri", number: five(func(n *sge.Numbers) float64 { return n.NPPrior })},
	ntcktsColumn(func(o options) bool { return !o.xml && (o.pri || o.ext) }),
	nurgColumn(func(o options) bool { return o.xml && (o.pri || o.urg) }),
	{head: "urg", width: 8, when: func(o options) bool { return o.urg && !o.xml }, number: eight(func(n *sge.Numbers) float64 { return n.Urg })},
	{head: "rrcontr", width: 8, when: withUrg, element: "JB_rrcontr", number: eight(func(n *sge.Numbers) float64 { return n.RRContr })},
	{head: "wtcontr", width: 8, when: withUrg, element: "JB_wtcontr", number: eight(func(n *sge.Numbers) float64 { return n.WTContr })},
	{head: "dlcontr", width: 8, when: withUrg, element: "JB_dlcontr", number: eight(func(n *sge.Numbers) float64 { return n.DLContr })},
	{head: "ppri", width: 5, right: true, when: withPri, element: "JB_priority", number: func(b []byte, r *row) []byte { return strconv.AppendInt(b, r.prior, 10) }},
	nameColumn, userColumn, projectColumn, departmentColumn, stateColumn,
	startColumn(func(o options) bool { return !o.ext || o.urg || o.pri }),
	deadlineColumn,
	waitedColumn(func(o options) bool { return o.wide }),
	cpuColumn, memColumn, ioColumn,
	{head: "tckts", width: 5, when: withExt, element: "tickets", number: truncated(func(r *row) float64 { return r.ranked.Tckts })},
	{head: "ovrts", width: 5, when: withExt, element: "JB_override_tickets", number: truncated(func(r *row) float64 { return r.override })},
	{when: func(o options) bool { return o.ext && o.xml }, element: "JB_jobshare", number: truncated(func(r *row) float64 { return r.jobShare })},
	{head: "otckt", width: 5, when: withExt, element: "otickets", number: truncated(func(r *row) float64 { return r.ranked.OTckt })},
	{head: "ftckt", width: 5, when: withExt, element: "ftickets", number: truncated(func(r *row) float64 { return r.ranked.FTckt })},
	{head: "stckt", width: 5, when: withExt, element: "stickets", number: truncated(func(r *row) float64 { return r.ranked.STckt })},
	{head: "share", width: 5, when: withExt, number: func(b []byte, r *row) []byte { return strconv.AppendFloat(b, r.ranked.Share, 'f', 2, 64) },
		xml: func(b []byte, r *row) []byte {
			return element(b, "JAT_share", strconv.FormatFloat(r.ranked.Share, 'f', 5, 64))
		}},
	slotColumn, slotsColumn, masterColumn,
}

func nurgColumn(when func(options) bool) column {
	return column{head: "nurg", width: 7, when: when, element: "JB_nurg", number: five(func(n *sge.Numbers) float64 { return n.NUrg })}
}

func ntcktsColumn(when func(options) bool) column {
	return column{head: "ntckts", width: 7, when: when, element: "JAT_ntix", number: five(func(n *sge.Numbers) float64 { return n.NTckts })}
}

// five returns what appends a number as Grid Engine shows normalised ones.
func five(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, of(&r.ranked.Numbers), 'f', 5, 64) }
}

// eight returns what appends a number as Grid Engine shows urgencies, in eight places.
func eight(of func(*sge.Numbers) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte {
		const mostPlain = 99_999_999
		if x := of(&r.ranked.Numbers); x > mostPlain {
			return strconv.AppendFloat(b, x, 'g', 3, 64)
		} else {
			return strconv.AppendFloat(b, x, 'f', 0, 64)
		}
	}
}

// truncated returns what appends tickets and shares, without their fractions.
func truncated(of func(*row) float64) func([]byte, *row) []byte {
	return func(b []byte, r *row) []byte { return strconv.AppendFloat(b, math.Trunc(of(r)), 'f', 0, 64) }
}

// What rules are longer by, with each of the options, than those of the plain list; these of
// Grid Engine have other lengths than the headings above them.
const (
	ruleOfList = 113
	ruleOfPri  = 35
	ruleOfUrg  = 64
	ruleOfExt  = 79
	// With -f it is -ext alone that makes a difference.
	slotRuleOfExt  = 108
	blockRuleOfExt = 110
)

// sgeRule returns the length of the rule below a heading of so many characters. With -w and on
// a terminal, where widths are not Grid Engine's, it is that.
func (t *table) sgeRule(heading int) int {
	if t.width > 0 || t.wide {
		return heading
	}
	rule := ruleOfList + t.count(ruleOfPri, ruleOfUrg, ruleOfExt)
	if t.master {
		rule += masterColumn.width - slotsColumn.width
	}
	return rule
}

// count sums up what each of -pri, -urg and -ext counts.
func (o options) count(pri, urg, ext int) (n int) {
	if o.pri {
		n += pri
	}
	if o.urg {
		n += urg
	}
	if o.ext {
		n += ext
	}
	return n
}
