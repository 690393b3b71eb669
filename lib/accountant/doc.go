// Package accountant answers: who has used how much, and what is everybody's
// priority now?
//
// Each submitter has one Record. Between two events (a claim begins or ends)
// the weight in use is constant, so the real user priority (RUP) at any later
// time follows from the record alone:
//
//	RUP(t) = β·RUP(t-δt) + (1-β)·ρ    with β = 0.5^(δt/h)
//
// (HTCondor manual, "User Priorities and Negotiation", "Priority
// Calculation"), where ρ is the weight in use and h the half-life. Records
// are advanced at events only; asking for a priority never changes one. That
// is why the same history gives the same RUP however often anything looks at
// it.
//
// Worked example, half-life one day: a RUP of 10 without claims is 5 after
// one day and 2.5 after two; ten slots held for long bring it to 10. It never
// falls below 0.5.
//
// The effective user priority (EUP) is RUP times the priority factor, which is
// the one set by hand, or computed from the submitter's name and the
// configuration. Lower is better for both.
//
// # Who else is charged
//
// A Charge is a claim as the accounts see it. It changes, in a Book, the
// submitter's record, those of its group and of all groups above it (Groups; a
// group has a Record too), and the tallies: what Maui and Grid Engine reckon by,
// under the job's other Credentials. Quotas divides a pool among the groups.
//
// # What else is told of records
//
// A Forecast says when an EUP will be where if nothing changes, Portions what part
// of a pool EUPs are worth. An Edit is what a person changed by hand; Undo takes
// away what it contributed, also when slots were used since. A Clock is how far a clock is ahead
// of the time since the boot.
//
// The package is pure: it knows numbers, names and the times that it is given, and
// reads no clock, file or ad.
package accountant
