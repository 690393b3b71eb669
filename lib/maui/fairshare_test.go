package maui

import (
	"math"
	"reflect"
	"testing"
	"time"

	"fairspool/lib/accountant"
)

func TestFairShare(t *testing.T) {
	user := func(target float64, mode FSMode) setup {
		return setup{creds: map[Kind]map[string]Credential{User: {"john": {FSTarget: target, FSMode: mode}}}}
	}
	all := setup{creds: map[Kind]map[string]Credential{User: {DefaultName: {FSTarget: 10}, "john": {FSTarget: math.NaN()}}}}
	for _, c := range []struct {
		name  string
		setup setup
		kind  Kind
		of    string
		ratio bool
		want  float64
	}{
		{"target above usage", user(50, FSTarget), User, "john", false, 50 - 6875/216.25},
		{"target below usage", user(20, FSTarget), User, "john", false, 20 - 6875/216.25},
		{"ratio", user(50, FSTarget), User, "john", true, 1 - 6875/216.25/50},
		{"floor above", user(50, FSFloor), User, "john", false, 50 - 6875/216.25},
		{"floor below", user(20, FSFloor), User, "john", false, 0},
		{"ceiling above", user(50, FSCeiling), User, "john", false, 0},
		{"ceiling below", user(20, FSCeiling), User, "john", true, 1 - 6875/216.25/20},
		{"quota", user(50, FSQuota), User, "john", false, 0},
		{"relative quota", user(50, FSRelative), User, "john", false, 0},
		{"no target", user(50, FSTarget), User, "mary", false, 0},
		{"a target below 0", user(-5, FSTarget), User, "john", false, 0},
		{"the target of all, by who used nothing", all, User, "mary", false, 10},
		{"and by who has none that makes sense", all, User, "john", false, 10 - 6875/216.25},
		{"no credential", all, User, "", false, 0},
		{"QOS have none of all", setup{creds: map[Kind]map[string]Credential{QOS: {DefaultName: {FSTarget: 10}}}}, QOS, "gold", false, 0},
		{"but the QOS DEFAULT has its own", setup{creds: map[Kind]map[string]Credential{QOS: {DefaultName: {FSTarget: 10}}}}, QOS, DefaultName, false, 10},
		{"classes neither", setup{creds: map[Kind]map[string]Credential{Class: {DefaultName: {FSTarget: 10}}}}, Class, "batch", false, 0},
		{"no end of a target", user(math.Inf(1), FSTarget), User, "john", false, 1e30},
	} {
		cfg := c.setup.config()
		cfg.FSPolicy, cfg.FSRatio = DedicatedPS, c.ratio
		w := cluster32
		w.Used = Used{Total: 216.25, Of: [Kinds]map[string]float64{User: {"john": 68.75}}}
		if got := NewReckoner(cfg, w).fairShare(c.kind, c.of); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		w.Used.Total = 0
		if got := NewReckoner(cfg, w).fairShare(c.kind, c.of); got != 0 {
			t.Errorf("%s, and nothing was used: %v, want 0", c.name, got)
		}
		cfg.FSPolicy, w.Used.Total = NoFairShare, 100
		if got := NewReckoner(cfg, w).fairShare(c.kind, c.of); got != 0 {
			t.Errorf("%s, and FSPOLICY NONE: %v, want 0", c.name, got)
		}
	}
}

// TestFairShareOf: the manual's example, user 5 above its target, account 10 below, a floor
// that is reached; and the one of four windows.
func TestFairShareOf(t *testing.T) {
	s := setup{weights: map[Component]int64{FairShare: 100}, sub: map[Sub]int64{QueueTime: 0, FSUser: 10, FSGroup: 20, FSAccount: 30, FSQOS: 40},
		creds: map[Kind]map[string]Credential{User: {"A": {FSTarget: 50, QList: []string{"D"}}}, Account: {"C": {FSTarget: 25}}, QOS: {"D": {FSTarget: 10, FSMode: FSFloor}}},
		also:  func(c *Config) { c.FSPolicy, c.EnableNegative = DedicatedPS, true }}
	w := cluster32
	w.Used = Used{Total: 100, Of: [Kinds]map[string]float64{User: {"A": 45}, Group: {"B": 65}, Account: {"C": 35}, QOS: {"D": 25}, Class: {"batch": 20}}}
	j := with(queued("A", 600, 3600), func(j *Job) { j.Group, j.Account, j.QOS, j.Class = "B", "C", "D", "batch" })
	if p := NewReckoner(s.config(), w).Of(&j); p.Start != -25000 || p.Raw != -25000 {
		t.Errorf("start %d, raw %v, want -25000", p.Start, p.Raw)
	}
	s = setup{sub: map[Sub]int64{QueueTime: 0, FSUser: 1000}, creds: map[Kind]map[string]Credential{User: {"john": {FSTarget: 50}}},
		also: func(c *Config) { c.FSPolicy = DedicatedPS }}
	w.Used = Used{Total: 216.25, Of: [Kinds]map[string]float64{User: {"john": 68.75}}}
	j = queued("john", 0, 3600)
	if p := NewReckoner(s.config(), w).Of(&j); math.Abs(p.Raw-18208.09) > 0.005 || p.Start != 18208 {
		t.Errorf("start %d, raw %v, want 18208.09", p.Start, p.Raw)
	}
}

func TestUsedOf(t *testing.T) {
	now := time.Unix(noon, 0)
	windows := func(seconds ...int64) (list []accountant.Window) {
		for _, s := range seconds {
			list = append(list, accountant.Window{Dedicated: accountant.Usage{Millis: 1000 * s},
				Equivalent: accountant.Usage{Millis: 2000 * s}, Utilized: accountant.Usage{Millis: 500 * s}})
		}
		return list
	}
	tallies := []accountant.Tally{
		{Key: accountant.Key{Kind: accountant.KindUser, Name: "john"}, At: now, Windows: windows(60, 0, 10, 50, 99)},
		{Key: accountant.Key{Kind: accountant.KindTotal, Name: accountant.TotalName}, At: now, Windows: windows(110, 125, 100, 150, 99)},
		{Key: accountant.Key{Kind: accountant.KindAccount, Name: "x"}, At: now.Add(-time.Hour), Windows: windows(8)},
		{Key: accountant.Key{Kind: accountant.KindProject, Name: "john"}, At: now, LongTerm: accountant.Recent{CPU: 5}},
	}
	for _, c := range []struct {
		policy FSPolicy
		times  float64
	}{{DedicatedPS, 1}, {DedicatedPES, 2}, {UtilizedPS, 0.5}} {
		cfg := Config{FSPolicy: c.policy, Windows: accountant.WindowParams{Interval: time.Hour, Depth: 4, Decay: 0.5}}
		want := Used{Total: 216.25 * c.times, Of: [Kinds]map[string]float64{User: {"john": 68.75 * c.times}, Account: {"x": 4 * c.times}}}
		if got := UsedOf(tallies, &cfg, now); !reflect.DeepEqual(got, want) {
			t.Errorf("FSPOLICY %d: %+v, want %+v", c.policy, got, want)
		}
	}
	if got := UsedOf(tallies, &Config{}, now); !reflect.DeepEqual(got, Used{}) {
		t.Errorf("FSPOLICY NONE: %+v, want nothing", got)
	}
}
