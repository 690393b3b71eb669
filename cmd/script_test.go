package cmd

import (
	"testing"

	"fairspool/cmd/internal/cmdtest"
)

// TestScripts runs the stories in testdata/script over the commands as they
// are built and installed: real processes, exit statuses and locks. Beside the words of all
// stories they have what endings says. Jobs wait with what is in $WORK/await.sh.
func TestScripts(t *testing.T) {
	cmdtest.NeedUsers(t)
	cmdtest.Stories{Await: "testdata/await.sh", Words: endings, End: killAll}.Run(t)
}
