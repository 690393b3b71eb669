// Package condorconfig answers: what does a configuration of HTCondor set?
//
// Read takes the text of configuration files, in their order, and returns a
// Config: the macros in force with the places where they were set, and what could
// not be carried out. Config.Expand says what a macro is worth once all that it
// refers to is put in; Truth, Constant, List and Expression say what such a text
// means to a reader that expects a value of that kind.
//
//	files := []condorconfig.Source{{Name: "condor_config", Text: text}}
//	c, err := condorconfig.Read(files, condorconfig.Options{Subsystem: "NEGOTIATOR"})
//	m, ok := c.Lookup("PRIORITY_HALFLIFE")
//	x, err := c.Expand(m) // x.Text is "86400"
//
// The language is that of HTCondor's manual, section on configuration: assignments
// with continued lines and values of several lines, $(X) and $(X:default), macro
// functions, if and include. A reference of a macro to itself is put in when it is
// defined, all others when the value is asked for. Commands are never run, and
// templates of `use` are not known: both are left to the reader as a Note. What this
// language shares with that of submit description files is in fairspool/lib/macro.
//
// The package knows names of HTCondor only as far as its language does: those that
// a daemon works out on its host, such as FULL_HOSTNAME. What macros mean it does
// not know. It reads no file, no clock and no environment: included files come from
// the caller's function. Whatever the text is, work and memory are bounded.
package condorconfig
