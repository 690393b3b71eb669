// Userprio: show and change user priorities.
package main

import (
	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/userprio"
)

func main() { cmdline.Main(userprio.Command(chart.Plot)) }
