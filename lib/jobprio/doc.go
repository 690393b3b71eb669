// Package jobprio answers: in what order do waiting jobs go, and why?
//
// There are two kinds of answers. Compare orders the jobs of one submitter, whose turn comes by its
// share, as HTCondor does. A Queue puts the jobs of all submitters into one order, in the place of
// shares, and may have limits of its own on what runs; it says what the places come from, so that
// a listing can explain the order with the numbers that made it.
//
// Job is the typed view of a job ad that Compare works on, made in one place by JobOf.
// NiceValues, which are for jobs that run, are Grid Engine's. The package is pure: it knows no
// clock, file or account, and it does not print.
package jobprio
