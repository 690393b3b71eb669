package cmd

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/replay"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// Of the real pool that TestSoakReplay plays again: the seconds between cycles and how near anything else may come to one, which is the time
// that programs may take.
const (
	replayInterval = 8
	replayMargin   = 2
	// In the second after a cycle no job ends: then a third slot comes, and from the next cycle on the first one goes as soon as it is free.
	thirdSlot = replayInterval + 1
)

// replayed are jobs that can be told apart from cycles by their times: what the pool does with them does not depend on how quick it is.
func replayed(t *testing.T, config string) *workload.Workload {
	cfg, err := registry.Parse("fairspool.toml", []byte(config))
	testenv.OK(t, err)
	runs := []int64{3, 5, 6, 10, 11, 13, 14}
	for seed := uint64(1); ; seed++ {
		draw := rand.New(rand.NewPCG(seed, 1))
		w := &workload.Workload{Start: time.Unix(1e9, 0)}
		for i := range 8 {
			w.Jobs = append(w.Jobs, workload.Job{Name: fmt.Sprint(i + 1), Submit: int64(max(replayInterval*draw.IntN(6)-replayInterval/2, 0)), Run: runs[draw.IntN(len(runs))], Cores: 1,
				User: []string{"ann", "bob", "eve"}[draw.IntN(3)]})
		}
		w.Jobs[0].Submit = 0
		slices.SortStableFunc(w.Jobs, func(a, b workload.Job) int { return int(a.Submit - b.Submit) })
		s := spool.InMemory("pool")
		ads, err := replay.Slots(3, 1)
		if err == nil {
			err = replay.Put(s, ads[:2], nil)
		}
		testenv.OK(t, err)
		went := int64(-1)
		events := []replay.Event{{At: thirdSlot, Do: func(tx *spool.Tx) error { tx.Op("advertise"); tx.PutSlot("slot1@n3", ads[2]); return nil }}}
		for at := int64(thirdSlot + replayInterval); at < 100*replayInterval; at += replayInterval {
			events = append(events, replay.Event{At: at, Do: func(tx *spool.Tx) error {
				if went < 0 && !slices.ContainsFunc(tx.Claims(), func(c pool.Claim) bool { return c.Slot == "slot1@n1" }) {
					went = at
					tx.Op("withdraw")
					tx.DropSlot("slot1@n1")
				}
				return nil
			}})
		}
		r, err := replay.Run(w, replay.Settings{Config: &cfg, Spool: s, Interval: replayInterval * time.Second, Events: events})
		testenv.OK(t, err)
		apart := went > 0 && went < w.Jobs[len(w.Jobs)-1].Submit
		var ends []int64
		for _, f := range r.Fates {
			after := f.End % replayInterval
			apart = apart && after >= replayMargin && after <= replayInterval-replayMargin && after != replayInterval/2 && !slices.Contains(ends, f.End)
			ends = append(ends, f.End)
		}
		if apart {
			return w
		}
	}
}

// TestSoakReplay has real pools run jobs that sleep, on slots that come and go, and replays their histories: each start and end is the
// same, to the second. On a machine with other work programs take seconds, and the pools' times are theirs.
func TestSoakReplay(t *testing.T) {
	testenv.SoakWhole(t)
	var all sync.WaitGroup
	var pools []*farmHere
	for _, policy := range []string{"condor", "maui", "sge"} {
		for _, worklife := range []int{0, 1200} {
			config := fmt.Sprintf("UID_DOMAIN = \"pool\"\nNETWORK_HOSTNAME = \"head\"\nDETECT_SLOTS = false\nJOB_PRIORITY_POLICY = %q\nCLAIM_WORKLIFE = %d\nNEGOTIATOR_INTERVAL = %d\n", policy, worklife, replayInterval)
			w := replayed(t, config)
			f, account := newOwnPool(t)
			write(t, f.path("fairspool.toml"), config+fmt.Sprintf("NOBODY_SLOT_USER = %q\n", account))
			slot := "Name = \"slot%d@head\"\nMachine = \"head\"\nCpus = 1\nMemory = 1000\nRequirements = true\n\n"
			write(t, f.path("slots.ads"), fmt.Sprintf(slot, 1)+fmt.Sprintf(slot, 2))
			write(t, f.path("third.ads"), fmt.Sprintf(slot, 3))
			f.ours()
			t.Cleanup(f.end)
			f.run("slots", "advertise", f.path("slots.ads"))
			pools = append(pools, f)
			all.Go(func() { f.playJobs(w) })
		}
	}
	all.Wait()
	for _, f := range pools {
		config, err := os.ReadFile(f.path("fairspool.toml"))
		testenv.OK(t, err)
		f.run("spool", "check")
		if text := f.run("replay"); !strings.Contains(text, "Slots: as the spool recorded them, 2 at the start; later 1 came, 1 went.") {
			t.Errorf("replay says %s", text)
		}
		rows, err := csv.NewReader(strings.NewReader(f.run("replay", "-csv", "jobs"))).ReadAll()
		if err != nil || len(rows)%2 != 1 {
			t.Fatalf("replay prints %d rows, %v", len(rows), err)
		}
		at := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
		n := (len(rows) - 1) / 2
		for i := range n {
			was, is := rows[1+i], rows[1+n+i]
			if at(was, "configuration") != "recorded" || at(is, "configuration") != "now" || at(was, "job") != at(is, "job") || at(was, "start") != at(is, "start") || at(was, "end") != at(is, "end") {
				t.Errorf("with\n%s\nthe pool had %v, its replay %v", config, was, is)
			}
		}
	}
}

// playJobs submits jobs and makes cycles at their times, with jobs that sleep for as long as they run, until all have ended.
func (f *farmHere) playJobs(w *workload.Workload) {
	f.Helper()
	start := time.Now().Truncate(time.Second).Add(2 * time.Second)
	next, went := 0, false
	for at := int64(0); at == 0 || f.queued() > 0 || next < len(w.Jobs); at++ {
		<-time.After(time.Until(start.Add(time.Duration(at)*time.Second + 100*time.Millisecond)))
		for ; next < len(w.Jobs) && w.Jobs[next].Submit == at; next++ {
			f.run("submit", "-owner", w.Jobs[next].User, "--", "sleep", fmt.Sprint(w.Jobs[next].Run))
		}
		switch {
		case at%replayInterval == 0:
			f.run("negotiate", "-q")
			f.run("starter", "-q")
		case at == thirdSlot:
			f.run("slots", "advertise", f.path("third.ads"))
		case at > thirdSlot && at%replayInterval == 1 && !went:
			went = f.command(f.Context(), "slots", "withdraw", "slot1@head").Run() == nil
		}
		if time.Since(start) > testenv.Longest {
			text, _ := os.ReadFile(f.path("spool/starter.log"))
			f.Errorf("the jobs do not end: %s", text)
			return
		}
	}
}
