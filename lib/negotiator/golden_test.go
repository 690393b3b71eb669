package negotiator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// scenario is one cycle observed on HTCondor: what was there, and what its
// negotiator did.
type scenario struct {
	Config map[string]string
	Users  []struct {
		Name             string
		Priority, Factor float64
		Ceiling, Floor   *float64
	}
	Slots []map[string]string
	Jobs  []struct {
		Submitter      string
		Cluster, Count int
		Ad             map[string]string
	}
	Cycles []struct {
		Matches []struct {
			Submitter, Slot string
			Preempting      *string
		}
	}
}

// beyond says which feature that this version does not have a scenario needs.
func (s *scenario) beyond() string {
	known := []string{"NEGOTIATOR_PRE_JOB_RANK", "NEGOTIATOR_POST_JOB_RANK", "NEGOTIATOR_USE_SLOT_WEIGHTS", "SLOT_WEIGHT",
		"NEGOTIATOR_CONSIDER_PREEMPTION", "PREEMPTION_REQUIREMENTS"}
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		if !slices.Contains(known, name) {
			return name
		}
	}
	for _, sl := range s.Slots {
		if sl["PartitionableSlot"] != "" {
			return "partitionable slots"
		}
	}
	for _, j := range s.Jobs {
		if j.Ad["ConcurrencyLimits"] != "" {
			return "concurrency limits"
		}
	}
	for _, m := range s.Cycles[0].Matches {
		if m.Preempting != nil {
			return "preemption"
		}
	}
	return ""
}

func exprAd(t *testing.T, attributes map[string]string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for name, text := range attributes {
		e, err := classad.ParseLongExpr(text)
		if err != nil {
			t.Fatalf("%s = %s: %v", name, text, err)
		}
		ad.Set(name, e)
	}
	return ad
}

// run puts the scenario through a cycle, with the reference's defaults.
func (s *scenario) run(t *testing.T) *Plan {
	cfg := defaults(t)
	cfg.Params.DefaultFactor, cfg.Params.NiceFactor = 1000, 1e10
	cfg.UseSlotWeights = !strings.EqualFold(s.Config["NEGOTIATOR_USE_SLOT_WEIGHTS"], "false")
	cfg.PreJobRank = expr(t, cmp.Or(s.Config["NEGOTIATOR_PRE_JOB_RANK"], preJobRank))
	cfg.PostJobRank = expr(t, cmp.Or(s.Config["NEGOTIATOR_POST_JOB_RANK"], postJobRank))
	cfg.SlotWeight = expr(t, cmp.Or(s.Config["SLOT_WEIGHT"], "Cpus"))
	var p Pool
	for _, u := range s.Users {
		r := accountant.Record{Name: u.Name, Priority: u.Priority, Factor: u.Factor, At: now, HalfLife: cfg.Params.HalfLife}
		if u.Ceiling != nil {
			r.Ceiling = accountant.LimitOf(int64(*u.Ceiling))
		}
		if u.Floor != nil {
			r.Floor = int64(*u.Floor)
		}
		p.Submitters = append(p.Submitters, r)
	}
	for _, attributes := range s.Slots {
		p.Slots = append(p.Slots, pool.Slot{Name: strings.Trim(attributes["Name"], `"`), Ad: exprAd(t, attributes)})
	}
	for _, j := range s.Jobs {
		ad := exprAd(t, j.Ad)
		ad.SetInt(pool.AttrProcID, 0)
		p.Jobs = append(p.Jobs, Job{First: pool.JobID{Cluster: j.Cluster}, Count: j.Count, Submitter: j.Submitter, Ad: ad})
	}
	return Cycle(p, cfg, now)
}

// kinds gives each slot the letter of its kind: names and addresses do not
// count, since equally good slots come in any order.
func (s *scenario) kinds() map[string]string {
	kinds, letters := map[string]string{}, map[string]string{}
	for _, sl := range s.Slots {
		var kind []string
		for _, name := range []string{"Cpus", "Memory", "KFlops", "Mips", "SlotPower", "OpSys", "Arch", "Rank", "Requirements"} {
			kind = append(kind, sl[name])
		}
		text := strings.Join(kind, "\n")
		if letters[text] == "" {
			letters[text] = string(rune('A' + len(letters)))
		}
		kinds[strings.Trim(sl["Name"], `"`)] = letters[text]
	}
	return kinds
}

// TestGoldenCycles compares each scenario by submitter: how many slots it got,
// and of which kinds. It reads the sample in testdata and, where
// FAIRSPOOL_GOLDEN names a folder, all that are there.
func TestGoldenCycles(t *testing.T) {
	folders := []string{filepath.Join("testdata", "golden")}
	if all := os.Getenv("FAIRSPOOL_GOLDEN"); all != "" {
		folders = append(folders, filepath.Join(all, "condor"))
	} else {
		t.Log("FAIRSPOOL_GOLDEN is not set: only the sample in testdata is compared")
	}
	meant := meantToDiffer(t)
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no scenarios: %v", folder, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			if other(name) {
				continue
			}
			t.Run(filepath.Base(folder)+"/"+name, func(t *testing.T) { compare(t, file, meant[name]) })
		}
	}
}

// other says whether a file is not a scenario of one cycle.
func other(name string) bool {
	return name == "defaults" || strings.HasPrefix(name, "decay_series") || strings.HasPrefix(name, "userprio_display") ||
		strings.HasPrefix(name, "real_run")
}

func compare(t *testing.T, file, meant string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s scenario
	text = bytes.ReplaceAll(text, []byte(": Infinity"), []byte(": 1e308"))
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	label := "condor/" + filepath.Base(file)
	if len(s.Cycles) == 0 {
		t.Skipf("golden %s: no cycle", label)
	}
	if what := s.beyond(); what != "" {
		t.Skipf("golden %s: %s: not part of this version", label, what)
	}
	got, want, kinds := map[string][]string{}, map[string][]string{}, s.kinds()
	for _, j := range s.Jobs {
		got[j.Submitter], want[j.Submitter] = nil, nil
	}
	for _, m := range s.run(t).Matches {
		got[m.Submitter] = append(got[m.Submitter], kinds[m.Slot])
	}
	for _, m := range s.Cycles[0].Matches {
		want[m.Submitter] = append(want[m.Submitter], kinds[m.Slot])
	}
	agree, cases := 0, 0
	check := func(what string, got, want any) {
		cases++
		switch same := fmt.Sprint(got) == fmt.Sprint(want); {
		case same:
			agree++
		case meant != "":
			t.Logf("%s: %s = %v, reference has %v: meant: %s", label, what, got, want, meant)
		default:
			t.Errorf("%s: %s = %v, want %v", label, what, got, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		check(name+" slots", len(got[name]), len(want[name]))
		slices.Sort(got[name])
		slices.Sort(want[name])
		check(name+" kinds of slot", got[name], want[name])
	}
	t.Logf("golden %s: %d of %d agree", label, agree, cases)
}

// meantToDiffer reads the deliberate differences: a line "scenario: reason"
// each.
func meantToDiffer(t *testing.T) map[string]string {
	text, err := os.ReadFile(filepath.Join("testdata", "differences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	meant := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("differences.txt: %q: want scenario: reason", line)
		}
		meant[name] = reason
	}
	return meant
}
