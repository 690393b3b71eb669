// Fairspool-setup: make this machine's pool for all of its users.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/setup"
)

func main() { cmdline.Main(setup.Command()) }
