// Package userprio is the command that shows and changes the submitters' priorities and usage.
//
// main.go reads the request. Displays of submitters pick rows of a view, of the spool or of a file
// of ads (view.go), and have fairspool/lib/report/accounts write them, as do the other displays (forecast.go,
// tally.go, history.go, reslist.go).
//
// A change (package edit) goes into the spool's log with the records before and after (edit.go), in one
// transaction. -log reads that back and shows it, and -undo takes it back (undo.go). -export writes the whole
// state, and -import replaces it (state.go, package fairspool/lib/accountant/state), which is an edit like
// others.
package userprio
