package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// The small tables are written as ads, a row each. Times are milliseconds
// since 1970, weights thousandths, so that nothing is rounded.

func setTime(to attributes, name string, t time.Time) {
	if !t.IsZero() {
		to.SetInt(name, t.UnixMilli())
	}
}

// setInt sets an integer that is not 0.
func setInt(to attributes, name string, n int64) {
	if n != 0 {
		to.SetInt(name, n)
	}
}

// setReal sets a number that is not 0. That below zero is one.
func setReal(to attributes, name string, x float64) {
	if math.Float64bits(x) != 0 {
		to.SetReal(name, x)
	}
}

// setText sets a text that is not empty.
func setText(to attributes, name, text string) {
	if text != "" {
		to.SetString(name, text)
	}
}

// row is a row to be read, as an ad or as its plain attributes, and collects the
// first error of that.
type row struct {
	ad    *classad.Ad
	c     *classad.Context
	plain []plain // without an ad
	err   error
}

func rowOf(ad *classad.Ad) *row { return &row{ad: ad, c: &classad.Context{}} }

// has reports whether the row has an attribute.
func (r *row) has(name string) bool {
	if r.ad == nil {
		return r.find(name) != nil
	}
	return r.ad.Has(name)
}

func (r *row) text(name string) string {
	var v string
	var ok bool
	if r.ad != nil {
		v, ok = r.ad.EvalString(r.c, name)
	} else if p := r.find(name); p != nil && p.kind == plainText {
		v, ok = p.text, true
	}
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: missing or no string", name)
	}
	return v
}

// optional reads a text, empty when it is not there.
func (r *row) optional(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name)
}

// int reads an integer, 0 when it is not there.
func (r *row) int(name string) int64 {
	if !r.has(name) {
		return 0
	}
	var v int64
	var ok bool
	if r.ad != nil {
		v, ok = r.ad.EvalInt(r.c, name)
	} else {
		v, ok = r.find(name).integer()
	}
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: no integer", name)
	}
	return v
}

func (r *row) real(name string) float64 {
	if !r.has(name) {
		return 0
	}
	var v float64
	var ok bool
	if r.ad != nil {
		v, ok = r.ad.EvalNumber(r.c, name)
	} else {
		v, ok = r.find(name).number()
	}
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%s: no number", name)
	}
	return v
}

func (r *row) time(name string) time.Time {
	if !r.has(name) {
		return time.Time{}
	}
	return time.UnixMilli(r.int(name)).UTC()
}

func (r *row) credentials() accountant.Credentials {
	return accountant.Credentials{
		User: r.optional("Owner"), Group: r.optional("UnixGroup"), Account: r.optional("AcctGroup"),
		QOS: r.optional("QOS"), Class: r.optional("Class"), Project: r.optional("Project"), Cpus: r.int("RequestCpus"), PE: r.real("PE"),
	}
}

func claimOf(r *row) (pool.Claim, error) {
	c := pool.Claim{
		Attempt: int(r.int("Attempt")), Slot: r.text("Slot"), Machine: r.text("Machine"),
		Submitter: r.text("Submitter"), Weight: accountant.Weight(r.int("Weight")), By: r.credentials(),
		MatchedAt: r.time("MatchedAt"), StartedAt: r.time("StartedAt"), VacateSince: r.time("VacateSince"),
		PID: int(r.int("PID")), Seq: uint64(r.int("Seq")),
		Limits: r.optional("Limits"), Rank: r.real("Rank"), ChargedSince: r.time("ChargedSince"),
		VacateReason: r.optional("VacateReason"), VacateCode: int(r.int("VacateCode")), VacateSubcode: int(r.int("VacateSubcode")),
	}
	var err error
	c.Piece, err = r.pieceOf()
	job, state, promisedTo := r.text("Job"), r.text("State"), r.optional(promisedToName)
	if err = cmp.Or(r.err, err); err != nil {
		return c, err
	}
	if promisedTo != "" {
		if c.PromisedTo, err = pool.ParseJobID(promisedTo); err != nil {
			return c, fmt.Errorf("%s: %w", promisedToName, err)
		}
	}
	if c.Job, err = pool.ParseJobID(job); err != nil {
		return c, err
	}
	c.State, err = pool.ParseClaimState(state)
	return c, err
}

// pieceOf reads what a claim takes of a partitionable slot; of a whole one there is
// nothing of it in the row.
func (r *row) pieceOf() (pool.Piece, error) {
	p := pool.Piece{Of: r.optional("Of"), Takes: pool.Resources(r.optional(takesName))}
	if p.Of == "" && p.Takes != "" {
		return p, fmt.Errorf("%s: without Of, whose part that is", takesName)
	}
	if _, err := p.Takes.Amounts(); err != nil {
		return p, fmt.Errorf("%s: %w", takesName, err)
	}
	return p, nil
}

const takesName = "Takes"

func writeSubmitter(ad attributes, s accountant.Record) {
	ad.SetString("Name", s.Name)
	ad.SetReal("Priority", s.Priority)
	setTime(ad, "At", s.At)
	ad.SetInt("HalfLife", s.HalfLife.Nanoseconds())
	setReal(ad, "PriorityFactor", s.Factor)
	ad.SetInt("ResourcesUsed", int64(s.ResourcesUsed))
	ad.SetInt("InUse", int64(s.InUse))
	setInt(ad, "Subtree", int64(s.Subtree))
	setInt(ad, "OutsideSlots", int64(s.OutsideSlots))
	setInt(ad, "Outside", int64(s.Outside))
	setUsage(ad, "Slot", s.Slots)
	setUsage(ad, "Weighted", s.Weighted)
	setTime(ad, "Begin", s.Begin)
	setTime(ad, "Last", s.Last)
	if s.Ceiling.Set {
		ad.SetInt("Ceiling", s.Ceiling.Slots)
	}
	setInt(ad, "Floor", s.Floor)
	setLease(ad, "Factor", s.FactorLease)
	setLease(ad, "Ceiling", s.CeilingLease)
	setLease(ad, "Floor", s.FloorLease)
}

func setLease(ad attributes, name string, l accountant.Lease) {
	setTime(ad, name+"Until", l.Until)
	setReal(ad, name+"Before", l.Before)
}

func (r *row) lease(name string) accountant.Lease {
	return accountant.Lease{Until: r.time(name + "Until"), Before: r.real(name + "Before")}
}

// limit reads a bound, none when it is not there.
func (r *row) limit(name string) accountant.Limit {
	if !r.has(name) {
		return accountant.Limit{}
	}
	return accountant.LimitOf(r.int(name))
}

func setUsage(ad attributes, name string, u accountant.Usage) {
	ad.SetInt(name+"Millis", u.Millis)
	if u.Rest != 0 {
		ad.SetInt(name+"Rest", u.Rest)
	}
}

func (r *row) usage(name string) accountant.Usage {
	return accountant.Usage{Millis: r.int(name + "Millis"), Rest: r.int(name + "Rest")}
}

func submitterOf(r *row) (accountant.Record, error) {
	s := accountant.Record{
		Name: r.text("Name"), Priority: r.real("Priority"), At: r.time("At"),
		HalfLife: time.Duration(r.int("HalfLife")), Factor: r.real("PriorityFactor"),
		ResourcesUsed: int(r.int("ResourcesUsed")), InUse: accountant.Weight(r.int("InUse")), Subtree: accountant.Weight(r.int("Subtree")),
		OutsideSlots: int(r.int("OutsideSlots")), Outside: accountant.Weight(r.int("Outside")),
		Slots: r.usage("Slot"), Weighted: r.usage("Weighted"),
		Begin: r.time("Begin"), Last: r.time("Last"),
		Ceiling: r.limit("Ceiling"), Floor: r.int("Floor"),
		FactorLease: r.lease("Factor"), CeilingLease: r.lease("Ceiling"), FloorLease: r.lease("Floor"),
	}
	return s, r.err
}

// SubmitterRow returns a submitter's record in one line, as the journal has it
// but for the kind: the ad between brackets. Times are of milliseconds in it.
func SubmitterRow(s accountant.Record) string {
	return string(submitterKind.appendRow(nil, s))
}

// ParseSubmitterRow is the inverse of SubmitterRow. The error says what is wrong
// with a text that is no such row.
func ParseSubmitterRow(text string) (accountant.Record, error) {
	return submitterKind.parseText(text)
}

// The attributes that have the windows of a tally.
const (
	windowsName     = "Windows"
	equivalentsName = "Equivalents"
)

func writeTally(ad attributes, y accountant.Tally) {
	ad.SetString("Kind", y.Kind)
	ad.SetString("Name", y.Name)
	setTime(ad, "At", y.At)
	setInt(ad, "Cpus", y.Cpus)
	if y.PE != accountant.EquivalentsOf(y.Cpus) {
		ad.SetInt("PE", int64(y.PE))
	}
	setInt(ad, "Interval", y.Interval.Nanoseconds())
	if len(y.Windows) > 0 {
		ad.SetString(windowsName, windowsText(y.Windows))
	}
	if slices.ContainsFunc(y.Windows, func(w accountant.Window) bool { return w.Equivalent != w.Dedicated }) {
		ad.SetString(equivalentsName, equivalentsText(y.Windows))
	}
	setRecent(ad, "Decayed", y.Decayed)
	setRecent(ad, "LongTerm", y.LongTerm)
}

func setRecent(ad attributes, name string, r accountant.Recent) {
	setReal(ad, name+"CPU", r.CPU)
	setReal(ad, name+"Memory", r.Memory)
	setReal(ad, name+"IO", r.IO)
}

func tallyOf(r *row) (accountant.Tally, error) {
	y := accountant.Tally{
		Key: accountant.Key{Kind: r.text("Kind"), Name: r.text("Name")},
		At:  r.time("At"), Cpus: r.int("Cpus"), Interval: time.Duration(r.int("Interval")),
		Windows: r.windows(), Decayed: r.recent("Decayed"), LongTerm: r.recent("LongTerm"),
	}
	if y.PE = accountant.EquivalentsOf(y.Cpus); r.has("PE") {
		y.PE = accountant.Weight(r.int("PE"))
	}
	return y, r.err
}

func (r *row) windows() []accountant.Window {
	text, equivalents := r.optional(windowsName), r.optional(equivalentsName)
	if r.err != nil {
		return nil
	}
	var windows []accountant.Window
	var err error
	if text != "" {
		if windows, err = parseWindows(text); err != nil {
			r.err = fmt.Errorf("%s: %w", windowsName, err)
			return nil
		}
	}
	if equivalents != "" {
		if err = parseEquivalents(equivalents, windows); err != nil {
			r.err = fmt.Errorf("%s: %w", equivalentsName, err)
		}
	}
	return windows
}

func (r *row) recent(name string) accountant.Recent {
	return accountant.Recent{CPU: r.real(name + "CPU"), Memory: r.real(name + "Memory"), IO: r.real(name + "IO")}
}

// windowsText writes windows, the newest first: one is its dedicated and its
// utilized usage, each in milliseconds and the thousandths left over.
func windowsText(windows []accountant.Window) string {
	var b []byte
	for i, w := range windows {
		b = appendWindow(b, i, w.Dedicated, w.Utilized)
	}
	return string(b)
}

// equivalentsText writes the windows' equivalents likewise. They stand apart from the
// other usage, and only where one is not what is dedicated: so a row without them
// reads as it did, and one with them can be read by a program that knows of none.
func equivalentsText(windows []accountant.Window) string {
	var b []byte
	for i, w := range windows {
		b = appendWindow(b, i, w.Equivalent)
	}
	return string(b)
}

// appendWindow writes what the i-th window has of each kind of usage.
func appendWindow(b []byte, i int, kinds ...accountant.Usage) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	for j, u := range kinds {
		if i+j > 0 {
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(b, u.Millis, 10), ' ')
		b = strconv.AppendInt(b, u.Rest, 10)
	}
	return b
}

// parseWindows is the inverse of windowsText. The equivalents are what is dedicated
// until others are known.
func parseWindows(text string) ([]accountant.Window, error) {
	windows := make([]accountant.Window, 0, strings.Count(text, ",")+1)
	for one := range strings.SplitSeq(text, ", ") {
		var n [4]int64
		if !numbers(n[:], one) {
			return nil, errors.New("not windows of four numbers each")
		}
		dedicated := accountant.Usage{Millis: n[0], Rest: n[1]}
		windows = append(windows, accountant.Window{
			Dedicated: dedicated, Equivalent: dedicated, Utilized: accountant.Usage{Millis: n[2], Rest: n[3]},
		})
	}
	return windows, nil
}

// parseEquivalents is the inverse of equivalentsText: it says how much of equivalents
// each of the windows has.
func parseEquivalents(text string, of []accountant.Window) error {
	wrong := fmt.Errorf("not two numbers for each of %d windows", len(of))
	each := strings.Split(text, ", ")
	if len(each) != len(of) {
		return wrong
	}
	for i, one := range each {
		var n [2]int64
		if !numbers(n[:], one) {
			return wrong
		}
		of[i].Equivalent = accountant.Usage{Millis: n[0], Rest: n[1]}
	}
	return nil
}

// numbers reads as many numbers as there is room for, a blank between two, and says
// whether that was all of the text.
func numbers(to []int64, text string) bool {
	for i := range to {
		digits, rest, more := strings.Cut(text, " ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || more != (i < len(to)-1) {
			return false
		}
		to[i], text = n, rest
	}
	return true
}

func writeBackoff(ad attributes, b pool.Backoff) {
	ad.SetString("Slot", b.Slot)
	ad.SetInt("Failures", int64(b.Failures))
	setTime(ad, "Until", b.Until)
}

func backoffOf(r *row) (pool.Backoff, error) {
	b := pool.Backoff{Slot: r.text("Slot"), Failures: int(r.int("Failures")), Until: r.time("Until")}
	return b, r.err
}

// leading returns the text, or else what it is, of the value that b begins with behind lead, and what
// follows it.
func leading(b []byte, lead string) (text string, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(b, []byte(lead))
	if !ok {
		return "", nil, false
	}
	if end := bytes.IndexAny(rest, "; "); end > 0 && rest[0] != plainText {
		return string(rest[:end]), rest[end:], true
	}
	var r record
	rest, err := r.slot(rest)
	return r.Slot, rest, err == nil
}

// plain is one attribute of a row as the spool writes almost all of them: a
// text without escapes, or a decimal number.
type plain struct {
	name, text string
	kind       byte // one of those below
	used       bool
}

// The kinds of plain values.
const (
	plainText    = '"'
	plainInteger = 'i'
	plainReal    = 'r'
)

// plainRows are for readers of rows, which are many: the room for the attributes is used again.
var plainRows = sync.Pool{New: func() any { return new(row) }}

// readPlain reads a row that consists of plain attributes, at a tenth of the cost of
// reading it as the ad that it is. Of anything else it says so, and the row is to
// be read as an ad.
func (r *row) readPlain(text string) bool {
	rest, ok := strings.CutPrefix(text, "[ ")
	for ok {
		var p plain
		if p.name, rest, ok = strings.Cut(rest, " = "); !ok || !plainName(p.name) {
			return false
		}
		if rest, ok = p.value(rest); !ok {
			return false
		}
		r.plain = append(r.plain, p)
		if rest == " ]" {
			return true
		}
		rest, ok = strings.CutPrefix(rest, "; ")
	}
	return false
}

func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

// value reads a value and returns what follows it.
func (p *plain) value(s string) (rest string, ok bool) {
	if s == "" {
		return "", false
	}
	if s[0] != plainText {
		end := strings.IndexAny(s, "; ")
		if end < 0 {
			return "", false
		}
		p.text = s[:end]
		p.kind = numeral(p.text)
		return s[end:], p.kind != 0
	}
	p.kind = plainText
	end := strings.IndexByte(s[1:], '"') + 1
	if end == 0 {
		return "", false
	}
	p.text = s[1:end]
	for i := range len(p.text) {
		if c := p.text[i]; c < ' ' || c > '~' || c == '\\' {
			return "", false
		}
	}
	return s[end+1:], true
}

// numeral returns the kind of a number of at most 18 digits, 0 for what is none.
func numeral(s string) byte {
	kind, digits := byte(plainInteger), 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '-' && i == 0:
		case c == '.' && kind == plainInteger && digits > 0:
			kind = plainReal
		default:
			return 0
		}
	}
	if digits == 0 || digits > 18 || s[len(s)-1] == '.' {
		return 0
	}
	// A number in ads does not begin with a needless zero.
	if s = strings.TrimPrefix(s, "-"); len(s) > 1 && s[0] == '0' && s[1] != '.' {
		return 0
	}
	return kind
}

// find returns the attribute with a name, and notes that it was asked for.
func (r *row) find(name string) *plain {
	for i := range r.plain {
		if p := &r.plain[i]; p.name == name {
			p.used = true
			return p
		}
	}
	return nil
}

// odd reports whether a plain row has to be read as an ad after all: something was not
// of its kind, or some name was not asked for, since it is unknown, stands there
// twice, or is spelled otherwise.
func (r *row) odd() bool {
	for _, p := range r.plain {
		if !p.used {
			return true
		}
	}
	return r.err != nil
}

func (p *plain) integer() (int64, bool) {
	if p.kind != plainInteger {
		return 0, false
	}
	n, err := strconv.ParseInt(p.text, 10, 64)
	return n, err == nil
}

func (p *plain) number() (float64, bool) {
	if p.kind == plainText {
		return 0, false
	}
	x, err := strconv.ParseFloat(p.text, 64)
	return x, err == nil
}

// attributes is what a row is written to: an ad, or text at once.
type attributes interface {
	SetString(name, s string)
	SetInt(name string, n int64)
	SetReal(name string, x float64)
}

func writeClaim(to attributes, c pool.Claim) {
	to.SetString("Job", c.Job.String())
	setText(to, "AcctGroup", c.By.Account)
	to.SetInt("Attempt", int64(c.Attempt))
	setTime(to, "ChargedSince", c.ChargedSince)
	setText(to, "Class", c.By.Class)
	setText(to, "Limits", c.Limits)
	to.SetString("Machine", c.Machine)
	setTime(to, "MatchedAt", c.MatchedAt)
	setText(to, "Of", c.Piece.Of)
	setText(to, "Owner", c.By.User)
	setReal(to, "PE", c.By.PE)
	setInt(to, "PID", int64(c.PID))
	setText(to, "Project", c.By.Project)
	if c.PromisedTo != (pool.JobID{}) {
		to.SetString(promisedToName, c.PromisedTo.String())
	}
	setText(to, "QOS", c.By.QOS)
	setReal(to, "Rank", c.Rank)
	setInt(to, "RequestCpus", c.By.Cpus)
	setInt(to, "Seq", int64(c.Seq))
	to.SetString("Slot", c.Slot)
	setTime(to, "StartedAt", c.StartedAt)
	to.SetString("State", c.State.String())
	to.SetString("Submitter", c.Submitter)
	setText(to, takesName, string(c.Piece.Takes))
	setText(to, "UnixGroup", c.By.Group)
	setInt(to, "VacateCode", int64(c.VacateCode))
	setText(to, "VacateReason", c.VacateReason)
	setTime(to, "VacateSince", c.VacateSince)
	setInt(to, "VacateSubcode", int64(c.VacateSubcode))
	to.SetInt("Weight", int64(c.Weight))
}

const promisedToName = "PromisedTo"

// rowText writes attributes of usual names in the order in which they are set.
type rowText struct {
	b         []byte
	separator byte
}

func (t *rowText) name(name string) {
	t.b = append(append(append(t.b, t.separator, ' '), name...), " = "...)
	t.separator = ';'
}

func (t *rowText) SetInt(name string, n int64) {
	t.name(name)
	t.b = strconv.AppendInt(t.b, n, 10)
}

func (t *rowText) SetReal(name string, x float64) {
	t.name(name)
	t.b = classad.Literal(classad.Real(x)).AppendTo(t.b, classad.StyleSpool)
}

func (t *rowText) SetString(name, s string) {
	t.name(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == plainText {
			t.b = classad.Literal(classad.String(s)).AppendTo(t.b, classad.StyleSpool)
			return
		}
	}
	t.b = append(append(append(t.b, plainText), s...), plainText)
}
