// Starter: run matched jobs on this machine.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/starter"
)

func main() { cmdline.Main(starter.Command()) }
