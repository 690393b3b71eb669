package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// resourcesOf returns what a job used, asked for and had of its slot: cores, disk,
// memory, and whatever else the slot can be divided by and the job asked for. A slot that
// is not known, nil, has nothing.
func resourcesOf(ad, slot *classad.Ad, how operation.Ending) []userlog.Resource {
	p := how.Total()
	rows := []userlog.Resource{
		resource("Cpus", "Cpus", ad, slot), resource("Disk", "Disk (KB)", ad, slot), resource("Memory", "Memory (MB)", ad, slot),
	}
	if p.Wall > 0 {
		rows[0].Usage = number((p.UserCPU + p.SysCPU).Seconds() / p.Wall.Seconds())
	}
	if p.DiskKB > 0 {
		rows[1].Usage = strconv.FormatInt(p.DiskKB, 10)
	}
	if p.PeakKB > 0 {
		rows[2].Usage = strconv.FormatInt((p.PeakKB+1023)/1024, 10)
	}
	for _, name := range divisible(slot) {
		if r := resource(name, name, ad, slot); r.Request != "" {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b userlog.Resource) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// divisible returns what else than cores, disk and memory a slot can be divided by.
func divisible(slot *classad.Ad) (names []string) {
	if slot == nil {
		return nil
	}
	text, _ := slot.EvalString(&classad.Context{}, pool.AttrMachineResources)
	for _, name := range strings.Fields(text) {
		known := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc([]string{"Cpus", "Disk", "Memory", "Swap"}, known) && !slices.ContainsFunc(names, known) {
			names = append(names, name)
		}
	}
	return names
}

// resource returns the row of a resource, but for what was used.
func resource(name, title string, ad, slot *classad.Ad) userlog.Resource {
	c := &classad.Context{}
	r := userlog.Resource{Name: title}
	if x, ok := ad.EvalNumber(c, "Request"+name); ok {
		r.Request = number(x)
	}
	if slot == nil {
		return r
	}
	if x, ok := slot.EvalNumber(c, name); ok {
		r.Allocated = number(x)
	}
	if text, ok := slot.EvalString(c, "Assigned"+name); ok {
		r.Assigned = strconv.Quote(text)
	}
	return r
}

// number writes a number with two places at most.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// executing returns the event of a job that is executed in a claim's slot.
func executing(ad, slot *classad.Ad, claim pool.Claim, scratch string) userlog.Executing {
	x := userlog.Executing{Host: claim.Machine, Slot: claim.Slot}
	c := &classad.Context{}
	names := append([]string{"Cpus", "Disk", "Memory"}, divisible(slot)...)
	wanted, _ := ad.EvalString(c, attrULogExecuteEventAttrs)
	names = append(names, strings.FieldsFunc(wanted, func(r rune) bool { return r == ',' || r == ' ' })...)
	if scratch != "" {
		x.Ad = []string{"CondorScratchDir = " + classad.String(scratch).String()}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if slot == nil || seen[strings.ToLower(name)] || !slot.Has(name) {
			continue
		}
		seen[strings.ToLower(name)] = true
		x.Ad = append(x.Ad, name+" = "+slot.Eval(c, name, ad).String())
	}
	slices.Sort(x.Ad)
	return x
}

// attrULogExecuteEventAttrs are the attributes of its slot that a job wants in its log.
const attrULogExecuteEventAttrs = "ULogExecuteEventAttrs"
