package userprio

import (
	"math"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
)

// value returns the value of an attribute: a float64, an int64, a time.Time, or
// nil where nothing is set.
func value(a accountant.Attribute, r accountant.Record) any {
	switch a {
	case accountant.AttrPriority:
		return r.Priority
	case accountant.AttrPriorityFactor:
		if r.Factor >= 1 {
			return r.Factor
		}
	case accountant.AttrCeiling:
		if r.Ceiling.Set {
			return r.Ceiling.Slots
		}
	case accountant.AttrFloor:
		if r.Floor > 0 {
			return r.Floor
		}
	case accountant.AttrAccumulatedUsage:
		return r.Slots.Seconds()
	case accountant.AttrWeightedAccumulatedUsage:
		return r.Weighted.Seconds()
	case accountant.AttrBeginUsageTime:
		return timeOrNil(r.Begin)
	case accountant.AttrLastUsageTime:
		return timeOrNil(r.Last)
	}
	return nil
}

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// leaseUntil returns when the lease of an attribute ends; zero without one.
func leaseUntil(a accountant.Attribute, r accountant.Record) time.Time {
	switch a {
	case accountant.AttrPriorityFactor:
		return r.FactorLease.Until
	case accountant.AttrCeiling:
		return r.CeilingLease.Until
	case accountant.AttrFloor:
		return r.FloorLease.Until
	}
	return time.Time{}
}

// unset is how an attribute without a value is worded.
var unset = map[accountant.Attribute]string{
	accountant.AttrPriorityFactor: "computed", accountant.AttrCeiling: "none", accountant.AttrFloor: "none",
	accountant.AttrBeginUsageTime: "never", accountant.AttrLastUsageTime: "never",
}

// words returns the value of an attribute as people read it. Figures that time
// has passed over are cut to what a person looks at.
func words(a accountant.Attribute, r accountant.Record) string {
	text := ""
	switch v := value(a, r).(type) {
	case nil:
		text = unset[a]
	case float64:
		text = strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
		if math.Abs(v) >= 1e15 {
			text = strconv.FormatFloat(v, 'g', 6, 64)
		}
	case int64:
		text = strconv.FormatInt(v, 10)
	case time.Time:
		text = edit.Shown(v)
	}
	if t := leaseUntil(a, r); !t.IsZero() {
		text += " until " + edit.Shown(t)
	}
	return text
}

// editJSON is an edit as programs read it. Times are Unix seconds.
type editJSON struct {
	Number            uint64
	Time, MachineTime float64
	User              string
	UID               int `json:"Uid"`
	Program           string
	Operation         string
	Arguments         []string
	Reason            string
	Undoes, UndoneBy  uint64 `json:",omitempty"`
	Changes           []changeJSON
	Tallies           int `json:",omitempty"` // how many it changed
}

// changeJSON is one attribute that changed; null is no value of its own, and no
// lease.
type changeJSON struct {
	Name                         string
	Attribute                    accountant.Attribute `json:",omitempty"`
	Old, New                     any
	OldLeaseUntil, NewLeaseUntil any `json:",omitempty"`
}

func logJSON(c *cmdline.Call, list []told) error {
	all := []editJSON{}
	for _, l := range list {
		e := editJSON{Number: l.Seq, Time: unixSeconds(l.Policy), MachineTime: unixSeconds(l.Machine), User: l.User, UID: l.UID, Program: l.Program,
			Operation: l.Op, Arguments: append([]string{}, l.words...), Reason: l.reason, Undoes: l.undoes, UndoneBy: l.undone,
			Changes: []changeJSON{}, Tallies: l.tallied}
		for _, x := range l.changes {
			e.Changes = append(e.Changes, changeJSON{x.name, x.attribute,
				plain(value(x.attribute, x.before)), plain(value(x.attribute, x.after)),
				plain(timeOrNil(leaseUntil(x.attribute, x.before))), plain(timeOrNil(leaseUntil(x.attribute, x.after)))})
		}
		all = append(all, e)
	}
	return c.JSON(all)
}

// plain returns a value as JSON has it.
func plain(v any) any {
	if t, ok := v.(time.Time); ok {
		return unixSeconds(t)
	}
	return v
}
