// Package userprio is the command that shows and changes the submitters' priorities and usage.
//
// main.go finds out what is asked for. What shows submitters picks rows of a view, which is of the spool
// (view.go) or of a file of ads (ads.go), and has fairspool/lib/report/accounts write them, as do the other
// displays (forecast.go, tally.go, history.go, reslist.go).
//
// A change (what changes there are: package edit) goes with what was before
// and after into the spool's log (edit.go), in one transaction. -log
// reads that back and shows it, and -undo takes it back (undo.go). -export writes
// the whole state, and -import puts one in its place (state.go, package fairspool/lib/accountant/state), which
// is an edit like others.
package userprio
