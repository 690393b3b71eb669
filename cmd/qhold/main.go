// Qhold: hold jobs.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qhold"
)

func main() { cmdline.Main(qhold.Command()) }
