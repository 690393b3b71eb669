// Package classad is the ClassAd language: job ads and slot ads, the
// expressions in them, and the question whether two ads want each other.
//
// An Ad maps attribute names to expressions. An Expr is compiled once by
// ParseExpr (a single expression, as in a submit file), ParseLongExpr (the
// right side of a "Name = expr" line) or a Reader (a stream of ads), never
// changes and may be shared by any number of ads and goroutines. Evaluating it
// needs the ad it belongs to (MY), perhaps the ad opposite (TARGET), and a
// Context, which is all of the outside world an expression can see: the time
// and a seed for random().
//
//	job, _ := classad.ParseAd(`[ Requirements = TARGET.Memory >= RequestMemory; RequestMemory = 512 ]`)
//	slot, _ := classad.ParseAd(`[ Requirements = true; Memory = 2048 ]`)
//	classad.Match(&classad.Context{Now: now}, job, slot) // true
//
// The meaning is that of HTCondor's daemons: a name that the own ad does not
// have is looked up in the opposite ad, a reference to an attribute that is
// already being evaluated is UNDEFINED, a function that does not exist is
// ERROR when it is reached. Expressions never fail to evaluate: what has no
// answer is UNDEFINED or ERROR. The depth of an expression, the work of one
// evaluation and the bytes of text it makes are limited; beyond the limits the
// value is ERROR.
//
// There are two ways to write strings. In the old, long form a backslash
// stands for itself, save before a quote; in the new form it begins an escape.
// Style says which one to print.
//
// Differences from HTCondor: regular expressions are RE2 (package regexp), so
// patterns with look-around or backreferences are ERROR, and a "$" matches
// only at the very end; a NUL byte in a text is a syntax error; text without a
// zone in absTime("...") takes the zone of the Context.
//
// The package is pure: it opens no file, reads no clock and no environment. An
// Ad may be read by many goroutines, and changed by one while nobody reads.
package classad
