package spool

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// slotAd returns an ad of attributes that totals look at, some of which are no constants.
func slotAd(t *rapid.T) *classad.Ad {
	of := func(name string, texts ...string) string {
		text := rapid.SampledFrom(append(texts, "")).Draw(t, name)
		if text == "" {
			return ""
		}
		return name + " = " + text + "\n"
	}
	ad, err := classad.NewReader(strings.NewReader(
		"Disk = 5\n"+of("Machine", `"n1"`, `"é\"\\ n"`, `strcat("a", "b")`, "4")+of("State", `"Unclaimed"`, `"Owner"`, `"claimed"`, `undefined`)+
			of("RemoteUser", `"bob@y"`)+of("AccountingGroup", `"g.bob"`, "Disk")+of("Cpus", "4", "2.5", "-1", `"x"`, "true", `real("INF")`, "Disk + 1")+
			of("LoadAvg", "0.125", "1.0E-20", "error", "Cpus")+of("LastHeardFrom", "1790000000", "-5000", "time()")+of("ClassAdLifetime", "900", "0", "-1")+
			of("PartitionableSlot", "true", "false", "1", "Disk > 4")), "slot").Next()
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

// same reports whether two summaries are the same, numbers that are none among them.
func same(a, b pool.SlotSummary) bool {
	return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) && math.Signbit(a.Load) == math.Signbit(b.Load)
}

// Summaries are those of the slots: those in the index, of ads that are no constants, of which the journal
// speaks, that were withdrawn, and that are written by hand.
func TestSlotSummaries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s := mustOpen(t, dir)
		defer s.Close()
		change := func(what string) {
			if err := s.Update(func(tx *Tx) error {
				tx.Op("test")
				for _, n := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 12).Draw(rt, what) {
					name := fmt.Sprintf("slot%d@é", n)
					if _, there := tx.Advertised(name); there && rapid.Bool().Draw(rt, "withdrawn") {
						tx.DropSlot(name)
					} else {
						tx.PutSlot(name, slotAd(rt))
					}
				}
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
		}
		look := func() {
			t.Helper()
			err := s.View(func(v *View) error {
				slots, bad := v.Slots()
				want := pool.SummariesOf(slots)
				got, wrong := SlotSummaries(v)
				slices.SortFunc(got, func(a, b pool.SlotSummary) int { return pool.CompareNames(a.Name, b.Name) })
				if !slices.EqualFunc(got, want, same) || len(bad) != len(wrong) {
					rt.Errorf("the summaries are\n%#v\nwant\n%#v\n%v, want %v", got, want, wrong, bad)
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
		}
		change("folded")
		if _, err := s.Fold(1, nil); err != nil {
			rt.Fatal(err)
		}
		s.forget()
		look()
		change("of the journal")
		s.forget()
		look()
		look() // what is made already
		if err := os.WriteFile(filepath.Join(dir, "slots.d", "a.ads"), []byte("Name = \"slot1@é\"\nCpus = 7\n\nName = \"slot1@é\"\n\nName = \"hand\"\nLoadAvg = 2 * 3\n"), 0o600); err != nil {
			rt.Fatal(err)
		}
		look()
		if sound, err := Check(dir, Options{}, func(f Finding) {
			if f.Damaged {
				rt.Errorf("%s:%d: %s", f.File, f.Line, f.What)
			}
		}); err != nil || !sound {
			rt.Errorf("sound: %v, %v", sound, err)
		}
	})
}

// An index without a summary, as older versions wrote it, or with one that is none, has its block read; one with a wrong
// summary, which no program writes, is found by a check.
func TestOddSummaries(t *testing.T) {
	for _, c := range []struct {
		behind string // of the line of the index
		cpus   float64
		sound  bool
	}{
		{"", 4, true}, {` "n" "Unclaimed" "" 4 - 0 0`, 4, true}, {` "n" "Unclaimed" "" 4 - 0`, 4, false}, {` "n" "Unclaimed`, 4, false},
		{` "n" "Unclaimed" "" 5 - 0 0`, 5, false}, {` "n" "Unclaimed" "" 4 - 0 0 more`, 4, false},
	} {
		dir := t.TempDir()
		s := mustOpen(t, dir)
		ad, err := classad.ParseAd(`[Machine = "n"; State = "Unclaimed"; Cpus = 4]`)
		if err != nil {
			t.Fatal(err)
		}
		slot := pool.Slot{Name: "s", Ad: ad, Seq: 1}
		w := segmentWriter[string]{files: s.files, dir: s.path("slots"), generation: 9, keys: slotKeys}
		e := slotEntry(&slot)
		e.summary = strings.TrimPrefix(c.behind, " ")
		if err := w.add(e, slotBlock(nil, &slot)); err != nil {
			t.Fatal(err)
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		b := newBlocks(s, "slots", slotKeys, w.done, slotOf)
		got, err := summaries(b)
		if err != nil || len(got) != 1 || got[0].Cpus != c.cpus || got[0].Name != "s" {
			t.Errorf("%q: %+v, %v, want one of %v processors", c.behind, got, err, c.cpus)
		}
		k := &checker{s: s, each: func(Finding) {}, named: map[string]bool{}, sound: true}
		checkSegments(k, newBlocks(s, "slots", slotKeys, w.done, slotOf), "slot", slotEntry)
		if k.sound != c.sound {
			t.Errorf("%q: sound: %v", c.behind, k.sound)
		}
	}
}
