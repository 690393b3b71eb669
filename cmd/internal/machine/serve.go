package machine

import (
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Serve makes this machine the slot of a pool that was never given one: one
// partitionable slot, as `slots detect -partitionable` makes it. It says so on standard
// error. Nothing happens where DETECT_SLOTS is false, in a spool that is not private
// (cmdline.Call.Private), and at a time of the user's own, which is for trying things out.
func Serve(c *cmdline.Call, s *spool.Spool) error {
	if !serves(c, s) {
		return nil
	}
	var given, unnoted bool
	if err := s.View(func(v *spool.View) error {
		given, unnoted = operation.EverGiven(v), operation.FilesUnnoted(v)
		return nil
	}); err != nil || given && !unnoted {
		return err
	}
	m, err := This(c)
	if err != nil {
		return err
	}
	err = s.Update(func(tx *spool.Tx) error {
		if given = operation.EverGiven(&tx.View); given {
			tx.Op("note slots")
			operation.NoteGiven(tx)
			return nil
		}
		ad, err := m.Whole(c)
		if err != nil {
			return err
		}
		tx.Op("advertise", "detect")
		tx.PutSlot(SlotName(1, m.Name), ad)
		return nil
	})
	if err == nil && !given {
		c.Warn("this machine, %s, serves the pool now: %s; slots(8) changes that", m.Name, m.size())
	}
	return err
}

// ForeseeServing says on standard error what Serve would do, and changes nothing.
func ForeseeServing(c *cmdline.Call, s *spool.Spool, v *spool.View) error {
	if !serves(c, s) || operation.EverGiven(v) {
		return nil
	}
	m, err := This(c)
	if err == nil {
		c.Warn("the pool has no slots: a cycle would first let this machine, %s, serve it: %s", m.Name, m.size())
	}
	return err
}

// serves reports whether the pool in a spool may be given this machine unasked.
func serves(c *cmdline.Call, s *spool.Spool) bool {
	return c.Config.DetectSlots && !c.OwnTime() && c.Private(s.Dir())
}

// Whole returns the ad of one partitionable slot that is the machine, heard from at the
// call's time.
func (m Machine) Whole(c *cmdline.Call) (*classad.Ad, error) {
	ad := m.Slot(1, 1)
	ad.SetInt(pool.AttrLastHeardFrom, c.Now.Unix())
	return ad, m.Divide(ad, nil)
}

// size says what the machine has: "2 cpus, 24 GiB memory".
func (m Machine) size() string {
	cpus := plural.Count(m.Cpus, "cpu")
	if m.MemoryMB < 1024 {
		return fmt.Sprintf("%s, %d MiB memory", cpus, m.MemoryMB)
	}
	return fmt.Sprintf("%s, %s GiB memory", cpus, strings.TrimSuffix(fmt.Sprintf("%.1f", float64(m.MemoryMB)/1024), ".0"))
}
