package operation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// mostTickets is what larger numbers are kept as: up to it a real is as exact as an integer.
const mostTickets = 1 << 53

// ticketsMark is the mark of a spool whose jobs may have tickets: when a cycle last wrote those
// of jobs that ran, in Unix seconds, or noDelivery.
const ticketsMark = "tickets"

const noDelivery = "-"

// Delivered returns when a cycle last wrote the tickets of jobs that ran; zero for never.
func Delivered(v *spool.View) time.Time {
	if n, err := strconv.ParseInt(v.Mark(ticketsMark), 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	return time.Time{}
}

// deliver keeps the tickets of a plan, of which some matches came about, where they are others
// than before, and marks that; with when, if any job that ran before has got others.
func deliver(tx *spool.Tx, list []negotiator.Tickets, made []negotiator.Match, now time.Time) {
	var fresh []negotiator.Tickets
	for _, t := range list {
		if wantsTickets(tx, t) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		return
	}
	begins := make(map[pool.JobID]bool, len(made))
	for _, m := range made {
		begins[m.Job] = true
	}
	mark := cmp.Or(tx.Mark(ticketsMark), noDelivery)
	if slices.ContainsFunc(fresh, func(t negotiator.Tickets) bool { return !begins[t.Job] }) {
		mark = strconv.FormatInt(now.Unix(), 10)
	}
	putMark(tx, ticketsMark, mark)
	keepTickets(tx, fresh)
}

// keepTickets notes in jobs the tickets which their run-time priority is to follow; procs of a
// cluster that follow each other and have as many at once.
func keepTickets(tx *spool.Tx, list []negotiator.Tickets) {
	var row pool.Procs
	var has int64
	write := func() {
		if row.Cluster > 0 {
			tx.SetRange(row, pool.AttrTickets, classad.Literal(classad.Int(has)))
		}
	}
	for _, t := range list {
		n := whole(t)
		if n == has && row.Extend(pool.Only(t.Job)) {
			continue
		}
		write()
		row, has = pool.Only(t.Job), n
	}
	write()
}

// whole returns tickets as they are kept.
func whole(t negotiator.Tickets) int64 { return int64(min(t.Tickets, mostTickets)) }

// ticketed returns the jobs that have tickets, of those with claims, as nobody else has any. They
// are looked for only in a spool that says that it has some.
func ticketed(v *spool.View, claims []pool.Claim) (list []pool.JobID) {
	if v.Mark(ticketsMark) == "" {
		return nil
	}
	for _, c := range claims {
		if run, ok := v.Run(c.Job); ok && run.Ad.Has(pool.AttrTickets) {
			list = append(list, c.Job)
		}
	}
	return list
}

// dropTickets takes the tickets of jobs away: of a policy that is no longer the pool's, they
// would still make nice values. The mark goes when a cycle finds no more of them: somebody
// might have taken over a slot with its tickets meanwhile.
func dropTickets(tx *spool.Tx, list []pool.JobID) {
	if len(list) == 0 {
		putMark(tx, ticketsMark, "")
	}
	for _, id := range list {
		if ad, ok := tx.Job(id); ok {
			job{tx, id, ad}.unset(pool.AttrTickets)
		}
	}
}

// wantsTickets reports whether a job has a claim, and not so many tickets.
func wantsTickets(tx *spool.Tx, t negotiator.Tickets) bool {
	_, claimed := tx.Claim(t.Job)
	ad, there := tx.Job(t.Job)
	return claimed && there && TicketsOf(ad) != whole(t)
}

// TicketsOf returns the tickets that a policy has given a job, at a time before the job ends;
// below 0: none.
func TicketsOf(ad *classad.Ad) int64 {
	if n, ok := ad.EvalInt(&classad.Context{}, pool.AttrTickets); ok {
		return max(n, 0)
	}
	return -1
}
