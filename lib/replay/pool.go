package replay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// mostSlots is how many slots a pool may have.
const mostSlots = 10_000_000

// Slots returns the ads of n slots that are alike. Those of more than one core are partitionable. Memory and disk are no bound.
func Slots(n, cores int) ([]*classad.Ad, error) {
	if n < 1 || cores < 1 || n > mostSlots {
		return nil, fmt.Errorf("want 1 to %d slots of 1 core and more", mostSlots)
	}
	like, err := classad.ParseAd(fmt.Sprintf(`[MyType = "Machine"; Name = ""; Machine = ""; SlotID = 1; State = "Unclaimed"; Activity = "Idle"; Requirements = true; Rank = 0.0;
		Cpus = %d; TotalSlotCpus = %[1]d; Memory = 1099511627776; TotalSlotMemory = 1099511627776; Disk = 1125899906842624; TotalSlotDisk = 1125899906842624]`, cores))
	if err != nil {
		return nil, err
	}
	if cores > 1 {
		like.SetBool(pool.AttrPartitionable, true)
		like.SetString("SlotType", "Partitionable")
	}
	ads := make([]*classad.Ad, n)
	for i := range ads {
		machine := fmt.Sprintf("n%d", i+1)
		ads[i] = like.Clone()
		ads[i].SetString(pool.AttrName, "slot1@"+machine)
		ads[i].SetString(pool.AttrMachine, machine)
	}
	return ads, nil
}

// Put puts slots and accounts into a spool.
func Put(s *spool.Spool, ads []*classad.Ad, accounts []accountant.Record) error {
	alike := classad.NewInterner()
	return s.Update(func(tx *spool.Tx) error {
		tx.Op("slots")
		for _, ad := range ads {
			name, ok := ad.EvalString(&classad.Context{}, pool.AttrName)
			if !ok {
				return errors.New("a slot's ad has no Name")
			}
			tx.PutSlot(name, ad)
			if slot, ok := tx.Advertised(name); ok {
				alike.Share(slot.Ad)
			}
		}
		for _, r := range accounts {
			tx.PutSubmitter(r)
		}
		return nil
	})
}

// Edit returns the event of an edit that was made to an account.
func Edit(e accountant.Edit, start time.Time, p accountant.Params) Event {
	return Event{At: int64(e.At.Sub(start) / time.Second), Do: func(tx *spool.Tx) error {
		tx.Op("edit")
		r, _ := tx.Submitter(e.Before.Name)
		tx.PutSubmitter(e.Redo(r, e.At, p))
		return nil
	}}
}

// Wide says what becomes of a job that asks for more than one core.
type Wide string

const (
	Cores Wide = "cores" // it takes as many of one slot
	Split Wide = "split" // it is taken for so many jobs of one core
	Drop  Wide = "drop"  // it is left out
)

// Widths are all of them.
var Widths = []Wide{Cores, Split, Drop}

// Apply returns the workload with its wide jobs as they are wanted, and how many jobs these are. Of Cores, those are left
// out that ask for more than widest, the cores of the widest slot.
func (how Wide) Apply(w *workload.Workload, widest int) (*workload.Workload, int) {
	if !slices.ContainsFunc(w.Jobs, func(j workload.Job) bool { return j.Cores > 1 }) {
		return w, 0
	}
	n := 0
	changed := *w
	changed.Jobs = nil
	for _, j := range w.Jobs {
		switch {
		case j.Cores == 1, how == Cores && j.Cores <= widest:
			changed.Jobs = append(changed.Jobs, j)
		case how == Split:
			n++
			one := j
			one.Cores, one.Memory = 1, j.Memory/int64(j.Cores)
			for k := range j.Cores {
				one.Name = fmt.Sprintf("%s/%d", j.Name, k+1)
				changed.Jobs = append(changed.Jobs, one)
			}
		default:
			n++
		}
	}
	return &changed, n
}
