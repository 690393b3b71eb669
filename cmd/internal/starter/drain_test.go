package starter

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestDrainMachine drains another machine, whose pilot makes its job leave, and opens it again.
func TestDrainMachine(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(awaitGo)
	p.update(func(tx *spool.Tx) error {
		pilot := lifecycle.Ask(tx, "farm", "node2", "", matchedAt)
		if _, err := lifecycle.Greet(tx, pilot.ID, "a", -1, time.Minute, matchedAt); err != nil {
			return err
		}
		c, _ := tx.Claim(id)
		c.Slot, c.Machine = "slot1@node2", "node2"
		tx.PutClaim(c)
		return lifecycle.Begin(tx, id, 1, matchedAt, 1<<30, "a", params)
	})
	p.starter(1, 0, "-drain", "-machine", "node9")
	p.starter(2, 0, "-machine", "node2")
	p.starter(2, 0, "-watch", "-drain", "-machine", "node2")
	c := p.command("-drain", "-machine", "NODE2")
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	p.until("the job is told to leave", func() bool { return p.claims()[0].State == pool.Vacating })
	p.update(func(tx *spool.Tx) error {
		return lifecycle.Finish(tx, id, 1, matchedAt.Add(time.Minute), pool.Ending{Lost: "it left"}, params)
	})
	want := "node2 is drained: 0 matches given up, 1 job has to leave.\n1 job has left node2.\n"
	if err := c.Wait(); err != nil || out.String() != want || bad.Len() > 0 {
		t.Errorf("starter -drain -machine NODE2 says %q, %q, %v, want %q", out.String(), bad.String(), err, want)
	}
	drained := func(machine string) (is bool) {
		if err := p.spool.View(func(v *spool.View) error { _, is = lifecycle.DrainOf(v, machine); return nil }); err != nil {
			t.Fatal(err)
		}
		return is
	}
	if !drained("node2") || drained("node1") {
		t.Errorf("drained are node2 %v, node1 %v, want the first", drained("node2"), drained("node1"))
	}
	p.update(func(tx *spool.Tx) error { lifecycle.Bye(tx, 1, "idle", matchedAt, accountant.Params{}); return nil })
	if out := p.starter(0, 0, "-drain", "-cancel", "-machine", "node2", "-json"); !strings.Contains(out, `"WasDrained":true`) && !strings.Contains(out, `"WasDrained": true`) || drained("node2") {
		t.Errorf("starter -drain -cancel -machine node2 says %s, and it is drained: %v", out, drained("node2"))
	}
}
