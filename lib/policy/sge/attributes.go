package sge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/nearest"
	"fairspool/lib/sge"
)

// kind is a kind of Grid Engine's objects: the name of their table in [sge].
type kind string

// The kinds of objects.
const (
	complexKind    kind = "complexes"
	userKind       kind = "users"
	projectKind    kind = "projects"
	departmentKind kind = "departments"
	usersetKind    kind = "usersets"
	peKind         kind = "pes"
)

// kinds are the kinds, in the order of the manual page.
var kinds = []kind{complexKind, userKind, projectKind, departmentKind, usersetKind, peKind}

// Attribute is an attribute in a table [sge.TABLE.NAME].
type Attribute struct {
	Tables []string // of the objects that have it
	Name   string
	// Wants says which values it takes, for the sentence "want ...".
	Wants string
	// Help explains the attribute, in one or two sentences.
	Help string

	// take sets a value; ok is false, and nothing set, if the value means nothing.
	take func(o *object, value string) (ok bool)
}

// object is the object that an attribute is set of: one of the pointers, by its kind.
type object struct {
	complex *sge.Complex
	pe      *sge.PE
	userset *sge.Userset
	object  *sge.Object // of the others
}

const (
	wantShares = "a whole number, 0 to 4294967295"
	wantNames  = "names"
)

func tables(kinds ...kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

// Attributes is every attribute, in the order of the manual page.
var Attributes = []Attribute{
	{tables(complexKind), "shortcut", "a name without blanks", "Another name of it. By default it has none.",
		func(o *object, value string) bool {
			o.complex.Shortcut = value
			return namesObject(value)
		}},
	{tables(complexKind), "type", strings.Join(complexTypes, ", "), "What its amounts are. INT by default.",
		func(o *object, value string) bool {
			i := slices.Index(complexTypes, strings.ToUpper(value))
			o.complex.Type = sge.ComplexType(max(i, 0))
			return i >= 0
		}},
	{tables(complexKind), "urgency", "a number, -1000000000 to 1000000000", "What one of it counts in the urgency of a job that asks for it. 0 by default, but for slots.",
		func(o *object, value string) bool {
			x, err := strconv.ParseFloat(value, 64)
			o.complex.Urgency = x
			return err == nil && x >= -maxWeight && x <= maxWeight
		}},
	{tables(userKind, projectKind, departmentKind), "fshare", wantShares, "Shares in the functional policy. 0 by default.",
		takeShares(func(o *sge.Object) *float64 { return &o.FShare })},
	{tables(userKind, projectKind, departmentKind), "oticket", wantShares, "Override tickets. 0 by default.",
		takeShares(func(o *sge.Object) *float64 { return &o.OTicket })},
	{tables(userKind), "default_project", "the name of a project, or NONE", "The project of jobs that name none.",
		func(o *object, value string) bool {
			if o.object.DefaultProject = value; strings.EqualFold(value, "none") {
				o.object.DefaultProject = ""
			}
			return namesObject(value)
		}},
	{tables(projectKind), "acl", wantNames, "The usersets whose users may use it. Without any, all may.",
		takeNames(func(o *object) *[]string { return &o.object.ACL })},
	{tables(projectKind), "xacl", wantNames, "The usersets whose users may not use it.",
		takeNames(func(o *object) *[]string { return &o.object.XACL })},
	{tables(departmentKind), "entries", wantNames, "Its userKind, and groups of them with @ in front.",
		takeNames(func(o *object) *[]string { return &o.object.Entries })},
	{tables(usersetKind), "entries", wantNames, "Its userKind, and groups of them with @ in front.",
		takeNames(func(o *object) *[]string { return &o.userset.Entries })},
	{tables(peKind), "slots", "a whole number, 0 to 9999999", "All slots that it has: what a range without an end ends with. 999 by default.",
		func(o *object, value string) (ok bool) {
			o.pe.Slots, ok = slotCount(value)
			return ok
		}},
	{tables(peKind), "urgency_slots", "min, max, avg or a whole number", "How many slots are assumed of a range. min by default.", takeUrgencySlots},
}

// complexTypes are the types of complex(5), by sge.ComplexType.
var complexTypes = []string{
	sge.Int: "INT", sge.Double: "DOUBLE", sge.Time: "TIME", sge.Memory: "MEMORY", sge.Bool: "BOOL",
	sge.String: "STRING", sge.CString: "CSTRING", sge.REString: "RESTRING", sge.Host: "HOST",
}

// otherAttributes are attributes that objects have in Grid Engine and that do not count
// in priorities: files have them, so they are accepted.
var otherAttributes = map[kind]string{
	complexKind:    "relop requestable consumable default",
	userKind:       "delete_time",
	departmentKind: "type",
	usersetKind:    "type fshare oticket",
	peKind: "user_lists xuser_lists start_proc_args stop_proc_args allocation_rule control_slaves job_is_first_task " +
		"accounting_summary qsort_args daemon_forks_slaves master_forks_slaves",
}

// of reports whether objects of the kind have the attribute.
func (a Attribute) of(kind kind) bool { return slices.Contains(a.Tables, string(kind)) }

// takeShares makes take of an attribute that is a number of shares or tickets.
func takeShares(of func(*sge.Object) *float64) func(*object, string) bool {
	return func(o *object, value string) bool {
		n, ok := shareCount(value)
		*of(o.object) = n
		return ok
	}
}

// shareCount reads a number of shares or tickets.
func shareCount(value string) (n float64, ok bool) {
	x, err := strconv.ParseUint(value, 10, 32)
	return float64(x), err == nil
}

// slotCount reads a number of slots.
func slotCount(value string) (n int64, ok bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil && n >= 0 && n <= sge.MostSlots
}

// takeNames makes take of an attribute that is a list of names.
func takeNames(of func(*object) *[]string) func(*object, string) bool {
	return func(o *object, value string) bool {
		*of(o) = listed(value)
		return !slices.ContainsFunc(*of(o), func(n string) bool { return config.PlainName(n, "") != nil })
	}
}

// listed returns the names of a list with commas or blanks between; NONE is the empty
// list.
func listed(value string) []string {
	names := strings.Fields(strings.ReplaceAll(value, ",", " "))
	if len(names) == 0 || len(names) == 1 && strings.EqualFold(strings.TrimSpace(value), "none") {
		return nil
	}
	return names
}

// namesObject reports whether an object may have the name.
func namesObject(name string) bool { return name != "" && config.PlainName(name, "") == nil }

func takeUrgencySlots(o *object, value string) bool {
	kind := slices.Index([]string{sge.MinSlots: "min", sge.MaxSlots: "max", sge.AvgSlots: "avg"}, strings.ToLower(value))
	if kind >= 0 {
		o.pe.UrgencySlots = sge.UrgencySlots{Kind: sge.UrgencyKind(kind)}
		return true
	}
	n, ok := slotCount(value)
	o.pe.UrgencySlots = sge.UrgencySlots{Kind: sge.FixedSlots, Fixed: n}
	return ok
}

// wrong returns what to say of a value that the attribute does not take.
func (a Attribute) wrong(value string) error { return fmt.Errorf("%q: want %s", value, a.Wants) }

// attribute is an attribute in a record of Grid Engine's: name value, in one line.
type attribute struct {
	name, text string
	line       int // of its file, from 1; 0: the record's
}

// takeRecord applies a record of a file to an object, which exists from then on, even if
// its attributes are wrong. Earlier settings stay if the record does not mention them. from
// is the record's place. The warnings, "file:line: sge.users.NAME: why", name omitted
// settings.
func takeRecord(c *config.Config, kind kind, name string, attributes []attribute, from config.Origin) []string {
	var warnings []string
	record := config.Setting{Table: policyName, Name: fmt.Sprintf("%s.%s", kind, name), From: from}
	if err := openRecord(c, kind, name); err != nil {
		return []string{record.Fault(err).Error()}
	}
	c.Note(record.Key(), from)
	for _, a := range attributes {
		s := config.Setting{Table: policyName, Name: record.Name + "." + a.name, From: from}
		if a.line > 0 {
			s.From.Line = a.line
		}
		if err := takeAttribute(c, kind, name, a.name, a.text); err != nil {
			warnings = append(warnings, s.Fault(err).Error())
			continue
		}
		c.Note(s.Key(), s.From)
		c.NoteNamed(record.Key(), a.name, a.text, s.From)
	}
	return warnings
}

// openRecord sees to it that there is an object of the name.
func openRecord(c *config.Config, kind kind, name string) error {
	if !namesObject(name) {
		return errors.New("want a name without blanks and control characters")
	}
	switch kind {
	case complexKind:
		if _, ok := settingsOf(c).complexAt[name]; !ok {
			settingsOf(c).complexAt = noted(settingsOf(c).complexAt, name, len(Settings(c).Complexes))
			Settings(c).Complexes = append(Settings(c).Complexes, complexOf(name))
		}
	case peKind:
		if _, ok := settingsOf(c).peAt[name]; !ok {
			settingsOf(c).peAt = noted(settingsOf(c).peAt, name, len(Settings(c).PEs))
			Settings(c).PEs = append(Settings(c).PEs, sge.PE{Name: name, Slots: sge.PESlots})
		}
	case usersetKind:
		Settings(c).Usersets = noted(Settings(c).Usersets, name, Settings(c).Usersets[name])
	default:
		all := objects(c, kind)
		*all = noted(*all, name, (*all)[name])
	}
	return nil
}

// noted sets an entry of a map that may be nil.
func noted[V any](m map[string]V, name string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[name] = v
	return m
}

// objects returns the objects of a kind that are sge.Objects.
func objects(c *config.Config, kind kind) *map[string]sge.Object {
	switch kind {
	case userKind:
		return &Settings(c).Users
	case projectKind:
		return &Settings(c).Projects
	}
	return &Settings(c).Departments
}

// takeAttribute sets an attribute of an object that there is.
func takeAttribute(c *config.Config, kind kind, name, attribute, text string) error {
	i := slices.IndexFunc(Attributes, func(a Attribute) bool { return a.Name == attribute && a.of(kind) })
	if i < 0 {
		if slices.Contains(strings.Fields(otherAttributes[kind]), attribute) {
			return nil
		}
		return unknownAttribute(kind, attribute)
	}
	a, text := Attributes[i], strings.TrimSpace(text)
	change := func(o object) error {
		if !a.take(&o, text) {
			return a.wrong(text)
		}
		return nil
	}
	switch kind { // on a copy, as errors change nothing
	case complexKind:
		at := &Settings(c).Complexes[settingsOf(c).complexAt[name]]
		return changed(*at, func(x *sge.Complex) error { return change(object{complex: x}) }, func(x sge.Complex) { *at = x })
	case peKind:
		at := &Settings(c).PEs[settingsOf(c).peAt[name]]
		return changed(*at, func(x *sge.PE) error { return change(object{pe: x}) }, func(x sge.PE) { *at = x })
	case usersetKind:
		all := Settings(c).Usersets
		return changed(all[name], func(x *sge.Userset) error { return change(object{userset: x}) }, func(x sge.Userset) { all[name] = x })
	}
	all := *objects(c, kind)
	return changed(all[name], func(x *sge.Object) error { return change(object{object: x}) }, func(x sge.Object) { all[name] = x })
}

// changed stores a changed copy of now, unless changing failed.
func changed[T any](now T, change func(*T) error, put func(T)) error {
	if err := change(&now); err != nil {
		return err
	}
	put(now)
	return nil
}

// unknownAttribute returns what to say of an attribute that objects of the kind do not have.
func unknownAttribute(kind kind, name string) error {
	var has, others []string
	for _, a := range Attributes {
		switch {
		case a.of(kind):
			has = append(has, a.Name)
		case a.Name == name:
			others = append(others, a.Tables...)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("unknown attribute; only %s have it", strings.Join(others, ", "))
	}
	return errors.New("unknown attribute" + nearest.Hint(name, has))
}

// shippedSlots is the one complex with an urgency that Grid Engine comes with.
var shippedSlots = sge.Complex{Name: sge.SlotsComplex, Shortcut: "s", Type: sge.Int, Urgency: 1000}

// complexOf returns a complex as it is before something is said of it.
func complexOf(name string) sge.Complex {
	if name == sge.SlotsComplex {
		return shippedSlots
	}
	return sge.Complex{Name: name}
}

// shipComplexes puts the complex that Grid Engine comes with in front, unless something was
// said of it.
func shipComplexes(c *config.Config) {
	if _, ok := settingsOf(c).complexAt[sge.SlotsComplex]; !ok {
		Settings(c).Complexes = append([]sge.Complex{shippedSlots}, Settings(c).Complexes...)
	}
}
