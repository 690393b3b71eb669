package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// preempting are the defaults with what the configuration says of preemption.
func preempting(t testing.TB) negotiator.Config {
	cfg := defaults(t)
	cfg.Preemption = negotiator.Preemption{Consider: true, Requirements: expr(t, "(time() - EnteredCurrentState) > 3600"),
		Rank: expr(t, "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)"), Cached: true}
	return cfg
}

// runs returns the claims of one job of a cluster on each of the slots from slotA to slotB,
// which has run for so long, on the last one the shortest.
func runs(cluster int, who string, from, to int, since time.Duration) []pool.Claim {
	var list []pool.Claim
	for i := from; i <= to; i++ {
		at := now.Add(-since).Add(time.Duration(i-from) * time.Second)
		list = append(list, pool.Claim{Job: pool.JobID{Cluster: cluster, Proc: i}, Attempt: 1, Slot: fmt.Sprintf("slot%d", i), Submitter: who,
			State: pool.RunningClaim, Weight: accountant.One, MatchedAt: at.Add(-time.Second), StartedAt: at})
	}
	return list
}

// charged returns claims that were made when slots weighed so much.
func charged(claims []pool.Claim, slots accountant.Weight) []pool.Claim {
	for i := range claims {
		claims[i].Weight = slots * accountant.One
	}
	return claims
}

// ousted lists matches that preempt as job>slot(victim reason).
func ousted(p *negotiator.Plan) string {
	var all []string
	for _, m := range p.Matches {
		text := m.Job.String() + ">" + m.Slot
		if m.Preempts != nil {
			text += fmt.Sprintf("(%s %s)", m.Preempts.Name(), m.Reason)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestPreemption(t *testing.T) {
	records := []accountant.Record{record("alice@x", 10), record("bob@x", 20), record("carol@x", 10), record("dave@x", 40), record("erin@x", 40), record("far@x", 1e4), record("off@x", 1e4), record("gina@x", 10)}
	records[2].Floor, records[3].Floor = 5, 2
	hour := 2 * time.Hour
	for _, c := range []struct {
		name   string
		slots  []pool.Slot
		claims []pool.Claim
		jobs   []jobprio.Run
		change func(*negotiator.Config)
		want   string
	}{
		{"up to the share, younger jobs first", equal(t, 6, ""), runs(7, "bob@x", 1, 6, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil,
			"1.0>slot6(7.6 Priority) 1.1>slot5(7.5 Priority) 1.2>slot4(7.4 Priority) 1.3>slot3(7.3 Priority)"},
		{"whole slots only", equal(t, 5, ""), runs(7, "bob@x", 1, 5, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil,
			"1.0>slot5(7.5 Priority) 1.1>slot4(7.4 Priority) 1.2>slot3(7.3 Priority)"}, // 3.33 and 1.67
		{"the only slot, for four times the share", equal(t, 1, ""), runs(7, "erin@x", 1, 1, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil, "1.0>slot1(7.1 Priority)"},
		{"the only slot, for twice the share", equal(t, 1, ""), runs(7, "bob@x", 1, 1, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil, ""},
		{"the last slots of who is due a thousandth of one", equal(t, 6, ""), append(runs(7, "far@x", 1, 3, hour), runs(8, "off@x", 4, 6, hour)...), []jobprio.Run{aJob(t, 1, 9, "alice@x", ""), aJob(t, 2, 9, "gina@x", "")}, nil,
			"1.0>slot3(7.3 Priority) 1.1>slot6(8.6 Priority) 2.0>slot2(7.2 Priority) 2.1>slot5(8.5 Priority) 1.2>slot1(7.1 Priority) 2.2>slot4(8.4 Priority)"},
		{"free slots first", equal(t, 6, ""), runs(7, "bob@x", 1, 4, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil,
			"1.0>slot5 1.1>slot6 1.2>slot4(7.4 Priority) 1.3>slot3(7.3 Priority)"},
		{"not in the first hour", equal(t, 3, ""), runs(7, "bob@x", 1, 3, time.Hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil, ""},
		{"up to the floor, which comes before the holder's share", equal(t, 6, ""), runs(7, "bob@x", 1, 6, hour), []jobprio.Run{aJob(t, 1, 9, "carol@x", "")}, nil,
			"1.0>slot6(7.6 Priority) 1.1>slot5(7.5 Priority) 1.2>slot4(7.4 Priority) 1.3>slot3(7.3 Priority) 1.4>slot2(7.2 Priority)"},
		{"not below the holder's floor", equal(t, 6, ""), runs(7, "dave@x", 1, 6, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil,
			"1.0>slot6(7.6 Priority) 1.1>slot5(7.5 Priority) 1.2>slot4(7.4 Priority) 1.3>slot3(7.3 Priority)"},
		{"what the holder is charged for comes off its usage, not what the slot weighs", equal(t, 6, ""), charged(runs(7, "bob@x", 1, 6, hour), 2), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil,
			"1.0>slot6(7.6 Priority) 1.1>slot5(7.5 Priority) 1.2>slot4(7.4 Priority) 1.3>slot3(7.3 Priority)"},
		{"not for a worse priority", equal(t, 3, ""), runs(7, "alice@x", 1, 3, hour), []jobprio.Run{aJob(t, 1, 9, "bob@x", "")}, nil, ""},
		{"no more than is wanted", equal(t, 6, ""), runs(7, "bob@x", 1, 6, hour), []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}, nil, "1.0>slot6(7.6 Priority)"},
		{"not its own", equal(t, 3, ""), runs(7, "alice@x", 1, 3, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil, ""},
		{"nice users at any time", equal(t, 2, ""), append(runs(7, "nice-user.bob@x", 1, 1, time.Minute), runs(8, "bob@x", 2, 2, time.Minute)...), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")},
			func(cfg *negotiator.Config) { cfg.Preemption.Requirements = expr(t, "MY.NiceUser == True") }, "1.0>slot1(7.1 Priority)"},
		{"as long as the holder has more than four", equal(t, 6, ""), runs(7, "bob@x", 1, 6, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")},
			func(cfg *negotiator.Config) { cfg.Preemption.Requirements = expr(t, "RemoteUserResourcesInUse > 4") }, "1.0>slot6(7.6 Priority) 1.1>slot5(7.5 Priority)"},
		{"not considered", equal(t, 3, ""), runs(7, "bob@x", 1, 3, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, func(cfg *negotiator.Config) { cfg.Preemption.Consider = false }, ""},
		{"the slot ranks the job lower", equal(t, 3, `Rank = ifThenElse(TARGET.ClusterId == 1, -1, 0)`), runs(7, "bob@x", 1, 3, hour), []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}, nil, ""},
		{"the slot ranks the job higher", equal(t, 3, `Rank = ifThenElse(TARGET.ClusterId == 1, 1, 0)`), runs(7, "alice@x", 1, 3, time.Minute), []jobprio.Run{aJob(t, 1, 9, "bob@x", "")}, nil,
			"1.0>slot3(7.3 Rank) 1.1>slot2(7.2 Rank) 1.2>slot1(7.1 Rank)"},
		{"its own, by Rank", equal(t, 1, `Rank = TARGET.ClusterId`), runs(7, "alice@x", 1, 1, 0), []jobprio.Run{aJob(t, 9, 9, "alice@x", "")}, nil, "9.0>slot1(7.1 Rank)"},
	} {
		cfg := preempting(t)
		if c.change != nil {
			c.change(&cfg)
		}
		p := negotiator.Pool{Slots: c.slots, Claims: c.claims, Jobs: c.jobs, Submitters: records}
		plan := Cycle(p, cfg, now)
		if got := ousted(plan); got != c.want {
			t.Errorf("%s: matches %s, want %s", c.name, got, c.want)
		}
		if len(plan.Matches) == 0 || plan.Matches[0].Preempts == nil {
			continue
		}
		again := Cycle(vacated(p, plan), cfg, now)
		if len(again.Matches) > 0 {
			t.Errorf("%s: a second cycle matches %s", c.name, ousted(again))
		}
	}
}

// vacated is the pool when a plan has been applied: who is preempted has to vacate, and the
// slot is promised.
func vacated(p negotiator.Pool, plan *negotiator.Plan) negotiator.Pool {
	p.Claims = slices.Clone(p.Claims)
	for _, m := range plan.Matches {
		state := pool.Matched
		if m.Preempts != nil {
			state = pool.Promised
			for i := range p.Claims {
				if p.Claims[i].Job == m.Preempts.Job {
					p.Claims[i].State, p.Claims[i].VacateSince = pool.Vacating, now
				}
			}
		}
		p.Claims = append(p.Claims, pool.Claim{Job: m.Job, Attempt: 1, Slot: m.Slot, Piece: m.Piece, Submitter: m.Submitter, State: state,
			Weight: m.Weight, Rank: m.Rank, MatchedAt: now})
	}
	return p
}

// TestBestOfManyHolders has jobs of many kinds that rank slots alike preempt those of many holders:
// by their Rank, then by NEGOTIATOR_POST_JOB_RANK, then by PREEMPTION_RANK.
func TestBestOfManyHolders(t *testing.T) {
	const slots, jobs, holders = 48, 24, 4
	cfg := preempting(t)
	cfg.PreJobRank, cfg.PostJobRank = nil, expr(t, "SlotID")
	cfg.Preemption.Rank = expr(t, "TotalJobRunTime")
	p := negotiator.Pool{Submitters: []accountant.Record{record("alice@x", 1)}}
	for i := range slots { // the longer a job has run, the worse is its slot; of each eight, each holder has two
		name := fmt.Sprintf("slot%d", i+1)
		p.Slots = append(p.Slots, aSlot(t, name, fmt.Sprintf("Mips = %d; SlotID = %d", i/8%3, i/24)))
		p.Claims = append(p.Claims, runs(100+i, fmt.Sprintf("user%d@x", i%holders), i+1, i+1, time.Duration(200-i)*time.Minute)...)
	}
	for i := range holders {
		p.Submitters = append(p.Submitters, record(fmt.Sprintf("user%d@x", i), 1000))
	}
	for i := range jobs {
		p.Jobs = append(p.Jobs, aJob(t, i+1, 1, "alice@x", fmt.Sprintf("Rank = TARGET.Mips; RequestMemory = %d", 100+i)))
	}
	var want []string
	for _, first := range []int{40, 16, 32} { // Mips 2 with SlotID 1 and 0, then Mips 1 with SlotID 1
		for i := first + 1; i <= first+8; i++ {
			want = append(want, fmt.Sprintf("%d.0>slot%d(%d.%d Priority)", len(want)+1, i, 99+i, i))
		}
	}
	if got := ousted(Cycle(p, cfg, now)); got != strings.Join(want, " ") {
		t.Errorf("matches %s, want %s", got, strings.Join(want, " "))
	}
}
