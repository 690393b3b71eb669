// Package macro is what the configuration and the submit description files of
// HTCondor have in common: the shape of their lines, references to macros in a text,
// macro functions, and conditions.
//
// Lines takes a text apart into logical lines, and Place tells where each of their
// bytes stands in the file. Branches and Condition carry out if, elif, else and endif.
// Split finds the references in a value:
//
//	for _, p := range macro.Split("$Fn(input).$(Cluster:0).out") {
//		if p.Ref {
//			// p.Function is "Fn" and p.Body "input", then "" and "Cluster:0"
//		}
//	}
//
// What a reference is worth only the caller can say: which macros there are, what the
// environment holds, which number chance gives. Replace puts in some references and
// leaves the others, as for a macro that refers to what it was before. Arguments,
// CutDefault and CutFormat take the body of a reference apart; Filename, Substring,
// Choice, Format and RandomInteger do the work of the functions once their arguments
// are known.
//
// The language is that of HTCondor's manual, sections on configuration and on submit
// description files. The package is pure. Taking a text apart takes time in proportion to
// its length, whatever stands in it.
package macro
