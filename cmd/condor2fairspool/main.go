// Condor2fairspool: make a fairspool.toml of HTCondor's configuration.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/condor2fairspool"
)

func main() { cmdline.Main(condor2fairspool.Command()) }
