package userprio

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/accountant/state"
	"fairspool/spool"
)

func spoolDir() string { return os.Getenv("FAIRSPOOL_DIR") }

// importing runs -import - with a text.
func importing(text string, args ...string) (status int, out, bad string) {
	var o, b strings.Builder
	status = cmdline.Execute(command(), append([]string{"-import", "-"}, args...), strings.NewReader(text), &o, &b)
	return status, o.String(), b.String()
}

func drawState(t *rapid.T) []accountant.Record {
	var list []accountant.Record
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"alice@pool", "bob@pool", "é.ü@x", `back\slash@pool`, "group_a", "group_a.x", "<none>", "group_a.x.carol@pool",
	}), 0, 8, rapid.ID[string]).Draw(t, "names")
	for _, name := range names {
		whole := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "n") }
		at := func() (u time.Time) {
			if n := whole(accountant.MaxTime * 1000); n > 0 {
				u = time.UnixMilli(n).UTC()
			}
			return u
		}
		r := accountant.Record{Name: name, Priority: rapid.Float64Range(0.5, accountant.MaxPriority).Draw(t, "priority"),
			At: time.UnixMilli(1 + whole(cmdtest.Now*1000-1)).UTC(), HalfLife: time.Duration(1 + whole(math.MaxInt64-1)),
			Slots:    accountant.Usage{Millis: whole(math.MaxInt64), Rest: whole(999)},
			Weighted: accountant.Usage{Millis: whole(math.MaxInt64), Rest: whole(999)},
			Begin:    at(), Last: at(), Ceiling: accountant.LimitOf(whole(9) - 1), Floor: whole(accountant.MaxLimit)}
		if whole(1) == 1 {
			r.Factor = rapid.Float64Range(1, accountant.MaxPriority).Draw(t, "factor")
		}
		if whole(1) == 1 {
			r.FactorLease = accountant.Lease{Until: time.UnixMilli(1 + whole(cmdtest.Now*2000)).UTC(), Before: 1.1}
			r.CeilingLease = accountant.Lease{Until: time.UnixMilli(1 + whole(cmdtest.Now*2000)).UTC(), Before: -1}
		}
		list = append(list, r)
	}
	return list
}

func drawTallies(t *rapid.T) []accountant.Tally {
	var list []accountant.Tally
	for _, kind := range []string{accountant.KindUser, accountant.KindOwn}[:rapid.IntRange(0, 2).Draw(t, "tallies")] {
		y := accountant.Tally{Key: accountant.Key{Kind: kind, Name: rapid.SampledFrom([]string{"alice", "a b", "ü/\""}).Draw(t, "name")},
			At: time.UnixMilli(rapid.Int64Range(1, cmdtest.Now*1000).Draw(t, "at")).UTC()}
		amount := func() float64 { return rapid.Float64Range(0, math.MaxFloat64).Draw(t, "amount") }
		if y.Windowed() {
			y.Interval = time.Hour
			y.Windows = []accountant.Window{{Dedicated: accountant.Usage{Millis: 5, Rest: 7}, Equivalent: accountant.Usage{Millis: 6, Rest: 3}}, {}, {Utilized: accountant.Usage{Millis: math.MaxInt64}}}
		} else {
			y.Decayed, y.LongTerm = accountant.Recent{CPU: amount(), IO: amount()}, accountant.Recent{Memory: amount()}
		}
		list = append(list, y)
	}
	return list
}

// What was exported and imported elsewhere is the same again.
func TestExportImport(t *testing.T) {
	states, tallies := rapid.Custom(drawState), rapid.Custom(drawTallies)
	for seed := range 20 {
		cmdtest.Spool(t, func(tx *spool.Tx) {
			for _, r := range states.Example(seed) {
				tx.PutSubmitter(r)
			}
			for _, y := range tallies.Example(seed) {
				tx.PutTally(y)
			}
		})
		text, records := must(t, "-export -"), recordsText(t)
		cmdtest.Spool(t, func(*spool.Tx) {})
		if status, _, bad := importing(text); status != 0 {
			t.Fatalf("-import = %d, %q\n%s", status, bad, text)
		}
		if got := recordsText(t); got != records {
			t.Fatalf("the records after -import:\n%swant\n%s", got, records)
		}
		if got := must(t, "-export -"); got != text {
			t.Fatalf("-export after -import:\n%swant\n%s", got, text)
		}
	}
}

// What is in use is exported as of now; what is at rest reads the same at any time.
func TestExportLater(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for i, name := range []string{"alice", "bob"} {
			tx.PutTally(accountant.Tally{Key: accountant.Key{Kind: accountant.KindUser, Name: name}, At: time.Unix(cmdtest.Now, 0), Cpus: 2 * int64(i), PE: 5 * accountant.Weight(i), Interval: 12 * time.Hour})
		}
	})
	read, err := state.Parse([]byte(must(t, fmt.Sprint("-export - -now ", cmdtest.Now+60))))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]accountant.Tally{
		"alice": {At: time.Unix(cmdtest.Now, 0)},
		"bob":   {At: time.Unix(cmdtest.Now+60, 0), Cpus: 2, PE: 5, Windows: []accountant.Window{{Dedicated: accountant.Usage{Millis: 120_000}, Equivalent: accountant.Usage{Millis: 300}}}},
	} {
		want.Key, want.Interval = accountant.Key{Kind: accountant.KindUser, Name: name}, 12*time.Hour
		if got := read.Tallies[want.Key]; !(accountant.TallyEntry{Tally: got, There: true}).Same(accountant.TallyEntry{Tally: want, There: true}) {
			t.Errorf("the tally of %s a minute later = %+v, want %+v", name, got, want)
		}
	}
	for name, at := range map[string]int64{"alice@pool": cmdtest.Now - 86400, "bob@pool": cmdtest.Now + 60} {
		if got := read.Records[name].At.Unix(); got != at {
			t.Errorf("%s is exported as of %d, want %d", name, got, at)
		}
	}
}

// In use is what the pool uses now, charged from now on, whatever was imported.
func TestImportWhileUsed(t *testing.T) {
	fill(t)
	key := accountant.Key{Kind: accountant.KindOwn, Name: "alice"}
	tally := func(cpu float64, cpus int64) {
		cmdtest.Update(t, func(tx *spool.Tx) {
			tx.PutTally(accountant.Tally{Key: key, At: time.Unix(cmdtest.Now, 0), Cpus: cpus, LongTerm: accountant.Recent{CPU: cpu}})
		})
	}
	tally(100, 0)
	file := filepath.Join(t.TempDir(), "state.json")
	cmdtest.Printed(t, "userprio -export "+file, 0, must(t, "-export "+file), "")
	before := recordsText(t)
	must(t, "-resetall")
	must(t, "-setfloor dave@pool 3 -create")
	must(t, "-delete alice@pool")
	tally(250, 3)
	changed := recordsText(t)
	cmdtest.Says(t, command(), 0, "-import", file, "-reason", "yesterday")
	for _, name := range []string{"alice@pool", "nice-user.carol@pool"} {
		if r, _ := record(t, name); !strings.Contains(before, spool.SubmitterRow(r)) {
			t.Errorf("%s after -import: %+v", name, r)
		}
	}
	if r, known := record(t, "dave@pool"); known {
		t.Errorf("dave@pool is still there: %+v", r)
	}
	bob, _ := record(t, "bob@pool")
	if bob.InUse != 2*accountant.One || bob.ResourcesUsed != 1 || bob.Weighted.Seconds() != 7200 || bob.At.Unix() != cmdtest.Now {
		t.Errorf("bob@pool after -import: %+v, want 2 in use, 7200 s", bob)
	}
	counted := func(cpu float64) {
		t.Helper()
		cmdtest.View(t, func(v *spool.View) {
			if y, _ := v.Tally(key); y.LongTerm.CPU != cpu || y.Cpus != 3 {
				t.Errorf("the tally is %+v, want %g and 3 in use", y, cpu)
			}
		})
	}
	counted(100)
	if out := must(t, "-log carol nice-user.carol@pool"); !strings.Contains(out, "import accounting") || !strings.Contains(out, "yesterday") {
		t.Errorf("-log after -import:\n%s", out)
	}
	must(t, "-undo 7")
	counted(250)
	if got := recordsText(t); got != changed {
		t.Errorf("after -undo of -import:\n%swant\n%s", got, changed)
	}
}

// Figures of a time to come must not keep what is in use from being charged.
func TestImportFromTheFuture(t *testing.T) {
	fill(t)
	key := accountant.Key{Kind: accountant.KindOwn, Name: "bob"}
	cmdtest.Update(t, func(tx *spool.Tx) { tx.PutTally(accountant.Tally{Key: key, At: time.Unix(cmdtest.Now, 0), Cpus: 2}) })
	text := strings.ReplaceAll(must(t, "-export -"), fmt.Sprintf(`"At": %d`, cmdtest.Now), fmt.Sprintf(`"At": %d`, 2*cmdtest.Now))
	status, _, bad := importing(text)
	if status != 0 {
		t.Errorf("-import = %d, %q, want 0", status, bad)
	}
	cmdtest.Printed(t, "userprio -import - (figures of a time to come)", status, "", bad)
	if bob, _ := record(t, "bob@pool"); bob.At.Unix() != cmdtest.Now || bob.Weighted.Seconds() != 7200 {
		t.Errorf("bob@pool after -import: %+v, want 7200 s as of now", bob)
	}
	cmdtest.View(t, func(v *spool.View) {
		if y, _ := v.Tally(key); y.At.Unix() != cmdtest.Now {
			t.Errorf("the tally after -import is of %v, want now", y.At)
		}
	})
	must(t, "-setlast bob@pool 0")
}

func TestImportRefuses(t *testing.T) {
	fill(t)
	before := journalText(t)
	record := `{"Name":"a@b","Priority":1,"At":5,"HalfLifeNanos":5,"SlotMillis":0,"WeightedMillis":0}`
	good := `{"Format":1,"Submitters":[` + record + `],"Groups":[],"Tallies":[]}`
	change := func(old, by string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %q", old, good)
		}
		return strings.Replace(good, old, by, 1)
	}
	for _, c := range []struct {
		text string
		line int
	}{
		{"", 1},
		{"[]", 1},
		{"\n\n{nonsense", 3},
		{good + "\n{}", 2},
		{good[:len(good)-1], 1},
		{"\xff" + good, 1},
		{change(`"Format":1`, `"Format":2`), 1},
		{change(`"Format":1,`, ``), 1},
		{change(`,"Groups":[]`, ``), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"user","Name":"","At":5}]`), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"user","Name":"a","At":5},{"Kind":"user","Name":"a","At":5}]`), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"own","Name":"a","At":5,"Decayed":{"CPU":-1,"Memory":0,"IO":0}}]`), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"user","Name":"a","At":5,"Windows":[`+strings.Repeat(`{"DedicatedMillis":5,"UtilizedMillis":6},`, 25)+`]}]`),
			1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"usr","Name":"a","At":5}]`), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"own","Name":"a","At":5,"Windows":[{"DedicatedMillis":5,"UtilizedMillis":6}]}]`), 1},
		{change(`"Tallies":[]`, `"Tallies":[{"Kind":"user","Name":"a","At":5,"LongTerm":{"CPU":1,"Memory":0,"IO":0}}]`), 1},
		{change(`"Groups":[]`, `"Groups":[],"Groups":[]`), 1},
		{change(`"Groups":[]`, `"groups":[]`), 1},
		{change(`"Groups":[]`, `"Groups":{}`), 1},
		{change(`"Groups":[]`, "\n"+`"Groups":[`+strings.Repeat("[", 100000)), 2},
		{change(`"Name":"a@b"`, `"Name":"a"`), 1},
		{change(`"Name":"a@b"`, `"Name":""`), 1},
		{change(`"Name":"a@b"`, `"Name":"a b@c"`), 1},
		{change(`"Name":"a@b"`, `"Name":7`), 1},
		{change(`"Name":"a@b",`, ``), 1},
		{change(`"Priority":1`, `"Priority":0.4`), 1},
		{change(`"Priority":1`, `"Priority":"1"`), 1},
		{change(`"Priority":1`, `"Priority":null`), 1},
		{change(`"Priority":1`, `"Priority":1,"PriorityFactor":0.5`), 1},
		{change(`"At":5`, `"At":5.5`), 1},
		{change(`"At":5`, `"At":-5`), 1},
		{change(`"HalfLifeNanos":5`, `"HalfLifeNanos":0`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":0,"SlotRest":1000`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":99999999999999999999`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":0,"FloorLease":{"Until":5}`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":0,"FloorLease":{"Until":5,"Before":0.5}`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":0,"FactorLease":{"Until":5,"Before":0.5}`), 1},
		{change(`"SlotMillis":0`, `"SlotMillis":0,"Ceiling":-1`), 1},
		{change(`}],`, "},\n"+record+"],"), 2},
	} {
		status, out, bad := importing(c.text)
		if status != 1 || out != "" || !strings.HasPrefix(bad, fmt.Sprintf("userprio: -:%d: ", c.line)) || strings.Count(bad, "\n") != 1 {
			t.Errorf("-import of %.200s = %d, %q, %q, want 1, and line %d", c.text, status, out, bad, c.line)
		}
		cmdtest.Printed(t, fmt.Sprintf("userprio -import - (%.200q)", c.text), status, out, bad)
	}
	if got := journalText(t); got != before {
		t.Errorf("refused imports changed the journal to\n%s", got)
	}
}

// What an export says nothing of equivalents of counts as its processors do.
func TestImportWithoutEquivalents(t *testing.T) {
	const of = `{"Kind":"user","Name":"alice","At":1000,"Cpus":3,%s"Windows":[{"DedicatedMillis":5,"DedicatedRest":7,%s"UtilizedMillis":2}]}`
	for _, c := range []struct {
		pe, equivalent string
		want           accountant.Weight
		window         accountant.Usage
	}{
		{"", "", 3 * accountant.One, accountant.Usage{Millis: 5, Rest: 7}},
		{`"PE":4500,`, `"EquivalentMillis":9,`, 4500, accountant.Usage{Millis: 9}},
		{`"PE":0,`, `"EquivalentMillis":0,"EquivalentRest":1,`, 0, accountant.Usage{Rest: 1}},
	} {
		y, err := state.ParseTally(fmt.Sprintf(of, c.pe, c.equivalent))
		if err != nil || y.PE != c.want || len(y.Windows) != 1 || y.Windows[0].Equivalent != c.window {
			t.Errorf("a tally with %s%s is read as %+v, %v, want %v in use, %+v", c.pe, c.equivalent, y, err, c.want, c.window)
		}
	}
}
