package userprio

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/spool"
)

// sampled makes a spool in which a cycle has run for the time back, once each interval. Before each, change
// changes the records, with the time and how long that is before the end.
func sampled(t *testing.T, back, interval time.Duration, demand map[string]float64, change func(records []accountant.Record, now time.Time, before time.Duration)) {
	t.Helper()
	cmdtest.Spool(t, nil)
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	records := []accountant.Record{{Name: "alice@pool"}, {Name: "bob@pool"}, {Name: "carol@pool"}}
	for ; back > 0; back -= interval {
		now := time.Unix(cmdtest.Now, 0).Add(-back)
		change(records, now, back)
		testenv.OK(t, s.AddSamples(history.Moment{Now: now, Records: records, Demand: demand, Params: sampledParams}))
	}
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, r := range records {
			tx.PutSubmitter(r)
		}
	})
}

var sampledParams = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}

// samples makes a spool in which alice held four slots from three hours to one
// hour ago, bob only wanted some, and carol did nothing. A cycle ran every
// minute.
func samples(t *testing.T) {
	t.Helper()
	const back = 4 * time.Hour
	sampled(t, back, time.Minute, map[string]float64{"bob@pool": 7}, func(records []accountant.Record, now time.Time, before time.Duration) {
		switch before {
		case back:
			for i := range records {
				records[i] = records[i].Settle(now, sampledParams)
			}
		case 3 * time.Hour:
			records[0] = records[0].Start(now, 4*accountant.One, sampledParams)
		case time.Hour:
			records[0] = records[0].End(now, 4*accountant.One, sampledParams)
		}
	})
}

func TestHistoryTable(t *testing.T) {
	samples(t)
	status, out, bad := userprio("-history", "alice")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != 0 || bad != "" || len(lines) < 20 || len(lines) > rowsShown+1 {
		t.Fatalf("userprio -history alice = %d, %s, %d lines:\n%s", status, bad, len(lines), out)
	}
	const head = "Name        Time              EUP (lower is better)   RUP  In Use  Usage (hours)  Demand"
	if lines[0] != head {
		t.Errorf("the heading is\n%s\nwant\n%s", lines[0], head)
	}
	const last = "alice@pool  2026-11-20 23:34                   0.68  0.68    0.00           8.00    0.00"
	if got := lines[len(lines)-1]; got != last {
		t.Errorf("the last line is\n%s\nwant\n%s", got, last)
	}
	status, out, _ = userprio("-history")
	if status != 0 || !strings.Contains(out, "alice@pool") || !strings.Contains(out, "bob@pool") || strings.Contains(out, "carol") {
		t.Errorf("userprio -history = %d\n%s\nwant alice and bob, but not carol, who did nothing", status, out)
	}
}

func TestHistoryCSV(t *testing.T) {
	samples(t)
	status, out, bad := userprio("-history", "-csv", "-since", "90m", "alice@pool")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if status != 0 || bad != "" || err != nil || len(rows) < 10 {
		t.Fatalf("userprio -history -csv = %d, %s, %v\n%s", status, bad, err, out)
	}
	const head = "Name,Time,EffectivePriority,RealPriority,WeightedResourcesUsed,WeightedAccumulatedUsage,Demand"
	if got := strings.Join(rows[0], ","); got != head {
		t.Errorf("the heading is %s, want %s", got, head)
	}
	if got := rows[1][:2]; got[0] != "alice@pool" || got[1] != "2026-11-20T22:04:06.000Z" {
		t.Errorf("the first row is %v, want alice@pool 90 minutes ago", rows[1])
	}
	if got := rows[len(rows)-1]; got[1] != "2026-11-20T23:34:06.000Z" || got[5] != "28800" {
		t.Errorf("the last row is %v, want the present, with 8 hours used", got)
	}
}

func TestHistoryJSON(t *testing.T) {
	samples(t)
	status, out, bad := userprio("-history", "-json", "bob")
	var all struct {
		Submitters []struct {
			Name   string
			Points []map[string]any
		}
	}
	err := json.Unmarshal([]byte(out), &all)
	list := all.Submitters
	if status != 0 || bad != "" || err != nil || len(list) != 1 {
		t.Fatalf("userprio -history -json bob = %d, %s, %v\n%s", status, bad, err, out)
	}
	first := list[0].Points[0]
	if list[0].Name != "bob@pool" || first["Time"] != "2026-11-20T19:34:06Z" || first["Demand"] != 7.0 || first["RealPriority"] != 0.5 || first["EffectivePriority"] != 0.5 {
		t.Errorf("the first point of %s is %v, want bob's demand of 7", list[0].Name, first)
	}
	if n := len(list[0].Points); n != 241 {
		t.Errorf("%d points, want one a minute and the present: 241", n)
	}
}

func TestHistoryRefuses(t *testing.T) {
	samples(t)
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"-history", "alcie"}, 1},
		{[]string{"-history", "-csv", "-json"}, 2},
		{[]string{"-history", "-since", "yesterday"}, 2},
		{[]string{"-history", "-since", "5x"}, 2},
		{[]string{"-history", "-since", fmt.Sprint(cmdtest.Now + 60)}, 2},
	} {
		cmdtest.Refuses(t, command(), c.status, c.args...)
	}
}

func TestHistoryOfNothing(t *testing.T) {
	cmdtest.Spool(t, func(*spool.Tx) {})
	for form, want := range map[string]string{"": "", "-json": "{\n  \"SchemaVersion\": 1,\n  \"Submitters\": []\n}\n", "-csv": "Name,Time,EffectivePriority,RealPriority,WeightedResourcesUsed,WeightedAccumulatedUsage,Demand\n"} {
		args := []string{"-history"}
		if form != "" {
			args = append(args, form)
		}
		status, out, bad := userprio(args...)
		if status != 0 || out != want || strings.Count(bad, "\n") != 1 || !strings.Contains(bad, "no samples") {
			t.Errorf("userprio %v = %d, %q, %q, want 0, %q and a line that says why", args, status, out, bad, want)
		}
	}
}

// TestHistoryDamaged holds that damage is told by file and line, and the rest
// shown.
func TestHistoryDamaged(t *testing.T) {
	samples(t)
	files, err := filepath.Glob(filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "samples", "minute-*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	testenv.OK(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	lines[100] = lines[100][1:]
	testenv.OK(t, os.WriteFile(files[0], []byte(strings.Join(lines, "")), 0o600))
	status, out, bad := userprio("-history", "-csv", "bob")
	if status != 0 || strings.Count(out, "\n") < 230 || !strings.Contains(bad, files[0]+":") || strings.Count(bad, "\n") != 1 {
		t.Errorf("userprio -history = %d, %s, %d lines, want one warning about %s", status, bad, strings.Count(out, "\n"), files[0])
	}
}

func TestSince(t *testing.T) {
	now := time.Unix(cmdtest.Now, 0)
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "36h": 36 * time.Hour, "7d": 7 * 24 * time.Hour, "4w": 28 * 24 * time.Hour, "5y": 5 * 365 * 24 * time.Hour,
		"0m": 0, "1795217646": 0, "2026-11-20T23:34:00Z": 6 * time.Second,
	} {
		if got, err := since(text, now); err != nil || !got.Equal(now.Add(-want)) {
			t.Errorf("since(%s) = %v, %v, want %v", text, got, err, now.Add(-want))
		}
	}
	if got, err := since("999999999y", now); err != nil || got.Unix() != 0 {
		t.Errorf("since(999999999y) = %v, %v, want 1970", got, err)
	}
	for _, text := range []string{"", "5", "-5d", "1.5d", "d", "99999999999d", "7 d", "NaN"} {
		if got, err := since(text, now); err == nil && text != "5" {
			t.Errorf("since(%q) = %v, want an error", text, got)
		}
	}
}

// TestHistoryOfTheDeleted holds that who was sampled long ago is no stranger.
func TestHistoryOfTheDeleted(t *testing.T) {
	samples(t)
	cmdtest.Update(t, func(tx *spool.Tx) { tx.DropSubmitter("alice@pool") })
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(cmdtest.Now+10*86400))
	status, out, bad := userprio("-history", "alice")
	if status != 0 {
		t.Errorf("userprio -history of the deleted = %d, want 0", status)
	}
	cmdtest.Printed(t, "userprio -history alice", status, out, bad)
	if status, out, bad := userprio("-history", "-since", "900d", "alice@pool"); status != 0 || bad != "" || !strings.Contains(out, "alice@pool") {
		t.Errorf("userprio -history -since 900d = %d, %q, %q", status, out, bad)
	}
	if status, out, bad = userprio("-history", "alcie", "alice@pool"); status != 1 {
		t.Errorf("userprio -history of one unknown and one deleted = %d, want 1", status)
	}
	cmdtest.Printed(t, "userprio -history alcie alice@pool", status, out, bad)
	cmdtest.Refuses(t, command(), 1, "-plot", "-", "alice")
}

// lately makes a spool in which a cycle has run every hour for two days. Alice held four slots from 36
// to 12 hours ago, bob has held two for 12 hours, and carol held one for an hour 30 hours ago; dave's
// usage was imported, of which there are no samples.
func lately(t *testing.T) {
	t.Helper()
	p := sampledParams
	sampled(t, 48*time.Hour, time.Hour, nil, func(records []accountant.Record, now time.Time, before time.Duration) {
		switch before / time.Hour {
		case 36:
			records[0] = records[0].Start(now, 4*accountant.One, p)
		case 30:
			records[2] = records[2].Start(now, accountant.One, p)
		case 29:
			records[2] = records[2].End(now, accountant.One, p)
		case 12:
			records[0] = records[0].End(now, 4*accountant.One, p)
			records[1] = records[1].Start(now, 2*accountant.One, p)
		}
	})
	end := time.Unix(cmdtest.Now, 0)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.PutSubmitter(accountant.Record{Name: "dave@pool", Begin: end.Add(-1000 * time.Hour), Last: end})
	})
}

// Of the last 24 hours 48 slot hours are alice's and 24 bob's.
func TestLastDay(t *testing.T) {
	lately(t)
	cmdtest.Says(t, command(), 0, "-lastday", "-allusers")
	cmdtest.Says(t, command(), 0, "-most", "-lastday", "alice", "bob")
	ads := cmdtest.Says(t, command(), 0, "-lastday", "-af", "Name", "int(LastDayPercent)")
	if want := "dave@pool undefined\nbob@pool 33\nalice@pool 66\n"; ads != want {
		t.Errorf("userprio -lastday -af prints\n%swant\n%s", ads, want)
	}
	_, long, _ := userprio("-long", "-lastday", "-allusers")
	file := filepath.Join(t.TempDir(), "ads")
	testenv.OK(t, os.WriteFile(file, []byte(long), 0o600))
	_, want, _ := userprio("-lastday", "-allusers")
	if _, got, _ := userprio("-lastday", "-allusers", "-inputfile", file); got != want {
		t.Errorf("userprio -lastday -inputfile prints\n%swant\n%s", got, want)
	}
	if _, out, _ := userprio("-long", "-allusers"); strings.Contains(out, "LastDay") {
		t.Errorf("userprio -long has the share of the last day without -lastday:\n%s", out)
	}
}

// What was counted before a reset is not used in the last day.
func TestLastDayAfterReset(t *testing.T) {
	lately(t)
	if status, _, bad := userprio("-resetusage", "alice@pool"); status != 0 {
		t.Fatal(bad)
	}
	cmdtest.Says(t, command(), 0, "-lastday", "-allusers")
}
