package userprio

import (
	"os"
	"testing"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// command is the command as its program has it.
func command() cmdline.Command { return Command(chart.Plot) }
