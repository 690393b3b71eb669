package main

import (
	"testing"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// A job that has to leave and is let run on for its retirement time is not above its own
// limits for that.
func TestPolicyWhileRetiring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		attr, expr  string // at first
		later, wish string // set while it retires; empty: nothing
		want        string
	}{
		{"a limit", "AllowedExecuteDuration", "2", "", "", "JobStatus=5 HoldReasonCode=47"},
		{"an expression", "PeriodicHold", "Stop =?= true", "Stop", "true", "JobStatus=5 HoldReasonCode=3"},
		{"a limit that is set later", "Stop", "false", "AllowedExecuteDuration", "0", "JobStatus=5 HoldReasonCode=47"},
		{"removed", "PeriodicRemove", "Stop =?= true", "Stop", "true", "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nMAXJOBRETIREMENTTIME = \"1000\"\nPERIODIC_EXPR_INTERVAL = 0.05\n")
			p.slot(1)
			id := p.match(forever, c.attr, c.expr)
			p.running(id)
			p.pid("main")
			p.update(func(tx *spool.Tx) error {
				operation.Drain(tx, operation.Drained{Machine: "node1", By: "root", At: matchedAt}, matchedAt, params)
				return nil
			})
			if c.later != "" {
				e, err := classad.ParseExpr(c.wish)
				if err != nil {
					t.Fatal(err)
				}
				p.update(func(tx *spool.Tx) error { tx.Op("set", id.String()); tx.Set(id, c.later, e); return nil })
			}
			p.noClaims()
			if got := p.queued(id, "JobStatus", "HoldReasonCode"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
		})
	}
}
