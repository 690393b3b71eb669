package qconf

import (
	"fmt"
	"slices"
	"strings"
)

// Attribute is a name with its value, without blanks around it.
type Attribute struct {
	Name, Value string
	Line        int // on which it begins, from 1
}

// Record is the description of one object. Attributes have different names, without the
// object's own, in the order of the text.
type Record struct {
	Name       string
	Line       int // on which it begins, from 1
	Attributes []Attribute
}

// Kind is a kind of objects that qconf prints several of, one after the other.
type Kind struct {
	first string   // the attribute that each begins with: its name
	all   []string // others that qconf never leaves out
}

// The kinds of objects, by what prints them.
var (
	Users    = Kind{"name", []string{"oticket", "fshare", "default_project"}}         // -suser
	Projects = Kind{"name", []string{"oticket", "fshare", "acl", "xacl"}}             // -sprj
	Usersets = Kind{"name", []string{"type", "fshare", "oticket", "entries"}}         // -su
	PEs      = Kind{"pe_name", []string{"slots", "allocation_rule", "urgency_slots"}} // -sp
)

// parameters are what qconf -ssconf prints, all of it.
var parameters = strings.Fields(`algorithm schedule_interval maxujobs queue_sort_method
	job_load_adjustments load_adjustment_decay_time load_formula schedd_job_info flush_submit_sec
	flush_finish_sec params reprioritize_interval halftime usage_weight_list compensation_factor
	weight_user weight_project weight_department weight_job weight_tickets_functional
	weight_tickets_share share_override_tickets share_functional_shares
	max_functional_jobs_to_schedule report_pjob_tickets max_pending_tasks_per_job
	halflife_decay_list policy_hierarchy weight_ticket weight_waiting_time weight_deadline
	weight_urgency weight_priority max_reservation default_duration`)

// ReadParameters reads what qconf -ssconf prints: lines of a name and a value. Of a name that
// comes twice the last line counts.
func ReadParameters(text string) ([]Attribute, []Note) {
	r := recordReader{lines: newLines(text), records: []Record{{Line: 1}}}
	for l, ok := r.next(); ok; l, ok = r.next() {
		r.add(l)
	}
	if r.some {
		r.complete(parameters)
	}
	return r.records[0].Attributes, r.done()
}

// ReadRecords reads what qconf prints of objects of a kind: lines of a name and a value, a new
// object where the first attribute comes again. Of an attribute that comes twice in one the
// last line counts. Objects may come twice.
func ReadRecords(text string, k Kind) ([]Record, []Note) {
	r := recordReader{lines: newLines(text)}
	for l, ok := r.next(); ok; l, ok = r.next() {
		name, value := cutName(l.text)
		switch {
		case name == k.first:
			r.complete(k.all)
			r.records, r.many = append(r.records, Record{Name: value, Line: l.number}), nil
			if value == "" || strings.Contains(value, " ") {
				r.note(l.number, "%s: want one word behind %s", shown(l.text), k.first)
			}
		case len(r.records) == 0:
			r.note(l.number, "%s: stands before the first %s", shown(name), k.first)
		default:
			r.add(l)
		}
	}
	r.complete(k.all)
	return named(r.records), r.done()
}

// recordReader reads lines of a name and a value.
type recordReader struct {
	*lines
	records []Record
	many    map[string]int // where the last record has which attribute; nil: it has few
}

// few is how many attributes are looked through one by one.
const few = 40

// find returns where the last record has an attribute, -1 for nowhere.
func (r *recordReader) find(name string) int {
	list := r.records[len(r.records)-1].Attributes
	if len(list) <= few {
		return slices.IndexFunc(list, func(a Attribute) bool { return a.Name == name })
	}
	if r.many == nil {
		r.many = map[string]int{}
	}
	for i := len(r.many); i < len(list); i++ {
		r.many[list[i].Name] = i
	}
	if i, ok := r.many[name]; ok {
		return i
	}
	return -1
}

// add adds a line to the last record.
func (r *recordReader) add(l line) {
	a := Attribute{Line: l.number}
	a.Name, a.Value = cutName(l.text)
	last := &r.records[len(r.records)-1]
	if i := r.find(a.Name); i >= 0 {
		r.note(l.number, "%s: stands in line %d, too; this one counts", shown(a.Name), last.Attributes[i].Line)
		last.Attributes[i] = a
		return
	}
	last.Attributes = append(last.Attributes, a)
}

// complete tells of names that the last record lacks.
func (r *recordReader) complete(all []string) {
	if len(r.records) == 0 {
		return
	}
	missing, first := 0, ""
	for _, name := range slices.Backward(all) {
		if r.find(name) < 0 {
			missing, first = missing+1, name
		}
	}
	if missing == 0 {
		return
	}
	if missing > 1 {
		first = fmt.Sprintf("%s and %d more", first, missing-1)
	}
	last := r.records[len(r.records)-1]
	of, line := "", last.Line
	if last.Name != "" {
		of = shown(last.Name) + ": "
	}
	if n := len(last.Attributes); n > 0 {
		line = last.Attributes[n-1].Line
	}
	r.note(line, "%swithout %s, which qconf prints: is the file cut off?", of, first)
}

// named leaves out records without a name, or with two.
func named(all []Record) []Record {
	list := all[:0]
	for _, r := range all {
		if r.Name != "" && !strings.Contains(r.Name, " ") {
			list = append(list, r)
		}
	}
	return list
}

// cutName returns the first word of a line and what stands behind it.
func cutName(text string) (name, value string) {
	name, value, _ = strings.Cut(text, " ")
	return name, strings.TrimSpace(value)
}
