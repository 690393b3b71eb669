package spool

import (
	"bytes"
	"fmt"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// The small tables are written as ads, a row each. Times are milliseconds
// since 1970, weights thousandths, so that nothing is rounded.

func setTime(ad *classad.Ad, name string, t time.Time) {
	if !t.IsZero() {
		ad.SetInt(name, t.UnixMilli())
	}
}

// row collects the first error of reading a row's attributes.
type row struct {
	ad  *classad.Ad
	c   *classad.Context
	err error
}

func rowOf(ad *classad.Ad) *row { return &row{ad: ad, c: &classad.Context{}} }

func (r *row) text(name string) string {
	v, ok := r.ad.EvalString(r.c, name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: missing or no string", name)
	}
	return v
}

// int reads an integer, 0 when it is not there.
func (r *row) int(name string) int64 {
	if !r.ad.Has(name) {
		return 0
	}
	v, ok := r.ad.EvalInt(r.c, name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: no integer", name)
	}
	return v
}

func (r *row) real(name string) float64 {
	if !r.ad.Has(name) {
		return 0
	}
	v, ok := r.ad.EvalNumber(r.c, name)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: no number", name)
	}
	return v
}

func (r *row) time(name string) time.Time {
	if !r.ad.Has(name) {
		return time.Time{}
	}
	return time.UnixMilli(r.int(name)).UTC()
}

func claimAd(c pool.Claim) *classad.Ad {
	ad := classad.New()
	ad.SetString("Job", c.Job.String())
	ad.SetInt("Attempt", int64(c.Attempt))
	ad.SetString("Slot", c.Slot)
	ad.SetString("Machine", c.Machine)
	ad.SetString("Submitter", c.Submitter)
	ad.SetString("State", c.State.String())
	ad.SetInt("Weight", int64(c.Weight))
	setTime(ad, "MatchedAt", c.MatchedAt)
	setTime(ad, "StartedAt", c.StartedAt)
	setTime(ad, "VacateSince", c.VacateSince)
	if c.PID != 0 {
		ad.SetInt("PID", int64(c.PID))
	}
	return ad
}

func claimOf(ad *classad.Ad) (pool.Claim, error) {
	r := rowOf(ad)
	c := pool.Claim{
		Attempt: int(r.int("Attempt")), Slot: r.text("Slot"), Machine: r.text("Machine"),
		Submitter: r.text("Submitter"), Weight: accountant.Weight(r.int("Weight")),
		MatchedAt: r.time("MatchedAt"), StartedAt: r.time("StartedAt"), VacateSince: r.time("VacateSince"),
		PID: int(r.int("PID")), Seq: uint64(r.int("Seq")),
	}
	job, state := r.text("Job"), r.text("State")
	if r.err != nil {
		return c, r.err
	}
	var err error
	if c.Job, err = pool.ParseJobID(job); err != nil {
		return c, err
	}
	c.State, err = pool.ParseClaimState(state)
	return c, err
}

func submitterAd(s accountant.Record) *classad.Ad {
	ad := classad.New()
	ad.SetString("Name", s.Name)
	ad.SetReal("Priority", s.Priority)
	setTime(ad, "At", s.At)
	ad.SetInt("HalfLife", s.HalfLife.Nanoseconds())
	if s.Factor != 0 {
		ad.SetReal("PriorityFactor", s.Factor)
	}
	ad.SetInt("ResourcesUsed", int64(s.ResourcesUsed))
	ad.SetInt("InUse", int64(s.InUse))
	setUsage(ad, "Slot", s.Slots)
	setUsage(ad, "Weighted", s.Weighted)
	setTime(ad, "Begin", s.Begin)
	setTime(ad, "Last", s.Last)
	return ad
}

func setUsage(ad *classad.Ad, name string, u accountant.Usage) {
	ad.SetInt(name+"Millis", u.Millis)
	if u.Rest != 0 {
		ad.SetInt(name+"Rest", u.Rest)
	}
}

func (r *row) usage(name string) accountant.Usage {
	return accountant.Usage{Millis: r.int(name + "Millis"), Rest: r.int(name + "Rest")}
}

func submitterOf(ad *classad.Ad) (accountant.Record, error) {
	r := rowOf(ad)
	s := accountant.Record{
		Name: r.text("Name"), Priority: r.real("Priority"), At: r.time("At"),
		HalfLife: time.Duration(r.int("HalfLife")), Factor: r.real("PriorityFactor"),
		ResourcesUsed: int(r.int("ResourcesUsed")), InUse: accountant.Weight(r.int("InUse")),
		Slots: r.usage("Slot"), Weighted: r.usage("Weighted"),
		Begin: r.time("Begin"), Last: r.time("Last"),
	}
	return s, r.err
}

func backoffAd(b pool.Backoff) *classad.Ad {
	ad := classad.New()
	ad.SetString("Slot", b.Slot)
	ad.SetInt("Failures", int64(b.Failures))
	setTime(ad, "Until", b.Until)
	return ad
}

func backoffOf(ad *classad.Ad) (pool.Backoff, error) {
	r := rowOf(ad)
	b := pool.Backoff{Slot: r.text("Slot"), Failures: int(r.int("Failures")), Until: r.time("Until")}
	return b, r.err
}

// The keys of rows stand first in their lines, so that a row that nobody asks
// for need not be parsed. One that has it elsewhere is right all the same.
const (
	claimKeyName     = "Job"
	submitterKeyName = "Name"
	backoffKeyName   = "Slot"
)

// appendRow writes a row's ad in one line, its key first.
func appendRow(b []byte, ad *classad.Ad, key string) []byte {
	e, _ := ad.Lookup(key)
	b = appendAttribute(append(b, '['), key, e)
	for _, name := range ad.OwnNames() {
		if name != key {
			e, _ := ad.Lookup(name)
			b = appendAttribute(append(b, ';'), name, e)
		}
	}
	return append(b, " ]"...)
}

// keyOf returns the text of the attribute that a row begins with.
func keyOf(line []byte, name string) (text string, ok bool) {
	rest, ok := bytes.CutPrefix(line[min(1, len(line)):], []byte(" [ "+name+" = "))
	if !ok {
		return "", false
	}
	text, err := unquote(rest)
	return text, err == nil
}

func claimKey(line []byte) (pool.JobID, error) {
	if text, ok := keyOf(line, claimKeyName); ok {
		return pool.ParseJobID(text)
	}
	c, err := parseClaim(line, 0)
	return c.Job, err
}

func submitterKey(line []byte) (string, error) {
	if text, ok := keyOf(line, submitterKeyName); ok {
		return text, nil
	}
	s, err := parseSubmitter(line, 0)
	return s.Name, err
}

func backoffKey(line []byte) (string, error) {
	if text, ok := keyOf(line, backoffKeyName); ok {
		return text, nil
	}
	b, err := parseBackoff(line, 0)
	return b.Slot, err
}

func parseClaim(line []byte, seq uint64) (pool.Claim, error) {
	r, err := rowRecord(line, 'K')
	if r.Claim.Seq == 0 {
		r.Claim.Seq = seq
	}
	return r.Claim, err
}

func parseSubmitter(line []byte, _ uint64) (accountant.Record, error) {
	r, err := rowRecord(line, 'U')
	return r.Submitter, err
}

func parseBackoff(line []byte, _ uint64) (pool.Backoff, error) {
	r, err := rowRecord(line, 'B')
	return r.Backoff, err
}

// rowRecord reads a line of a small table.
func rowRecord(line []byte, kind byte) (record, error) {
	if len(line) < 2 || line[0] != kind || line[1] != ' ' {
		return record{}, fmt.Errorf("%q: not a row of this table", line)
	}
	r := record{Kind: kind}
	return r, r.row(string(line[2:]))
}
