// Qtail: show the last lines of what a job has written.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qtail"
)

func main() { cmdline.Main(qtail.Command()) }
