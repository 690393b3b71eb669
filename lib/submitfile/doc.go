// Package submitfile reads the submit description language: which values do
// the names of a description have for each job that it asks for?
//
// A description is lines of `name = value`, and queue lines that ask for jobs
// with the values then in force:
//
//	executable = simulate
//	seed       = 100$(Process)
//	arguments  = -n $(seed) $(kind)
//	queue 3 kind in (warm, cold)
//
// asks for six jobs, procs 0 to 5: three for each of the items. Names compare
// without case. What a name means, and whether it means anything, is no
// business of this package: lib/jobad makes job ads of the values.
//
// Work is done in two steps. Parse reads the text, carries out its
// conditions and includes, and finds the items of every queue line, from files
// and commands too; all that it needs of the outside comes in through
// Options. Then Walk goes through the queue lines, and a Job through the procs
// of one: Lookup expands the macros of a value as this proc has them.
//
// A Job tells whether a value depended on the proc (Varies), so that its user
// works out once what all procs share.
//
// Everything is bounded: files in files, macros in macros, the length of a
// value. Errors are *Error, with the place and the line's text.
package submitfile
