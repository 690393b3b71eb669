// Package edit holds the changes that people make to the records of the accounts:
// userprio makes them in the spool, and negotiate -what-if in its copy of what a
// cycle looks at, so that both take the same flags and values and refuse the same
// ones in the same words.
//
// An edit is found by its flag (Of) and reads what was given to it (Kind.Read); Make
// returns what becomes of the records, and changes none. It knows how flags are
// written, and nothing of where records are kept.
package edit
