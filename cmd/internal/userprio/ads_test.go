package userprio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/report/accounts"
)

// What -long writes shows the same tables again.
func TestInputFile(t *testing.T) {
	grouped(t, true)
	for _, form := range [][]string{{"-long"}, {"-long", "-modular"}, {"-long", "-legacy"}} {
		_, ads, _ := userprio(append(form, "-allusers")...)
		file := filepath.Join(t.TempDir(), "ads")
		testenv.OK(t, os.WriteFile(file, []byte(ads), 0o600))
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
		want []accounts.Row
		at   int64
	}{
		{text: "Name = \"alice@pool\"\nPriority = 100.0\nPriorityFactor = 10.0\nLastUpdate = 1795217650\nResourcesUsed = 2\nAccumulatedUsage = 7.0\n", at: 1795217650,
			want: []accounts.Row{{Name: "alice@pool", Effective: 100, Priority: 10, Factor: 10, InUse: 2, Usage: 7}}},
		{text: "Name = \"alice@pool\"\nPriority = 100.0\nEffectivePriority = 1000.0\nPriorityFactor = 10.0\n", at: 1795217700,
			want: []accounts.Row{{Name: "alice@pool", Effective: 1000, Priority: 100, Factor: 10}}},
		{text: "LastUpdate = 5\nNumSubmittors = 999999999\nName1 = \"a@b\"\nPriority1 = 3.0\nPriorityFactor1 = 1.0\nName2 = \"c@d\"\nWeightedResourcesUsed2 = 0.5\n", at: 5,
			want: []accounts.Row{{Name: "a@b", Effective: 3, Priority: 3, Factor: 1}, {Name: "c@d", InUse: 0.5}}},
		{text: "Name = \"a@b\"\nLastUpdate = 1e300\nWeightedAccumulatedUsage = real(\"NaN\")\n", at: 1795217700, want: []accounts.Row{{Name: "a@b"}}},
	} {
		v, err := accounts.ReadView(classad.NewReader(strings.NewReader(c.text), "file"), now)
		if err != nil || len(v.Rows) != len(c.want) || v.At.Unix() != c.at {
			t.Errorf("readView(%q) = %+v, %v, want %+v at %d", c.text, v, err, c.want, c.at)
			continue
		}
		for i, w := range c.want {
			r := v.Rows[i]
			if r.Name != w.Name || r.Effective != w.Effective || r.Priority != w.Priority || r.Factor != w.Factor || r.InUse != w.InUse || r.Usage != w.Usage {
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
}

func TestInputFileNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ads")
	testenv.OK(t, os.WriteFile(file, []byte("Name = \"a@b\"\n\nFoo = 1\n"), 0o600))
	cmdtest.Refuses(t, command(), 1, "-inputfile", file)
}
