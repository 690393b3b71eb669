package config

import "fairspool/lib/maui"

// mostWeight keeps every product of a weight with a number of a job's exact enough, and
// within the range of numbers.
const mostWeight = 1e12

// unsetWeight is what Maui takes for no weight at all where a subcomponent has it.
const unsetWeight = -1

// mauiWeights are the weights and caps as keys, those of components first.
func mauiWeights() []Key {
	var keys []Key
	add := func(p maui.Parameters, initial maui.Term, of func(*Config) *maui.Term, unset bool) {
		keys = append(keys, Key{Name: p.Weight, Kind: Integer, Default: initial.Weight, Least: -mostWeight, Most: mostWeight,
			Help: "What a point counts of: " + p.Counts + ".",
			set: func(c *Config, v any) {
				if n := v.(int64); !unset || n != unsetWeight {
					of(c).Weight = n
				}
			}})
		if p.Cap != "" {
			keys = append(keys, Key{Name: p.Cap, Kind: Integer, Default: initial.Cap, Least: -mostWeight, Most: mostWeight,
				Help: "No more than this counts of: " + p.Counts + ", before it is weighed. 0 and below: no bound.",
				set:  func(c *Config, v any) { of(c).Cap = max(v.(int64), 0) }})
		}
	}
	initial := maui.Default()
	for i := range maui.Components {
		add(i.Parameters(), initial.Components[i], func(c *Config) *maui.Term { return &c.Maui.Components[i] }, false)
	}
	for i := range maui.Subs {
		add(i.Parameters(), initial.Subs[i], func(c *Config) *maui.Term { return &c.Maui.Subs[i] }, true)
	}
	return keys
}

// isSubWeight tells whether a key is the weight of a subcomponent.
func isSubWeight(name string) bool {
	for sub := range maui.Subs {
		if sub.Parameters().Weight == name {
			return true
		}
	}
	return false
}
