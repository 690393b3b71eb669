// Classad: evaluate, match, convert and check ads.
package main

import (
	"fairspool/cmd/internal/classad"
	"fairspool/cmd/internal/cmdline"
)

func main() { cmdline.Main(classad.Command()) }
