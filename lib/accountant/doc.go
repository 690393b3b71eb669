// Package accountant answers: who has used how much, and what is everybody's
// priority now?
//
// Each submitter has one Record. Between two events (a claim begins, ends or
// changes hands) the weight in use is constant, so the real user priority
// (RUP) at any later time follows from the record alone:
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
// The package is pure: it knows numbers and names, and no clock, file or ad.
package accountant
