// Package submitfile reads submit descriptions: which job ads does this file
// ask for?
//
// A description is lines of `name = value`. Names that are submit commands
// say what the jobs are, all others are the user's own macros; `+Name` and
// `MY.Name` put a ClassAd expression into the job ad as it stands. A queue
// line asks for jobs with the values then in force:
//
//	executable = simulate
//	seed       = 100$(Process)
//	arguments  = -n $(seed)
//	queue 3
//	arguments  = -summary
//	queue
//
// asks for one cluster of four jobs, procs 0 to 3. Names compare without
// case. A line whose first character is # is a comment, a line that ends in a
// backslash goes on in the next one.
//
// Macros are expanded when a queue line is met: $(Name), $(Name:default),
// $(Cluster), $(Process), $(DOLLAR) and $ENV(Name). A name may have macros in
// it, as in $(seed$(Process)): these are expanded first. An unknown macro is
// empty, with a warning.
//
// Parse reads and checks, Expand makes the ads of a cluster whose number is
// known: one ad with what all its jobs share, and runs of procs that differ
// from it. Only what refers to $(Process) is worked out for each proc, so
// `queue 100000` of equal jobs costs what `queue` costs.
//
// What HTCondor's submit language has beyond that (item lists, conditions,
// file transfer and more) is known by name and refused with file and line,
// never passed over in silence.
//
// The package is pure: environment, time, user and even the question whether
// a file exists come in through Options.
package submitfile
