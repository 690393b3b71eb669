package spool

import (
	"fmt"
	"maps"
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

// totalled are the attributes of pool.Totalled of a job, as they stand.
func totalled(ad *classad.Ad) string {
	var b strings.Builder
	for _, name := range pool.Totalled {
		if e, ok := ad.Lookup(name); ok {
			fmt.Fprintf(&b, "%s = %v\n", name, e)
		}
	}
	return b.String()
}

// drawTotalled draws an ad of attributes that totals of jobs need, some of which are no constants, and of others.
func drawTotalled(t *rapid.T) *classad.Ad {
	ad := classad.New()
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		text := rapid.SampledFrom([]string{"1", "2", "2", "5", "true", "1.5", `"] 1 2 3"`, `"é\"\\ ["`, "undefined", "error", "{1}", "ProcId + 1", "Cmd"}).Draw(t, "value")
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		ad.Set(rapid.SampledFrom([]string{"Owner", "JobStatus", "JobStatus", "HoldReason", "numjobstarts", "AfterOk", "RequestCpus", "DeferralTime", "Cmd"}).Draw(t, "name"), e)
	}
	return ad
}

// TestTotals holds that totals are what counting the jobs one by one comes to, after any history.
func TestTotals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s := mustOpen(t, dir)
		defer s.Close()
		change := func(tx *Tx) error {
			tx.Op("test")
			for range rapid.IntRange(0, 3).Draw(rt, "clusters") {
				var runs []NewRun
				for range rapid.IntRange(1, 3).Draw(rt, "runs") {
					runs = append(runs, NewRun{Count: rapid.IntRange(1, 3).Draw(rt, "procs"), Ad: drawTotalled(rt)})
				}
				tx.AddCluster(drawTotalled(rt), runs)
			}
			for _, c := range tx.Clusters() {
				r := c.Runs[rapid.IntRange(0, len(c.Runs)-1).Draw(rt, "run")]
				id := pool.JobID{Cluster: c.ID, Proc: r.Last}
				switch rapid.IntRange(0, 5).Draw(rt, "change") {
				case 0:
					tx.Set(id, "JobStatus", classad.Literal(classad.Int(2)))
				case 1:
					tx.SetRange(r.Procs, "RequestCpus", nil)
				case 2, 3:
					tx.PutClaim(pool.Claim{Job: id, Attempt: 1, Slot: drawText(rt, "slot") + id.String(), Machine: "m", State: rapid.SampledFrom([]pool.ClaimState{pool.Matched, pool.RunningClaim, pool.Promised}).Draw(rt, "state"), MatchedAt: noon,
						Piece: rapid.SampledFrom([]pool.Piece{{}, {Of: "p@m"}, {Of: "p@m", Takes: "Cpus=1"}}).Draw(rt, "piece")})
				case 4:
					for p := r.First; p <= r.Last; p++ {
						tx.DropClaim(pool.JobID{Cluster: c.ID, Proc: p})
					}
					tx.LeaveRange(r.Procs, noon)
				}
			}
			return nil
		}
		look := func() {
			type key struct {
				ad    string
				claim pool.ClaimState
			}
			if err := s.View(func(v *View) error {
				claims := ClaimSummaries(v)
				got, want, states := map[key]int{}, map[key]int{}, map[pool.JobID]pool.ClaimState{}
				alike, others := Totals(v, claims)
				var whole []pool.ClaimSummary
				for _, c := range v.Claims() {
					whole, states[c.Job] = append(whole, c.Summary()), c.State
				}
				if !slices.Equal(claims, whole) {
					rt.Errorf("the summaries of claims are %+v, want %+v", claims, whole)
				}
				count := func(to map[key]int, list []*Cluster) {
					for _, c := range list {
						for _, r := range c.Runs {
							for id := range r.Jobs() {
								to[key{totalled(r.Proc(id.Proc)), states[id]}]++
							}
						}
					}
				}
				for _, a := range alike {
					got[key{totalled(a.Ad), a.Claim}] += a.Jobs
				}
				count(got, others)
				count(want, v.Clusters())
				if !maps.Equal(got, want) {
					rt.Errorf("totals are %v, want %v", got, want)
				}
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			if err := s.Update(change); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "folded") {
				if _, err := s.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "read anew") {
				s.forget()
			}
			if rapid.Bool().Draw(rt, "looked at") {
				look()
			}
		}
		s.forget()
		look()
		look() // what is made already
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
