// Package state is the accounting state as text: what userprio -export writes and -import reads.
package state

import (
	"bytes"
	"encoding/json"
	"time"

	"fairspool/lib/accountant"
)

// stateFormat is the number of the format of exported states.
const stateFormat = 1

// stateJSON is the accounting state as -export writes it. Times are milliseconds
// since 1970, weights thousandths and usage whole units, as in the spool: nothing
// is rounded.
type stateJSON struct {
	Format     int
	Submitters []recordJSON
	Groups     []recordJSON
	Tallies    []tallyJSON
}

type recordJSON struct {
	Name           string
	Priority       float64
	At             int64 // of the figures: the weight in use counts from then on
	HalfLifeNanos  int64
	PriorityFactor float64    `json:",omitempty"`
	FactorLease    *leaseJSON `json:",omitempty"`
	Ceiling        *int64     `json:",omitempty"`
	CeilingLease   *leaseJSON `json:",omitempty"`
	Floor          int64      `json:",omitempty"`
	FloorLease     *leaseJSON `json:",omitempty"`
	// The weight in use is written, but -import ignores it.
	ResourcesUsed  int   `json:",omitempty"`
	InUse          int64 `json:",omitempty"`
	Subtree        int64 `json:",omitempty"`
	SlotMillis     int64
	SlotRest       int64 `json:",omitempty"`
	WeightedMillis int64
	WeightedRest   int64 `json:",omitempty"`
	Begin          int64 `json:",omitempty"`
	Last           int64 `json:",omitempty"`
}

type leaseJSON struct {
	Until  int64
	Before float64
}

// JSON returns the accounting state as of now, with records and tallies in the order given: a pool at
// rest reads the same whenever it is written.
func JSON(records []accountant.Record, tallies []accountant.Tally, now time.Time, p accountant.Params) ([]byte, error) {
	state := stateJSON{Format: stateFormat, Submitters: []recordJSON{}, Groups: []recordJSON{}, Tallies: []tallyJSON{}}
	for _, r := range records {
		if r.IsGroup() {
			state.Groups = append(state.Groups, recordOut(r, now, p))
		} else {
			state.Submitters = append(state.Submitters, recordOut(r, now, p))
		}
	}
	for _, y := range tallies {
		if y.InUse() {
			y = y.AsOf(now, p)
		}
		state.Tallies = append(state.Tallies, tallyOut(y))
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(state)
	return text.Bytes(), err
}

// recordOut returns a record for export. Without anything in use it is written
// as it is kept, so that a pool at rest reads the same whenever it is written;
// else as of now, since use up to now is not to be lost.
func recordOut(r accountant.Record, now time.Time, p accountant.Params) recordJSON {
	if accountant.Holding(r) {
		r = r.AsOf(now, p)
	}
	x := recordJSON{
		Name: r.Name, Priority: max(r.Priority, accountant.MinPriority), At: millis(r.At), HalfLifeNanos: r.HalfLife.Nanoseconds(),
		PriorityFactor: r.Factor, Floor: r.Floor, ResourcesUsed: r.ResourcesUsed, InUse: int64(r.InUse), Subtree: int64(r.Subtree),
		FactorLease: leaseOut(r.FactorLease), CeilingLease: leaseOut(r.CeilingLease), FloorLease: leaseOut(r.FloorLease),
		SlotMillis: r.Slots.Millis, SlotRest: r.Slots.Rest, WeightedMillis: r.Weighted.Millis, WeightedRest: r.Weighted.Rest,
		Begin: millis(r.Begin), Last: millis(r.Last),
	}
	if r.Ceiling.Set {
		x.Ceiling = &r.Ceiling.Slots
	}
	return x
}

func leaseOut(l accountant.Lease) *leaseJSON {
	if l.Until.IsZero() {
		return nil
	}
	return &leaseJSON{millis(l.Until), l.Before}
}

// millis returns milliseconds since 1970, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
