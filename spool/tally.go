package spool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// The attributes that are the key of a tally's row, in this order.
const (
	tallyKindName = "Kind"
	tallyNameName = "Name"
)

// The attributes that have its windows.
const (
	windowsName     = "Windows"
	equivalentsName = "Equivalents"
)

// Tally returns what is tallied under a key; for one that is not known a Tally
// with its Key, and false.
func (v *View) Tally(k accountant.Key) (accountant.Tally, bool) {
	y, ok, err := v.state().tallies.get(k)
	must(err)
	if !ok {
		y.Key = k
	}
	return y, ok
}

// Tallies returns all tallies, by kind and name.
func (v *View) Tallies() []accountant.Tally {
	return sorted(v.state().tallies, accountant.Key.Compare)
}

// PutTally adds a tally or changes it as a whole. However often a transaction
// does so, the journal gets the last one only.
func (tx *Tx) PutTally(y accountant.Tally) {
	tx.state().tallies.put(y.Key, y)
	if tx.tallied == nil {
		tx.tallied = map[accountant.Key]bool{}
	}
	tx.tallied[y.Key] = true
}

// DropTally removes a tally.
func (tx *Tx) DropTally(k accountant.Key) {
	delete(tx.tallied, k)
	tx.put(record{Kind: 'w', Tally: &accountant.Tally{Key: k}})
}

func tallyAd(y accountant.Tally) *classad.Ad {
	ad := classad.New()
	ad.SetString(tallyKindName, y.Kind)
	ad.SetString(tallyNameName, y.Name)
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
	return ad
}

func setRecent(ad *classad.Ad, name string, r accountant.Recent) {
	setReal(ad, name+"CPU", r.CPU)
	setReal(ad, name+"Memory", r.Memory)
	setReal(ad, name+"IO", r.IO)
}

func tallyOf(r *row) (accountant.Tally, error) {
	y := accountant.Tally{
		Key: accountant.Key{Kind: r.text(tallyKindName), Name: r.text(tallyNameName)},
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

// tallyKey returns the key of a row.
func tallyKey(line []byte) (accountant.Key, error) {
	if kind, rest, ok := leading(line[min(1, len(line)):], " [ "+tallyKindName+" = "); ok {
		if name, _, ok := leading(rest, "; "+tallyNameName+" = "); ok {
			return accountant.Key{Kind: kind, Name: name}, nil
		}
	}
	y, err := parseTally(line, 0)
	return y.Key, err
}

func parseTally(line []byte, _ uint64) (accountant.Tally, error) {
	r, err := rowRecord(line, 'W')
	if err != nil {
		return accountant.Tally{}, err
	}
	return *r.Tally, nil
}

// goneTally reads the key of a tally that is gone: two quoted texts.
func goneTally(b []byte) (accountant.Key, error) {
	kind, name, err := twoTexts(b)
	return accountant.Key{Kind: kind, Name: name}, err
}
