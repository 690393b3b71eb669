package accounts

import (
	"errors"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// ByPriority brings the rows that were picked into the order of ads: groups as
// they came, then users, the best EUP first.
func (t *Table) ByPriority() {
	t.orderBy = columnOf(attrEUP)
	t.shown = t.Picked
	t.groupsBefore()
}

// Ads returns the ads of the wanted rows. All users share one ad, which gets each user's
// values in turn.
func (t *Table) Ads(wanted func(*Row) bool) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		user := classad.New()
		for _, r := range t.shown {
			ad := user
			if r.Group {
				ad = classad.New()
			}
			if wanted(r) && !yield(setRow(ad, r, t.At)) {
				return
			}
		}
	}
}

// Numbered returns all rows that were picked as one ad, the form that HTCondor
// had first: each attribute's name ends with the row's number, from 1, and
// Priority is the EUP.
func (t *Table) Numbered() *classad.Ad {
	t.ByPriority()
	all := classad.New()
	all.SetInt("LastUpdate", unixOf(t.At))
	all.SetInt("NumSubmittors", int64(len(t.shown)))
	for i, r := range t.shown {
		number := strconv.Itoa(i + 1)
		ad := AdOf(r, t.At)
		ad.SetReal("Priority", r.Effective)
		for _, name := range ad.OwnNames() {
			if name == "EffectivePriority" || name == "LastUpdate" {
				continue
			}
			e, _ := ad.Lookup(name)
			all.Set(name+number, e)
		}
	}
	return all
}

// AdOf returns a row as an ad. Times are Unix seconds, 0 for never; usage is
// in seconds. Priority is the RUP, unlike in HTCondor's ads.
func AdOf(r *Row, at time.Time) *classad.Ad { return setRow(classad.New(), r, at) }

func setRow(ad *classad.Ad, r *Row, at time.Time) *classad.Ad {
	for i := range every {
		every[i].set(ad, r)
	}
	ad.SetInt("LastUpdate", unixOf(at))
	return ad
}

// ErrNameless complains of an ad that is no submitter's.
var ErrNameless = errors.New("an ad without a Name, which no submitter's is")

// ReadView reads rows as -long writes them here, where EffectivePriority is the
// EUP and Priority the RUP, and in HTCondor, where Priority is the EUP: an ad
// each, or one ad with numbered attributes. They are as of their LastUpdate, in
// the time zone of now. After errNameless the ad is the one that was read last.
func ReadView(ads *classad.Reader, now time.Time) (View, error) {
	var v View
	for {
		ad, err := ads.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v, err
		}
		f := fields{ad: ad, context: &classad.Context{}}
		if at := f.moment("LastUpdate"); at.After(v.At) {
			v.At = at.In(now.Location())
		}
		if f.has("Name") {
			v.Rows = append(v.Rows, f.row())
			continue
		}
		if !ad.Has("NumSubmittors") && !ad.Has("Name1") {
			return v, ErrNameless
		}
		for i := 1; ; i++ {
			f.behind = strconv.Itoa(i)
			if !f.has("Name") {
				break
			}
			v.Rows = append(v.Rows, f.row())
		}
	}
	if v.At.IsZero() {
		v.At = now
	}
	v.Policy = v.RootPolicy()
	return v, nil
}

// fields reads an ad's attributes whose names end in the same number, or in none.
type fields struct {
	ad      *classad.Ad
	context *classad.Context
	behind  string
}

func (f fields) has(name string) bool { return f.ad.Has(name + f.behind) }

func (f fields) number(name string) (x float64, ok bool) {
	if x, ok = f.ad.EvalNumber(f.context, name+f.behind); !ok || math.IsNaN(x) {
		return 0, false
	}
	return x, true
}

// moment returns a time in Unix seconds; 0 and less mean never.
func (f fields) moment(name string) time.Time {
	if x, _ := f.number(name); x >= 1 && x <= accountant.MaxTime {
		return time.Unix(int64(x), 0)
	}
	return time.Time{}
}

func (f fields) row() Row {
	r := Row{Ceiling: -1}
	for i := range every {
		every[i].read(f, &r)
	}
	if f.has(attrEUP) { // our ads always have the usage
		r.Counted = !r.Begin.IsZero()
	} else {
		r.Counted = f.has(attrUsage)
		r.Effective, r.Priority = r.Priority, 0
		if r.Factor > 0 {
			r.Priority = r.Effective / r.Factor
		}
	}
	if !f.has("WeightedResourcesUsed") {
		r.InUse = float64(r.slots)
	}
	if !f.has(attrUsage) {
		r.Usage = r.Accumulated
	}
	if r.In == "" {
		r.In = accountant.RootGroup
	}
	if r.Group {
		r.In = r.Name // in the collector's ads it is the group above
		r.dealt = true
	}
	return r
}
