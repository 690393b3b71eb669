package userprio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// fileView reads the ads of -inputfile.
func fileView(c *cmdline.Call) (view, error) {
	name := c.Value("inputfile")
	in, err := c.Open(name)
	if err != nil {
		return view{}, fmt.Errorf("-inputfile: %s: %w", name, cmdline.Cause(err))
	}
	defer in.Close()
	ads := classad.NewReader(in, name)
	v, err := readView(ads, c.Now)
	if errors.Is(err, errNameless) {
		err = fmt.Errorf("%s:%d: %w", name, ads.Line(), err)
	}
	if err != nil {
		return view{}, fmt.Errorf("-inputfile: %w", err)
	}
	return v, nil
}

// errNameless complains of an ad that is no submitter's.
var errNameless = errors.New("an ad without a Name, which no submitter's is")

// readView reads rows as -long writes them here, where EffectivePriority is the
// EUP and Priority the RUP, and in HTCondor, where Priority is the EUP: an ad
// each, or one ad with numbered attributes. They are as of their LastUpdate, in
// the time zone of now. After errNameless the ad is the one that was read last.
func readView(ads *classad.Reader, now time.Time) (view, error) {
	var v view
	for {
		ad, err := ads.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v, err
		}
		f := fields{ad: ad}
		if at := f.moment("LastUpdate"); at.After(v.at) {
			v.at = at.In(now.Location())
		}
		if f.has("Name") {
			v.rows = append(v.rows, f.row())
			continue
		}
		if !ad.Has("NumSubmittors") && !ad.Has("Name1") {
			return v, errNameless
		}
		for i := 1; ; i++ {
			f.number = strconv.Itoa(i)
			if !f.has("Name") {
				break
			}
			v.rows = append(v.rows, f.row())
		}
	}
	if v.at.IsZero() {
		v.at = now
	}
	v.policy = v.rootPolicy()
	return v, nil
}

// fields reads an ad's attributes, all of whose names end with number.
type fields struct {
	ad     *classad.Ad
	number string
}

func (f fields) has(name string) bool { return f.ad.Has(name + f.number) }

// knows reports whether an attribute is a number.
func (f fields) knows(name string) bool {
	_, ok := f.ad.EvalNumber(&classad.Context{}, name+f.number)
	return ok
}

func (f fields) real(name string) float64 {
	x, ok := f.ad.EvalNumber(&classad.Context{}, name+f.number)
	if !ok || math.IsNaN(x) {
		return 0
	}
	return x
}

func (f fields) text(name string) string {
	s, _ := f.ad.EvalString(&classad.Context{}, name+f.number)
	return s
}

func (f fields) integer(name string, missing int64) int64 {
	if n, ok := f.ad.EvalInt(&classad.Context{}, name+f.number); ok {
		return n
	}
	return missing
}

// moment returns a time in Unix seconds; 0 and less mean never.
func (f fields) moment(name string) time.Time {
	if x := f.real(name); x >= 1 && x <= edit.MaxTime {
		return time.Unix(int64(x), 0)
	}
	return time.Time{}
}

func (f fields) row() row {
	r := row{
		name: f.text("Name"), in: f.text("AccountingGroup"),
		effective: f.real("Priority"), factor: f.real("PriorityFactor"),
		slots: f.integer("ResourcesUsed", 0), inUse: f.real("WeightedResourcesUsed"), within: f.real("HierWeightedResourcesUsed"),
		accumulated: f.real("AccumulatedUsage"), usage: f.real("WeightedAccumulatedUsage"), counted: f.counted(),
		begin: f.moment("BeginUsageTime"), last: f.moment("LastUsageTime"),
		floor: f.integer("Floor", 0), ceiling: f.integer("Ceiling", -1),
		dealt: f.knows("SubmitterLimit"), share: f.real("SubmitterShare"), limit: f.real("SubmitterLimit"),
	}
	r.group, _ = f.ad.EvalBool(&classad.Context{}, "IsAccountingGroup"+f.number)
	switch {
	case f.has("EffectivePriority"):
		r.priority, r.effective = r.effective, f.real("EffectivePriority")
	case r.factor > 0:
		r.priority = r.effective / r.factor
	}
	if !f.has("WeightedResourcesUsed") {
		r.inUse = float64(r.slots)
	}
	if !f.has("WeightedAccumulatedUsage") {
		r.usage = r.accumulated
	}
	if r.in == "" {
		r.in = accountant.RootGroup
	}
	if r.group {
		r.in = r.name // in the collector's ads it is the group above
		r.part = f.part()
	}
	return r
}

// counted tells whether usage was ever counted: our ads always have the usage.
func (f fields) counted() bool {
	if f.has("EffectivePriority") {
		return f.real("BeginUsageTime") > 0
	}
	return f.has("WeightedAccumulatedUsage")
}

func (f fields) part() part {
	return part{
		configured: f.has("ConfigQuota"), config: f.real("ConfigQuota"),
		negotiated: f.has("EffectiveQuota"), effective: f.real("EffectiveQuota"), subtree: f.real("SubtreeQuota"),
		surplus: f.text("SurplusPolicy"), sortKey: f.real("GroupSortKey"), requested: f.real("Requested"),
		taken: f.real("SurplusUsed"), demand: f.real("Demand"), divided: f.has("SurplusUsed"),
	}
}
