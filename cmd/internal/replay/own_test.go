package replay

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/replay"
	"fairspool/lib/report/accounts"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// recordedPool makes a spool with the history of a pool of two slots, of which one goes and comes again and to which a third comes, in which ann's RUP was 400 before the first job, and whose factor and
// ceilings were changed while jobs ran. It returns the jobs' starts and ends in the order of their numbers.
func recordedPool(t *testing.T, dir, config string, seed uint64) []string {
	t.Helper()
	draw := rand.New(rand.NewPCG(seed, 1))
	text := "job,submit,run,cores,user\n"
	for range 40 {
		text += fmt.Sprintf("x,%d,%d,1,%s\n", 1_790_000_000+draw.IntN(1800), 60+draw.IntN(300), []string{"ann", "bob", "eve"}[draw.IntN(3)])
	}
	w, err := workload.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := registry.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "pool", Now: w.Start})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ads, err := replay.Slots(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	// The samples are from an hour before; by the start the RUP has decayed.
	then := accountant.Record{Name: "ann@pool", Priority: 400, At: w.Start.Add(-time.Hour), HalfLife: cfg.Params.HalfLife, Weighted: accountant.Usage{Millis: 5e6}}
	list := []accountant.Record{then, {Name: "eve@pool", Factor: 3000, At: then.At, HalfLife: cfg.Params.HalfLife}}
	if err := replay.Put(s, ads, list); err != nil {
		t.Fatal(err)
	}
	if err := s.AddSamples(history.Moment{Now: then.At, Records: list, Params: cfg.Params}); err != nil {
		t.Fatal(err)
	}
	edit := func(at int64, name string, change func(*accountant.Record)) replay.Event {
		return replay.Event{At: at, Do: func(tx *spool.Tx) error {
			now := w.Start.Add(time.Duration(at) * time.Second)
			before, there := tx.Submitter(name)
			after := before.Settle(now, cfg.Params)
			change(&after)
			row := ""
			if there {
				row = spool.SubmitterRow(before)
			}
			tx.Op("set something", name, accounts.RowsMark, row, spool.SubmitterRow(after))
			tx.PutSubmitter(after)
			return nil
		}}
	}
	// A third slot comes, and the first goes when it is free, and comes again.
	slots := func(at int64, free bool, what, name string, do func(*spool.Tx)) replay.Event {
		return replay.Event{At: at, Do: func(tx *spool.Tx) error {
			_, there := tx.Advertised(name)
			claimed := slices.ContainsFunc(tx.Claims(), func(c pool.Claim) bool { return c.SlotAd() == name })
			if there == (what == "withdraw") && !(free && claimed) {
				tx.Op(what, name)
				do(tx)
			}
			return nil
		}}
	}
	third, err := replay.Slots(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	events := []replay.Event{
		edit(300, "bob@pool", func(r *accountant.Record) { r.Ceiling = accountant.LimitOf(0) }),
		edit(600, "eve@pool", func(r *accountant.Record) { r.Factor = 1 }),
		edit(900, "bob@pool", func(r *accountant.Record) {
			r.Ceiling, r.CeilingLease = accountant.LimitOf(1), accountant.Lease{Until: w.Start.Add(1500 * time.Second), Before: -1}
		}),
		edit(1200, "ann@pool", func(r *accountant.Record) { r.Priority = 0.5 }),
		slots(450, false, "advertise", "slot1@n3", func(tx *spool.Tx) { tx.PutSlot("slot1@n3", third[2]) }),
		slots(3000, false, "advertise", "slot1@n1", func(tx *spool.Tx) { tx.PutSlot("slot1@n1", third[0]) }),
	}
	for at := int64(601); at < 3000; at++ {
		events = append(events, slots(at, true, "withdraw", "slot1@n1", func(tx *spool.Tx) { lifecycle.Withdraw(tx, []string{"slot1@n1"}) }))
	}
	slices.SortStableFunc(events, func(a, b replay.Event) int { return cmp.Compare(a.At, b.At) })
	r, err := replay.Run(w, replay.Settings{Config: &cfg, Spool: s, Interval: time.Minute, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	var fates []string
	for _, f := range r.Fates {
		at := func(s int64) string { return w.Start.Add(time.Duration(s) * time.Second).UTC().Format(time.RFC3339) }
		fates = append(fates, at(f.Start)+" "+at(f.End))
	}
	return fates
}

// TestOwnHistory holds that the history of a pool, replayed, is what happened: with the priorities, factors and ceilings that there were at
// the start, and with the edits of these when they were made.
func TestOwnHistory(t *testing.T) {
	for seed, settings := range []string{"", "JOB_PRIORITY_POLICY = \"maui\"\n", "NEGOTIATOR_PIE = \"htcondor\"\n", "CLAIM_WORKLIFE = 0\n"} {
		dir := t.TempDir()
		config := filepath.Join(dir, "fairspool.toml")
		if err := os.WriteFile(config, []byte("UID_DOMAIN = \"pool\"\n"+settings), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("FAIRSPOOL_CONFIG", config)
		t.Setenv("FAIRSPOOL_DIR", filepath.Join(dir, "spool"))
		fates := recordedPool(t, filepath.Join(dir, "spool"), config, uint64(seed))
		status, out, bad := cmdtest.Run(Command(), "-csv", "jobs", "-interval", "60", "-what-if", "userprio -setprio ann@pool 0.5")
		if status != 0 || bad != "" {
			t.Fatalf("replay = %d, %s", status, bad)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if n := len(fates); err != nil || len(rows) != 1+3*n {
			t.Fatalf("replay prints %d rows for %d jobs, %v", len(rows), n, err)
		}
		differs := 0
		for i, fate := range fates {
			is := func(row []string) string { return row[12] + " " + row[13] }
			if now := rows[1+len(fates)+i]; now[0] != "now" || is(now) != fate {
				t.Errorf("with %q, the pool had %s, its replay %v", settings, fate, now)
			}
			if is(rows[1+2*len(fates)+i]) != fate {
				differs++
			}
		}
		_, text, _ := cmdtest.Run(Command(), "-interval", "60", "-with", config)
		if !strings.Contains(text, "Slots: as the spool recorded them, 2 at the start; later 2 came, 1 went.") {
			t.Errorf("with %q, replay says %s", settings, text)
		}
		if differs == 0 && !strings.Contains(settings, "maui") {
			t.Errorf("with %q, the priority at the start makes no difference", settings)
		}
	}
}
