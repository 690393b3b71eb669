package operation

import (
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Slots returns all slots of the pool as View.Slots does, those of drained machines as
// pool.OverlayDrained makes them, unless by their own words somebody else holds them.
func Slots(v *spool.View) ([]pool.Slot, []error) {
	slots, bad := v.Slots()
	drainsOf(v).overlay(v, slots)
	return slots, bad
}

// overlay makes slots those of drained machines, in their places.
func (all drains) overlay(v *spool.View, slots []pool.Slot) {
	if len(all) == 0 {
		return
	}
	leaving := map[string]bool{}
	for _, c := range v.Claims() {
		leaving[machineKey(c.Machine)] = true
	}
	eval := &classad.Context{}
	for i, s := range slots {
		machine := machineOf(eval, s)
		d, drained := all.of(machine)
		if drained && negotiator.Holder(eval, s.Ad) == "" {
			slots[i].Ad = pool.OverlayDrained(s.Ad, d.At, d.Reason, leaving[machineKey(machine)])
		}
	}
}

// machineOf returns the machine that a slot is of: its Machine, else its name.
func machineOf(eval *classad.Context, s pool.Slot) string {
	if machine, ok := s.Ad.EvalString(eval, pool.AttrMachine); ok {
		return machine
	}
	return s.Name
}

// putDrains tells when machines were drained by the clock.
func (c setting) putDrains(tx *spool.Tx) {
	for _, name := range tx.Marks(drainedMark) {
		d, err := parseDrained(tx.Mark(name))
		if err != nil {
			continue
		}
		d.At = c.jump.Event(d.At)
		tx.PutMark(name, d.format())
	}
}
