// Package jobprio answers: in what order do waiting jobs go, and why?
//
// A Policy ranks a list of jobs. Each policy is a file of this package; this
// version has one, condor, whose order counts among the jobs of one
// submitter. The Score that a policy gives a job shows the factors its place
// comes from, so that a listing can explain the order with the numbers that
// made it.
//
// Job is the typed view of a job ad that policies work on, made in one place
// by JobOf. The package is pure: it knows no clock, file or account, and it
// does not print.
package jobprio
