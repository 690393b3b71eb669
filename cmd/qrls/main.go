// Qrls: release held jobs.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qrls"
)

func main() { cmdline.Main(qrls.Command()) }
