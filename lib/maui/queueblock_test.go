package maui

import (
	"strings"
	"testing"

	"fairspool/lib/jobprio"
)

func TestBlockedQOS(t *testing.T) {
	c := Default()
	c.Components[Credentials].Weight, c.Subs[CredQOS].Weight = 1, 1
	c.Credentials[QOS] = map[string]Credential{"gold": {Priority: 500}}
	c.Credentials[User] = map[string]Credential{"bob": {QList: []string{"gold"}}}
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 2, minutesAgo("ann", 10)+`QOS = "gold"`),
		runOf(t, 2, 1, minutesAgo("bob", 10)+`QOS = "gold"`),
	}}
	compareOrder(t, "QOS", c, w, "2.0 510", "1.0-1 10: QOS gold is not allowed for user ann")
}

func TestBlockedNegativePriority(t *testing.T) {
	c := Default()
	c.Subs[CredUser].Weight = 1
	c.Credentials[User] = map[string]Credential{"low": {Priority: -500}, "none": {Priority: -10}}
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 1, minutesAgo("low", 10)), runOf(t, 2, 1, minutesAgo("low", 600)), runOf(t, 3, 1, minutesAgo("none", 10)), runOf(t, 4, 1, minutesAgo("ok", 1)),
	}}
	compareOrder(t, "by default all are 1 at least", c, w, "2.0 100", "1.0 1", "3.0 1", "4.0 1")
	c.EnableNegative = true
	compareOrder(t, "enabled, they go last", c, w, "2.0 100", "4.0 1", "3.0 0", "1.0 -490")
	c.RejectNegative = true
	compareOrder(t, "rejected, they are left out", c, w, "2.0 100", "4.0 1", "3.0 0", "1.0 -490: negative priority")
	c.EnableNegative = false
	compareOrder(t, "rejected, whether enabled or not", c, w, "2.0 100", "4.0 1", "3.0 0", "1.0 -490: negative priority")
}

func TestBlockedFairShareQuota(t *testing.T) {
	world := queueWorld
	world.Used = Used{Total: 100_000}
	world.Used.Of[User] = map[string]float64{"ann": 6400}
	world.Used.Of[QOS] = map[string]float64{DefaultName: 30_000}
	job := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 1, minutesAgo("ann", 10)+`RequestCpus = 2; RequestMemory = 4096`)}} // 7200 processor-seconds, 4 PE
	for _, c := range []struct {
		name   string
		policy FSPolicy
		kind   Kind
		of     string
		target float64
		mode   FSMode
		none   bool // nobody used anything
		want   string
	}{
		{"within", DedicatedPS, User, "ann", 13600, FSQuota, false, ""},
		{"beyond", DedicatedPS, User, "ann", 13599, FSQuota, false, "FSTARGET 13599^ of user ann: 6400 used, 7200 asked for"},
		{"beyond what all have", DedicatedPS, User, DefaultName, 13599, FSQuota, false, "FSTARGET 13599^ of user ann: 6400 used, 7200 asked for"},
		{"somebody else's", DedicatedPS, User, "bob", 1, FSQuota, false, ""},
		{"nothing used", DedicatedPS, Group, "g", 7199, FSQuota, false, "FSTARGET 7199^ of group g: 0 used, 7200 asked for"},
		{"percent, within", DedicatedPS, User, "ann", 13.6, FSRelative, false, ""},
		{"percent, beyond", DedicatedPS, User, "ann", 13.5, FSRelative, false, "FSTARGET 13.5% of user ann: 6400 used, 7200 asked for, of 100000 in all"},
		{"percent of nothing", DedicatedPS, User, "ann", 13.5, FSRelative, true, ""},
		{"QOS that nobody asked for", DedicatedPS, QOS, DefaultName, 35000, FSQuota, false, "FSTARGET 35000^ of QOS DEFAULT: 30000 used, 7200 asked for"},
		{"processor equivalents", DedicatedPES, User, "ann", 20799, FSQuota, false, "FSTARGET 20799^ of user ann: 6400 used, 14400 asked for"},
		{"3.3.1: processors all the same", DedicatedPES, User, "ann", 13599, FSQuota, false, "FSTARGET 13599^ of user ann: 6400 used, 7200 asked for"},
		{"3.3.1: processors within", DedicatedPES, User, "ann", 13600, FSQuota, false, ""},
		{"3.3.1: percent of nothing", DedicatedPS, User, "ann", 13.5, FSRelative, true, "FSTARGET 13.5% of user ann: 0 used, 7200 asked for, of 0 in all"},
		{"no quota", DedicatedPS, User, "ann", 1, FSCeiling, false, ""},
		{"no fair share", NoFairShare, User, "ann", 1, FSQuota, false, ""},
	} {
		cfg := Default()
		cfg.FSPolicy = c.policy
		cfg.Credentials[c.kind] = map[string]Credential{c.of: {FSTarget: c.target, FSMode: c.mode}}
		w := world
		if c.none {
			w.Used = Used{}
		}
		cfg.Compatible = strings.HasPrefix(c.name, "3.3.1")
		got, places := "", 0
		o := NewQueue(&cfg, w).Order(job)
		for _, b := range o.Blocked {
			got = b.Why
		}
		for _, p := range o.Places {
			places += p.Count()
		}
		if got != c.want || (places == 1) != (c.want == "") {
			t.Errorf("%s: blocked by %q and %d places, want %q", c.name, got, places, c.want)
		}
	}
}

func TestIdleLimits(t *testing.T) {
	j := func(cluster, count, minutes int, more string) jobprio.Run {
		return runOf(t, cluster, count, minutesAgo("ann", minutes)+more)
	}
	for _, c := range []struct {
		name  string
		limit Limit
		bound Bound
		idle  []jobprio.Run
		want  []string
	}{
		{"the first ones by priority", MaxJob, bound(2, 2), []jobprio.Run{j(1, 1, 10, ""), j(2, 1, 30, ""), j(3, 1, 20, "")},
			[]string{"2.0 30", "3.0 20", "1.0 1: MAXIJOB 2 of user ann: 2 considered"}},
		{"the first ones by ID, and runs are parted", MaxJob, bound(2, 3), []jobprio.Run{j(2, 3, 10, ""), j(1, 2, 10, "")},
			[]string{"1.0-1 10", "2.0 10", "2.1-2 1: MAXIJOB 3 of user ann: 3 considered"}},
		{"what is small fits", MaxProc, bound(5, 5), []jobprio.Run{j(1, 2, 10, "RequestCpus = 3"), j(2, 3, 5, "")},
			[]string{"1.0 10", "2.0-1 5", "1.1 1: MAXIPROC 5 of user ann: 3 considered, 3 asked for", "2.2 1: MAXIPROC 5 of user ann: 5 considered, 1 asked for"}},
		{"processor-seconds", MaxPS, bound(0, 7200), []jobprio.Run{j(1, 3, 10, "")}, []string{"1.0-1 10", "1.2 1: MAXIPS 7200 of user ann: 7200 considered, 3600 asked for"}},
		{"processor equivalents", MaxPE, bound(0, 4.5), []jobprio.Run{j(1, 3, 10, "RequestMemory = 2048")}, []string{"1.0-1 10", "1.2 1: MAXIPE 4.5 of user ann: 4 considered, 2 asked for"}},
		{"nodes", MaxNode, bound(0, 5), []jobprio.Run{j(1, 3, 10, "RequestNodes = 2"), j(2, 2, 5, "")},
			[]string{"1.0-1 10", "2.0 5", "1.2 1: MAXINODE 5 of user ann: 4 considered, 2 asked for", "2.1 1: MAXINODE 5 of user ann: 5 considered, 1 asked for"}},
		{"seconds", MaxWC, bound(0, 3600), []jobprio.Run{j(1, 2, 10, "RequestCpus = 9")}, []string{"1.0 10", "1.1 1: MAXIWC 3600 of user ann: 3600 considered, 3600 asked for"}},
		{"memory", MaxMem, bound(0, 1000), []jobprio.Run{j(1, 1, 10, "RequestMemory = 700.5"), j(2, 1, 5, "RequestMemory = 300")},
			[]string{"1.0 10", "2.0 1: MAXIMEM 1000 of user ann: 700.5 considered, 300 asked for"}},
		{"none at all", MaxJob, bound(0, 0), []jobprio.Run{j(1, 2, 10, "")}, []string{"1.0-1 1: MAXIJOB 0 of user ann: 0 considered"}},
	} {
		cfg := Default()
		var idle [Limits]Bound
		idle[c.limit] = c.bound
		cfg.Credentials[User] = map[string]Credential{DefaultName: {IdleLimit: idle}}
		w := jobprio.Waiting{Idle: c.idle}
		o := NewQueue(&cfg, queueWorld).Order(w)
		o.Clocks = nil // TestClocks
		if got := told(w, o); got != lines(c.want) {
			t.Errorf("%s: Order() =\n%s\nwant\n%s", c.name, got, lines(c.want))
		}
	}
}

func TestIdleLimitsByCredential(t *testing.T) {
	idle := func(n float64) Credential { return Credential{IdleLimit: [Limits]Bound{MaxJob: bound(n, n)}} }
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 3, minutesAgo("ann", 30)+`Class = "long"`),
		runOf(t, 2, 3, minutesAgo("bob", 20)+`AcctGroup = "a"`),
	}}
	for _, c := range []struct {
		name string
		kind Kind
		of   map[string]Credential
		want []string
	}{
		{"each for itself", User, map[string]Credential{DefaultName: idle(2)},
			[]string{"1.0-1 30", "2.0-1 20", "1.2 1: MAXIJOB 2 of user ann: 2 considered", "2.2 1: MAXIJOB 2 of user bob: 2 considered"}},
		{"own before all's", User, map[string]Credential{DefaultName: idle(2), "ann": idle(1)},
			[]string{"1.0 30", "2.0-1 20", "1.1-2 1: MAXIJOB 1 of user ann: 1 considered", "2.2 1: MAXIJOB 2 of user bob: 2 considered"}},
		{"an own entry about something else", User, map[string]Credential{DefaultName: idle(2), "ann": {Priority: 7}, "bob": idle(9)},
			[]string{"1.0-1 30", "2.0-2 20", "1.2 1: MAXIJOB 2 of user ann: 2 considered"}},
		{"both of one group", Group, map[string]Credential{"g": idle(4)}, []string{"1.0-2 30", "2.0 20", "2.1-2 1: MAXIJOB 4 of group g: 4 considered"}},
		{"who has no account has no limit", Account, map[string]Credential{DefaultName: idle(1)}, []string{"1.0-2 30", "2.0 20", "2.1-2 1: MAXIJOB 1 of account a: 1 considered"}},
		{"class", Class, map[string]Credential{"long": idle(1)}, []string{"1.0 30", "2.0-2 20", "1.1-2 1: MAXIJOB 1 of class long: 1 considered"}},
		{"QOS that they go by", QOS, map[string]Credential{DefaultName: idle(5)}, []string{"1.0-2 30", "2.0-1 20", "2.2 1: MAXIJOB 5 of QOS DEFAULT: 5 considered"}},
	} {
		cfg := Default()
		cfg.Credentials[c.kind] = c.of
		o := NewQueue(&cfg, queueWorld).Order(w)
		o.Clocks = nil // TestClocks
		if got := told(w, o); got != lines(c.want) {
			t.Errorf("%s: Order() =\n%s\nwant\n%s", c.name, got, lines(c.want))
		}
	}
}

// What is blocked has no part in what limits give.
func TestBlockedTakeNoRoom(t *testing.T) {
	c := Default()
	c.Subs[CredUser].Weight, c.RejectNegative = 1, true
	c.Credentials[User] = map[string]Credential{"low": {Priority: -500}}
	c.Credentials[Group] = map[string]Credential{"g": {IdleLimit: [Limits]Bound{MaxJob: bound(1, 1)}}}
	w := jobprio.Waiting{Idle: []jobprio.Run{runOf(t, 1, 1, minutesAgo("low", 10)), runOf(t, 2, 1, minutesAgo("ok", 1))}}
	compareOrder(t, "negative", c, w, "2.0 1", "1.0 -490: negative priority")
}

// Jobs of one run that others part are refused by different numbers, and told apart.
func TestIdleLimitsOfPartedRun(t *testing.T) {
	c := Default()
	c.Credentials[Group] = map[string]Credential{"g": {IdleLimit: [Limits]Bound{MaxProc: bound(2, 2)}}}
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 3, minutesAgo("ann", 0)+"RequestCpus = 3"),
		runOf(t, 2, 1, minutesAgo("bob", 0)),
		runOf(t, 3, 1, minutesAgo("ann", 0)+"RequestCpus = 9; JobPrio = 5"),
	}}
	o := NewQueue(&c, queueWorld).Order(w)
	o.Clocks = nil // TestClocks
	want := []string{"2.0 1", "3.0 1: MAXIPROC 2 of group g: 0 considered, 9 asked for",
		"1.0-1 1: MAXIPROC 2 of group g: 0 considered, 3 asked for", "1.2 1: MAXIPROC 2 of group g: 1 considered, 3 asked for"}
	if got := told(w, o); got != lines(want) {
		t.Errorf("Order() =\n%s\nwant\n%s", got, lines(want))
	}
}
