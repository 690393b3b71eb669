// Report: write what people and monitoring look at.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/report"
)

func main() { cmdline.Main(report.Command()) }
