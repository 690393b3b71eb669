package sge

import (
	"testing"
	"time"

	"fairspool/lib/config"
	"fairspool/lib/sge"
)

func TestInert(t *testing.T) {
	running := schema.Default()
	running.JobPriorityPolicy, running.RunTime = "sge", config.RunTime{Interval: time.Minute}
	*Settings(&running) = sge.Config{TicketsShare: 1}
	if got := Inert(&running); got != "" {
		t.Errorf("it decides about nice values, not %q", got)
	}
	for _, test := range []struct {
		policy         string
		tickets, weigh float64
		want           string
	}{
		{"sge", 100, 0.01, ""},
		{"condor", 100, 0.01, `JOB_PRIORITY_POLICY is "condor" and not "sge"`},
		{"sge", 0, 0.01, "weight_tickets_share is 0"},
		{"sge", 100, 0, "weight_ticket is 0, and so is reprioritize_interval"},
	} {
		c := schema.Default()
		c.JobPriorityPolicy, *Settings(&c) = test.policy, sge.Config{TicketsShare: test.tickets, WeightTicket: test.weigh}
		if got := Inert(&c); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
