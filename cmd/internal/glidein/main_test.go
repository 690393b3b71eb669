package glidein

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/onchange"
	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) {
	programs = func(*cmdline.Call) (onchange.Pool, error) {
		folder, err := filepath.Abs("bin")
		return onchange.Pool{Programs: folder}, err
	}
	clock = func() time.Time {
		text, _ := os.ReadFile("clock")
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return time.Now()
		}
		return time.Unix(n, 0)
	}
	chance = func() float64 { return 0 }
	os.Exit(testenv.Run(m))
}

// TestStories runs the stories in testdata/script, whose programs stand in the folder bin, and whose
// clock is the file clock.
func TestStories(t *testing.T) {
	await, err := filepath.Abs("../../testdata/await.sh")
	testenv.OK(t, err)
	cmdtest.Stories{Here: []cmdline.Command{Command()}, Await: await}.Run(t)
}
