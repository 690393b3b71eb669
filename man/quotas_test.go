package man

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/pool"
)

// TestQuotas runs the tables of quotas(7).
func TestQuotas(t *testing.T) {
	tables := 0
	lines := read(t, "quotas.7").lines
	for i, l := range lines {
		head := strings.Fields(l)
		if len(head) < 2 || head[1] != "slots" {
			continue
		}
		slots, err := strconv.Atoi(head[0])
		if err != nil {
			continue
		}
		tables++
		x := newExample(t, slots)
		for _, row := range lines[i+1:] {
			if strings.HasPrefix(row, ".") {
				break
			}
			x.add(t, strings.Fields(row))
		}
		x.run(t)
	}
	if tables != 3 {
		t.Errorf("quotas.7: %d tables, want 3", tables)
	}
}

// example is one of the page's tables.
type example struct {
	pool   negotiator.Pool
	groups []accountant.Group
	gets   map[string]int
}

func newExample(t *testing.T, slots int) *example {
	x := &example{gets: map[string]int{}}
	for i := range slots {
		ad, err := classad.ParseAd(`[State = "Unclaimed"; Requirements = true]`)
		testenv.OK(t, err)
		x.pool.Slots = append(x.pool.Slots, pool.Slot{Name: fmt.Sprintf("slot%d", i+1), Ad: ad})
	}
	return x
}

// add reads a row: name, quota, whether surplus is accepted, wants, gets.
func (x *example) add(t *testing.T, row []string) {
	t.Helper()
	if len(row) != 5 {
		t.Fatalf("quotas.7: row %q", row)
	}
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		testenv.OK(t, err)
		return n
	}
	user := "zoe@x"
	if row[0] != accountant.RootGroup {
		user = row[0] + ".zoe@x"
		q := number(row[1])
		x.groups = append(x.groups, accountant.Group{Name: row[0], Quota: q, Dynamic: q < 1, AcceptSurplus: row[2] == "yes"})
	}
	ad, err := classad.ParseAd("[Requirements = true]")
	testenv.OK(t, err)
	if n := int(number(row[3])); n > 0 {
		x.pool.Jobs = append(x.pool.Jobs, jobprio.Run{Procs: pool.Procs{Cluster: len(x.gets) + 1, First: 0, Last: n - 1}, Submitter: user, Ad: ad})
	}
	x.gets[row[0]] = int(number(row[4]))
}

func (x *example) run(t *testing.T) {
	t.Helper()
	tree, err := accountant.NewGroups(x.groups)
	testenv.OK(t, err)
	cfg := negotiator.Config{
		Params: accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, RemoteFactor: 1e7, Groups: tree},
		Quotas: negotiator.Quotas{Strict: true, Rounds: 3, RoundRobinRate: 1e100, WeightedDemand: true},
	}
	for _, pie := range []negotiator.Pie{negotiator.MaxMin, negotiator.Spins} {
		cfg.Pie = pie
		got := map[string]int{}
		for _, m := range negotiation.Cycle(x.pool, cfg, time.Unix(1_700_000_000, 0)).Matches {
			got[tree.NameOf(m.Submitter)]++
		}
		for name, want := range x.gets {
			if got[name] != want {
				t.Errorf("quotas.7: with pie %d and %d slots, %s gets %d, want %d", pie, len(x.pool.Slots), name, got[name], want)
			}
		}
	}
}
