package accountant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// recordedQuotas is what HTCondor's negotiator logged of its quotas.
type recordedQuotas struct {
	Config map[string]any
	Cycles []struct {
		Log []string `json:"group_log"`
	}
}

// groups returns the tree that the recorded settings make.
func (r *recordedQuotas) groups(t *testing.T) *Groups {
	t.Helper()
	text := func(name string) string {
		for key, value := range r.Config {
			if strings.EqualFold(key, name) {
				return fmt.Sprint(value)
			}
		}
		return ""
	}
	var list []Group
	for _, name := range strings.FieldsFunc(text("GROUP_NAMES"), func(r rune) bool { return r == ',' || r == ' ' }) {
		one := Group{Name: name}
		one.Quota, one.Dynamic = parsed(text("GROUP_QUOTA_DYNAMIC_"+name), 0), true
		if static := text("GROUP_QUOTA_" + name); static != "" {
			one.Quota, one.Dynamic = parsed(static, 0), false
		}
		one.AcceptSurplus = strings.EqualFold(text("GROUP_ACCEPT_SURPLUS"), "true") || strings.EqualFold(text("GROUP_ACCEPT_SURPLUS_"+name), "true")
		one.Autoregroup = strings.EqualFold(text("GROUP_AUTOREGROUP"), "true") || strings.EqualFold(text("GROUP_AUTOREGROUP_"+name), "true")
		list = append(list, one)
	}
	return tree(t, list...)
}

// parsed reads a number, or returns the one that stands for none.
func parsed(text string, none float64) float64 {
	if x, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return x
	}
	return none
}

var (
	poolLine      = regexp.MustCompile(`assigning group quotas from (\S+) available (weighted )?slots`)
	quotaLine     = regexp.MustCompile(`group (\S+) assigned quota= (\S+)$`)
	roundLine     = regexp.MustCompile(`allocation round \d+$`)
	requestLine   = regexp.MustCompile(`fairshare \(1\): group= (\S+)  quota= (\S+)  requested= (\S+)$`)
	allocatedLine = regexp.MustCompile(`group= (\S+)  quota= (\S+)  requested= (\S+)  allocated= (\S+)  unallocated= (\S+)$`)
)

// TestGoldenQuotas compares quotas and the allocations of each round with the
// recorded lines, which have six digits.
func TestGoldenQuotas(t *testing.T) {
	folders := []string{filepath.Join("..", "negotiator", "negotiation", "testdata", "golden")}
	if all := os.Getenv("FAIRSPOOL_GOLDEN"); all != "" {
		folders = append(folders, filepath.Join(all, "condor"))
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "group_*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no scenarios of groups: %v", folder, err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { compareQuotas(t, file) })
		}
	}
}

func compareQuotas(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	var r recordedQuotas
	testenv.OK(t, json.Unmarshal(text, &r))
	g := r.groups(t)
	same := func(what, name string, got float64, want string) {
		t.Helper()
		if fmt.Sprintf("%.6g", got) != want {
			t.Errorf("%s: %s of %s = %.6g, want %s", filepath.Base(file), what, name, got, want)
		}
	}
	place := func(name string) int {
		at, ok := g.Find(name)
		if !ok {
			t.Fatalf("%s: no group %s", filepath.Base(file), name)
		}
		return at
	}
	compared := 0
	for _, c := range r.Cycles {
		var quotas []Quota
		var given []Allocation
		var requested []float64
		whole := false
		for _, line := range c.Log {
			switch {
			case poolLine.MatchString(line):
				m := poolLine.FindStringSubmatch(line)
				whole = m[2] == ""
				quotas = g.Quotas(parsed(m[1], -1), QuotaRules{Oversubscribe: true, Twice: true})
			case quotaLine.MatchString(line):
				m := quotaLine.FindStringSubmatch(line)
				same("quota", m[1], quotas[place(m[1])].Own, m[2])
			case roundLine.MatchString(line):
				requested, given = make([]float64, len(g.List)), nil
			case requestLine.MatchString(line):
				m := requestLine.FindStringSubmatch(line)
				same("quota", m[1], quotas[place(m[1])].Own, m[2])
				requested[place(m[1])] = parsed(m[3], -1)
			case allocatedLine.MatchString(line):
				m := allocatedLine.FindStringSubmatch(line)
				if given == nil {
					given = g.Allocate(quotas, requested, whole)
				}
				if at := place(m[1]); at == 0 && g.Regroups() { // the whole pool, from then on
					quotas[0].Own = quotas[0].Subtree
					same("allocation", m[1], quotas[0].Own, m[4])
				} else {
					same("allocation", m[1], given[at].Weight, m[4])
				}
				compared++
			}
		}
	}
	if compared == 0 {
		t.Errorf("%s: no allocation compared, want some", filepath.Base(file))
	}
}
