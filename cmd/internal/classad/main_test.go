package classad

import (
	"os"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// TestStories runs the stories in testdata/script.
func TestStories(t *testing.T) {
	cmdtest.Stories{Here: []cmdline.Command{Command()}}.Run(t)
}
