package config

import "strings"

// ignoredKey is a parameter of sched_conf(5) that has no effect here.
type ignoredKey struct {
	key Key // without set; its default is Grid Engine's
	// also is another value that says nothing, such as that of an installer's profile.
	also any
	why  string // it has no effect
}

const (
	byCycles  = "cycles begin when negotiate is run"
	byRank    = "slots are ranked by the jobs' Rank and the NEGOTIATOR_..._JOB_RANK"
	byNoLoad  = "the load of machines is not looked at"
	byReserve = "what is kept for wide jobs is RESERVE_POOL_FRACTION"
)

// ignored are the parameters without effect. Files have them, so they are taken.
var ignored = []ignoredKey{
	{Key{Name: "algorithm", Kind: String, Default: "default"}, nil, "there is but one"},
	{Key{Name: "schedule_interval", Kind: Time, Default: 15.0, Unit: "s", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "flush_submit_sec", Kind: Integer, Default: int64(0), Unit: "seconds", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "flush_finish_sec", Kind: Integer, Default: int64(0), Unit: "seconds", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "queue_sort_method", Kind: String, Default: "load"}, nil, byRank},
	{Key{Name: "load_formula", Kind: String, Default: "np_load_avg"}, nil, byRank},
	{Key{Name: "job_load_adjustments", Kind: String, Default: "np_load_avg=0.50"}, "none", byNoLoad},
	{Key{Name: "load_adjustment_decay_time", Kind: Time, Default: 450.0, Unit: "s", Most: maxSeconds}, 0.0, byNoLoad},
	{Key{Name: "schedd_job_info", Kind: String, Default: "true"}, "false", "negotiate -explain tells why a job waits"},
	{Key{Name: "params", Kind: String, Default: "none"}, nil, "no parameter of it is served"},
	{Key{Name: "weight_tickets_override", Kind: Integer, Default: int64(0), Unit: "tickets", Most: maxShares}, nil, "the override policy gives what oticket says"},
	{Key{Name: "max_reservation", Kind: Integer, Default: int64(0), Unit: "jobs", Most: maxShares}, nil, byReserve},
	{Key{Name: "default_duration", Kind: String, Default: "INFINITY"}, nil, byReserve},
}

// ignoredKeys returns the parameters without effect as keys, which note whether they say
// something.
func ignoredKeys() []Key {
	keys := make([]Key, len(ignored))
	for i, g := range ignored {
		keys[i] = g.key
		keys[i].Help = "Has no effect: " + g.why + "."
		keys[i].set = func(c *Config, v any) { c.ignore(g.key.Name, !alike(v, g.key.Default) && !alike(v, g.also)) }
	}
	return keys
}

// alike tells whether two values of a key are the same; case does not count.
func alike(a, b any) bool {
	x, isString := a.(string)
	y, both := b.(string)
	if isString && both {
		return strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
	}
	return a == b
}

// ignore notes whether a parameter without effect says something.
func (c *Config) ignore(name string, says bool) {
	if !says {
		delete(c.ignored, name)
		return
	}
	if c.ignored == nil {
		c.ignored = map[string]bool{}
	}
	c.ignored[name] = true
}
