// Qtail: show the last lines of a job's output.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qtail"
)

func main() { cmdline.Main(qtail.Command()) }
