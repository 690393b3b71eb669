package maui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/maui"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

var noon = time.Unix(1900000000, 0)

// slotsOf returns slots with these ads, called s1 and on.
func slotsOf(t *testing.T, texts ...string) (slots []pool.Slot) {
	t.Helper()
	for i, text := range texts {
		ad, err := classad.ParseAd("[" + text + "]")
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, pool.Slot{Name: fmt.Sprintf("s%d", i+1), Ad: ad})
	}
	return slots
}

func TestPoolSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots []string
		want  maui.Totals
	}{
		{"none", nil, maui.Totals{}},
		{"static", []string{"Cpus = 2; Memory = 512; Disk = 2048", "Cpus = 1; Memory = 256; Disk = 1024"}, maui.Totals{Procs: 3, Mem: 768, Disk: 3}},
		{"not numbers", []string{`Cpus = "2"; Memory = undefined; Disk = -1`, `Cpus = real("NaN"); Memory = real("INF")`}, maui.Totals{}},
		{"partitionable", []string{"PartitionableSlot = true; Cpus = 8; Memory = 4096; Disk = 10240"}, maui.Totals{Procs: 8, Mem: 4096, Disk: 10}},
		{"of which something is taken", []string{
			`Machine = "a"; PartitionableSlot = true; Cpus = 5; TotalSlotCpus = 8; Memory = 1024; TotalSlotMemory = 4096`,
			`Machine = "a"; DynamicSlot = true; Cpus = 3; Memory = 3072`,
			`Machine = "b"; DynamicSlot = true; Cpus = 1; Memory = 100`,
		}, maui.Totals{Procs: 9, Mem: 4196}},
		{"TotalSlot of a static slot says nothing", []string{"Cpus = 2; TotalSlotCpus = 4"}, maui.Totals{Procs: 2}},
		{"swap, once a machine", []string{
			`Machine = "a"; Cpus = 1; VirtualMemory = 9`, `Machine = "a"; Cpus = 1; TotalVirtualMemory = 4096`, `Machine = "a"; Cpus = 1; TotalVirtualMemory = 2048`,
			`Machine = "b"; VirtualMemory = 1024`, `Machine = "b"; VirtualMemory = 1024`,
		}, maui.Totals{Procs: 3, Swap: 6}},
	} {
		slots := slotsOf(t, c.slots...)
		if got := poolSize(slots); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		slices.Reverse(slots)
		if got := poolSize(slots); got != c.want {
			t.Errorf("%s, the other way round: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestSourcesAsked holds that nothing is read that the configuration makes no difference of.
func TestSourcesAsked(t *testing.T) {
	for _, c := range []struct {
		name           string
		set            func(*maui.Config)
		slots, tallies bool
	}{
		{"nothing", func(*maui.Config) {}, false, false},
		{"PE counts", func(c *maui.Config) { c.Subs[maui.PE].Weight = 2 }, true, false},
		{"in a component that does not, as qstat shows it", func(c *maui.Config) { c.Subs[maui.PE].Weight, c.Components[maui.Resource].Weight = 2, 0 }, true, false},
		{"fair share of processors", func(c *maui.Config) { c.FSPolicy = maui.DedicatedPS }, false, true},
		{"fair share of equivalents", func(c *maui.Config) { c.FSPolicy = maui.DedicatedPES }, true, true},
		{"a limit of equivalents", func(c *maui.Config) {
			c.Credentials[maui.Class] = map[string]maui.Credential{"X": limited(maui.MaxPE, false)}
		}, true, false},
		{"of idle ones", func(c *maui.Config) {
			c.Credentials[maui.User] = map[string]maui.Credential{"X": limited(maui.MaxPE, true)}
		}, true, false},
		{"another limit", func(c *maui.Config) {
			c.Credentials[maui.User] = map[string]maui.Credential{"X": limited(maui.MaxPS, false)}
		}, false, false},
	} {
		slots, tallies := false, false
		from := policy.Sources{
			Now:     noon,
			Slots:   func(do func([]pool.Slot)) { slots = true; do(slotsOf(t, "Cpus = 7")) },
			Tallies: func() []accountant.Tally { tallies = true; return nil },
		}
		cfg := schema.Default()
		c.set(Settings(&cfg))
		if q := (Policy{}).Queue(&cfg, from); q == nil || slots != c.slots || tallies != c.tallies {
			t.Errorf("%s: the queue is %v, slots asked %v, tallies %v; want one, %v, %v", c.name, q, slots, tallies, c.slots, c.tallies)
		}
		if w := worldOf(Settings(&cfg), from); w.Now != noon || (w.Totals.Procs == 7) != c.slots {
			t.Errorf("%s: the world is %+v", c.name, w)
		}
	}
}

func limited(what maui.Limit, idle bool) (c maui.Credential) {
	b := maui.Bound{Set: true, Soft: 1, Hard: 1}
	if c.Limits[what] = b; idle {
		c.Limits[what], c.IdleLimit[what] = maui.Bound{}, b
	}
	return c
}
