package operation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// reservationsMark is the mark under which the spool keeps the reservations that
// the last cycle left.
const reservationsMark = "reservations"

// Reservations returns the partitionable slots that the last cycle keeps for wide
// jobs, by slot. An error says what of them could not be read, without which they
// are complete.
func Reservations(v *spool.View) ([]pool.Reservation, error) {
	return parseReservations(v.Mark(reservationsMark))
}

// reserve keeps the plan's reservations, and no others.
func reserve(tx *spool.Tx, plan *negotiator.Plan) {
	list := make([]pool.Reservation, len(plan.Reservations))
	for i, r := range plan.Reservations {
		list[i] = r.Reservation
	}
	putReservations(tx, list)
}

// putReservations keeps a list unless it is the one that is kept.
func putReservations(tx *spool.Tx, list []pool.Reservation) {
	putMark(tx, reservationsMark, formatReservations(list))
}

// formatReservations writes a line each, by slot:
//
//	"slot1@node1" 12.0 "alice@example.org" 1767355200
//
// The number is when it was made, in seconds since 1970.
func formatReservations(list []pool.Reservation) string {
	var b []byte
	for _, r := range slices.SortedFunc(slices.Values(list), pool.Reservation.Compare) {
		b = strconv.AppendQuote(b, r.Slot)
		b = fmt.Appendf(b, " %v ", r.Job)
		b = strconv.AppendQuote(b, r.Submitter)
		b = fmt.Appendf(b, " %d\n", r.Since)
	}
	return string(b)
}

// parseReservations is the inverse of formatReservations. Lines that are none are
// left out, and the first of them is the error.
func parseReservations(text string) (list []pool.Reservation, err error) {
	for line := range strings.Lines(text) {
		r, bad := parseReservation(strings.TrimSuffix(line, "\n"))
		switch {
		case bad == nil:
			list = append(list, r)
		case err == nil:
			err = fmt.Errorf("mark %s: %.80q: %w", reservationsMark, line, bad)
		}
	}
	slices.SortFunc(list, pool.Reservation.Compare)
	return list, err
}

func parseReservation(line string) (r pool.Reservation, err error) {
	slot, line, ok := leadingQuoted(line)
	job, line, found := strings.Cut(line, " ")
	submitter, since, last := leadingQuoted(line)
	if !ok || !found || !last {
		return r, fmt.Errorf("want a slot, job, submitter and time")
	}
	if r.Job, err = pool.ParseJobID(job); err != nil {
		return r, err
	}
	if r.Since, err = strconv.ParseInt(since, 10, 64); err != nil {
		return r, fmt.Errorf("%.80q: want seconds since 1970", since)
	}
	r.Slot, r.Submitter = slot, submitter
	return r, nil
}

// leadingQuoted returns the quoted text that a line begins with, and what stands
// behind the blank after it.
func leadingQuoted(line string) (text, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil || quoted[0] != '"' {
		return "", "", false
	}
	text, err = strconv.Unquote(quoted)
	rest, ok = strings.CutPrefix(line[len(quoted):], " ")
	return text, rest, ok && err == nil
}

// reservations returns them as the clock tells their times that c is of.
func (c setting) reservations(list []pool.Reservation) []pool.Reservation {
	list = slices.Clone(list)
	for i, r := range list {
		list[i].Since = c.jump.Event(time.Unix(r.Since, 0)).Unix()
	}
	return list
}
