package queue

import (
	"testing"

	"fairspool/lib/pool"
)

func TestState(t *testing.T) {
	for _, c := range []struct {
		standing
		want string
	}{
		{standing{status: pool.Idle}, "qw"},
		{standing{status: pool.Idle, waits: true}, "hqw"},
		{standing{status: pool.Idle, claim: pool.Matched}, "t"},
		{standing{status: pool.Idle, claim: pool.Promised}, "t"},
		{standing{status: pool.Idle, claim: pool.Matched, starts: 1}, "Rt"},
		{standing{status: pool.Idle, claim: pool.RunningClaim}, "r"},
		{standing{status: pool.Running, claim: pool.RunningClaim, starts: 1}, "r"},
		{standing{status: pool.Running, claim: pool.RunningClaim, starts: 2}, "Rr"},
		{standing{status: pool.Running, claim: pool.Vacating, starts: 1}, "r"},
		{standing{status: pool.Suspended, claim: pool.RunningClaim, starts: 1}, "s"},
		{standing{status: pool.Suspended, claim: pool.RunningClaim, starts: 3}, "Rs"},
		{standing{status: pool.Removed, claim: pool.Vacating}, "dr"},
		{standing{status: pool.Removed}, "z"},
		{standing{status: pool.Completed}, "z"},
		{standing{status: pool.Held, claim: pool.Vacating, code: 1}, "hr"},
		{standing{status: pool.Held, code: 1}, "hqw"},
		{standing{status: pool.Held, code: 3}, "hqw"},
		{standing{status: pool.Held, code: 6}, "Eqw"},
		{standing{status: pool.Held, code: 13}, "Eqw"},
		{standing{status: pool.Held, code: 15}, "hqw"},
		{standing{status: pool.Held, code: 34}, "hqw"},
		{standing{status: pool.Held, code: 46}, "hqw"},
		{standing{status: pool.Held, code: dependencyFailed}, "hqw"},
		{standing{status: pool.Held, code: 99}, "hqw"},
	} {
		if got := c.state(); got != c.want {
			t.Errorf("state of %+v = %s, want %s", c.standing, got, c.want)
		}
	}
}

func TestParseStates(t *testing.T) {
	every := holds{true, true, true, true, true}
	for _, c := range []struct {
		text string
		want States
		ok   bool
	}{
		{"prs", States{pending: true, running: true, suspended: true}, true},
		{"a", States{pending: true, running: true, suspended: true}, true},
		{"z", States{ended: true}, true},
		{"h", States{holds: every}, true},
		{"hp", States{pending: true, holds: every}, true},
		{"hurho", States{running: true, holds: holds{user: true, operator: true}}, true},
		{"hshjhd", States{holds: holds{system: true, job: true}}, true},
		{"ha", States{holds: holds{time: true}}, true},
		{"hd", States{}, true},
		{"", States{}, false},
		{"px", States{pending: true}, false},
	} {
		if got, ok := ParseStates(c.text); got != c.want || ok != c.ok {
			t.Errorf("ParseStates(%q) = %+v, %v, want %+v, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestByOther(t *testing.T) {
	for _, c := range []struct {
		reason, owner string
		want          bool
	}{
		{"via qhold (by user root)", "alice", true},
		{"via qhold (by user alice)", "alice", false},
		{"too large (by user", "alice", false},
		{"", "alice", false},
	} {
		if got := byOther(c.reason, c.owner); got != c.want {
			t.Errorf("byOther(%q, %q) = %v, want %v", c.reason, c.owner, got, c.want)
		}
	}
}
