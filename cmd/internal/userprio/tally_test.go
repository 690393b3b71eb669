package userprio

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// tally makes a spool in which john and mary used what the worked example of
// Maui's fair share has, in processor-hours, and alice and bob something of
// Grid Engine's.
func tally(t *testing.T) {
	t.Helper()
	hours := func(list ...int64) (w []accountant.Window) {
		for _, h := range list {
			w = append(w, accountant.Window{Dedicated: accountant.Usage{Millis: h * 3600 * 1000}, Equivalent: accountant.Usage{Millis: h * 7200 * 1000}, Utilized: accountant.Usage{Millis: h * 1800 * 1000}})
		}
		return w
	}
	now := time.Unix(cmdtest.Now, 0)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, y := range []accountant.Tally{
			{Key: accountant.Key{Kind: "user", Name: "mary"}, Windows: hours(50, 125, 90, 100)},
			{Key: accountant.Key{Kind: "user", Name: "john"}, Windows: hours(60, 0, 10, 50)},
			{Key: accountant.Key{Kind: "total", Name: "all"}, Windows: hours(110, 125, 100, 150)},
			{Key: accountant.Key{Kind: "group", Name: "staff"}, Windows: hours(0, 0, 0, 75)},
			{Key: accountant.Key{Kind: "qos", Name: "high"}},
			{Key: accountant.Key{Kind: "project", Name: "a/b"}, Decayed: accountant.Recent{CPU: 40}, LongTerm: accountant.Recent{CPU: 50}},
			{Key: accountant.Within("bob", "a/b"), Decayed: accountant.Recent{CPU: 40, Memory: 1.5}, LongTerm: accountant.Recent{CPU: 50}},
			{Key: accountant.Key{Kind: "own", Name: "bob"}, Decayed: accountant.Recent{CPU: 8e15, IO: 0.25}, LongTerm: accountant.Recent{CPU: 8e15, Memory: 2, IO: 0.25}},
			{Key: accountant.Key{Kind: "own", Name: "alice"}, At: now.Add(-time.Hour), Decayed: accountant.Recent{CPU: 100}, LongTerm: accountant.Recent{CPU: 100}},
		} {
			if y.At.IsZero() {
				y.At = now
			}
			if y.Windowed() {
				y.Interval = time.Hour
			}
			tx.PutTally(y)
		}
	})
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(config, []byte("[maui]\nFSINTERVAL = 3600\nFSDEPTH = 4\nFSDECAY = 0.5\n[sge]\nhalftime = 1\ncompatibility = \"8.1.9\"\n"), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", config)
}

func TestWindowsTable(t *testing.T) {
	tally(t)
	head := "DEDICATEDPS in % of each window's total; 4 windows of 01:00:00 (FSINTERVAL), each worth 0.5 times the next newer one (FSDECAY); window 0 began 2026-11-20 23:00:00\n"
	for args, want := range map[string]string{
		"": head + `
Type   Name   Usage %       0       1       2       3
total  all     100.00  110.0h  125.0h  100.0h  150.0h
user   john     31.79   54.55    0.00   10.00   33.33
user   mary     68.21   45.45  100.00   90.00   66.67
group  staff     4.34    0.00    0.00    0.00   50.00
qos    high      0.00    0.00    0.00    0.00    0.00
`[1:],
		"john": head + `
Type  Name  Usage %      0     1      2      3
user  john    31.79  54.55  0.00  10.00  33.33
`[1:],
	} {
		status, out, bad := userprio(strings.Fields("-windows " + args)...)
		if status != 0 || bad != "" || out != want {
			t.Errorf("userprio -windows %s = %d, %q\n%swant\n%s", args, status, bad, out, want)
		}
	}
	status, out, bad := userprio("-windows", "john", "june")
	if status != 1 || !strings.Contains(out, "john") {
		t.Errorf("userprio -windows john june = %d, %q", status, out)
	}
	cmdtest.Printed(t, "userprio -windows john june", status, "", bad)
}

func TestWindowsJSON(t *testing.T) {
	tally(t)
	_, out, _ := userprio("-windows", "-json", "-now", "1795219200") // an hour later
	var got accounts.Windows
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Counts != "DEDICATEDPS" || got.FSINTERVAL != 3600 || got.FSDEPTH != 4 || got.FSDECAY != 0.5 || got.WindowStart != 1795219200 || len(got.Windows) != 5 {
		t.Errorf("userprio -windows -json = %+v", got)
	}
	want := accounts.WindowRow{Type: "user", Name: "john", Usage: 31.25 * 3600, UsagePercent: 100 * 31.25 / 98.75, Dedicated: []float64{0, 60 * 3600, 0, 10 * 3600}, Equivalent: []float64{0, 60 * 7200, 0, 10 * 7200}, Utilized: []float64{0, 60 * 1800, 0, 10 * 1800}}
	if !reflect.DeepEqual(got.Windows[1], want) {
		t.Errorf("john = %+v, want %+v", got.Windows[1], want)
	}
}

// What is shown is what FSPOLICY counts.
func TestWindowsCount(t *testing.T) {
	for _, c := range []struct{ policy, word, total string }{
		{"NONE", "DEDICATEDPS", "110.0h"}, {"DEDICATEDPS", "DEDICATEDPS", "110.0h"}, {"DEDICATEDPES", "DEDICATEDPES", "220.0h"},
		{"UTILIZEDPS", "UTILIZEDPS", "55.0h"}, {"DEDICATEDPES%", "DEDICATEDPES", "220.0h"},
	} {
		tally(t)
		text := "[maui]\nFSINTERVAL = 3600\nFSDEPTH = 1\nFSPOLICY = \"" + c.policy + "\"\n"
		testenv.OK(t, os.WriteFile(os.Getenv("FAIRSPOOL_CONFIG"), []byte(text), 0o600))
		status, out, bad := userprio("-windows")
		if status != 0 || bad != "" || !strings.HasPrefix(out, c.word+" in % of") || !strings.Contains(out, " "+c.total+"\n") {
			t.Errorf("userprio -windows under %s = %d, %q\n%s", c.policy, status, bad, out)
		}
		var got accounts.Windows
		if _, out, _ := userprio("-windows", "-json"); json.Unmarshal([]byte(out), &got) != nil || got.Counts != c.word {
			t.Errorf("userprio -windows -json under %s counts %q, want %s", c.policy, got.Counts, c.word)
		}
		want := map[string][]float64{"DEDICATEDPS": got.Windows[0].Dedicated, "DEDICATEDPES": got.Windows[0].Equivalent, "UTILIZEDPS": got.Windows[0].Utilized}[c.word]
		if got.Windows[0].Usage != want[0] {
			t.Errorf("usage of all under %s = %v, want %v", c.policy, got.Windows[0].Usage, want[0])
		}
	}
}

func TestDecayedTable(t *testing.T) {
	tally(t)
	want := `
User   Project  CPU s  Mem GB s  IO GB  Combined  Long-term
alice  -        49.80      0.00   0.00     49.80     100.00
bob    -        8e+15      0.00   0.25     8e+15      8e+15
bob    a/b      40.00      1.50   0.00     40.00      50.00
-      a/b      40.00      0.00   0.00     40.00      50.00
`[1:]
	if status, out, bad := userprio("-decayed"); status != 0 || bad != "" || out != want {
		t.Errorf("userprio -decayed = %d, %q\n%swant\n%s", status, bad, out, want)
	}
	_, out, _ := userprio("-decayed", "-json", "a/b")
	var got struct {
		Halftime float64
		Usage    []accounts.DecayedRow
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Halftime != 1 || len(got.Usage) != 2 {
		t.Fatalf("userprio -decayed -json = %+v, %v\n%s", got, err, out)
	}
	if want := (accounts.DecayedRow{User: "bob", Project: "a/b", CPU: 40, Memory: 1.5, Combined: 40, LongTermCPU: 50, LongTermCombined: 50}); got.Usage[0] != want {
		t.Errorf("bob within a/b = %+v, want %+v", got.Usage[0], want)
	}
}

// TestNoTallies: nothing to show is an empty listing.
func TestNoTallies(t *testing.T) {
	fill(t)
	for flag, want := range map[string]string{"-windows": `"Windows": []`, "-decayed": `"Usage": []`} {
		if status, out, bad := userprio(flag); status != 0 || out != "" || bad != "" {
			t.Errorf("userprio %s = %d, %q, %q, want nothing", flag, status, out, bad)
		}
		if _, out, _ := userprio(flag, "-json"); !strings.Contains(out, want) {
			t.Errorf("userprio %s -json = %s, want %s in it", flag, out, want)
		}
	}
}
