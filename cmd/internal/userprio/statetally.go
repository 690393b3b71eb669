package userprio

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"fairspool/cmd/internal/edit"
	"fairspool/lib/accountant"
)

// tallyJSON is one of the other policies' tallies.
type tallyJSON struct {
	Kind, Name    string
	At            int64
	Cpus          int64        `json:",omitempty"` // this and PE are told, but not taken over by -import
	PE            int64        `json:",omitempty"` // thousandths; without it, Cpus
	IntervalNanos int64        `json:",omitempty"`
	Windows       []windowJSON `json:",omitempty"`
	Decayed       *recentJSON  `json:",omitempty"`
	LongTerm      *recentJSON  `json:",omitempty"`
}

type windowJSON struct {
	DedicatedMillis  int64
	DedicatedRest    int64 `json:",omitempty"`
	EquivalentMillis int64 // without it, this is what is dedicated
	EquivalentRest   int64 `json:",omitempty"`
	UtilizedMillis   int64
	UtilizedRest     int64 `json:",omitempty"`
}

type recentJSON struct{ CPU, Memory, IO float64 }

func tallyOut(y accountant.Tally) tallyJSON {
	x := tallyJSON{Kind: y.Kind, Name: y.Name, At: millis(y.At), Cpus: y.Cpus, PE: int64(y.PE), IntervalNanos: y.Interval.Nanoseconds(),
		Decayed: recentOut(y.Decayed), LongTerm: recentOut(y.LongTerm)}
	for _, w := range y.Windows {
		x.Windows = append(x.Windows, windowJSON{
			w.Dedicated.Millis, w.Dedicated.Rest, w.Equivalent.Millis, w.Equivalent.Rest, w.Utilized.Millis, w.Utilized.Rest})
	}
	return x
}

func recentOut(r accountant.Recent) *recentJSON {
	if r == (accountant.Recent{}) {
		return nil
	}
	x := recentJSON(r)
	return &x
}

// none is a number that is not given, where 0 is one.
const none = int64(-1)

// tally reads one tally.
func (in *stateReader) tally() error {
	var y accountant.Tally
	var at, interval int64
	equivalents := none
	if err := in.object(members{
		"Kind":          in.string(&y.Kind),
		"Name":          in.string(&y.Name),
		"At":            in.int(&at, 0, edit.MaxTime*1000),
		"Cpus":          in.int(&y.Cpus, 0, math.MaxInt64),
		"PE":            in.int(&equivalents, 0, math.MaxInt64),
		"IntervalNanos": in.int(&interval, 0, math.MaxInt64),
		"Windows":       func() error { return in.array(func() error { return in.window(&y.Windows) }) },
		"Decayed":       in.recent(&y.Decayed),
		"LongTerm":      in.recent(&y.LongTerm),
	}, "Kind", "Name", "At"); err != nil {
		return err
	}
	if y.Kind == "" || y.Name == "" {
		return wrong("Name", "this and Kind must not be empty")
	}
	if err := fitting(y); err != nil {
		return err
	}
	if _, twice := in.read.tallies[y.Key]; twice {
		return wrong("Name", "%s %s is there twice", y.Kind, y.Name)
	}
	if y.PE = accountant.Weight(equivalents); equivalents == none {
		y.PE = accountant.EquivalentsOf(y.Cpus)
	}
	y.At, y.Interval = fromMillis(at), time.Duration(interval)
	in.read.tallies[y.Key] = y
	return nil
}

// fitting refuses a tally of a kind that nobody reckons by, and one that holds what
// is not reckoned for its kind: it would stay for good, and be shown nowhere.
func fitting(y accountant.Tally) error {
	switch y.Kind {
	case accountant.KindOwn, accountant.KindProject, accountant.KindWithin:
		if len(y.Windows) > 0 {
			return wrong("Windows", "%s %s has none: its kind has Decayed and LongTerm", y.Kind, y.Name)
		}
		return nil
	}
	if !y.Windowed() {
		return wrong("Kind", "%s: no kind of tally has this name", y.Kind)
	}
	if y.Decayed != (accountant.Recent{}) || y.LongTerm != (accountant.Recent{}) {
		return wrong("Decayed", "%s %s has none, and no LongTerm: its kind has Windows", y.Kind, y.Name)
	}
	return nil
}

func (in *stateReader) window(to *[]accountant.Window) error {
	w := accountant.Window{Equivalent: accountant.Usage{Millis: none}}
	if len(*to) == accountant.MaxDepth {
		return fmt.Errorf("more than %d of them", accountant.MaxDepth)
	}
	const rest = int64(accountant.One) - 1
	err := in.object(members{
		"DedicatedMillis":  in.int(&w.Dedicated.Millis, 0, math.MaxInt64),
		"DedicatedRest":    in.int(&w.Dedicated.Rest, 0, rest),
		"EquivalentMillis": in.int(&w.Equivalent.Millis, 0, math.MaxInt64),
		"EquivalentRest":   in.int(&w.Equivalent.Rest, 0, rest),
		"UtilizedMillis":   in.int(&w.Utilized.Millis, 0, math.MaxInt64),
		"UtilizedRest":     in.int(&w.Utilized.Rest, 0, rest),
	}, "DedicatedMillis", "UtilizedMillis")
	if w.Equivalent.Millis == none {
		w.Equivalent = w.Dedicated
	}
	*to = append(*to, w)
	return err
}

func (in *stateReader) recent(to *accountant.Recent) func() error {
	return func() error {
		return in.object(members{
			"CPU":    in.real(&to.CPU, 0, math.MaxFloat64),
			"Memory": in.real(&to.Memory, 0, math.MaxFloat64),
			"IO":     in.real(&to.IO, 0, math.MaxFloat64),
		}, "CPU", "Memory", "IO")
	}
}

// tallyText is a tally in the log: as it is exported, in one line; empty for
// none.
func tallyText(e accountant.TallyEntry) string {
	if !e.There {
		return ""
	}
	text, err := json.Marshal(tallyOut(e.Tally))
	if err != nil { // a number that is none: nothing to go back to
		return ""
	}
	return string(text)
}

// parseTally reads what tallyText wrote.
func parseTally(text string) (accountant.Tally, error) {
	in, err := newStateReader([]byte(text))
	if err == nil {
		err = in.whole(in.tally)
	}
	for _, y := range in.read.tallies {
		return y, err
	}
	return accountant.Tally{}, err
}
