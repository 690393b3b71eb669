// Package steer is what qdel, qhold and qrls have in common: they find the jobs
// that are meant, do one operation with each of them in one transaction, write the
// jobs' event logs once that is committed, and say what became of the jobs, a line
// for procs in a row.
//
// What can be done is done. A name that could not be served is one line on standard
// error, and the exit status is 1 then. Jobs that an operation does not change, as
// qrls those that are not held, are passed over where others of the same name were
// changed; a name of which none was is told.
//
// The commands differ in a Kind. Of jobs that are still to come it says what becomes
// of their factory; HeldBack tells whether qhold keeps one from making them.
package steer
