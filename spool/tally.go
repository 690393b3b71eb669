package spool

import (
	"errors"
	"fmt"
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
	setInt(ad, "Interval", y.Interval.Nanoseconds())
	if len(y.Windows) > 0 {
		ad.SetString("Windows", windowsText(y.Windows))
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
		Windows: r.windows("Windows"), Decayed: r.recent("Decayed"), LongTerm: r.recent("LongTerm"),
	}
	return y, r.err
}

func (r *row) windows(name string) []accountant.Window {
	text := r.optional(name)
	if text == "" || r.err != nil {
		return nil
	}
	windows, err := parseWindows(text)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
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
		for j, n := range [...]int64{w.Dedicated.Millis, w.Dedicated.Rest, w.Utilized.Millis, w.Utilized.Rest} {
			switch {
			case j > 0:
				b = append(b, ' ')
			case i > 0:
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(b, n, 10)
		}
	}
	return string(b)
}

// parseWindows is the inverse of windowsText.
func parseWindows(text string) ([]accountant.Window, error) {
	windows := make([]accountant.Window, 0, strings.Count(text, ",")+1)
	for one := range strings.SplitSeq(text, ", ") {
		var n [4]int64
		for i := range n {
			digits, rest, more := strings.Cut(one, " ")
			value, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || more != (i < len(n)-1) {
				return nil, errors.New("not windows of four numbers each")
			}
			n[i], one = value, rest
		}
		windows = append(windows, accountant.Window{
			Dedicated: accountant.Usage{Millis: n[0], Rest: n[1]}, Utilized: accountant.Usage{Millis: n[2], Rest: n[3]},
		})
	}
	return windows, nil
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
