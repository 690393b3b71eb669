package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/nearest"
	"fairspool/lib/sge"
)

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
