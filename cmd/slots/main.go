// Slots: advertise, list and withdraw slots.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/slots"
)

func main() { cmdline.Main(slots.Command()) }
