// Qstat: show the queue.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qstat"
)

func main() { cmdline.Main(qstat.Command()) }
