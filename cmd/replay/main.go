// Replay: run recorded jobs under other configurations.
package main

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/replay"
)

func main() { cmdline.Main(replay.Command()) }
