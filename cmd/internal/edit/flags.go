package edit

import "fairspool/cmd/internal/cmdline"

// Create is the flag with which an edit makes a record of a submitter that the pool does
// not know.
var Create = cmdline.Flag{Name: "create", Help: "with an edit that sets something: also of a submitter without record and jobs"}

// Flags are userprio's flags of edits, and -duration, in the order in which HTCondor's
// tool tries abbreviations.
var Flags = []cmdline.Flag{
	{Name: "setprio", Args: []string{"USER", "RUP"}, Min: 1, Help: "set the real user priority, at least 0.5"},
	{Name: "setfactor", Args: []string{"USER", "FACTOR"}, Min: 1, Help: "set the priority factor, at least 1, instead of the computed one"},
	{Name: "setfloor", Args: []string{"USER", "WEIGHT"}, Min: 1, Help: "set the slot weight that the submitter gets before shares count, 0 for none"},
	{Name: "setceiling", Args: []string{"USER", "WEIGHT"}, Min: 1, Help: "set the slot weight that the submitter may use at most, -1 for any"},
	{Name: "duration", Args: []string{"SECONDS"}, Min: 1, Help: "with -setfactor, -setceiling or -setfloor: for so long only"},
	{Name: "cancelceilinglease", Args: []string{"USER"}, Min: 1, Help: "end a ceiling set with -duration now"},
	{Name: "cancelfloorlease", Args: []string{"USER"}, Min: 1, Help: "end a floor set with -duration now"},
	{Name: "cancelfactorlease", Args: []string{"USER"}, Min: 1, Help: "end a factor set with -duration now"},
	{Name: "setbegin", Args: []string{"USER", "TIME"}, Min: 1, Help: "set when usage was first counted, in Unix seconds"},
	{Name: "setaccum", Args: []string{"USER", "SECONDS"}, Min: 1, Help: "set the accumulated usage, in weight seconds"},
	{Name: "setlast", Args: []string{"USER", "TIME"}, Min: 1, Help: "set when anything was last in use, in Unix seconds"},
	{Name: "resetusage", Args: []string{"USER"}, Min: 1, Help: "set the accumulated usage to nothing; priority and factor stay"},
	{Name: "delete", Args: []string{"USER"}, Min: 3, Help: "forget the submitter: priority, factor, limits and usage begin anew; what is in use stays charged"},
	{Name: "resetall", Min: 1, Help: "set everybody's accumulated usage to nothing"},
}
