// Package classad is the ClassAd language: job ads and slot ads, the
// expressions in them, and the question whether two ads want each other.
//
// # Ads and expressions
//
// An Ad maps attribute names to expressions. An Expr is parsed once, by
// ParseExpr (a single expression, as in a submit file), ParseLongExpr (the
// right side of a "Name = expr" line) or a Reader (a stream of ads); it never
// changes and may be shared by any number of ads and goroutines. At its first
// use it is compiled: constants are folded, and names know how they are to be
// looked up. Evaluating it needs the ad it belongs to (MY), perhaps the ad
// opposite (TARGET), and a Context, which is all of the outside world that an
// expression can see: the time, a seed for random(), maps to look users up in.
//
//	job, _ := classad.ParseAd(`[ Requirements = TARGET.Memory >= RequestMemory; RequestMemory = 512 ]`)
//	slot, _ := classad.ParseAd(`[ Requirements = true; Memory = 2048 ]`)
//	classad.Match(&classad.Context{Now: now}, job, slot) // true
//
// # Matching
//
// Match asks both ads, Satisfies one side only. To match one ad with thousands, make a
// Matcher, which computes once what depends on that ad alone, and tells ranks as well.
// Neither allocates.
//
// # Streams
//
// A Reader reads ads in the long form (that of condor_status -long), in the new form, in
// JSON and in XML; a Writer writes the first three. With an Interner the ads of many
// readers share equal names and expressions, so that ten thousand slots cost little more
// than what differs between them. A Builder makes ads from lines that its user reads.
//
// # Looking into expressions
//
// References lists the attributes that an expression needs, Varies reports whether time
// or chance can change it. Specialize folds one ad of a match into an expression. Clauses
// takes a conjunction apart, and Explain says which of an ad's clauses fails in a match.
//
// # Meaning
//
// The meaning is that of HTCondor's daemons: a name that the own ad does not
// have is looked up in the opposite ad, a reference to an attribute that is
// already being evaluated is UNDEFINED, a function that does not exist is
// ERROR when it is reached. (Context.Strict and ParseStrictExpr are the
// language without what the daemons added.) Expressions never fail to
// evaluate: what has no answer is UNDEFINED or ERROR. The depth of an
// expression, the work of one evaluation and the bytes of text it makes are
// limited; beyond the limits the value is ERROR.
//
// There are two ways to write strings. In the old, long form a backslash
// stands for itself, except before a quote; in the new form it begins an escape.
// Style says which one to print.
//
// Differences from HTCondor: regular expressions are RE2 (package regexp), so
// patterns with look-around or backreferences are ERROR, and a "$" matches
// only at the very end; a NUL byte in a text is a syntax error; text without a
// zone in absTime("...") takes the zone of the Context. docs/classads.md lists
// them one by one.
//
// # What it may not know
//
// The package is pure: it opens no file, reads no clock and no environment. An Ad may be
// read by many goroutines, and changed by one while none reads.
package classad
