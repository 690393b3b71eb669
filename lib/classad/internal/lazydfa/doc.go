// Package lazydfa reports whether a regular expression matches a text of bytes,
// in one pass over the text, and without allocating once it is warm.
//
//	m, err := lazydfa.Compile(`(?i)^(c|big)[0-9]+\.example\.org$`)
//	m.Match("BIG7.example.org") // true
//
// The answer is always the one that package regexp gives for the same pattern
// and the text with each byte made the character of that number. Package
// regexp also says where the match is, and pays for that with a step for each
// place in the pattern at each byte, or with backtracking. For a yes or no, it
// does not matter which of the places leads to a match, so the set of all
// places where a search may be is one state, and the text needs one step for
// each byte: about two nanoseconds. The pattern is parsed and compiled by
// package regexp/syntax, so that there is one opinion about syntax and letter
// case.
//
// # Classes
//
// Bytes that no part of the pattern distinguishes are one class, and a state has one
// transition for each class and one for the end of the text. Patterns rarely have more
// than twenty classes, so a state takes less than a hundred bytes. Characters above 255
// are never in a text; they matter only as another case of a byte, and instructions that
// read nothing else fail.
//
// # Places between bytes
//
// Whether ^ holds depends on the byte before, so it is decided when a state is made. $,
// \b and \B wait in the state for the next byte, or for the end of the text. A state in
// which something waits differs by what precedes it: the text's beginning, a word, a
// newline, or anything else; but only as far as the pattern asks.
//
// # Searching
//
// A match may begin anywhere, so every state includes the beginning of the pattern. If
// the beginning can only succeed at the start of the text, a state with nothing else in
// it is dead: the answer is no, whatever follows. As soon as a match is found the answer
// is yes. A pattern that begins with a literal is searched with strings.Index first,
// which skips texts without the literal some ten times as fast.
//
// # Building
//
// Transitions are built when a text first needs them. They stand in one table of atomic
// numbers, rather than in states that point to each other: that costs an addition for
// each byte and saves the memory of pointers, rows of a fixed length, and work for the
// garbage collector. Readers take no lock. A goroutine that finds a transition missing
// takes the lock and builds it; when the table has to grow, the others go on in the old
// one, which stays right but learns nothing new.
//
// # Limits
//
// Some patterns have more states than there is memory. The states of one Matcher may take
// 128 KB; a match that needs another one uses package regexp instead, as do all matches
// of patterns that are very long. Thus time is linear in the length of the text whatever
// the pattern, and memory is bounded. A Matcher that is used once costs more than it
// gains: it is for patterns that meet many texts.
//
// The package knows nothing of ads or of options such as i and x; it expects
// flags in the pattern, and bytes of it above 127 already made characters.
package lazydfa
