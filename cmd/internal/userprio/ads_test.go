package userprio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
)

// What -long writes shows the same tables again.
func TestInputFile(t *testing.T) {
	grouped(t, true)
	for _, form := range [][]string{{"-long"}, {"-long", "-modular"}, {"-long", "-legacy"}} {
		_, ads, _ := userprio(append(form, "-allusers")...)
		file := filepath.Join(t.TempDir(), "ads")
		if err := os.WriteFile(file, []byte(ads), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"", "-all -allusers", "-usage", "-quotas", "-sortkey", "carol", "-grouprollup -flat", "-json", "-long"} {
			_, want, _ := userprio(strings.Fields(args)...)
			status, got, bad := userprio(append(strings.Fields(args), "-inputfile", file)...)
			if status != 0 || bad != "" || got != want {
				t.Errorf("userprio %s -inputfile of %s = %d, %q\n%swant\n%s", args, form, status, bad, got, want)
			}
		}
	}
	cmdtest.Refuses(t, command(), 1, "zoe", "-inputfile", os.DevNull)
}

// In HTCondor's ads Priority is the EUP.
func TestReadView(t *testing.T) {
	now := time.Unix(1795217700, 0).UTC()
	for _, c := range []struct {
		text string
		want []row
		at   int64
	}{
		{text: "Name = \"alice@pool\"\nPriority = 100.0\nPriorityFactor = 10.0\nLastUpdate = 1795217650\nResourcesUsed = 2\nAccumulatedUsage = 7.0\n", at: 1795217650,
			want: []row{{name: "alice@pool", effective: 100, priority: 10, factor: 10, inUse: 2, usage: 7}}},
		{text: "Name = \"alice@pool\"\nPriority = 100.0\nEffectivePriority = 1000.0\nPriorityFactor = 10.0\n", at: 1795217700,
			want: []row{{name: "alice@pool", effective: 1000, priority: 100, factor: 10}}},
		{text: "LastUpdate = 5\nNumSubmittors = 999999999\nName1 = \"a@b\"\nPriority1 = 3.0\nPriorityFactor1 = 1.0\nName2 = \"c@d\"\nWeightedResourcesUsed2 = 0.5\n", at: 5,
			want: []row{{name: "a@b", effective: 3, priority: 3, factor: 1}, {name: "c@d", inUse: 0.5}}},
		{text: "Name = \"a@b\"\nLastUpdate = 1e300\nWeightedAccumulatedUsage = real(\"NaN\")\n", at: 1795217700, want: []row{{name: "a@b"}}},
	} {
		v, err := readView(classad.NewReader(strings.NewReader(c.text), "file"), now)
		if err != nil || len(v.rows) != len(c.want) || v.at.Unix() != c.at {
			t.Errorf("readView(%q) = %+v, %v, want %+v at %d", c.text, v, err, c.want, c.at)
			continue
		}
		for i, w := range c.want {
			r := v.rows[i]
			if r.name != w.name || r.effective != w.effective || r.priority != w.priority || r.factor != w.factor || r.inUse != w.inUse || r.usage != w.usage {
				t.Errorf("readView(%q): row %d = %+v, want %+v", c.text, i, r, w)
			}
		}
	}
}

// The listing of the first manuals: their heading, and users only.
func TestClassic(t *testing.T) {
	grouped(t, false)
	for _, c := range []struct{ args, want string }{
		{"-classic", `                                    Effective
User Name                           Priority
------------------------------      ---------
group_a.alice@pool                       4.00
group_a.x.bob@pool                       5.00
carol@pool                               6.00
------------------------------      ---------
Number of users shown: 3
`},
		{"-classic -usage carol", `                               Accumulated        Usage             Last
User Name                      Usage (hrs)     Start Time       Usage Time
------------------------------ -----------  ---------------- ----------------
carol@pool                             6.00 11/20/2026 17:34 11/20/2026 23:34
------------------------------ -----------  ---------------- ----------------
Number of users: 1
`},
		{"-classic -all carol", `                                    Effective   Real     Priority   Res  Accumulated        Usage             Last
User Name                           Priority  Priority    Factor    Used Usage (hrs)     Start Time       Usage Time
------------------------------      --------- -------- ------------ ---- -----------  ---------------- ----------------
carol@pool                               6.00     6.00         1.00    1         6.00 11/20/2026 17:34 11/20/2026 23:34
------------------------------      --------- -------- ------------ ---- -----------  ---------------- ----------------
Number of users: 1
`},
	} {
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 0 || bad != "" || bare(out) != c.want {
			t.Errorf("userprio %s = %d, %q\n%swant\n%s", c.args, status, bad, out, c.want)
		}
	}
	if got, want := classicName("physics.with.a.long.name@example.org"), "physics.with.a.long.name@exam"; got != want {
		t.Errorf("classicName = %q, want %q", got, want)
	}
}

func TestInputFileNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ads")
	if err := os.WriteFile(file, []byte("Name = \"a@b\"\n\nFoo = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmdtest.Refuses(t, command(), 1, "-inputfile", file)
}
