package cmdline

// Terminal tells whether standard output is a terminal.
func (c *Call) Terminal() bool { return terminal(c.Stdout) }
