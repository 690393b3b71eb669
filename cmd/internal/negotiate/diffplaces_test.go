package negotiate

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// The places of each proc are what they are when looked at one by one, in whatever stretches
// the cycles have the procs.
func TestComparePlaces(t *testing.T) {
	var ids []pool.JobID
	for i := range 10 {
		ids = append(ids, pool.JobID{Cluster: 1 + i/7, Proc: i % 7})
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := func(label string) (*negotiator.Plan, map[pool.JobID]int) {
			of := map[pool.JobID]int{}
			p := &negotiator.Plan{Policy: "sge"}
			left := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, len(ids), rapid.ID).Draw(t, label)
			if rapid.Bool().Draw(t, "by job") {
				slices.SortFunc(left, pool.JobID.Compare)
			}
			placed := rapid.IntRange(0, len(left)).Draw(t, "placed")
			for i, id := range left {
				if of[id] = i + 1; i >= placed {
					of[id] = 0
				}
				if n := len(p.Standings); n > 0 && i != placed && rapid.Bool().Draw(t, "joined") {
					if s := &p.Standings[n-1]; s.Cluster == id.Cluster && s.Last+1 == id.Proc {
						s.Last++
						continue
					}
				}
				p.Standings = append(p.Standings, negotiator.Standing{Procs: pool.Only(id), Submitter: "alice@pool", Place: of[id], Priority: 0.5})
			}
			return p, of
		}
		a, now := plan("now")
		b, then := plan("then")
		got, want, last := map[pool.JobID]string{}, map[pool.JobID]string{}, 0
		at := func(s QueuePlace, ahead int) int {
			if s.Place == 0 {
				return 0
			}
			return s.Place + ahead
		}
		for _, x := range comparePlaces(a, b) {
			if place := at(x.WhatIf, 0); place == 0 {
				last = math.MaxInt
			} else if place <= last {
				t.Fatalf("%+v is behind place %d", x, last)
			} else {
				last = place
			}
			for proc := x.Jobs.First; proc <= x.Jobs.Last; proc++ {
				n := proc - x.Jobs.First
				got[pool.JobID{Cluster: x.Jobs.Cluster, Proc: proc}] += fmt.Sprint(at(x.Now, n), ">", at(x.WhatIf, n))
			}
		}
		for id, is := range now {
			if will, waits := then[id]; waits && is != will {
				want[id] = fmt.Sprint(is, ">", will)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("comparePlaces = %v, want %v, of\n%v\n%v", got, want, a.Standings, b.Standings)
		}
		b.Policy = ""
		if got := comparePlaces(a, b); len(got) > 0 {
			t.Fatalf("without one queue after the changes: %v, want nothing", got)
		}
	})
}

func TestTellPlaces(t *testing.T) {
	half, third := 0.5, 1.0/3
	var out bytes.Buffer
	Difference{Places: []ChangedPlace{
		{pool.Procs{Cluster: 2}, "carol@pool", QueuePlace{2, &third}, QueuePlace{1, &half}},
		{pool.Procs{Cluster: 1, First: 2, Last: 5}, "bob@pool", QueuePlace{3, &half}, QueuePlace{12, &third}},
		{pool.Procs{Cluster: 3, First: 0, Last: 1}, "bob@pool", QueuePlace{1, nil}, QueuePlace{0, nil}},
	}}.tellPlaces(&cmdline.Call{Stdout: &out})
	want := `
7 jobs would have another place in the queue:
  2.0 of carol@pool: 2 (0.33333) -> 1 (0.50000)
  1.2-5 of bob@pool: 3-6 (0.50000) -> 12-15 (0.33333)
  3.0-1 of bob@pool: 1-2 -> no place
`
	if out.String() != want {
		t.Errorf("tellPlaces prints%s\nwant%s", out.String(), want)
	}
	lines := Difference{Places: slices.Repeat([]ChangedPlace{{pool.Procs{Cluster: 2, First: 0, Last: 1}, "carol@pool", QueuePlace{2, nil}, QueuePlace{1, nil}}}, mostLines+2)}
	out.Reset()
	lines.tellPlaces(&cmdline.Call{Stdout: &out})
	if got := out.String(); strings.Count(got, "carol") != mostLines || !strings.HasSuffix(got, "  and 4 more\n") {
		t.Errorf("tellPlaces prints of %d\n%s", mostLines+2, got)
	}
}
