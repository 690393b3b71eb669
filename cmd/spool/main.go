// Spool: check, measure, fold, archive, copy and mend a spool.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/spool"
)

func main() { cmdline.Main(spool.Command()) }
