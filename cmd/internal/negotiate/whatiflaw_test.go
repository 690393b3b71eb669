package negotiate

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// tried is a change as -what-if has it, and how it is made for good.
type tried struct {
	text string
	do   func(*spool.Tx) error
}

// aTrial draws a change. There are system priorities only where that is said.
func aTrial(t *rapid.T, system bool) tried {
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
	at := time.Unix(later, 0)
	who := rapid.SampledFrom([]string{"alice@pool", "bob@pool", "carol@pool"}).Draw(t, "who")
	slot := fmt.Sprintf("slot%d@node", rapid.IntRange(1, 4).Draw(t, "slot"))
	id := pool.JobID{Cluster: rapid.IntRange(1, 2).Draw(t, "cluster"), Proc: rapid.IntRange(0, 3).Draw(t, "proc")}
	expr := func(text string) *classad.Expr {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		e := rapid.SampledFrom([][]string{
			{"setfactor", "3"}, {"setprio", "50"}, {"setceiling", "2"}, {"setceiling", "-1"}, {"setfloor", "2"}, {"setaccum", "9"},
			{"delete"}, {"resetusage"}, {"setfactor", "2", "7"}, {"cancelfactorlease"},
		}).Draw(t, "edit")
		text := "userprio -" + e[0] + " " + who
		args := []string{who}
		var duration []string
		if len(e) > 1 {
			text, args = text+" "+e[1], append(args, e[1])
		}
		if len(e) > 2 {
			text, duration = text+" -duration "+e[2], e[2:]
		}
		if edit.Creates(e[0]) {
			text += " -create"
		}
		return tried{text, func(tx *spool.Tx) error { return doEdit(tx, e[0], args, duration, at, p) }}
	case 1:
		n := rapid.IntRange(-3, 9).Draw(t, "prio")
		return tried{fmt.Sprintf("prio -p %d %v", n, id), func(tx *spool.Tx) error {
			if _, ok := tx.Job(id); !ok {
				return fmt.Errorf("no job %v", id)
			}
			tx.SetRange(pool.Only(id), pool.AttrJobPrio, expr(fmt.Sprint(n)))
			return nil
		}}
	case 5:
		n := rapid.SampledFrom([]string{"0", "3", "7", "+40", "-90"}).Draw(t, "system")
		return tried{fmt.Sprintf("prio -system %s %v", n, id), func(tx *spool.Tx) error {
			if _, ok := tx.Job(id); !ok || !system {
				return fmt.Errorf("no job %v, or no system priorities", id)
			}
			kept := map[string]string{"+40": "2000000040", "-90": "1999999910"}
			tx.SetRange(pool.Only(id), pool.AttrSystemPriority, expr(cmp.Or(kept[n], n)))
			return nil
		}}
	case 2:
		a := rapid.SampledFrom([][2]string{
			{"Requirements", "false"}, {"Memory", "8"}, {"Rank", "7.5"}, {"SlotWeight", "3"}, {"Cpus", "4"}, {"PartitionableSlot", "true"}, {"State", `"Owner"`},
		}).Draw(t, "attribute")
		return tried{fmt.Sprintf("slots set %s '%s=%s'", slot, a[0], a[1]), func(tx *spool.Tx) error {
			s, ok := tx.Advertised(slot)
			if !ok {
				return fmt.Errorf("no slot %s", slot)
			}
			one := s.Ad.Clone()
			one.Set(a[0], expr(a[1]))
			tx.PutSlot(slot, one)
			return nil
		}}
	case 3:
		return tried{"slots withdraw " + slot, func(tx *spool.Tx) error {
			if _, ok := tx.Advertised(slot); !ok {
				return fmt.Errorf("no slot %s", slot)
			}
			for _, c := range tx.Claims() {
				if c.SlotAd() == slot {
					return fmt.Errorf("slot %s is claimed", slot)
				}
			}
			tx.DropSlot(slot)
			return nil
		}}
	}
	return tried{fmt.Sprintf("qdel %v", id), func(tx *spool.Tx) error {
		c, claimed := tx.Claim(id)
		if _, err := operation.Remove(tx, id, "", at, p); err != nil {
			return err
		}
		if claimed && c.State == pool.RunningClaim {
			return operation.Finish(tx, id, c.Attempt, at, operation.Ending{}, p)
		}
		return nil
	}}
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
			c := aTrial(rt, config == maui)
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
			if failed = s.Update(func(tx *spool.Tx) error { tx.Op("test"); return c.do(tx) }); failed != nil {
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
