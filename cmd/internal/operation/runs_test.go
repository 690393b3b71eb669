package operation

import (
	"fmt"
	"testing"

	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
)

// The runs of very many procs share one list of attributes, which does not grow
// step by step.
func TestRunsOfManyProcsShareOneList(t *testing.T) {
	cost := func(procs int) float64 {
		t.Helper()
		d, _, err := submitfile.Parse(fmt.Sprintf("executable = /bin/sleep\nrequest_memory = 1000 + $(Process)\nqueue %d\n", procs), "a.sub", submitfile.Options{Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "example.org", Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := jobs.Expand(1)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(3, func() { newRuns(c) }) - float64(procs) // an expression for each
	}
	if few, many := cost(100), cost(3000); many > few {
		t.Errorf("newRuns allocates %v times for 3,000 procs and %v times for 100, besides the expressions, want no more", many, few)
	}
}
