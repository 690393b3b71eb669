package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/lib/config"
	"fairspool/lib/negotiator"
)

func configured(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestSettings(t *testing.T) {
	n, err := settings(configured(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if n.Pie != negotiator.MaxMin || n.SkipClusters || n.JobConstraint != nil || n.SlotConstraint != nil || n.PoolSizeConstraint != nil ||
		n.DepthFirst || n.IgnoreUserPriorities || n.GlobalJobPrios || !n.Preemption.Consider || n.Reserve != (negotiator.Reserve{Fraction: 0.1, Time: 24 * time.Hour}) {
		t.Errorf("settings of no file = %+v, want the defaults", n)
	}
	n, err = settings(configured(t, `NEGOTIATOR_PIE = "htcondor"
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

func TestSettingsRefuse(t *testing.T) {
	for _, name := range []string{"NEGOTIATOR_PRE_JOB_RANK", "NEGOTIATOR_JOB_CONSTRAINT", "NEGOTIATOR_SLOT_CONSTRAINT", "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"} {
		c := configured(t, "\n"+name+` = "Cpus +"`)
		if _, err := settings(c); err == nil || !strings.HasPrefix(err.Error(), "f:2: "+name+": ") {
			t.Errorf("settings with a bad %s = %v, want f:2: %s: ...", name, err, name)
		}
		with, err := c.With([]string{name + "=Cpus -"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := settings(&with); err == nil || !strings.HasPrefix(err.Error(), "config "+name+": ") {
			t.Errorf("settings with a bad %s asked for = %v, want config %s: ...", name, err, name)
		}
	}
}

// A name that the configuration takes for that of a limit is one to the negotiator,
// and no other is.
func TestLimitNames(t *testing.T) {
	for _, name := range []string{"a", "A_1", "_", "sw.matlab", "SW.R_2", "1", "a.1", "a.b.c", ".a", "a.", "a-b", "ü", "a.ü", "\u212a", "a b", "a:b"} {
		with, err := config.Default().With([]string{`"` + name + `_LIMIT"=3`})
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
		if n, err := settings(&with); err != nil || !reflect.DeepEqual(n.Limits, limits) {
			t.Errorf("limits with one of %q = %+v, %v, want %+v", name, n.Limits, err, limits)
		}
	}
}
