// Prio: change the priorities of jobs.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/prio"
)

func main() { cmdline.Main(prio.Command()) }
