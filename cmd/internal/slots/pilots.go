package slots

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/elapsed"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// pilot is a pilot as list -pilots shows it. Times are Unix seconds, 0 before they have come.
type pilot struct {
	ID                      int
	Machine, Engine, State  string
	Owner                   string `json:",omitempty"` // the owner of the only jobs that it runs
	Ref                     string `json:",omitempty"` // what its batch engine calls its job
	Says                    string `json:",omitempty"` // the engine's last words about the job
	AskedAt, LiveAt, OverAt int64
	Heard                   *float64 `json:",omitempty"` // seconds since its machine was heard of
	Claims                  int      // on its machine; 0 of one that is not there
	Jobs                    *int     `json:",omitempty"` // that have ended there by themselves, if that is known
	Idle                    *float64 `json:",omitempty"` // for so many seconds it had no job, likewise
	Why                     string   `json:",omitempty"`
	since                   time.Time
	queued                  bool // it is a batch engine's job
}

// listPilots is list -pilots.
func listPilots(c *cmdline.Call, names []string) error {
	if len(names) > 0 {
		return cmdline.Usagef("list -pilots: takes no names")
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	boot, up := cmdline.Uptime()
	silence := heard.By(s.Dir(), boot, up)
	pilots := []pilot{} // never nil: without pilots, JSON has an empty list
	err = s.View(func(v *spool.View) error {
		on := map[string]int{}
		for _, k := range v.Claims() {
			on[strings.ToLower(k.Machine)]++
		}
		for _, p := range spool.Pilots.All(v) {
			shown := pilotOf(p, on, silence)
			if sign, known, err := heard.Last(s.Dir(), p.Machine); err == nil && known && sign.Pilot == p.ID {
				idle := sign.Idle.Round(time.Millisecond).Seconds()
				shown.Jobs, shown.Idle = &sign.Jobs, &idle
			}
			pilots = append(pilots, shown)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(struct{ Pilots []pilot }{pilots})
	}
	if err := c.Table(pilotColumns, pilotRows(pilots)); err != nil {
		return err
	}
	return tellUse(c, pilots)
}

// tellUse prints how long the pilots of each batch engine waited to come, and were there without a job: that time is
// charged to no submitter.
func tellUse(c *cmdline.Call, pilots []pilot) error {
	type use struct {
		came, jobs          int
		waited, there, idle float64
	}
	of := map[string]*use{}
	for _, p := range pilots {
		if p.LiveAt == 0 || p.Jobs == nil || !p.queued {
			continue
		}
		u := of[p.Engine]
		if u == nil {
			u = &use{}
			of[p.Engine] = u
		}
		end := c.Now.Unix()
		if p.OverAt != 0 {
			end = p.OverAt
		}
		u.came++
		u.jobs += *p.Jobs
		u.waited += float64(max(p.LiveAt-p.AskedAt, 0))
		u.there += float64(max(end-p.LiveAt, 0))
		u.idle += *p.Idle
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		u := of[name]
		_, err := fmt.Fprintf(c.Stdout, "%s: %s waited %s on average; there for %s in all, %s of that without a job; %s\n", name, plural.Count(u.came, "pilot"),
			elapsed.Short(int64(u.waited)/int64(u.came), 2), elapsed.Short(int64(u.there), 2), elapsed.Short(int64(u.idle), 2), plural.Count(u.jobs, "job"))
		if err != nil {
			return err
		}
	}
	return nil
}

func pilotOf(p pool.Pilot, claims map[string]int, silence func(string) (time.Duration, bool)) pilot {
	shown := pilot{ID: p.ID, Machine: p.Machine, Engine: p.Engine, State: p.State.String(), AskedAt: seconds(p.AskedAt), LiveAt: seconds(p.LiveAt), OverAt: seconds(p.OverAt), Why: p.Why}
	shown.Owner, shown.Ref, shown.Says, shown.queued = p.Owner, p.Ref, p.Says, p.Queued()
	shown.since = slices.MaxFunc([]time.Time{p.AskedAt, p.LiveAt, p.OverAt}, time.Time.Compare)
	if p.State != pool.Live && p.State != pool.Leaving {
		return shown
	}
	shown.Claims = claims[strings.ToLower(p.Machine)]
	if d, known := silence(p.Machine); known {
		ago := d.Round(time.Millisecond).Seconds()
		shown.Heard = &ago
	}
	return shown
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

var pilotColumns = []cmdline.Column{
	{Head: "ID", Right: true}, {Head: "Machine"}, {Head: "Engine"}, {Head: "State"}, {Head: "Since"},
	{Head: "Heard", Right: true}, {Head: "Claims", Right: true}, {Head: "Jobs", Right: true}, {Head: "Idle", Right: true}, {Head: "Why"},
}

func pilotRows(pilots []pilot) (rows [][]string) {
	for _, p := range pilots {
		ago := ""
		if p.Heard != nil {
			ago = elapsed.Short(int64(*p.Heard), 2)
		}
		jobs, idle := "", ""
		if p.Jobs != nil {
			jobs, idle = strconv.Itoa(*p.Jobs), elapsed.Short(int64(*p.Idle), 2)
		}
		rows = append(rows, []string{
			strconv.Itoa(p.ID), p.Machine, p.Engine, p.State, p.since.Local().Format(report.ToSecond), ago, strconv.Itoa(p.Claims), jobs, idle, cmp.Or(p.Why, p.Says),
		})
	}
	return rows
}

// withdrawGone is withdraw -gone: nothing runs on a machine any more.
func withdrawGone(c *cmdline.Call, machine string) error {
	who, err := c.Caller()
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	boot, up := cmdline.Uptime()
	if ago, known := heard.By(s.Dir(), boot, up)(machine); known && ago < time.Minute {
		c.Warn("warning: %s was heard of %d s ago: jobs that still run there are run again elsewhere", machine, ago/time.Second)
	}
	last, _, err := heard.Last(s.Dir(), machine)
	if err != nil {
		c.Warn("warning: %v: its jobs are charged until now", err)
	}
	var events joblog.Events
	var ended []pool.Claim
	var withdrawn []string
	err = lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
		events = joblog.For(c)
		var known bool
		if machine, known = lifecycle.PilotMachine(&tx.View, machine); !known {
			return fmt.Errorf("%s: no pilot runs or was asked for there: slots withdraw NAME takes a slot back", machine)
		}
		ended, withdrawn, err = lifecycle.GiveUpMachine(tx, machine, fmt.Sprintf("%s said that the machine is gone", who.Name), c.Now, c.Config.Params, func(k pool.Claim) error {
			return desk.EndGone(tx, k, fmt.Sprintf("its machine %s is gone", machine), last.At, c.Reading(), c.Config.Params, &events)
		})
		if err != nil || tx.Forked {
			return err
		}
		if err := events.Keep(s, c.Now); err != nil {
			c.Warn("job log: %v", err)
		}
		return nil
	})
	if err != nil {
		events.Release()
		return err
	}
	events.Write(c)
	c.Changed()
	if c.Has("json") {
		jobs := make([]string, len(ended))
		for i, k := range ended {
			jobs[i] = k.Job.String()
		}
		return c.JSON(withdrawal{append([]string{}, withdrawn...), machine, jobs})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is given up: %s, %s withdrawn.\n", machine, plural.Pick(len(ended), "1 job has lost its slot", "%d jobs have lost their slots"), plural.Count(len(withdrawn), "slot"))
	return err
}
