package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/nearest"
	"fairspool/lib/sge"
)

// sgeKind is a kind of Grid Engine's objects: the name of their table in [sge].
type sgeKind string

// The kinds of objects.
const (
	sgeComplexes   sgeKind = "complexes"
	sgeUsers       sgeKind = "users"
	sgeProjects    sgeKind = "projects"
	sgeDepartments sgeKind = "departments"
	sgeUsersets    sgeKind = "usersets"
	sgePEs         sgeKind = "pes"
)

// sgeKinds are the kinds, in the order of the manual page.
var sgeKinds = []sgeKind{sgeComplexes, sgeUsers, sgeProjects, sgeDepartments, sgeUsersets, sgePEs}

// SGEAttribute is what a table [sge.TABLE.NAME] may say.
type SGEAttribute struct {
	Tables []string // of the objects that have it
	Name   string
	// Wants says which values it takes, for the sentence "want ...".
	Wants string
	// Help says what it means, in one or two sentences.
	Help string

	// take sets what a value says; ok is false, and nothing set, if it says nothing.
	take func(o *sgeObject, value string) (ok bool)
}

// sgeObject is the object that an attribute is set of: one of the pointers, by its kind.
type sgeObject struct {
	complex *sge.Complex
	pe      *sge.PE
	userset *sge.Userset
	object  *sge.Object // of the others
}

const (
	wantShares = "a whole number, 0 to 4294967295"
	wantNames  = "names"
)

func tables(kinds ...sgeKind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return names
}

// SGEAttributes is every attribute, in the order of the manual page.
var SGEAttributes = []SGEAttribute{
	{tables(sgeComplexes), "shortcut", "a name without blanks", "Another name of it. By default it has none.",
		func(o *sgeObject, value string) bool {
			o.complex.Shortcut = value
			return namesObject(value)
		}},
	{tables(sgeComplexes), "type", strings.Join(complexTypes, ", "), "What its amounts are. INT by default.",
		func(o *sgeObject, value string) bool {
			i := slices.Index(complexTypes, strings.ToUpper(value))
			o.complex.Type = sge.ComplexType(max(i, 0))
			return i >= 0
		}},
	{tables(sgeComplexes), "urgency", "a number, -1000000000 to 1000000000", "What one of it counts in the urgency of a job that asks for it. 0 by default, but for slots.",
		func(o *sgeObject, value string) bool {
			x, err := strconv.ParseFloat(value, 64)
			o.complex.Urgency = x
			return err == nil && x >= -maxSGEWeight && x <= maxSGEWeight
		}},
	{tables(sgeUsers, sgeProjects, sgeDepartments), "fshare", wantShares, "Shares in the functional policy. 0 by default.",
		shares(func(o *sge.Object) *float64 { return &o.FShare })},
	{tables(sgeUsers, sgeProjects, sgeDepartments), "oticket", wantShares, "Override tickets. 0 by default.",
		shares(func(o *sge.Object) *float64 { return &o.OTicket })},
	{tables(sgeUsers), "default_project", "the name of a project, or NONE", "The project of jobs that name none.",
		func(o *sgeObject, value string) bool {
			if o.object.DefaultProject = value; strings.EqualFold(value, "none") {
				o.object.DefaultProject = ""
			}
			return namesObject(value)
		}},
	{tables(sgeProjects), "acl", wantNames, "The usersets whose users may use it. Without any, all may.",
		names(func(o *sgeObject) *[]string { return &o.object.ACL })},
	{tables(sgeProjects), "xacl", wantNames, "The usersets whose users may not use it.",
		names(func(o *sgeObject) *[]string { return &o.object.XACL })},
	{tables(sgeDepartments), "entries", wantNames, "Its users, and groups of them with @ in front.",
		names(func(o *sgeObject) *[]string { return &o.object.Entries })},
	{tables(sgeUsersets), "entries", wantNames, "Its users, and groups of them with @ in front.",
		names(func(o *sgeObject) *[]string { return &o.userset.Entries })},
	{tables(sgePEs), "slots", "a whole number, 0 to 9999999", "All slots that it has: what a range without an end ends with. 999 by default.",
		func(o *sgeObject, value string) (ok bool) {
			o.pe.Slots, ok = slotCount(value)
			return ok
		}},
	{tables(sgePEs), "urgency_slots", "min, max, avg or a whole number", "How many slots are assumed of a range. min by default.", takeUrgencySlots},
}

// complexTypes are the types of complex(5), by sge.ComplexType.
var complexTypes = []string{
	sge.Int: "INT", sge.Double: "DOUBLE", sge.Time: "TIME", sge.Memory: "MEMORY", sge.Bool: "BOOL",
	sge.String: "STRING", sge.CString: "CSTRING", sge.REString: "RESTRING", sge.Host: "HOST",
}

// otherAttributes are those that objects have in Grid Engine and that do not count in
// priorities: files have them, so they are taken.
var otherAttributes = map[sgeKind]string{
	sgeComplexes:   "relop requestable consumable default",
	sgeUsers:       "delete_time",
	sgeDepartments: "type",
	sgeUsersets:    "type fshare oticket",
	sgePEs: "user_lists xuser_lists start_proc_args stop_proc_args allocation_rule control_slaves job_is_first_task " +
		"accounting_summary qsort_args daemon_forks_slaves master_forks_slaves",
}

// of reports whether objects of the kind have the attribute.
func (a SGEAttribute) of(kind sgeKind) bool { return slices.Contains(a.Tables, string(kind)) }

// shares makes take of an attribute that is a number of shares or tickets.
func shares(of func(*sge.Object) *float64) func(*sgeObject, string) bool {
	return func(o *sgeObject, value string) bool {
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

// names makes take of an attribute that is a list of names.
func names(of func(*sgeObject) *[]string) func(*sgeObject, string) bool {
	return func(o *sgeObject, value string) bool {
		*of(o) = listed(value)
		return !slices.ContainsFunc(*of(o), func(n string) bool { return plainName(n, "") != nil })
	}
}

// listed returns the names of a list with commas or blanks between, of which NONE is none.
func listed(value string) []string {
	if strings.EqualFold(strings.TrimSpace(value), "none") {
		return nil
	}
	return wordsOf(strings.ReplaceAll(value, ",", " "))
}

// namesObject reports whether an object may have the name.
func namesObject(name string) bool { return name != "" && plainName(name, "") == nil }

func takeUrgencySlots(o *sgeObject, value string) bool {
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
func (a SGEAttribute) wrong(value string) error { return fmt.Errorf("%q: want %s", value, a.Wants) }

// sgeAttribute is what a record of Grid Engine's says: name value, in one line.
type sgeAttribute struct {
	name, text string
	line       int // of its file, from 1; 0: that of the record
}

// takeSGERecord sets what a record of a file says of an object, which there is from then on,
// whatever is wrong with its attributes. What was said of it before stays where the record
// says nothing. from is the record's place. The warnings, "file:line: sge.users.NAME: why",
// tell what was left out.
func (c *Config) takeSGERecord(kind sgeKind, name string, attributes []sgeAttribute, from origin) []string {
	var warnings []string
	key := fmt.Sprintf("sge.%s.%s", kind, name)
	if err := c.openRecord(kind, name); err != nil {
		return []string{complaint(from.String(), key, err).Error()}
	}
	c.where[key] = from
	for _, a := range attributes {
		at := from
		if a.line > 0 {
			at = origin{file: from.file, line: a.line}
		}
		if err := c.takeSGEAttribute(kind, name, a.name, a.text); err != nil {
			warnings = append(warnings, complaint(at.String(), key+"."+a.name, err).Error())
			continue
		}
		c.where[key+"."+a.name] = at
		c.named = append(c.named, namedValue{key, a.name, a.text, at})
	}
	return warnings
}

// openRecord sees to it that there is an object of the name.
func (c *Config) openRecord(kind sgeKind, name string) error {
	if !namesObject(name) {
		return errors.New("want a name without blanks and control characters")
	}
	switch kind {
	case sgeComplexes:
		if _, ok := c.complexAt[name]; !ok {
			c.complexAt = noted(c.complexAt, name, len(c.SGE.Complexes))
			c.SGE.Complexes = append(c.SGE.Complexes, complexOf(name))
		}
	case sgePEs:
		if _, ok := c.peAt[name]; !ok {
			c.peAt = noted(c.peAt, name, len(c.SGE.PEs))
			c.SGE.PEs = append(c.SGE.PEs, sge.PE{Name: name, Slots: sge.PESlots})
		}
	case sgeUsersets:
		c.SGE.Usersets = noted(c.SGE.Usersets, name, c.SGE.Usersets[name])
	default:
		all := c.objects(kind)
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

// objects returns those of a kind that are sge.Objects.
func (c *Config) objects(kind sgeKind) *map[string]sge.Object {
	switch kind {
	case sgeUsers:
		return &c.SGE.Users
	case sgeProjects:
		return &c.SGE.Projects
	}
	return &c.SGE.Departments
}

// takeSGEAttribute sets an attribute of an object that there is.
func (c *Config) takeSGEAttribute(kind sgeKind, name, attribute, text string) error {
	i := slices.IndexFunc(SGEAttributes, func(a SGEAttribute) bool { return a.Name == attribute && a.of(kind) })
	if i < 0 {
		if words(otherAttributes[kind], attribute) {
			return nil
		}
		return unknownSGEAttribute(kind, attribute)
	}
	a, text := SGEAttributes[i], strings.TrimSpace(text)
	change := func(o sgeObject) error {
		if !a.take(&o, text) {
			return a.wrong(text)
		}
		return nil
	}
	switch kind { // on a copy, for what is wrong changes nothing
	case sgeComplexes:
		at := &c.SGE.Complexes[c.complexAt[name]]
		return changed(*at, func(x *sge.Complex) error { return change(sgeObject{complex: x}) }, func(x sge.Complex) { *at = x })
	case sgePEs:
		at := &c.SGE.PEs[c.peAt[name]]
		return changed(*at, func(x *sge.PE) error { return change(sgeObject{pe: x}) }, func(x sge.PE) { *at = x })
	case sgeUsersets:
		all := c.SGE.Usersets
		return changed(all[name], func(x *sge.Userset) error { return change(sgeObject{userset: x}) }, func(x sge.Userset) { all[name] = x })
	}
	all := *c.objects(kind)
	return changed(all[name], func(x *sge.Object) error { return change(sgeObject{object: x}) }, func(x sge.Object) { all[name] = x })
}

// changed puts a changed copy in the place of what there is, unless changing failed.
func changed[T any](now T, change func(*T) error, put func(T)) error {
	if err := change(&now); err != nil {
		return err
	}
	put(now)
	return nil
}

// unknownSGEAttribute returns what to say of an attribute that objects of the kind do not have.
func unknownSGEAttribute(kind sgeKind, name string) error {
	var has, others []string
	for _, a := range SGEAttributes {
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
func (c *Config) shipComplexes() {
	if _, ok := c.complexAt[sge.SlotsComplex]; !ok {
		c.SGE.Complexes = append([]sge.Complex{shippedSlots}, c.SGE.Complexes...)
	}
}
