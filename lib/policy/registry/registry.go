// Package registry answers: which policies are there?
package registry

import (
	"sync"

	"fairspool/lib/config"
	"fairspool/lib/policy"
	"fairspool/lib/policy/condor"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/sge"
)

// Policies are all that JOB_PRIORITY_POLICY may choose, the default first: one line each.
var Policies = []policy.Policy{
	condor.Policy{},
	maui.Policy{},
	sge.Policy{},
}

// Of returns the policy that a configuration chooses.
func Of(c *config.Config) policy.Policy {
	for _, p := range Policies {
		if p.Name() == c.JobPriorityPolicy {
			return p
		}
	}
	return Policies[0] // no JOB_PRIORITY_POLICY was given
}

// schema is the schema of a configuration file, with the policies' tables.
var schema = sync.OnceValue(func() *config.Schema {
	var names []string
	var tables []*config.Table
	for _, p := range Policies {
		names = append(names, p.Name())
		if t := p.Table(); t != nil {
			tables = append(tables, t)
		}
	}
	return config.NewSchema(names, tables...)
})

// Default returns the configuration of an empty file.
func Default() config.Config { return schema().Default() }

// Parse is config.Schema's, with all policies.
func Parse(file string, text []byte) (config.Config, error) { return schema().Parse(file, text) }

// Load is config.Schema's, with all policies.
func Load(path string) (config.Config, error) { return schema().Load(path) }

// Keys are the keys at the top of a configuration file.
func Keys() []config.Key { return schema().Keys() }
