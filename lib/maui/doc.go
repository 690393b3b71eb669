// Package maui orders waiting jobs by Maui's priority hierarchy, and explains the numbers.
//
// A job's priority is the weighted, capped sum of components, each of which is the
// weighted, capped sum of subcomponents (Maui's administrator manual, 5.1, and 5.1.3 for
// the equation):
//
//	Priority = C1WEIGHT * MIN(C1CAP, S11WEIGHT * MIN(S11CAP, S11) + ...) + C2WEIGHT * ...
//
// Config has the weights, caps and credentials; World the other inputs besides the jobs: the time,
// the size of the pool, recent usage. Reckoner.Of returns a job's Priority with everything that it
// is computed from. JobOf finds the relevant attributes of a job's ad, by the table Facts. Queue is
// the policy for a negotiation cycle (jobprio.Queue): all jobs in one order, those that are left out
// and why, and the limits of credentials on running jobs. For people, Diagnosis writes a table of
// all jobs as Maui's diagnose -p does, and Reckoner.Equation the equation above with a job's numbers
// put in.
//
// The computation agrees with Maui's to the last bit: doubles, term by term in Maui's order, nothing
// rounded before the priority is cut to a whole number. The common part of jobs with the same
// credentials is computed once. The ranking of many jobs computes the number alone, and a test
// compares it with Of. Limits have two passes through the queue, soft ones first. If program and
// manual disagree the manual counts; COMPATIBILITY = "3.3.1" has the program's way, with which the
// observed cases run.
//
// The package is pure: it knows no clock, file or spool, and prints nothing. It takes the
// configuration as Config; fairspool/lib/policy/maui/mauicfg knows the format of maui.cfg.
package maui
