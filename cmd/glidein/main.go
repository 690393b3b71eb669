// Glidein: keep pilots on the machines of engines.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/glidein"
)

func main() { cmdline.Main(glidein.Command()) }
