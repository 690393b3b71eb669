package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

func exprAd(t *testing.T, attributes map[string]exprText) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		e, err := classad.ParseLongExpr(string(attributes[name]))
		if err != nil {
			t.Fatalf("%s = %s: %v", name, attributes[name], err)
		}
		ad.Set(name, e)
	}
	return ad
}

// settings returns the reference's defaults, and what the scenario changes of them.
func (s *scenario) settings(t *testing.T) negotiator.Config {
	cfg := defaults(t)
	cfg.Params.DefaultFactor, cfg.Params.NiceFactor, cfg.Params.RemoteFactor = 1000, 1e10, 1e7
	cfg.Preemption = negotiator.Preemption{Consider: true, Rank: expr(t, preemptionRank), Cached: true, RequirementsStable: true, RankStable: true}
	cfg.Limits = s.limits(t)
	cfg.Params.Groups = s.groups(t)
	cfg.Quotas = negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: math.MaxFloat64, WeightedDemand: true}
	truths := map[string]*bool{
		"NEGOTIATOR_USE_SLOT_WEIGHTS": &cfg.UseSlotWeights, "NEGOTIATOR_IGNORE_USER_PRIORITIES": &cfg.IgnoreUserPriorities,
		"NEGOTIATOR_DEPTH_FIRST": &cfg.DepthFirst, "USE_GLOBAL_JOB_PRIOS": &cfg.GlobalJobPrios,
		"NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION": &cfg.Quotas.Oversubscribe, "NEGOTIATOR_STRICT_ENFORCE_QUOTA": &cfg.Quotas.Strict,
		"NEGOTIATOR_USE_WEIGHTED_DEMAND": &cfg.Quotas.WeightedDemand,
		"NEGOTIATOR_CONSIDER_PREEMPTION": &cfg.Preemption.Consider, "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION": &cfg.Preemption.Early,
		"PREEMPTION_REQUIREMENTS_STABLE": &cfg.Preemption.RequirementsStable, "PREEMPTION_RANK_STABLE": &cfg.Preemption.RankStable,
		"NEGOTIATOR_MATCHLIST_CACHING": &cfg.Preemption.Cached,
	}
	exprs := map[string]**classad.Expr{
		"NEGOTIATOR_PRE_JOB_RANK": &cfg.PreJobRank, "NEGOTIATOR_POST_JOB_RANK": &cfg.PostJobRank, "SLOT_WEIGHT": &cfg.SlotWeight,
		"NEGOTIATOR_JOB_CONSTRAINT": &cfg.JobConstraint, "NEGOTIATOR_SLOT_CONSTRAINT": &cfg.SlotConstraint,
		"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT": &cfg.PoolSizeConstraint, "GROUP_DYNAMIC_MACH_CONSTRAINT": &cfg.PoolSizeConstraint,
		"GROUP_SORT_EXPR": &cfg.Quotas.SortExpr, "PREEMPTION_REQUIREMENTS": &cfg.Preemption.Requirements, "PREEMPTION_RANK": &cfg.Preemption.Rank,
	}
	numbers := map[string]*float64{
		"DEFAULT_PRIO_FACTOR": &cfg.Params.DefaultFactor, "NICE_USER_PRIO_FACTOR": &cfg.Params.NiceFactor,
		"REMOTE_PRIO_FACTOR": &cfg.Params.RemoteFactor, "GROUP_QUOTA_ROUND_ROBIN_RATE": &cfg.Quotas.RoundRobinRate,
	}
	texts := map[string]*string{"ACCOUNTANT_LOCAL_DOMAIN": &cfg.Params.LocalDomain, "NICE_USER_ACCOUNTING_GROUP_NAME": &cfg.Params.NiceGroup}
	lists := map[string]*[]string{
		"SIGNIFICANT_ATTRIBUTES": &cfg.Significant, "ADD_SIGNIFICANT_ATTRIBUTES": &cfg.AddSignificant,
		"REMOVE_SIGNIFICANT_ATTRIBUTES": &cfg.RemoveSignificant,
	}
	macros := s.macros()
	for _, name := range slices.Sorted(maps.Keys(macros)) {
		text := macros[name]
		switch {
		case truths[name] != nil:
			*truths[name] = isTrue(t, text)
		case name == "PREEMPTION_REQUIREMENTS" && text == "": // it asks for nothing there
			*exprs[name] = scenarioExpr(t, "true")
		case exprs[name] != nil:
			*exprs[name] = scenarioExpr(t, text)
		case numbers[name] != nil:
			*numbers[name] = number(t, text)
		case texts[name] != nil:
			*texts[name] = text
		case lists[name] != nil:
			*lists[name] = scenarioList(text)
			cfg.SkipClusters = cfg.SkipClusters || name == "SIGNIFICANT_ATTRIBUTES"
		case name == "GROUP_QUOTA_MAX_ALLOCATION_ROUNDS":
			cfg.Quotas.Rounds = int(number(t, text))
		case !strings.HasPrefix(name, "GROUP_") && !strings.Contains(name, "CONCURRENCY_LIMIT_DEFAULT") && !strings.HasSuffix(name, "_LIMIT"):
			t.Logf("%s = %s: not looked at", name, text)
		}
	}
	return cfg
}

// limits returns the concurrency limits that the scenario sets.
func (s *scenario) limits(t *testing.T) concurrency.Limits {
	const all, one = "CONCURRENCY_LIMIT_DEFAULT", "_LIMIT"
	byDefault := 2308032.0
	ofSet, ofName := map[string]float64{}, map[string]float64{}
	for name, text := range s.macros() {
		if name == all {
			byDefault = number(t, text)
		} else if set, is := strings.CutPrefix(name, all+"_"); is {
			ofSet[strings.ToLower(set)] = number(t, text)
		} else if one, is := strings.CutSuffix(name, one); is {
			ofName[strings.ToLower(one)] = number(t, text)
		}
	}
	l, err := concurrency.NewLimits(byDefault, ofSet, ofName)
	testenv.OK(t, err)
	return l
}

// scenarioExpr reads an expression; none is nil.
func scenarioExpr(t *testing.T, text string) *classad.Expr {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return expr(t, text)
}

func isTrue(t *testing.T, text string) bool {
	t.Helper()
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "t", "yes", "y", "1":
		return true
	case "false", "f", "no", "n", "0":
		return false
	}
	t.Fatalf("%q: want true or false", text)
	return false
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	testenv.OK(t, err)
	return x
}

func scenarioList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// pool returns the scenario's pool, with submitters called by other names where
// alias has one.
func (s *scenario) pool(t *testing.T, cfg negotiator.Config, alias map[string]string) negotiator.Pool {
	called := func(name string) string { return cmp.Or(alias[name], name) }
	var p negotiator.Pool
	for _, u := range s.Users {
		p.Submitters = append(p.Submitters, accountant.Record{Name: called(u.Name), Priority: u.Priority.or(0), Factor: u.Factor.or(0), At: now,
			HalfLife: cfg.Params.HalfLife, Ceiling: accountant.LimitOf(whole(u.Ceiling)), Floor: max(0, whole(u.Floor))})
	}
	for _, attributes := range s.Slots {
		attributes = maps.Clone(attributes)
		for _, holder := range []string{"RemoteUser", "AccountingGroup", "PreemptingUser", "PreemptingAccountingGroup"} {
			key, text := attribute(attributes, holder)
			if name, err := strconv.Unquote(text); err == nil && alias[name] != "" {
				attributes[key] = exprText(strconv.Quote(alias[name]))
			}
		}
		p.Slots = append(p.Slots, pool.Slot{Name: slotName(attributes), Ad: exprAd(t, attributes)})
	}
	for _, j := range s.Jobs {
		count := 1
		if j.Count != nil {
			count = *j.Count
		}
		if count <= 0 {
			continue
		}
		ad := exprAd(t, j.Ad)
		ad.SetInt(pool.AttrClusterID, int64(j.Cluster))
		ad.SetInt(pool.AttrProcID, 0)
		p.Jobs = append(p.Jobs, jobprio.Run{Procs: pool.Procs{Cluster: j.Cluster, First: 0, Last: count - 1}, Submitter: called(j.Submitter), Ad: ad})
	}
	return p
}

// kinds gives each slot the letter of its kind: names and addresses do not
// count, since equally good slots come in any order. Where a job of
// some submitters can use two kinds and ranks do not tell them apart, they are one.
func (s *scenario) kinds(t *testing.T, cfg negotiator.Config, of []string) map[string]string {
	eval := &classad.Context{Now: now}
	kinds, letters := map[string]string{}, map[string]string{}
	firsts := map[string]*classad.Ad{}
	for _, sl := range s.Slots {
		var kind []string
		for name, text := range sl {
			if low := strings.ToLower(name); !slices.Contains([]string{"name", "machine", "myaddress", "startdipaddr"}, low) {
				kind = append(kind, low+" "+string(text))
			}
		}
		slices.Sort(kind)
		text := strings.Join(kind, "\n")
		if letters[text] == "" {
			letters[text] = string(rune('A' + len(letters)))
			firsts[letters[text]] = exprAd(t, sl)
		}
		kinds[slotName(sl)] = letters[text]
	}
	merge := func(from, to string) {
		for name, l := range kinds {
			if l == from {
				kinds[name] = to
			}
		}
	}
	one := map[string]string{} // what a kind was merged into
	of1 := func(l string) string {
		for one[l] != "" {
			l = one[l]
		}
		return l
	}
	for _, j := range s.Jobs {
		if !slices.Contains(of, j.Submitter) {
			continue
		}
		job := exprAd(t, j.Ad)
		asks := classad.NewMatcher(eval, job)
		known := map[string]string{}
		for _, letter := range slices.Sorted(maps.Keys(firsts)) {
			ad := firsts[letter]
			if !asks.Match(ad) {
				continue
			}
			rank := fmt.Sprint(rankOf(eval, cfg.PreJobRank, ad, job), asks.Rank(ad), rankOf(eval, cfg.PostJobRank, ad, job))
			if known[rank] == "" {
				known[rank] = letter
			} else if a, b := of1(known[rank]), of1(letter); a != b {
				one[b] = a
				merge(b, a)
			}
		}
	}
	return kinds
}

// TestGoldenCycles compares each scenario, divided as by default, by submitter: how
// many slots it got, and of which kinds. HTCondor divides otherwise, so a
// difference is a failure in the sample only.
func TestGoldenCycles(t *testing.T) {
	meant := meantToDiffer(t, "differences.txt")
	eachScenario(t, "max-min", func(t *testing.T, s *scenario, g *golden) {
		g.meant = meant[g.name]
		if g.meant == "" && !g.sample {
			g.meant = "not in the sample"
		}
		cfg := s.settings(t)
		g.compareMatches(t, s, 0, Cycle(s.pool(t, cfg, nil), cfg, now), nil)
	})
}

// goldenFolders returns folders of testdata, and behind them what FAIRSPOOL_GOLDEN names.
func goldenFolders(t *testing.T, names ...string) (folders []string) {
	for _, name := range names {
		folders = append(folders, filepath.Join("testdata", name))
	}
	if all := os.Getenv("FAIRSPOOL_GOLDEN"); all != "" {
		return append(folders, filepath.Join(all, "condor"))
	}
	t.Log("FAIRSPOOL_GOLDEN is not set: only what is in testdata is compared")
	return folders
}

// eachScenario calls f with each scenario that this version can run, in the sample
// and the worked cases in testdata and, where FAIRSPOOL_GOLDEN names a folder, among all that are there.
// What is logged of it begins with what.
func eachScenario(t *testing.T, what string, f func(*testing.T, *scenario, *golden)) {
	// What is in worked was never observed, but worked out from the same rules, for what
	// the sample has no case of.
	folders := goldenFolders(t, "golden", "worked")
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no scenarios: %v", folder, err)
		}
		compared := 0
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(filepath.Base(folder)+"/"+name, func(t *testing.T) {
				s, other := readScenario(t, file)
				g := &golden{name: name, label: "condor/" + filepath.Base(file), sample: folder == folders[0]}
				if other != "" {
					t.Skipf("%s %s: %s", what, g.label, other)
				}
				if len(s.Cycles) == 0 {
					t.Skipf("%s %s: no cycle", what, g.label)
				}
				if needs := s.beyond(t); needs != "" {
					t.Skipf("%s %s: %s: not part of this version", what, g.label, needs)
				}
				compared++
				f(t, s, g)
				t.Logf("%s %s: %d of %d agree", what, g.label, g.agree, g.cases)
			})
		}
		if compared == 0 {
			t.Errorf("%s: none of %d files is a scenario that this version can run", folder, len(files))
		}
	}
}

// golden counts what agrees with the reference.
type golden struct {
	name, label  string
	meant        string // why it may differ
	sample       bool   // in testdata
	cases, agree int
}

func (g *golden) check(t *testing.T, what string, got, want any) {
	t.Helper()
	g.cases++
	switch same := fmt.Sprint(got) == fmt.Sprint(want); {
	case same:
		g.agree++
	case g.meant != "":
		t.Logf("%s: %s = %v, reference has %v: meant: %s", g.label, what, got, want, g.meant)
	default:
		t.Errorf("%s: %s = %v, want %v", g.label, what, got, want)
	}
}

// compareMatches compares how many slots each submitter got in a cycle, and of
// which kinds, as far as its own ranks and those of the submitters before it
// determine that. Submitters in the plan have other names where alias has one.
func (g *golden) compareMatches(t *testing.T, s *scenario, cycle int, plan *negotiator.Plan, alias map[string]string) {
	c := &s.Cycles[cycle]
	got, want := map[string][]string{}, map[string][]string{}
	var order []string
	spins := 0
	for _, m := range c.Matches {
		want[m.Submitter] = append(want[m.Submitter], m.Slot)
		spins = max(spins, m.Spin)
		if !slices.Contains(order, m.Submitter) {
			order = append(order, m.Submitter)
		}
	}
	for _, j := range s.Jobs {
		if !slices.Contains(order, j.Submitter) {
			order = append(order, j.Submitter)
		}
	}
	real := map[string]string{}
	for name, other := range alias {
		real[other] = name
	}
	for _, m := range plan.Matches {
		who := cmp.Or(real[m.Submitter], m.Submitter)
		got[who] = append(got[who], cmp.Or(m.Piece.Of, m.Slot))
	}
	for i, name := range order {
		if c.MatchesPerSubmitter != nil {
			g.check(t, name+" matches", len(got[name]), c.MatchesPerSubmitter[name])
		}
		if c.Matches == nil {
			continue
		}
		g.check(t, name+" slots", len(got[name]), len(want[name]))
		before := order[:i+1]
		if spins > 1 { // what others leave in the first spin is for all in the next
			before = order
		}
		kinds := s.kinds(t, s.settings(t), before)
		g.check(t, name+" kinds of slot", kindsOf(kinds, got[name]), kindsOf(kinds, want[name]))
	}
}

func kindsOf(kinds map[string]string, slots []string) string {
	var all []string
	for _, name := range slots {
		all = append(all, kinds[name])
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// meantToDiffer reads deliberate differences: a line "scenario: reason" each.
func meantToDiffer(t *testing.T, file string) map[string]string {
	text, err := os.ReadFile(filepath.Join("testdata", file))
	testenv.OK(t, err)
	meant := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("%s: %q: want scenario: reason", file, line)
		}
		meant[name] = reason
	}
	return meant
}
