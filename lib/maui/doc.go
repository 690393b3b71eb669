// Package maui answers: in which order do waiting jobs go by Maui's priority hierarchy,
// and which numbers make it?
//
// A job's priority is the weighted, capped sum of components, each of which is the
// weighted, capped sum of subcomponents (Maui's administrator manual, 5.1, and 5.1.3 for
// the equation):
//
//	Priority = C1WEIGHT * MIN(C1CAP, S11WEIGHT * MIN(S11CAP, S11) + ...) + C2WEIGHT * ...
//
// Config has the weights, caps and credentials; World what is reckoned with besides the
// jobs: the time, the size of the pool, who used how much of late. Reckoner.Of gives a
// job's Priority with everything that it comes from. JobOf finds what a job's ad says that
// counts; Facts is the table of it. Queue is the policy as a negotiation cycle asks for it
// (jobprio.Queue): all jobs in one order, those that are left out and why, and the limits of
// credentials on what may run. For people, Diagnosis writes a table of all jobs as Maui's
// diagnose -p does, and Reckoner.Equation the equation above with a job's numbers put in.
//
// The reckoning does what Maui does to the last bit: doubles, term by term in Maui's order, nothing
// rounded before the priority is cut to a whole number. What jobs of the same credentials have in
// common is worked out once. What ranks many gives the number alone, and a test holds it and Of
// together. Limits have two passes through the queue, soft ones first. Where program and manual
// disagree the manual counts; COMPATIBILITY = "3.3.1" has the program's way, with which the observed
// cases run.
//
// The package is pure: it knows no clock, file or spool, and prints nothing. It takes the
// configuration as Config; what maui.cfg looks like is for fairspool/lib/policy/maui/mauicfg.
package maui
