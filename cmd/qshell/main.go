// Qshell: run a shell beside a job.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qshell"
)

func main() { cmdline.Main(qshell.Command()) }
