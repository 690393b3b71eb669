package operation

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy/registry"
)

func configured(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := registry.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestCycleConfig(t *testing.T) {
	n, err := CycleConfig(configured(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if n.Pie != negotiator.MaxMin || n.SkipClusters || n.JobConstraint != nil || n.SlotConstraint != nil || n.PoolSizeConstraint != nil ||
		n.DepthFirst || n.IgnoreUserPriorities || n.GlobalJobPrios || n.VacateTimeout != 630*time.Second || n.Reserve != (negotiator.Reserve{Fraction: 0.1, Time: 24 * time.Hour}) {
		t.Errorf("settings of no file = %+v, want the defaults", n)
	}
	n, err = CycleConfig(configured(t, `NEGOTIATOR_PIE = "htcondor"
NEGOTIATOR_IGNORE_USER_PRIORITIES = true
USE_GLOBAL_JOB_PRIOS = true
NEGOTIATOR_DEPTH_FIRST = true
NEGOTIATOR_JOB_CONSTRAINT = "A"
NEGOTIATOR_SLOT_CONSTRAINT = "B"
NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = "C"
NEGOTIATE_ALL_JOBS_IN_CLUSTER = false
SIGNIFICANT_ATTRIBUTES = ["D"]
ADD_SIGNIFICANT_ATTRIBUTES = ["E"]
REMOVE_SIGNIFICANT_ATTRIBUTES = ["F"]
RESERVE_POOL_FRACTION = 0.5
RESERVE_MAX_TIME = 60
`))
	if err != nil {
		t.Fatal(err)
	}
	if n.Pie != negotiator.Spins || !n.IgnoreUserPriorities || !n.GlobalJobPrios || !n.DepthFirst || !n.SkipClusters ||
		n.Reserve != (negotiator.Reserve{Fraction: 0.5, Time: time.Minute}) {
		t.Errorf("settings = %+v, want all that was set", n)
	}
	got := fmt.Sprint(n.JobConstraint, n.SlotConstraint, n.PoolSizeConstraint, n.Significant, n.AddSignificant, n.RemoveSignificant)
	if want := "A B C [D] [E] [F]"; got != want {
		t.Errorf("constraints and attributes = %s, want %s", got, want)
	}
}

func TestCycleConfigOfPreemption(t *testing.T) {
	for _, c := range []struct {
		text, requirements, rank string
		want                     negotiator.Preemption // without the expressions
		vacate                   time.Duration
	}{
		{"", "time() - EnteredCurrentState > 3600", "RemoteUserPrio * 1000000 - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)",
			negotiator.Preemption{Consider: true, Cached: true, RequirementsStable: true, RankStable: true}, 630 * time.Second},
		{"PREEMPTION_REQUIREMENTS = ''\nPREEMPTION_RANK = ''\nMACHINE_MAX_VACATE_TIME = 1.5\nKILLING_TIMEOUT = 0", "", "",
			negotiator.Preemption{Consider: true, Cached: true, RequirementsStable: true, RankStable: true}, 1500 * time.Millisecond},
		{"NEGOTIATOR_CONSIDER_PREEMPTION = false\nPREEMPTION_REQUIREMENTS = 'A'\nPREEMPTION_RANK_STABLE = false\nMACHINE_MAX_VACATE_TIME = 1e9\nKILLING_TIMEOUT = 1e9",
			"A", "*", negotiator.Preemption{Cached: true, RequirementsStable: true}, 2e9 * time.Second},
		{"NEGOTIATOR_CONSIDER_EARLY_PREEMPTION = true\nPREEMPTION_RANK = 'B'\nNEGOTIATOR_MATCHLIST_CACHING = false\nPREEMPTION_REQUIREMENTS_STABLE = false",
			"*", "B", negotiator.Preemption{Consider: true, Early: true, RankStable: true}, 630 * time.Second},
	} {
		n, err := CycleConfig(configured(t, c.text))
		if err != nil {
			t.Errorf("settings of %q: %v", c.text, err)
			continue
		}
		for _, e := range []struct {
			what, want string
			got        *classad.Expr
		}{{"PREEMPTION_REQUIREMENTS", c.requirements, n.Preemption.Requirements}, {"PREEMPTION_RANK", c.rank, n.Preemption.Rank}} {
			if !says(t, e.got, e.want) {
				t.Errorf("settings of %q have a %s of %v, want %s", c.text, e.what, e.got, e.want)
			}
		}
		n.Preemption.Requirements, n.Preemption.Rank = nil, nil
		if n.Preemption != c.want || n.VacateTimeout != c.vacate {
			t.Errorf("settings of %q = %+v, %v, want %+v, %v", c.text, n.Preemption, n.VacateTimeout, c.want, c.vacate)
		}
	}
}

func TestCycleConfigOfQuotas(t *testing.T) {
	for _, c := range []struct {
		text, sort string
		want       negotiator.Quotas // without the expression
	}{
		{"", "", negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: 1e100, WeightedDemand: true}},
		{"NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false\nGROUP_SORT_EXPR = '-GroupQuota'\nGROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 7",
			"-GroupQuota", negotiator.Quotas{Strict: true, Rounds: 7, RoundRobinRate: 1e100, WeightedDemand: true}},
		{"NEGOTIATOR_STRICT_ENFORCE_QUOTA = false\nGROUP_QUOTA_ROUND_ROBIN_RATE = 2.5\nNEGOTIATOR_USE_WEIGHTED_DEMAND = false",
			"", negotiator.Quotas{Oversubscribe: true, Rounds: 3, RoundRobinRate: 2.5}},
	} {
		n, err := CycleConfig(configured(t, c.text))
		if err != nil {
			t.Errorf("settings of %q: %v", c.text, err)
			continue
		}
		if !says(t, n.Quotas.SortExpr, c.sort) {
			t.Errorf("settings of %q have a GROUP_SORT_EXPR of %v, want %s", c.text, n.Quotas.SortExpr, c.sort)
		}
		n.Quotas.SortExpr = nil
		if n.Quotas != c.want {
			t.Errorf("settings of %q = %+v, want %+v", c.text, n.Quotas, c.want)
		}
	}
}

// says reports whether an expression is what the text is; * takes any, nothing none.
func says(t *testing.T, e *classad.Expr, text string) bool {
	t.Helper()
	if text == "*" || text == "" {
		return (e != nil) == (text == "*")
	}
	want, err := classad.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("(", "", ")", "")
	return e != nil && plain.Replace(e.String()) == plain.Replace(want.String())
}

// What is free goes before what has to be preempted, however much larger it is, unless
// the ranks that the slots themselves have are worlds apart; the smallest free one first.
func TestDefaultRankPrefersFreeSlots(t *testing.T) {
	n, err := CycleConfig(configured(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	rank := func(text string) float64 {
		ad, err := classad.ParseAd(text)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := n.PreJobRank.Eval(&classad.Context{}, ad, nil).Number()
		if !ok {
			t.Fatalf("the rank of %s is no number", text)
		}
		return v
	}
	slots := []string{ // best first
		`[Cpus = 1; Memory = 1024; Rank = 0.0]`,
		`[Cpus = 1; Memory = 2048; Rank = 0.0]`,
		`[Cpus = 2; Memory = 1024; Rank = 0.0]`,
		`[Cpus = 1000; Memory = 4000000; Rank = 0.0]`,
		`[Cpus = 1; Memory = 1024; Rank = 1000.0; RemoteOwner = "bob@x"]`,
		`[Cpus = 1; Memory = 1024; Rank = 0.0; RemoteOwner = "bob@x"]`,
		`[Cpus = 2; Memory = 1024; Rank = 0.0; RemoteOwner = "bob@x"]`,
	}
	for i, better := range slots {
		for _, worse := range slots[i+1:] {
			if a, b := rank(better), rank(worse); a <= b {
				t.Errorf("NEGOTIATOR_PRE_JOB_RANK is %v for %s, %v for %s, want more", a, better, b, worse)
			}
		}
	}
}

func TestCycleConfigRefuse(t *testing.T) {
	for _, name := range []string{"NEGOTIATOR_PRE_JOB_RANK", "PREEMPTION_REQUIREMENTS", "PREEMPTION_RANK", "GROUP_SORT_EXPR", "NEGOTIATOR_JOB_CONSTRAINT", "NEGOTIATOR_SLOT_CONSTRAINT", "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"} {
		c := configured(t, "\n"+name+` = "Cpus +"`)
		if _, err := CycleConfig(c); err == nil || !strings.HasPrefix(err.Error(), "f:2: "+name+": ") {
			t.Errorf("settings with a bad %s = %v, want f:2: %s: ...", name, err, name)
		}
		with, err := c.With([]string{name + "=Cpus -"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := CycleConfig(&with); err == nil || !strings.HasPrefix(err.Error(), "config "+name+": ") {
			t.Errorf("settings with a bad %s asked for = %v, want config %s: ...", name, err, name)
		}
	}
}

// A name that the configuration takes for that of a limit is one to the negotiator,
// and no other is.
func TestLimitNames(t *testing.T) {
	for _, name := range []string{"a", "A_1", "_", "sw.matlab", "SW.R_2", "1", "a.1", "a.b.c", ".a", "a.", "a-b", "ü", "a.ü", "\u212a", "a b", "a:b"} {
		with, err := registry.Default().With([]string{`"` + name + `_LIMIT"=3`})
		limits, bad := negotiator.NewConcurrencyLimits(9, nil, map[string]float64{name: 3})
		if (err == nil) != (bad == nil) {
			t.Errorf("a limit of %q: the configuration says %v, the negotiator %v", name, err, bad)
		}
		if err != nil {
			continue
		}
		with, err = with.With([]string{"CONCURRENCY_LIMIT_DEFAULT=9"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := CycleConfig(&with); err != nil || !reflect.DeepEqual(n.Limits, limits) {
			t.Errorf("limits with one of %q = %+v, %v, want %+v", name, n.Limits, err, limits)
		}
	}
}
