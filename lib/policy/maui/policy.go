// Package maui adapts Maui's policy to the pool: its settings, its queue, its rules for attributes,
// and its part of lists. The arithmetic is fairspool/lib/maui.
//
// Its settings are the table [maui], with parameters of maui.cfg under their own names, and the
// maui.cfg that the table names. Reading that file never fails: problems become warnings. The table
// overrides the file.
package maui

import (
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// policyName is also the table's name.
const policyName = "maui"

// Policy is Maui's.
type Policy struct{ policy.Common }

// Name is what JOB_PRIORITY_POLICY calls it.
func (Policy) Name() string { return policyName }

// Queue returns the queue by start priority.
func (Policy) Queue(c *config.Config, from policy.Sources) jobprio.Queue { return queueOf(c, from) }

func queueOf(c *config.Config, from policy.Sources) *maui.Queue {
	return maui.NewQueue(Settings(c), worldOf(Settings(c), from))
}

// Beside selects the jobs that have a claim, and held jobs if their clocks depend on being held.
func (Policy) Beside(c *config.Config) policy.Beside {
	return policy.Beside{Running: true, Held: maui.NewQueue(Settings(c), maui.World{}).LooksAtHeld()}
}

// worldOf returns what Maui's priorities are reckoned with.
func worldOf(c *maui.Config, from policy.Sources) maui.World {
	w := maui.World{Now: from.Now}
	if countsPE(c) {
		from.Slots(func(slots []pool.Slot) { w.Totals = poolSize(slots) })
	}
	if c.FSPolicy != maui.NoFairShare {
		w.Used = maui.UsedOf(from.Tallies(), c, from.Now)
	}
	return w
}

// countsPE reports whether anything depends on processor equivalents, which the size of the
// pool is needed for. With a weight they are shown also where their component has none.
func countsPE(c *maui.Config) bool {
	if c.FSPolicy == maui.DedicatedPES || c.Subs[maui.PE].Weight != 0 {
		return true
	}
	for _, kind := range c.Credentials {
		for _, one := range kind {
			if one.Limits[maui.MaxPE].Set || one.IdleLimit[maui.MaxPE].Set {
				return true
			}
		}
	}
	return false
}

// What slots say of the swap space of their machine, in KiB: all of it, and their own.
const (
	attrTotalVirtualMemory = "TotalVirtualMemory"
	attrVirtualMemory      = "VirtualMemory"
)

// poolSize returns the size of the pool. A partitionable slot counts with all that it can be
// divided into, and the dynamic slots of its machine not once more. The swap space of a
// machine counts once where its slots say how much that is, else as what each of them has.
func poolSize(slots []pool.Slot) (t maui.Totals) {
	const mb = 1024 // KiB
	c := &classad.Context{}
	divided, swap := map[string]bool{}, map[string]float64{}
	for _, s := range slots {
		machine := s.Machine(c)
		if pool.Partitionable(c, s.Ad) {
			divided[machine] = true
		}
		if all := pool.AmountOf(c, s.Ad, attrTotalVirtualMemory); all > 0 {
			swap[machine] = max(swap[machine], all)
		}
	}
	counted := map[string]bool{}
	for _, s := range slots {
		machine := s.Machine(c)
		if all := swap[machine]; all > 0 && !counted[machine] {
			counted[machine] = true
			t.Swap += all / mb
		}
		if dynamic, _ := s.Ad.EvalBool(c, pool.AttrDynamicSlot); dynamic && divided[machine] {
			continue
		}
		t.Procs += wholeOf(c, s.Ad, pool.AttrCpus)
		t.Mem += wholeOf(c, s.Ad, pool.AttrMemory)
		t.Disk += wholeOf(c, s.Ad, pool.AttrDisk) / mb
		if swap[machine] == 0 {
			t.Swap += wholeOf(c, s.Ad, attrVirtualMemory) / mb
		}
	}
	return t
}

// wholeOf returns a slot's whole amount of a resource. For a partitionable slot that is
// the advertised total, if the ad has both, not the free rest.
func wholeOf(c *classad.Context, ad *classad.Ad, name string) float64 {
	if pool.Partitionable(c, ad) {
		if all := pool.AmountOf(c, ad, pool.TotalPrefix+name); all > 0 {
			return all
		}
	}
	return pool.AmountOf(c, ad, name)
}

// Usage is a quantity of a window that fair share can count, with FSPOLICY's word for it.
type Usage struct {
	Word string
	Of   func(accountant.Window) accountant.Usage
}

// Counted returns the usage that is shown of windows, even if fair share counts nothing: then
// the first quantity.
func Counted(c *config.Config) Usage {
	switch Settings(c).FSPolicy {
	case maui.DedicatedPES:
		return Usage{"DEDICATEDPES", accountant.DedicatedPES}
	case maui.UtilizedPS:
		return Usage{"UTILIZEDPS", accountant.UtilizedPS}
	}
	return Usage{"DEDICATEDPS", accountant.DedicatedPS}
}
