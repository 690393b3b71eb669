package negotiation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
)

// scenario is what was there when HTCondor's negotiator was watched, and what it
// did. Numbers that are not there are nil, and not compared.
type scenario struct {
	Config map[string]*exprText // nil: the default
	Users  []struct {
		Name                             string
		Priority, Factor, Ceiling, Floor *figure
	}
	Slots  []map[string]exprText
	Jobs   []scenarioJobs
	Cycles []scenarioCycle
}

type scenarioJobs struct {
	Submitter string
	Cluster   int
	Count     *int // nil: 1
	Ad        map[string]exprText
}

type scenarioCycle struct {
	Spins   []scenarioSpin
	Matches []struct {
		Submitter, Slot, Job string
		Spin                 int
		Preempting           *string
	}
	Rejections []struct {
		Spin                   int
		Submitter, Job, Reason string
	}
	MatchesPerSubmitter map[string]int `json:"matches_per_submitter"`
	GroupLog            []string       `json:"group_log"`
}

type scenarioSpin struct {
	Spin            int
	Group           *string
	NumSlots        *figure `json:"num_slots"`
	SlotsAfterTrim  *figure `json:"slots_after_trim"`
	SlotWeightTotal *figure `json:"slot_weight_total"`
	MinSlotWeight   *figure `json:"min_slot_weight"`
	PieLeft         *figure `json:"pie_left"`
	NormalFactor    *figure `json:"normal_factor"`
	MaxPrio         *figure `json:"max_prio"`
	Submitters      []struct {
		Name               string
		Prio, Share, Limit *figure
		Starved            figure // 0 if absent
		Usage              *figure
		CeilingRemaining   *figure `json:"ceiling_remaining"`
		Matches            *int
		RankOnly           bool    `json:"over_limit_startd_rank_only"`
		FloorRound         *figure `json:"floor_round"`
		Skipped            string
		Outcome            *string
	}
}

// exprText is the text of an expression or macro; true and 4 are taken for "true" and
// "4".
type exprText string

func (e *exprText) UnmarshalJSON(text []byte) error {
	var s string
	switch err := json.Unmarshal(text, &s); {
	case err == nil:
		*e = exprText(s)
	case text[0] == '{' || text[0] == '[':
		return fmt.Errorf("%s: want a text, a number or a truth value", text)
	default:
		*e = exprText(text)
	}
	return nil
}

// figure is a number, or a text that is one such as "Infinity".
type figure float64

func (f *figure) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(text), `"`)), 64)
	if err != nil {
		return fmt.Errorf("%s: want a number", text)
	}
	*f = figure(x)
	return nil
}

// or returns the figure, or x if there is none.
func (f *figure) or(x float64) float64 {
	if f == nil {
		return x
	}
	return float64(*f)
}

// quoteWords puts bare words other than JSON's own, such as NaN and -Infinity, into
// quotes.
func quoteWords(text []byte) []byte {
	isWord := func(b byte) bool {
		return b == '-' || b == '+' || b == '.' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	}
	var out []byte
	for i := 0; i < len(text); {
		end := i + 1
		switch {
		case text[i] == '"':
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
		case isWord(text[i]):
			for end < len(text) && isWord(text[end]) {
				end++
			}
			if word := strings.TrimLeft(string(bytes.ToLower(text[i:end])), "+-"); slices.Contains([]string{"nan", "inf", "infinity"}, word) {
				out = strconv.AppendQuote(out, string(text[i:end]))
				i = end
				continue
			}
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

// readScenario reads a file, or says why it is not a scenario of cycles.
func readScenario(t *testing.T, file string) (s *scenario, other string) {
	t.Helper()
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	s, other, err = parseScenario(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s, other
}

func parseScenario(text []byte) (s *scenario, other string, err error) {
	text = quoteWords(text)
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, "", err
	}
	for _, key := range []string{"series", "steps", "samples"} {
		if _, is := keys[key]; is {
			return nil, "it has " + key + ", not a scenario's pool", nil
		}
	}
	if _, is := keys["cycles"]; !is {
		return nil, "it has no cycles", nil
	}
	s = &scenario{}
	return s, "", json.Unmarshal(text, s)
}

// macros returns the configuration with names in upper case.
func (s *scenario) macros() map[string]string {
	all := map[string]string{}
	for name, text := range s.Config {
		if text != nil {
			all[strings.ToUpper(strings.TrimSpace(name))] = strings.TrimSpace(string(*text))
		}
	}
	return all
}

// beyond says which feature that this version does not have a scenario needs.
func (s *scenario) beyond(t *testing.T) string {
	macros := s.macros()
	switch {
	case macros["NEGOTIATOR_SUBMITTER_CONSTRAINT"] != "":
		return "NEGOTIATOR_SUBMITTER_CONSTRAINT"
	}
	return ""
}

// groups returns the scenario's accounting groups. A group whose parent is not there is
// none, as the reference has it, nor is one that stands there twice.
func (s *scenario) groups(t *testing.T) *accountant.Groups {
	t.Helper()
	macros := s.macros()
	defined := map[string]bool{}
	var list []accountant.Group
	names := scenarioList(macros["GROUP_NAMES"])
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, name := range names {
		of := func(what string) string { return macros[strings.ToUpper(what+name)] }
		low := strings.ToLower(name)
		parent, dot := "", strings.LastIndexByte(low, '.')
		if dot >= 0 {
			parent = low[:dot]
		}
		if defined[low] || parent != "" && !defined[parent] || low == accountant.RootGroup {
			continue
		}
		defined[low] = true
		g := accountant.Group{Name: name}
		if text := of("GROUP_QUOTA_"); text != "" {
			g.Quota = number(t, text)
		} else if text := of("GROUP_QUOTA_DYNAMIC_"); text != "" {
			g.Quota, g.Dynamic = number(t, text), true
		}
		if text := of("GROUP_PRIO_FACTOR_"); text != "" {
			g.Factor = number(t, text)
		}
		g.AcceptSurplus = isTrue(t, cmp.Or(of("GROUP_ACCEPT_SURPLUS_"), macros["GROUP_ACCEPT_SURPLUS"], "false"))
		g.Autoregroup = isTrue(t, cmp.Or(of("GROUP_AUTOREGROUP_"), macros["GROUP_AUTOREGROUP"], "false"))
		list = append(list, g)
	}
	tree, err := accountant.NewGroups(list)
	testenv.OK(t, err)
	return tree
}

// attribute returns an attribute of a slot, whatever case its name is in.
func attribute(ad map[string]exprText, name string) (key, text string) {
	for k, v := range ad {
		if strings.EqualFold(strings.TrimSpace(k), name) {
			return k, strings.TrimSpace(string(v))
		}
	}
	return "", ""
}

// slotName returns what a slot is called.
func slotName(ad map[string]exprText) string {
	_, text := attribute(ad, "Name")
	return strings.Trim(text, `"`)
}

// whole returns a limit of whole slots, such as a ceiling; -1 is none.
func whole(f *figure) int64 {
	if x := f.or(-1); x >= 0 && x < math.MaxInt32 {
		return int64(x)
	}
	return -1
}

func TestParseScenario(t *testing.T) {
	s, other, err := parseScenario([]byte(`{"jobs": [{"count": 2, "ad": {"JobPrio": -1, "WantIt": true, "Rank": "1.5"}, "cluster": 7, "submitter": "a@p"}, {"cluster": 8, "submitter": "b@p"}],
		"config": {" negotiator_use_slot_weights ": false, "License_Limit": 3, "USE_GLOBAL_JOB_PRIOS": " TRUE ", "CONCURRENCY_LIMIT_DEFAULT_Sw": 2, "DEFAULT_PRIO_FACTOR": null},
		"description": "limit: Infinity, NaN \"", "users": [{"name": "a@p"}, {"name": "b@p", "ceiling": -1, "priority": "2.5", "factor": null}],
		"slots": [{"name": "\"s1\"", "CPUS": 1}], "cycles": [{"spins": [{"pie_left":Infinity, "max_prio": -Infinity, "submitters": [{"limit":NaN}]}]}, {"spins": []}]}`))
	if err != nil || other != "" {
		t.Fatalf("parseScenario = %q, %v, want a scenario", other, err)
	}
	cfg := s.settings(t)
	if most, ok := cfg.Limits.Of("license"); cfg.UseSlotWeights || !cfg.GlobalJobPrios || !ok || most.String() != "3" {
		t.Errorf("settings are %v, %v, %v of license, want false, true, 3", cfg.UseSlotWeights, cfg.GlobalJobPrios, most)
	}
	if most, ok := cfg.Limits.Of("sw.a"); !ok || most.String() != "2" {
		t.Errorf("limit of sw.a = %v, want 2", most)
	}
	p := s.pool(t, cfg, map[string]string{"a@p": "1.a@p"})
	if len(p.Jobs) != 2 || p.Jobs[0].Submitter != "1.a@p" || p.Jobs[0].Count() != 2 || p.Jobs[1].Count() != 1 || p.Slots[0].Name != "s1" {
		t.Errorf("pool has jobs %v and slot %q, want 2 of 1.a@p and 1 of b@p, and s1", p.Jobs, p.Slots[0].Name)
	}
	if r := p.Submitters[1]; r.Ceiling.Set || r.Priority != 2.5 || r.Factor != 0 {
		t.Errorf("record of b@p = %+v, want no ceiling and a priority of 2.5", r)
	}
	spin := s.Cycles[0].Spins[0]
	if x, y, z := spin.PieLeft.or(0), spin.MaxPrio.or(0), spin.Submitters[0].Limit.or(0); !math.IsInf(x, 1) || !math.IsInf(y, -1) || !math.IsNaN(z) {
		t.Errorf("figures are %v, %v and %v, want +Inf, -Inf and NaN", x, y, z)
	}
	if spin.NumSlots != nil || s.Cycles[1].Spins == nil || s.Cycles[1].Matches != nil {
		t.Errorf("missing keys are %v and %v, want nil, and an empty list to be one", spin.NumSlots, s.Cycles[1].Matches)
	}
	for _, text := range []string{`{"steps": [], "cycles": []}`, `{"A": "b"}`} {
		if _, other, err := parseScenario([]byte(text)); other == "" || err != nil {
			t.Errorf("parseScenario(%s) = %q, %v, want that it is none", text, other, err)
		}
	}
}
