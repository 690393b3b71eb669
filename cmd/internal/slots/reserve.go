package slots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
)

// maintenance is one as reserve shows it. Times are Unix seconds.
type maintenance struct {
	ID         int
	Start, End int64
	Constraint string
	By         string
	Reason     string `json:",omitempty"`
	Slots      int    // for which the constraint is true now
}

// reservation is what -json prints of a new one.
type reservation struct {
	maintenance
	Overrunning []string // jobs that run there and may not end in time
}

type cancelled struct{ Cancelled int } // the ID

// shown returns a maintenance as reserve shows it, in a pool with some slots.
func shown(m pool.Maintenance, slots []pool.Slot) maintenance {
	return maintenance{m.ID, m.Start.Unix(), m.End.Unix(), m.Constraint, m.By, m.Reason, len(reserved(m, slots))}
}

// reserved returns the slots for which the constraint of a maintenance is true.
func reserved(m pool.Maintenance, slots []pool.Slot) (list []pool.Slot) {
	e, err := classad.ParseExpr(m.Constraint)
	if err != nil {
		return nil
	}
	for _, s := range slots {
		if e.Eval(&classad.Context{}, s.Ad, nil).True() {
			list = append(list, s)
		}
	}
	return list
}

// reserve makes a maintenance, cancels one, or lists those that are not over.
func reserve(c *cmdline.Call, args []string) error {
	making := c.Has("start") || c.Has("end") || len(args) > 0
	switch {
	case c.Has("cancel") && (making || c.Has("reason")):
		return cmdline.Usagef("reserve: -cancel takes a number, and nothing else goes with it")
	case c.Has("cancel"):
		return cancel(c)
	case making && (!c.Has("start") || !c.Has("end") || len(args) != 1):
		return cmdline.Usagef("reserve: want -start TIME, -end TIME and one CONSTRAINT, such as 'Machine == \"node7\"', or true for all slots")
	case !making && c.Has("reason"):
		return cmdline.Usagef("reserve: -reason goes with a new maintenance")
	case !making:
		return listMaintenances(c)
	}
	m, err := newMaintenance(c, args[0])
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var slots []pool.Slot
	var late []string
	err = s.Update(func(tx *spool.Tx) error {
		m = lifecycle.ReserveForMaintenance(tx, m, c.Now)
		all, _ := tx.Slots()
		slots = reserved(m, all)
		late = overrunning(&tx.View, m, slots)
		return nil
	})
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(reservation{shown(m, slots), append([]string{}, late...)})
	}
	fmt.Fprintf(c.Stdout, "Maintenance %d: %s reserved from %s to %s.\n", m.ID, plural.Pick(len(slots), "1 slot is", "%d slots are"), report.Moment(m.Start), report.Moment(m.End))
	if len(slots) == 0 {
		c.Warn("no slot meets the constraint now: %s", m.Constraint)
	}
	if len(late) > 0 {
		_, err = fmt.Fprintf(c.Stdout, "%s there and may not end in time: %s\n", plural.Pick(len(late), "1 job runs", "%d jobs run"), strings.Join(late, ", "))
	}
	return err
}

// newMaintenance reads the reservation.
func newMaintenance(c *cmdline.Call, constraint string) (m pool.Maintenance, err error) {
	if _, err := classad.ParseExpr(constraint); err != nil {
		return m, fmt.Errorf("constraint: %w", err)
	}
	start, err := cmdline.ParseComing(c.Value("start"), c.Now)
	if err != nil {
		return m, fmt.Errorf("-start: %w", err)
	}
	end, err := cmdline.ParseComing(c.Value("end"), start)
	if err != nil {
		return m, fmt.Errorf("-end: %w", err)
	}
	start, end = start.Truncate(time.Second), end.Truncate(time.Second)
	switch {
	case !end.After(start):
		return m, fmt.Errorf("-end: %s is not after the start, %s", report.Moment(end), report.Moment(start))
	case !end.After(c.Now):
		return m, fmt.Errorf("-end: %s is over", report.Moment(end))
	}
	who, err := c.Caller()
	return pool.Maintenance{Start: start, End: end, Constraint: constraint, By: who.Name, Reason: c.Value("reason")}, err
}

// overrunning returns the jobs on slots that run into a maintenance, or may.
func overrunning(v *spool.View, m pool.Maintenance, slots []pool.Slot) (jobs []string) {
	names := map[string]bool{}
	for _, s := range slots {
		names[s.Name] = true
	}
	var list []pool.JobID
	for _, k := range v.Claims() {
		if !names[k.SlotAd()] || k.State == pool.Promised {
			continue
		}
		ad, ok := v.Job(k.Job)
		if !ok {
			continue
		}
		seconds, limited := pool.LongestRun(ad)
		if !limited || float64(k.RunsFrom().Unix())+seconds > float64(m.Start.Unix()) {
			list = append(list, k.Job)
		}
	}
	slices.SortFunc(list, pool.JobID.Compare)
	for _, id := range list {
		jobs = append(jobs, id.String())
	}
	return jobs
}

// cancel takes a maintenance back.
func cancel(c *cmdline.Call) error {
	id, err := strconv.Atoi(c.Value("cancel"))
	if err != nil || id < 1 {
		return cmdline.Usagef("-cancel %s: want the number of a maintenance; slots reserve lists them", c.Value("cancel"))
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	err = s.Update(func(tx *spool.Tx) error {
		if !lifecycle.CancelMaintenance(tx, id) {
			return fmt.Errorf("there is no maintenance %d: slots reserve lists them", id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Changed()
	if c.Has("json") {
		return c.JSON(cancelled{id})
	}
	_, err = fmt.Fprintf(c.Stdout, "Maintenance %d is cancelled.\n", id)
	return err
}

// coming returns the maintenances that are not over.
func coming(c *cmdline.Call, v *spool.View) []pool.Maintenance {
	return slices.DeleteFunc(lifecycle.Maintenances(v), func(m pool.Maintenance) bool { return m.Over(c.Now) })
}

var maintenanceColumns = []cmdline.Column{
	{Head: "ID", Right: true}, {Head: "Start"}, {Head: "End"}, {Head: "Slots", Right: true}, {Head: "By"}, {Head: "Constraint"}, {Head: "Reason"},
}

// listMaintenances shows the maintenances that are not over.
func listMaintenances(c *cmdline.Call) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	list := []maintenance{} // never nil: JSON has an empty list
	err = s.View(func(v *spool.View) error {
		slots, _ := v.Slots()
		for _, m := range coming(c, v) {
			list = append(list, shown(m, slots))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(struct{ Maintenances []maintenance }{list})
	}
	rows := make([][]string, len(list))
	for i, m := range list {
		rows[i] = []string{strconv.Itoa(m.ID), report.Moment(time.Unix(m.Start, 0)), report.Moment(time.Unix(m.End, 0)), strconv.Itoa(m.Slots), m.By, m.Constraint, m.Reason}
	}
	return c.Table(maintenanceColumns, rows)
}

// tellMaintenances says of each maintenance that some slots have, when it is.
func tellMaintenances(c *cmdline.Call, list []pool.Maintenance, slots []pool.Slot) error {
	for _, m := range list {
		n := len(reserved(m, slots))
		if n == 0 {
			continue
		}
		why := ""
		if m.Reason != "" {
			why = ": " + m.Reason
		}
		if _, err := fmt.Fprintf(c.Stdout, "\nMaintenance %d of %s: from %s to %s%s\n", m.ID, plural.Count(n, "slot"), report.Moment(m.Start), report.Moment(m.End), why); err != nil {
			return err
		}
	}
	return nil
}
