package replay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// slotAd returns the ad of a slot, with more attributes as text.
func slotAd(t testing.TB, machine string, more string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd(fmt.Sprintf(`[MyType = "Machine"; Name = "slot1@%s"; Machine = "%[1]s"; Cpus = 1; Memory = 1000; Disk = 1000000; Requirements = true; %s]`, machine, more))
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

// later returns a change that a transaction made some seconds after the start.
func later(start time.Time, at int64, op string, slots map[string]*classad.Ad) spool.TakersChange {
	return spool.TakersChange{Transaction: spool.Transaction{Policy: start.Add(time.Duration(at)*time.Second + 300*time.Millisecond), Op: op}, Takers: spool.Takers{Slots: slots}}
}

// only returns the change of a slot.
func only(machine string, ad *classad.Ad) map[string]*classad.Ad {
	return map[string]*classad.Ad{"slot1@" + machine: ad}
}

// TestSlotsComeAndGo holds what becomes of jobs when slots come, go, and are drained.
func TestSlotsComeAndGo(t *testing.T) {
	const alone = "0 100 1 ann"
	a, b := slotAd(t, "a", ""), slotAd(t, "b", "")
	mark := func(at int64, text string) func(time.Time) spool.TakersChange {
		return func(start time.Time) spool.TakersChange {
			c := later(start, at, "drain", nil)
			c.Marks = map[string]string{pool.DrainedMark + "a": text}
			return c
		}
	}
	slot := func(at int64, op, machine string, ad *classad.Ad) func(time.Time) spool.TakersChange {
		return func(start time.Time) spool.TakersChange { return later(start, at, op, only(machine, ad)) }
	}
	pilot := func(at int64, state pool.PilotState) func(time.Time) spool.TakersChange {
		return func(start time.Time) spool.TakersChange {
			c := later(start, at, "pilot leaves", nil)
			c.Pilots = map[int]pool.Pilot{1: {ID: 1, Machine: "a", State: state}}
			return c
		}
	}
	for _, c := range []struct {
		name     string
		settings []string
		slots    map[string]*classad.Ad
		later    []func(time.Time) spool.TakersChange
		jobs     []string
		want     string
		changes  Changes
	}{
		{"one comes", nil, nil, []func(time.Time) spool.TakersChange{slot(30, "advertise", "a", a)}, []string{alone}, "60-60-160", Changes{Came: 1}},
		{"in the second of a cycle", nil, nil, []func(time.Time) spool.TakersChange{slot(60, "advertise", "a", a)}, []string{alone}, "60-60-160", Changes{Came: 1}},
		{"one goes when its job has ended", nil, only("a", a), []func(time.Time) spool.TakersChange{slot(30, "withdraw", "a", nil)}, []string{alone, "10 100 1 ann"}, "0-0-100 -1--1--1", Changes{Went: 1}},
		{"and comes again", nil, only("a", a), []func(time.Time) spool.TakersChange{slot(30, "withdraw", "a", nil), slot(150, "advertise", "a", a)}, []string{alone, "10 100 1 ann"},
			"0-0-100 180-180-280", Changes{Came: 1, Went: 1}},
		{"before its job has ended", nil, only("a", a), []func(time.Time) spool.TakersChange{slot(30, "withdraw", "a", nil), slot(50, "advertise", "a", a)}, []string{alone, "10 100 1 ann"},
			"0-0-100 100-100-200", Changes{Came: 1, Went: 1}},
		{"in the second in which its job ends", nil, only("a", a), []func(time.Time) spool.TakersChange{slot(100, "withdraw", "a", nil)}, []string{alone}, "0-0-100", Changes{Went: 1}},
		{"with its machine and its job", nil, map[string]*classad.Ad{"slot1@a": a, "slot1@b": b}, []func(time.Time) spool.TakersChange{slot(30, "give machine up", "a", nil)}, []string{alone, alone},
			"0-100-200 0-0-100", Changes{Went: 1}},
		{"a lifetime is over", nil, only("a", slotAd(t, "a", "ClassAdLifetime = 50; LastHeardFrom = 1000000000")), nil, []string{alone, "10 100 1 ann"}, "0-0-100 -1--1--1", Changes{Went: 1}},
		{"it is renewed late", nil, only("a", slotAd(t, "a", "ClassAdLifetime = 50; LastHeardFrom = 1000000000")),
			[]func(time.Time) spool.TakersChange{slot(200, "advertise", "a", slotAd(t, "a", "ClassAdLifetime = 5000; LastHeardFrom = 1000000200"))}, []string{alone, "10 100 1 ann"},
			"0-0-100 240-240-340", Changes{Came: 1, Went: 1}},
		{"it was over before", nil, only("a", slotAd(t, "a", "ClassAdLifetime = 50; LastHeardFrom = 999999000")), nil, []string{alone}, "-1--1--1", Changes{}},
		{"one changes", nil, only("a", a), []func(time.Time) spool.TakersChange{slot(30, "advertise", "a", slotAd(t, "a", "GPUs = 1"))}, []string{alone, "10 100 1 ann"}, "0-0-100 100-100-200", Changes{Changed: 1}},
		{"drained", nil, map[string]*classad.Ad{"slot1@a": a, "slot1@b": b}, []func(time.Time) spool.TakersChange{mark(30, `graceful 1 "root" ""`), mark(300, "")}, []string{alone, alone, "10 100 1 ann"},
			"0-100-200 0-0-100 200-200-300", Changes{Drained: 1}},
		{"drained when jobs have retired", []string{"MAXJOBRETIREMENTTIME=1000", "MACHINE_MAX_VACATE_TIME=0"}, map[string]*classad.Ad{"slot1@a": a, "slot1@b": b}, []func(time.Time) spool.TakersChange{mark(30, `graceful 1 "root" ""`)}, []string{alone, alone},
			"0-0-100 0-0-100", Changes{Drained: 1}},
		{"drained quickly", []string{"MAXJOBRETIREMENTTIME=1000", "MACHINE_MAX_VACATE_TIME=0"}, map[string]*classad.Ad{"slot1@a": a, "slot1@b": b}, []func(time.Time) spool.TakersChange{mark(30, `quick 1 "root" ""`)}, []string{alone, alone},
			"0-100-200 0-0-100", Changes{Drained: 1}},
		{"its pilot leaves", []string{"MAXJOBRETIREMENTTIME=1000"}, map[string]*classad.Ad{"slot1@a": a, "slot1@b": b},
			[]func(time.Time) spool.TakersChange{pilot(20, pool.Live), pilot(30, pool.Leaving), slot(40, "pilot is gone", "a", nil)}, []string{alone, alone}, "0-100-200 0-0-100", Changes{Went: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := jobs(t, c.jobs...)
			since := spool.TakersSince{Takers: spool.Takers{Slots: c.slots}}
			for _, change := range c.later {
				since.Later = append(since.Later, change(w.Start))
			}
			past := PastOf(since, w.Start)
			s := spool.InMemory("pool")
			if err := Put(s, past.Slots, nil); err != nil {
				t.Fatal(err)
			}
			r, err := Run(w, Settings{Config: configured(t, c.settings...), Spool: s, Interval: time.Minute, Events: past.Events})
			if err != nil || starts(r) != c.want || r.Changes != c.changes {
				t.Errorf("%s, %+v, %v, want %s, %+v", starts(r), r.Changes, err, c.want, c.changes)
			}
			if r.Busy < 0 || r.Busy > 1 || r.Idle < 0 || r.Idle > 1 {
				t.Errorf("utilisation %v, loss %v", r.Busy, r.Idle)
			}
		})
	}
}

// TestPastKeepsChanges holds that what a configuration changes of a slot stays changed when the slot changes otherwise, and that a slot
// that it took away stays away.
func TestPastKeepsChanges(t *testing.T) {
	w := jobs(t, "0 100 1 ann", "200 100 1 ann")
	since := spool.TakersSince{Takers: spool.Takers{Slots: map[string]*classad.Ad{"slot1@a": slotAd(t, "a", ""), "slot1@b": slotAd(t, "b", "")}}}
	since.Later = []spool.TakersChange{later(w.Start, 150, "advertise", map[string]*classad.Ad{"slot1@a": slotAd(t, "a", "GPUs = 1"), "slot1@b": slotAd(t, "b", "GPUs = 1")})}
	past := PastOf(since, w.Start)
	s := spool.InMemory("pool")
	changed := past.Slots[0].Clone()
	changed.SetBool(pool.AttrRequirements, false)
	if err := Put(s, []*classad.Ad{changed}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := Run(w, Settings{Config: configured(t), Spool: s, Interval: time.Minute, Events: past.Events})
	if err != nil || starts(r) != "-1--1--1 -1--1--1" || r.Changes != (Changes{Changed: 1}) {
		t.Errorf("%s, %+v, %v", starts(r), r.Changes, err)
	}
	err = s.View(func(v *spool.View) error {
		slot, _ := v.Advertised("slot1@a")
		if _, ok := v.Advertised("slot1@b"); ok || !slot.Ad.Has("GPUs") {
			t.Errorf("it has %v, and b %v", slot.Ad, ok)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// drawPast draws slots that come, change, go and are lost, machines that are drained and opened, and pilots that leave.
func drawPast(t testing.TB, draw *rand.Rand, start time.Time) *Past {
	since := spool.TakersSince{Takers: spool.Takers{Slots: map[string]*classad.Ad{}, Marks: map[string]string{}, Pilots: map[int]pool.Pilot{}}}
	there := map[string]bool{}
	for at := int64(0); len(since.Later) < 12; at += int64(draw.IntN(400)) {
		machine := []string{"c1n0", "x", "y"}[draw.IntN(3)]
		c := later(start, at, []string{"advertise", "withdraw", "pilot is gone"}[draw.IntN(3)], nil)
		switch draw.IntN(5) {
		case 0:
			c.Marks = map[string]string{pool.DrainedMark + machine: []string{"", `graceful 1 "root" ""`, `fast 1 "root" ""`}[draw.IntN(3)]}
		case 1:
			c.Pilots = map[int]pool.Pilot{1: {ID: 1, Machine: "x", State: pool.PilotState(draw.IntN(6))}}
		case 2:
			if there[machine] {
				c.Slots, there[machine] = only(machine, nil), false
			}
		default:
			more := fmt.Sprintf("GPUs = %d", draw.IntN(3))
			if draw.IntN(3) == 0 {
				more += fmt.Sprintf("; ClassAdLifetime = %d; LastHeardFrom = %d", draw.IntN(300), start.Unix()+at)
			}
			c.Slots, there[machine] = only(machine, slotAd(t, machine, more)), true
		}
		since.Later = append(since.Later, c)
	}
	return PastOf(since, start)
}

// TestPastLaw holds that random worlds whose slots come and go give the same events in memory and on disk, that each job runs for as long
// as it is to, and that no slots stay that have gone.
func TestPastLaw(t *testing.T) {
	t.Parallel()
	for policy := range policies {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(policy, seed), func(t *testing.T) {
				t.Parallel()
				w := drawWorld(t, policy, seed)
				past := drawPast(t, rand.New(rand.NewPCG(seed, 3)), w.workload.Start)
				w.events = append(w.events, past.Events...)
				slices.SortStableFunc(w.events, func(a, b Event) int { return int(a.At - b.At) })
				w.same(t)
				r, _ := w.run(t, spool.InMemory("pool"))
				for i, f := range r.Fates {
					if f.End >= 0 && f.End != f.Start+w.workload.Jobs[i].Run {
						t.Errorf("job %d ran from %d to %d, not for %d s", i, f.Start, f.End, w.workload.Jobs[i].Run)
					}
				}
				if again, _ := w.run(t, spool.InMemory("pool")); !reflect.DeepEqual(again, r) {
					t.Error("and again it is something else")
				}
				if strings.Contains(starts(r), "--") && r.Changes.Came == 0 {
					t.Errorf("%+v", r.Changes)
				}
			})
		}
	}
}
