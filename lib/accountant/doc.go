// Package accountant answers: how much has each submitter used, and what is its priority
// now?
//
// Each submitter has one Record. Between two events (a claim begins or ends)
// the weight in use is constant, so the real user priority (RUP) at any later
// time follows from the record alone:
//
//	RUP(t) = β·RUP(t-δt) + (1-β)·ρ    with β = 0.5^(δt/h)
//
// (HTCondor manual, "User Priorities and Negotiation", "Priority Calculation"), where ρ
// is the weight in use and h the half-life. Records are advanced at events only; asking
// for a priority never changes one. So the same history gives the same RUP however often
// it is read.
//
// Worked example, half-life one day: a RUP of 10 without claims is 5 after
// one day and 2.5 after two; ten slots held for long bring it to 10. It never
// falls below 0.5.
//
// The effective user priority (EUP) is RUP times the priority factor. The factor is set
// by hand, or computed from the submitter's name and the configuration. Lower is better
// for both.
//
// # What a claim charges
//
// A Charge is the accounts' view of a claim. It changes, in a Book, the submitter's
// record, those of its group and of all groups above it (Groups; a group has a Record
// too), and the tallies: the usage that Maui and Grid Engine compute with, under the
// job's other Credentials. Quotas divides a pool among the groups.
//
// # Forecasts and edits
//
// A Forecast says when an EUP will reach a value if nothing changes, and Portions which
// parts of a pool EUPs give. An Edit is a change by hand; Undo removes its contribution,
// even if slots were used since. A Clock is how far a clock is ahead of the time since
// the boot.
//
// The package is pure: it knows numbers, names and the times passed to it, and reads no
// clock, file or ad.
package accountant
