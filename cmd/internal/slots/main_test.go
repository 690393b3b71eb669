package slots_test

import (
	"os"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// TestStories runs the stories in testdata/script.
func TestStories(t *testing.T) {
	cmdtest.Stories{Here: []cmdline.Command{
		slots.Command(), submit.Command(), negotiate.Command(), qdel.Command(), qstat.Command(), userprio.Command(nil),
	}}.Run(t)
}
