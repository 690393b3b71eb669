package negotiate

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
	"fairspool/spool"
)

// tried is a change as -what-if has it, and how it is made for good where no command does.
type tried struct {
	text string
	do   func(*spool.Tx) error
}

// aTrial draws a change.
func aTrial(t *rapid.T) tried {
	who := rapid.SampledFrom([]string{"alice@pool", "bob@pool", "carol@pool"}).Draw(t, "who")
	slot := fmt.Sprintf("slot%d@node", rapid.IntRange(1, 4).Draw(t, "slot"))
	id := pool.JobID{Cluster: rapid.IntRange(1, 2).Draw(t, "cluster"), Proc: rapid.IntRange(0, 3).Draw(t, "proc")}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		edit := rapid.SampledFrom([]string{
			"setfactor WHO 3 -create", "setprio WHO 50 -create", "setceiling WHO 2 -create", "setceiling WHO -1", "setfloor WHO 2 -create", "setaccum WHO 9",
			"delete WHO", "resetusage WHO", "setfactor WHO 2 -duration 7", "cancelfactorlease WHO",
		}).Draw(t, "edit")
		return tried{text: "userprio -" + strings.ReplaceAll(edit, "WHO", who)}
	case 1:
		return tried{text: fmt.Sprintf("prio -p %d %v", rapid.IntRange(-3, 9).Draw(t, "prio"), id)}
	case 2:
		a := rapid.SampledFrom([][2]string{
			{"Requirements", "false"}, {"Memory", "8"}, {"Rank", "7.5"}, {"SlotWeight", "3"}, {"Cpus", "4"}, {"PartitionableSlot", "true"}, {"State", `"Owner"`},
		}).Draw(t, "attribute")
		return tried{fmt.Sprintf("slots set %s '%s=%s'", slot, a[0], a[1]), func(tx *spool.Tx) error { return changed(tx, slot, slot, a[0], a[1]) }}
	case 3:
		return tried{text: "slots withdraw " + slot}
	case 4:
		return tried{text: rapid.SampledFrom([]string{"qhold", "qrls"}).Draw(t, "command") + " " + id.String()}
	case 5:
		return tried{text: fmt.Sprintf("prio -system %s %v", rapid.SampledFrom([]string{"0", "3", "7", "+40", "-90"}).Draw(t, "system"), id)}
	case 6:
		return tried{text: fmt.Sprintf("submit -a 'request_memory = %d' -- /bin/true", rapid.IntRange(1, 2).Draw(t, "memory"))}
	}
	return tried{text: fmt.Sprintf("qdel %v", id)}
}

// hierarchical is a configuration in which all that changes do makes a difference to the one
// queue: usage, clocks, how many run and wait, and who was passed over.
const hierarchical = `JOB_PRIORITY_POLICY = "maui"
[maui]
JOBPRIOACCRUALPOLICY = "FULLPOLICY"
FSPOLICY = "DEDICATEDPES"
FSUSERWEIGHT = 100
PEWEIGHT = 1
BYPASSWEIGHT = 5
"USERCFG[DEFAULT]" = "FSTARGET=40 MAXJOB=2,3 MAXIJOB=3"
`

// ticketed is the same for Grid Engine's policy: usage, free slots, and how many of whom run.
const ticketed = `JOB_PRIORITY_POLICY = "sge"
[sge]
maxujobs = 3
weight_tickets_functional = 1000
weight_tickets_share = 3000
reprioritize_interval = 60
[sge.users.alice]
fshare = 2
[sge.users.bob]
fshare = 1
oticket = 500
[sge.share_tree]
"/bob" = 1
"/default" = 2
`

// Whatever is changed, and in whatever order, a cycle afterwards is what -what-if
// said; and what cannot be done is refused by both.
func TestWhatIfLaw(t *testing.T) {
	maui, sge := filepath.Join(t.TempDir(), "maui.toml"), filepath.Join(t.TempDir(), "sge.toml")
	for file, text := range map[string]string{maui: hierarchical, sge: ticketed} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := begun(t)
		config := rapid.SampledFrom([]string{"/dev/null", maui, sge}).Draw(rt, "config")
		t.Setenv("FAIRSPOOL_CONFIG", config)
		var args []string
		var trials []tried
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			c := aTrial(rt)
			trials = append(trials, c)
			args = append(args, "-what-if", c.text)
		}
		status, _, bad := negotiate(append(args, "-json")...)
		var got any
		if status == 0 {
			got = reportOf(t, "WhatIf", args...)
		}
		var failed error
		for _, c := range trials {
			if c.do != nil {
				failed = s.Update(func(tx *spool.Tx) error { tx.Op("test"); return c.do(tx) })
			} else {
				failed = made(t, s, c.text)
			}
			if failed != nil {
				break
			}
		}
		if (failed != nil) != (status != 0) {
			rt.Fatalf("-what-if %s: %d, %q; for real: %v", strings.Join(args, " "), status, bad, failed)
		}
		if failed != nil {
			return
		}
		if want := reportOf(t, "", "-dry-run"); !reflect.DeepEqual(got, want) {
			rt.Fatalf("-what-if %q = %v\nwant what is so afterwards\n%v", args, got, want)
		}
	})
}
