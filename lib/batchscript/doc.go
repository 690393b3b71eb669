// Package batchscript reads the batch scripts of Slurm, Grid Engine and PBS: which submit
// commands do their directives mean?
//
// Is reports whether a text is a batch script, and Read takes one apart: the interpreter of its
// first line, and a submit command (a submitfile.Line) for each directive that has a meaning
// here, with the place of the directive. A directive without one is a warning with its place.
// A value that its system would not take either is an error, and so is a directive without
// which the job would do harm: a dependency that cannot be kept.
//
// The directives of a system stand in a file named for it, as a table of all options that the
// system's sbatch or qsub has; batch.go has what the systems share, and what is only known when
// all directives were read, such as the number of cores of so many tasks.
//
// The package is pure: the folder of submission, the time and what a path is come in through
// Options.
package batchscript
