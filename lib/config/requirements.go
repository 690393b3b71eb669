package config

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/nearest"
)

// Requirement is what a job has to meet to be taken into the queue, one of SUBMIT_REQUIREMENT_NAMES.
type Requirement struct {
	Name    string
	Expr    string // SUBMIT_REQUIREMENT_<Name>, an expression
	Reason  string // SUBMIT_REQUIREMENT_<Name>_REASON, an expression; empty: none
	Warning bool   // SUBMIT_REQUIREMENT_<Name>_IS_WARNING: a job that does not meet it is taken with a warning
}

// Key returns the key of the requirement's expression.
func (r Requirement) Key() string { return requirementPrefix + r.Name }

// requirementPrefix begins the keys of requirements, and the key with their names.
const (
	requirementPrefix = "SUBMIT_REQUIREMENT_"
	requirementNames  = requirementPrefix + "NAMES"
)

// RequirementKeys are the keys of requirements: behind SUBMIT_REQUIREMENT_ the name of one of
// SUBMIT_REQUIREMENT_NAMES, and the Name behind that.
var RequirementKeys = []RequirementKey{
	{Key{Name: "_IS_WARNING", Kind: Boolean,
		Help: "Whether jobs that do not meet the requirement are taken with a warning."},
		func(r *Requirement, v any) { r.Warning = v.(bool) }},
	{Key{Name: "_REASON", Kind: Expression,
		Help: "What is told of a job that does not meet the requirement: an expression that makes a text of the job's ad."},
		func(r *Requirement, v any) { r.Reason = v.(string) }},
	{Key{Name: "", Kind: Expression,
		Help: "What has to be true of a job to be taken into the queue; MY is the job."},
		func(r *Requirement, v any) { r.Expr = v.(string) }},
}

// RequirementKey describes the keys that a name makes with SUBMIT_REQUIREMENT_ before and a Name
// behind it.
type RequirementKey struct {
	Key
	set func(*Requirement, any)
}

// requirementKey returns which of RequirementKeys a key is, and the requirement's name. A name
// that is one of names counts before one that a Name makes shorter.
func requirementKey(key string, names []string) (k RequirementKey, name string, ok bool) {
	rest, ok := strings.CutPrefix(key, requirementPrefix)
	if !ok || key == requirementNames || !isIdentifier("_"+rest) {
		return k, "", false
	}
	for _, k := range RequirementKeys {
		if name, ok := strings.CutSuffix(rest, k.Name); ok && contains(names, name) {
			return k, name, true
		}
	}
	for _, k := range RequirementKeys {
		if name, ok := strings.CutSuffix(rest, k.Name); ok && name != "" {
			return k, name, true
		}
	}
	return k, "", false
}

// contains reports whether names has a name, in whatever case.
func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func requirementName(s string) error {
	if !isIdentifier("_" + s) {
		return fmt.Errorf("%q: want a name of letters, digits and underscores", s)
	}
	return nil
}

// requirements makes the list of requirements of SUBMIT_REQUIREMENT_NAMES and the keys of each.
func (c *Config) requirements() error {
	for i, name := range c.requirementNames {
		if contains(c.requirementNames[:i], name) {
			return c.Complain(requirementNames, fmt.Errorf("%s: named twice", name))
		}
		c.Requirements = append(c.Requirements, Requirement{Name: name})
	}
	for _, s := range c.ofRequirements {
		k, name, _ := requirementKey(s.name, c.requirementNames)
		var of *Requirement
		for i := range c.Requirements {
			if strings.EqualFold(c.Requirements[i].Name, name) {
				of = &c.Requirements[i]
			}
		}
		if of == nil {
			return s.fault(fmt.Errorf("%s has no %s%s", requirementNames, name, nearest.Hint(name, c.requirementNames)))
		}
		v, err := k.checked(s)
		if err != nil {
			return s.fault(err)
		}
		k.set(of, v)
	}
	for _, r := range c.Requirements {
		if strings.TrimSpace(r.Expr) == "" {
			return c.Complain(requirementNames, errors.New("without the key "+requirementPrefix+r.Name))
		}
	}
	return nil
}
