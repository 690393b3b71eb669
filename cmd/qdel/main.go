// Qdel: remove jobs from the queue.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qdel"
)

func main() { cmdline.Main(qdel.Command()) }
