package cmdline

import "strings"

// optional tells whether the flag may stand without its argument, whose name is in
// brackets then. It is empty without.
func (f Flag) optional() bool { return len(f.Args) == 1 && strings.HasPrefix(f.Args[0], "[") }
