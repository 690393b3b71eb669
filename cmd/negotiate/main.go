// Negotiate: run one negotiation cycle.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/negotiate"
)

func main() { cmdline.Main(negotiate.Command()) }
