package spool

import (
	"bytes"
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

// slotOf makes a slot from its lines; nil if it was withdrawn. What is set one
// after the other is set through the worker, so that slots share what they
// have in common.
func slotOf(w *worker, name string, parts []chunk) (*pool.Slot, error) {
	var slot *pool.Slot
	for _, part := range parts {
		for n, line := range part.lines() {
			if err := makeSlot(w, &slot, name, line, part.seq); err != nil {
				return nil, part.damaged(n, err)
			}
		}
	}
	if slot != nil && slot.Ad == nil {
		slot.Ad = w.ads.Finish()
	}
	return slot, nil
}

// makeSlot applies a line to a slot in the making. As long as its Ad is nil, the
// ad is the worker's.
func makeSlot(w *worker, slot **pool.Slot, name string, line []byte, seq uint64) error {
	if len(line) < 3 {
		return errors.New("not a record")
	}
	kind := line[0]
	rest, err := w.behindSlot(line[2:])
	if err != nil {
		return err
	}
	switch s := *slot; {
	case kind == 'S':
		if seq, err = sequence(rest, seq); err != nil {
			return err
		}
		*slot = &pool.Slot{Name: name, Seq: seq}
		w.ads.Begin()
	case kind == 's':
		*slot = nil
	case s == nil:
		return fmt.Errorf("slot %s: not advertised", name)
	case kind == 'G' && s.Ad == nil:
		s.Seq = max(s.Seq, seq)
		return setLine(w.ads, rest)
	default:
		if s.Ad == nil {
			s.Ad = w.ads.Finish()
		}
		s.Seq = max(s.Seq, seq)
		r := record{Kind: kind}
		return r.change(s.Ad, rest, w.expressions)
	}
	return nil
}

// behindSlot returns what follows the slot's quoted name and a blank. Most lines
// begin like the one before.
func (w *worker) behindSlot(line []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(line, w.head); ok && len(w.head) > 0 {
		return rest, nil
	}
	rest, err := new(record).slot(line)
	w.head = w.head[:0]
	if head := line[:len(line)-len(rest)]; err == nil && bytes.HasSuffix(head, []byte(" ")) {
		w.head = append(w.head, head...)
	}
	return rest, err
}

// change sets (G) or removes (g) the attribute that rest of a line names.
func (r *record) change(ad *classad.Ad, rest []byte, expressions *classad.Interner) error {
	if r.Kind == 'g' {
		err := r.name(rest)
		ad.Delete(r.Name)
		return err
	}
	err := r.attribute(rest, expressions)
	if err == nil {
		ad.Set(r.Name, r.Expr)
	}
	return err
}

// setLine gives an ad in the making the attribute of "Name = expression".
func setLine(b *classad.Builder, line []byte) error {
	if len(line) == 0 || line[0] != '"' {
		return b.Line(line)
	}
	name, text, err := splitAttribute(line)
	if err != nil {
		return err
	}
	return b.Set(name, text)
}

// slotBlock appends the lines that make a slot.
func slotBlock(b []byte, s *pool.Slot) []byte {
	b = record{Kind: 'S', Slot: s.Name, Seq: s.Seq}.append(b)
	for _, name := range s.Ad.OwnNames() {
		e, _ := s.Ad.Lookup(name)
		b = record{Kind: 'G', Slot: s.Name, Name: name, Expr: e}.append(b)
	}
	return b
}

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
