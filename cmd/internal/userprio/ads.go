package userprio

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// display writes the rows in the form that was asked for.
func display(c *cmdline.Call, s chosen, v view) error {
	form, err := c.One("long", "json", "af", "autoformat", "classic")
	if err != nil {
		return err
	}
	if both, err := c.One("legacy", "modular"); err != nil {
		return err
	} else if both != "" && form != "long" {
		return cmdline.Usagef("-%s: only with -long", both)
	}
	if s.rollup {
		v.rollUp()
	}
	t := newTable(s, v)
	switch {
	case form == "long" && c.Has("legacy"):
		return adprint.Print(c, form, slices.Values([]*classad.Ad{t.numbered()}))
	case form == "json":
		t.byPriority()
		return adprint.Object(c.Data(), []adprint.Member{
			{Name: "Submitters", Ads: t.ads(func(r *row) bool { return !r.group })},
			{Name: "Groups", Ads: t.ads(func(r *row) bool { return r.group })},
		})
	case form != "" && form != "classic":
		t.byPriority()
		return adprint.Print(c, form, t.ads(func(*row) bool { return true }))
	case len(t.picked) == 0 && len(s.users) > 0:
		return nil // a table of nobody tells nothing; complain does
	case form == "classic":
		return t.printClassic(c.Stdout)
	}
	return t.print(c.Stdout)
}

// byPriority brings the rows that were picked into the order of ads: groups as
// they came, then users, the best EUP first.
func (t *table) byPriority() {
	t.orderBy = columnOf(attrEUP)
	t.shown = t.picked
	t.groupsBefore()
}

// ads returns the ads of those rows that are wanted. That of a user is the same
// one again with other values.
func (t *table) ads(wanted func(*row) bool) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		user := classad.New()
		for _, r := range t.shown {
			ad := user
			if r.group {
				ad = classad.New()
			}
			if wanted(r) && !yield(setRow(ad, r, t.at)) {
				return
			}
		}
	}
}

// numbered returns all rows that were picked as one ad, the form that HTCondor
// had first: each attribute's name ends with the row's number, from 1, and
// Priority is the EUP.
func (t *table) numbered() *classad.Ad {
	t.byPriority()
	all := classad.New()
	all.SetInt("LastUpdate", seconds(t.at))
	all.SetInt("NumSubmittors", int64(len(t.shown)))
	for i, r := range t.shown {
		number := strconv.Itoa(i + 1)
		ad := adOf(r, t.at)
		ad.SetReal("Priority", r.effective)
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

// adOf returns a row as an ad. Times are Unix seconds, 0 for never; usage is
// in seconds. Priority is the RUP, unlike in HTCondor's ads.
func adOf(r *row, at time.Time) *classad.Ad { return setRow(classad.New(), r, at) }

func setRow(ad *classad.Ad, r *row, at time.Time) *classad.Ad {
	for i := range every {
		every[i].set(ad, r)
	}
	ad.SetInt("LastUpdate", seconds(at))
	return ad
}

// seconds returns a time in Unix seconds, 0 for never.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

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
		f := fields{ad: ad, context: &classad.Context{}}
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
			f.behind = strconv.Itoa(i)
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

// fields reads an ad's attributes, behind all of whose names stands the same number or nothing.
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

func (f fields) row() row {
	r := row{ceiling: -1}
	for i := range every {
		every[i].read(f, &r)
	}
	if f.has(attrEUP) { // our ads always have the usage
		r.counted = !r.begin.IsZero()
	} else {
		r.counted = f.has(attrUsage)
		r.effective, r.priority = r.priority, 0
		if r.factor > 0 {
			r.priority = r.effective / r.factor
		}
	}
	if !f.has("WeightedResourcesUsed") {
		r.inUse = float64(r.slots)
	}
	if !f.has(attrUsage) {
		r.usage = r.accumulated
	}
	if r.in == "" {
		r.in = accountant.RootGroup
	}
	if r.group {
		r.in = r.name // in the collector's ads it is the group above
		r.dealt = true
	}
	return r
}
