package sge

import (
	"math"
	"strconv"

	"fairspool/lib/config"
	"fairspool/lib/policy"
)

// Display has Grid Engine's columns, and the lengths of its rules, which differ from those of the
// headings above them. A list of all jobs has a form of its own in JSON.
func (Policy) Display(c *config.Config) policy.Display {
	s := Settings(c)
	return policy.Display{
		Columns: columns, Without: without, Arrays: true, Own: own, ByTree: s.Tree != nil && s.TicketsShare > 0,
		Rulers: &policy.RuleLengths{List: 113, Pri: 35, Urg: 64, Ext: 79, SlotExt: 108, BlockExt: 110},
	}
}

func own(has func(string) bool) (option string, refused []string) {
	if !has("json") || has("j") || !has("pri") && !has("urg") && !has("ext") {
		return "", nil
	}
	return "-json", []string{"long", "af", "f", "xml", "r", "w"}
}

// without leaves out what Grid Engine has no column for, has another for, or has not with these options.
func without(o policy.Options) []string {
	list := []string{"prior", "pre1", "pre2", "post1", "post2", "RUP", "EUP", "place"}
	if o.Ext && !o.Urg && !o.Pri {
		list = append(list, "submit/start at")
	}
	if !o.Wide {
		list = append(list, "waited")
	}
	return list
}

// columns are Grid Engine's. Two stand here twice, as it has another order in its XML.
var columns = []policy.Column{
	{Head: "prior", Width: 7, After: "job-ID", Element: "JAT_prio", Cell: five(func(n *Cells) float64 { return n.Prio })},
	ntckts(func(o policy.Options) bool { return o.XML && (o.Pri || o.Ext) }),
	nurg(func(o policy.Options) bool { return !o.XML && (o.Pri || o.Urg) }),
	{Head: "npprior", Width: 7, When: pri, Element: "JB_nppri", Cell: five(func(n *Cells) float64 { return n.NPPrior })},
	ntckts(func(o policy.Options) bool { return !o.XML && (o.Pri || o.Ext) }),
	nurg(func(o policy.Options) bool { return o.XML && (o.Pri || o.Urg) }),
	{Head: "urg", Width: 8, When: func(o policy.Options) bool { return o.Urg && !o.XML }, Cell: eight(func(n *Cells) float64 { return n.Urg })},
	{Head: "rrcontr", Width: 8, When: urg, Element: "JB_rrcontr", Cell: eight(func(n *Cells) float64 { return n.RRContr })},
	{Head: "wtcontr", Width: 8, When: urg, Element: "JB_wtcontr", Cell: eight(func(n *Cells) float64 { return n.WTContr })},
	{Head: "dlcontr", Width: 8, When: urg, Element: "JB_dlcontr", Cell: eight(func(n *Cells) float64 { return n.DLContr })},

	{Head: "tckts", Width: 5, After: "io", When: ext, Element: "tickets", Cell: truncated(func(n *Cells) float64 { return n.Tckts })},
	{Head: "ovrts", Width: 5, When: ext, Element: "JB_override_tickets", Cell: truncated(func(n *Cells) float64 { return n.Override })},
	{When: func(o policy.Options) bool { return o.Ext && o.XML }, Element: "JB_jobshare", Cell: truncated(func(n *Cells) float64 { return n.JobShare })},
	{Head: "otckt", Width: 5, When: ext, Element: "otickets", Cell: truncated(func(n *Cells) float64 { return n.OTckt })},
	{Head: "ftckt", Width: 5, When: ext, Element: "ftickets", Cell: truncated(func(n *Cells) float64 { return n.FTckt })},
	{Head: "stckt", Width: 5, When: ext, Element: "stickets", Cell: truncated(func(n *Cells) float64 { return n.STckt })},
	{Head: "share", Width: 5, Left: true, When: ext, Element: "JAT_share",
		Cell: plain(func(n *Cells) float64 { return n.Share }, 2), XML: plain(func(n *Cells) float64 { return n.Share }, 5)},
}

func ntckts(when func(policy.Options) bool) policy.Column {
	return policy.Column{Head: "ntckts", Width: 7, When: when, Element: "JAT_ntix", Cell: five(func(n *Cells) float64 { return n.NTckts })}
}

func nurg(when func(policy.Options) bool) policy.Column {
	return policy.Column{Head: "nurg", Width: 7, When: when, Element: "JB_nurg", Cell: five(func(n *Cells) float64 { return n.NUrg })}
}

func pri(o policy.Options) bool { return o.Pri }
func urg(o policy.Options) bool { return o.Urg }
func ext(o policy.Options) bool { return o.Ext }

// plain returns what appends a number with so many decimals.
func plain(of func(*Cells) float64, decimals int) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte { return strconv.AppendFloat(b, of(cells.(*Cells)), 'f', decimals, 64) }
}

// five returns what appends a number as Grid Engine shows normalised ones.
func five(of func(*Cells) float64) func([]byte, any) []byte { return plain(of, 5) }

// eight returns what appends a number as Grid Engine shows urgencies, in eight places.
func eight(of func(*Cells) float64) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte {
		const mostPlain = 99_999_999
		if x := of(cells.(*Cells)); x > mostPlain {
			return strconv.AppendFloat(b, x, 'g', 3, 64)
		} else {
			return strconv.AppendFloat(b, x, 'f', 0, 64)
		}
	}
}

// truncated returns what appends tickets and shares, without their fractions.
func truncated(of func(*Cells) float64) func([]byte, any) []byte {
	return func(b []byte, cells any) []byte {
		return strconv.AppendFloat(b, math.Trunc(of(cells.(*Cells))), 'f', 0, 64)
	}
}
