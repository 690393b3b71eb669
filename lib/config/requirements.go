package config

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
)

// Requirement is a condition on jobs for admission to the queue, one of SUBMIT_REQUIREMENT_NAMES.
// Expr compiles its expressions.
type Requirement struct {
	Name    string
	Warning bool // SUBMIT_REQUIREMENT_<Name>_IS_WARNING: a job that does not meet it is taken with a warning
}

// Key returns the key of the requirement's expression. The key of its reason has _REASON behind
// it.
func (r Requirement) Key() string { return requirementPrefix + r.Name }

// requirementPrefix begins the keys of requirements, and the key with their names.
const (
	requirementPrefix = "SUBMIT_REQUIREMENT_"
	requirementNames  = requirementPrefix + "NAMES"
)

// RequirementKeys are the keys of requirements: behind SUBMIT_REQUIREMENT_ the name of one of
// SUBMIT_REQUIREMENT_NAMES, and the Name behind that.
var RequirementKeys = []Key{
	{Name: "_IS_WARNING", Kind: Boolean,
		Help: "Whether jobs that do not meet the requirement are submitted, with a warning."},
	{Name: "_REASON", Kind: Expression,
		Help: "The message for a job that does not meet the requirement: an expression with a string as its value."},
	{Name: "", Kind: Expression,
		Help: "A requirement that jobs have to meet to be submitted; MY is the job."},
}

// requirementKey returns which of RequirementKeys a key is, and the requirement's name. A name
// that is one of names counts before one that a Name makes shorter.
func requirementKey(key string, names []string) (k Key, name string, ok bool) {
	rest, ok := strings.CutPrefix(key, requirementPrefix)
	if !ok || key == requirementNames || !pool.ResourceName("_"+rest) {
		return k, "", false
	}
	for _, k := range RequirementKeys {
		if name, ok := strings.CutSuffix(rest, k.Name); ok && caseless.Contains(names, name) {
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

func requirementName(s string) error {
	if !pool.ResourceName("_" + s) {
		return fmt.Errorf("%q: want a name of letters, digits and underscores", s)
	}
	return nil
}

// requirements makes the list of requirements of SUBMIT_REQUIREMENT_NAMES and the keys of each.
func (c *Config) requirements() error {
	for i, name := range c.requirementNames {
		if caseless.Contains(c.requirementNames[:i], name) {
			return c.Complain(requirementNames, fmt.Errorf("%s: named twice", name))
		}
		c.Requirements = append(c.Requirements, Requirement{Name: name})
	}
	for _, s := range c.ofRequirements {
		k, name, _ := requirementKey(s.Name, c.requirementNames)
		var of *Requirement
		for i := range c.Requirements {
			if strings.EqualFold(c.Requirements[i].Name, name) {
				of = &c.Requirements[i]
			}
		}
		if of == nil {
			return s.Fault(fmt.Errorf("%s has no %s%s", requirementNames, name, nearest.Hint(name, c.requirementNames)))
		}
		v, err := k.checked(s)
		if err != nil {
			return s.Fault(err)
		}
		if is, ok := v.(bool); ok {
			of.Warning = is
		}
		key := of.Key() + k.Name
		c.values[key], c.where[key] = v, s.From
	}
	for _, r := range c.Requirements {
		if strings.TrimSpace(c.Text(r.Key())) == "" {
			return c.Complain(requirementNames, errors.New("without the key "+requirementPrefix+r.Name))
		}
	}
	return nil
}
