// Package userprio is the command that shows and changes the submitters' priorities and usage.
//
// # How the parts work together
//
// main.go finds out what is asked for. What shows submitters picks rows (rows.go)
// of a view, which is of the spool (view.go) or of a file of ads (ads_read.go), and
// writes them as a table (table.go, groups.go), in the layout of the first manuals
// (classic.go) or as ads (ads.go): each figure is a row of one table of columns
// (columns.go), which all of these go by. Besides these there are the slots
// charged to somebody (reslist.go).
//
// A change (edit.go; what changes there are: package edit) goes with what was before
// and after into the spool's log (edittrail.go), in one transaction. -log
// reads that back (log.go, logrows.go) and shows it (logtable.go, logvalue.go), -undo
// (undo.go) works with it. -export writes the whole state (state.go, statefile.go),
// and -import puts one in its place (stateimport.go; read by statejson.go, stateread.go
// and statetally.go), which is an edit like others.
//
// -why (why.go; in words: whywords.go) and -forecast (forecast.go, forecastnewcomer.go)
// ask the accountant what will be, -history and -plot (history.go, plot.go) the
// samples what was. -windows and -decayed (tally.go, tallywindows.go,
// tallydecayed.go) show what the other policies reckon by.
package userprio
