// Package userprio is the command that shows and changes the submitters' priorities and usage.
//
// # How the parts work together
//
// main.go finds out what is asked for. What shows submitters picks rows
// of a view, which is of the spool (view.go) or of a file of ads (ads.go), and
// writes them as a table, in the layout of the first manuals too (table.go, groups.go),
// or as ads (ads.go): each figure is a row of one table of columns
// (columns.go), which all of these go by. Besides these there are the slots
// that are charged to a submitter (reslist.go).
//
// A change (what changes there are: package edit) goes with what was before
// and after into the spool's log (edit.go), in one transaction. -log
// reads that back and shows it (log.go), -undo (undo.go) works with it. -export writes
// the whole state, and -import puts one in its place (state.go, stateread.go), which is
// an edit like others.
//
// -why (why.go; in words: whywords.go) and -forecast (forecast.go)
// ask the accountant what will be, -history and -plot (history.go, plot.go) the
// samples what was. -windows and -decayed (tally.go) show what the other policies reckon by.
package userprio
