package negotiate

import (
	"fmt"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// showReserved prints the reservations that a cycle leaves.
func showReserved(c *cmdline.Call, plan *negotiator.Plan) {
	var held, over []string
	for _, r := range plan.Reservations {
		if r.GivenUp {
			over = append(over, keptFor(r.Reservation))
		} else {
			held = append(held, kept(r))
		}
	}
	showLines(c, plural.Noun(len(held), "slot")+plural.Pick(len(held), " is", " are")+" reserved", held)
	showGivenUp(c, over)
}

// showGivenUp prints the reservations that lasted too long.
func showGivenUp(c *cmdline.Call, over []string) {
	showLines(c, plural.Noun(len(over), "reservation")+plural.Pick(len(over), " is", " are")+" given up, after RESERVE_MAX_TIME", over)
}

// showReservations prints what a dry run makes of the reservations before it.
func showReservations(c *cmdline.Call, before []pool.Reservation, plan *negotiator.Plan, most time.Duration) {
	begin, end, over := reservations(before, plan.Reservations, func(r pool.Reservation) bool { return c.Now.Sub(time.Unix(r.Since, 0)) >= most })
	showLines(c, plural.Noun(len(begin), "slot")+" would be reserved", begin)
	showLines(c, plural.Noun(len(end), "slot")+" would be reserved no longer", end)
	showGivenUp(c, over)
}

// reservations words those that begin, those that end, and those that are given up.
// Those of before that were old may have been given up earlier, and do not end then.
func reservations(before []pool.Reservation, after []negotiator.Reserved, old func(pool.Reservation) bool) (begin, end, over []string) {
	type key struct {
		slot string
		job  pool.JobID
	}
	had, has := map[key]bool{}, map[key]bool{}
	for _, r := range before {
		had[key{r.Slot, r.Job}] = true
	}
	for _, r := range after {
		has[key{r.Slot, r.Job}] = true
		switch {
		case r.GivenUp:
			over = append(over, keptFor(r.Reservation))
		case !had[key{r.Slot, r.Job}]:
			begin = append(begin, kept(r))
		}
	}
	for _, r := range slices.SortedFunc(slices.Values(before), pool.Reservation.Compare) {
		if !has[key{r.Slot, r.Job}] && !old(r) {
			end = append(end, keptFor(r))
		}
	}
	return begin, end, over
}

// kept words a reservation that is in force.
func kept(r negotiator.Reserved) string {
	return keptFor(r.Reservation) + ": it has " + r.Lacks + " requested"
}

func keptFor(r pool.Reservation) string {
	return fmt.Sprintf("%s for %v of %s", r.Slot, r.Job, r.Submitter)
}
