package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// handWritten reads slots.d/*.ads, files in the order of their names. Nobody
// promised that these are right, so each bad ad is an error of its own with
// file and line, and the rest counts.
func (s *Spool) handWritten() (slots []pool.Slot, bad []error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "slots.d")) // sorted
	if err != nil {
		return nil, []error{err}
	}
	expressions := classad.NewInterner()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".ads") {
			continue
		}
		got, wrong := readSlots(filepath.Join(s.dir, "slots.d", e.Name()), expressions)
		slots, bad = append(slots, got...), append(bad, wrong...)
	}
	return slots, bad
}

func readSlots(name string, expressions *classad.Interner) (slots []pool.Slot, bad []error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, []error{err}
	}
	defer f.Close()
	r := classad.NewReader(f, name)
	r.Intern(expressions)
	for {
		ad, err := r.Next()
		var syntax *classad.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return slots, bad
		case errors.As(err, &syntax):
			bad = append(bad, err)
			continue
		case err != nil:
			return slots, append(bad, err)
		}
		where := fmt.Sprintf("%s:%d", name, r.Line())
		slotName, ok := ad.EvalString(&classad.Context{}, pool.AttrName)
		if !ok || slotName == "" {
			bad = append(bad, fmt.Errorf("%s: slot ad without a Name", where))
			continue
		}
		slots = append(slots, pool.Slot{Name: slotName, Ad: ad, Source: where})
	}
}

// duplicate says where a hand-written slot's name stood before.
func duplicate(s pool.Slot, hand []pool.Slot) error {
	i := slices.IndexFunc(hand, func(o pool.Slot) bool { return o.Name == s.Name })
	return fmt.Errorf("%s: slot %s stands in %s already", s.Source, s.Name, hand[i].Source)
}
