package negotiation

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// TestGoldenSpins compares each scenario, divided by spins, in every figure that
// the reference's log has.
func TestGoldenSpins(t *testing.T) {
	eachScenario(t, "golden", func(t *testing.T, s *scenario, g *golden) {
		cfg := s.settings(t)
		cfg.Pie = negotiator.Spins
		fresh := s.usageAtFirst(0)
		for i, c := range s.Cycles {
			alias := c.alias(s, cfg.Params)
			plan := Cycle(s.pool(t, cfg, alias), cfg, now)
			g.compareMatches(t, s, i, plan, alias)
			if c.Spins != nil {
				g.compareSpins(t, c.Spins, plan.Spins, alias)
			}
			if c.Rejections != nil {
				g.compareRejections(t, &c, plan.Spins, alias)
			}
			g.compareGroups(t, c.GroupLog, plan)
			s.after(i, plan, alias, fresh)
		}
	})
}

// alias renames submitters so that those with equal keys, which are in no order in
// the reference, come in its order by name.
func (c *scenarioCycle) alias(s *scenario, params accountant.Params) map[string]string {
	alias := map[string]string{}
	add := func(name string) {
		if alias[name] != "" {
			return
		}
		// What stands for a group or the nice users stays in front.
		prefix, rest := "", name
		if group := params.Groups.NameOf(name); group != accountant.RootGroup {
			prefix, rest = group+".", name[len(group)+1:]
		} else if strings.HasPrefix(name, params.NiceGroup+".") {
			prefix, rest = params.NiceGroup+".", name[len(params.NiceGroup)+1:]
		}
		alias[name] = fmt.Sprintf("%s%03d.%s", prefix, len(alias), rest)
	}
	// The floor round and later spins have only some.
	spins := slices.Clone(c.Spins)
	slices.SortStableFunc(spins, func(a, b scenarioSpin) int { return len(b.Submitters) - len(a.Submitters) })
	for _, spin := range spins {
		for _, u := range spin.Submitters {
			add(u.Name)
		}
	}
	for _, j := range s.Jobs {
		add(j.Submitter)
	}
	for _, u := range s.Users {
		add(u.Name)
	}
	return alias
}

// usageAtFirst is what all submitters use at the beginning of a cycle.
func (s *scenario) usageAtFirst(cycle int) (sum float64) {
	if cycle >= len(s.Cycles) || len(s.Cycles[cycle].Spins) == 0 {
		return 0
	}
	for _, u := range s.Cycles[cycle].Spins[0].Submitters {
		sum += u.Usage.or(0)
	}
	return sum
}

// after makes the scenario what it is for the next cycle: matched jobs are offered
// no more, and their slots are taken if the record says so.
func (s *scenario) after(cycle int, plan *negotiator.Plan, alias map[string]string, fresh float64) {
	real := map[string]string{}
	for name, other := range alias {
		real[other] = name
	}
	held := s.usageAtFirst(cycle+1) > fresh
	for _, m := range plan.Matches {
		for i := range s.Jobs {
			if j := &s.Jobs[i]; j.Cluster == m.Job.Cluster {
				left := -1
				if j.Count != nil {
					left = *j.Count - 1
				}
				j.Count = &left
			}
		}
		for _, sl := range s.Slots {
			if held && m.Piece.Of == "" && slotName(sl) == m.Slot {
				for name, text := range map[string]string{"State": "Claimed", "RemoteUser": real[m.Submitter]} {
					key, _ := attribute(sl, name)
					sl[cmp.Or(key, name)] = exprText(strconv.Quote(text))
				}
			}
		}
	}
}

func (g *golden) compareSpins(t *testing.T, want []scenarioSpin, got []negotiator.Spin, alias map[string]string) {
	g.check(t, "number of spins", len(got), len(want))
	for i := range min(len(got), len(want)) {
		w, s := &want[i], &got[i]
		of := fmt.Sprintf("spin %d of %d: ", i+1, len(want))
		g.check(t, of+"number", s.Number, w.Spin)
		if w.Group != nil {
			g.check(t, of+"group", s.Group, *w.Group)
		}
		g.near(t, of+"slots", float64(s.Slots), w.NumSlots)
		g.near(t, of+"slots left", float64(s.SlotsLeft), w.SlotsAfterTrim)
		g.near(t, of+"weight", s.Weight, w.SlotWeightTotal)
		g.near(t, of+"min slot weight", s.MinSlotWeight, w.MinSlotWeight)
		pie := s.PieLeft
		if logged := math.Round(pie*1000) / 1000; math.Abs(logged-w.PieLeft.or(pie)) < 1e-9 {
			pie = logged // with three decimals only
		}
		g.near(t, of+"pie left", pie, w.PieLeft)
		g.near(t, of+"normal factor", s.NormalFactor, w.NormalFactor)
		g.near(t, of+"max prio", s.MaxPrio, w.MaxPrio)
		g.check(t, of+"submitters", len(s.Turns), len(w.Submitters))
		for j := range min(len(s.Turns), len(w.Submitters)) {
			u, t1 := &w.Submitters[j], &s.Turns[j]
			of := fmt.Sprintf("%s%s, number %d: ", of, u.Name, j+1)
			g.check(t, of+"name", t1.Name, alias[u.Name])
			g.check(t, of+"floor round", s.Floor, u.FloorRound != nil)
			g.near(t, of+"prio", t1.EffectivePriority, u.Prio)
			g.near(t, of+"share", t1.Share, u.Share)
			g.near(t, of+"limit", t1.Limit, u.Limit)
			g.near(t, of+"starved", t1.Starved, &u.Starved)
			g.near(t, of+"ceiling", float64(t1.Ceiling), u.CeilingRemaining)
			g.near(t, of+"usage", t1.Usage, u.Usage)
			if u.Matches != nil {
				g.check(t, of+"matches", t1.Matches, *u.Matches)
			}
			g.check(t, of+"only ranks", t1.RankOnly, u.RankOnly)
			g.check(t, of+"skipped", t1.Skipped, u.Skipped)
			if u.Outcome != nil {
				g.check(t, of+"outcome", t1.Outcome, *u.Outcome)
			}
		}
	}
}

var sortKeyLine = regexp.MustCompile(`Group (\S+) - sortkey= (\S+)$`)

// compareGroups compares the order of groups in the first round, and what they were
// ordered by.
func (g *golden) compareGroups(t *testing.T, log []string, plan *negotiator.Plan) {
	var want, got []string
	known := map[string]bool{}
	for _, line := range log {
		if m := sortKeyLine.FindStringSubmatch(line); m != nil && !known[m[1]] {
			known[m[1]] = true
			want = append(want, m[1]+" "+m[2])
		}
	}
	if want == nil {
		return
	}
	groups := slices.Clone(plan.Groups)
	slices.SortStableFunc(groups, func(a, b negotiator.Group) int { return cmp.Compare(a.GroupSortKey, b.GroupSortKey) })
	for _, one := range groups {
		got = append(got, fmt.Sprintf("%s %.6g", one.Name, one.GroupSortKey))
	}
	g.check(t, "order of groups", strings.Join(got, ", "), strings.Join(want, ", "))
}

// near compares a number of the reference's log, if it is there, to 1e-5; more than
// 1e300, or as a ceiling math.MaxInt32, is unlimited.
func (g *golden) near(t *testing.T, what string, got float64, figure *figure) {
	t.Helper()
	if figure == nil {
		return
	}
	want := float64(*figure)
	if math.Abs(got-want) <= 1e-5*math.Max(1, math.Abs(want)) || want > 1e300 && (got > 1e300 || got == math.MaxInt32) {
		got = want
	}
	g.check(t, what, got, want)
}

func (g *golden) compareRejections(t *testing.T, want *scenarioCycle, got []negotiator.Spin, alias map[string]string) {
	var is, should []string
	for _, s := range got {
		for _, u := range s.Turns {
			for _, r := range u.Rejections {
				is = append(is, fmt.Sprintf("spin %d %s %d: %s", s.Number, u.Name, clusterOf(t, r.Job), r.Reason))
			}
		}
	}
	for _, r := range want.Rejections {
		should = append(should, fmt.Sprintf("spin %d %s %d: %s", r.Spin, alias[r.Submitter], clusterOf(t, r.Job), r.Reason))
	}
	slices.Sort(is)
	slices.Sort(should)
	g.check(t, "rejections", strings.Join(is, "; "), strings.Join(should, "; "))
}

func clusterOf(t *testing.T, job string) int {
	t.Helper()
	id, err := pool.ParseJobID(job)
	if err != nil {
		t.Fatal(err)
	}
	return id.Cluster
}
