package man

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/launch/container"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
)

// TestAttributesOfJobs holds job-attributes(7) to the code: each attribute that the page has is a text there, and the
// page has every code of a hold and of a job that leaves its slot.
func TestAttributesOfJobs(t *testing.T) {
	known := literals(t)
	p := read(t, "job-attributes.7")
	for _, item := range p.macro("It") {
		names, ok := strings.CutPrefix(item, "Li ")
		if !ok {
			continue
		}
		for _, name := range strings.Split(names, " , ") {
			if !known[name] {
				t.Errorf("%s: %s is no attribute", p.file, name)
			}
		}
	}
	for section, codes := range map[string][]int{
		"HOLD CODES": {
			jobpolicy.ByUser, jobpolicy.ByPolicy, jobpolicy.PolicyUndefined, jobpolicy.MissedTime, jobpolicy.CronSettings,
			jobpolicy.JobDuration, jobpolicy.ExecuteDuration, jobpolicy.DependencyFailed, jobpolicy.WallTime,
			launch.HoldStart, launch.HoldStdout, launch.HoldStdin, launch.HoldIwd, launch.HoldOutput, launch.HoldInput,
			launch.HoldResources, launch.HoldCheckpoint, container.HoldImage, lifecycle.HeldAtSubmit,
		},
		"VACATE CODES": {
			lifecycle.VacatedByJobPolicy, lifecycle.SupervisorFailed, lifecycle.NeverStarted, pool.SupervisorStopped,
			lifecycle.MachineDrained, lifecycle.PreemptedByRank, lifecycle.PreemptedByPriority,
		},
	} {
		on := map[string]bool{}
		for _, item := range p.part(section).macro("It") {
			for _, code := range strings.Split(item, " , ") {
				on[code] = true
			}
		}
		for _, code := range codes {
			if !on[strconv.Itoa(code)] {
				t.Errorf("%s: %s lack %d", p.file, section, code)
			}
		}
	}
}

// literal is a text in Go that may be the name of an attribute.
var literal = regexp.MustCompile(`"([A-Z]\w+)"`)

// literals returns the texts in the code that may be names of attributes.
func literals(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, root := range []string{"../lib", "../cmd/internal", "../spool"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range literal.FindAllSubmatch(text, -1) {
				known[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return known
}
