package submit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
)

// lookAt looks at all places of a description's jobs as submission.look does.
func lookAt(t *testing.T, text, dir string) func() []string {
	t.Helper()
	d, _, err := submitfile.Parse(text, "a.sub", submitfile.Options{Dir: dir})
	testenv.OK(t, err)
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "example.org", Dir: dir})
	testenv.OK(t, err)
	c, err := jobs.Expand(1)
	testenv.OK(t, err)
	return func() (wrong []string) {
		l := newLooking(cluster{id: 1, all: c.Jobs(), Cluster: c}, ofOwner)
		for _, r := range c.Runs {
			l.at(r)
			for i := range places {
				if p := l.new(i); p != nil {
					wrong = append(wrong, p.path+": "+p.why)
				}
			}
		}
		return wrong
	}
}

func TestWrongPlaces(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, errors.Join(os.Mkdir(filepath.Join(dir, "out"), 0o755), os.WriteFile(filepath.Join(dir, "script"), nil, 0o644)))
	for _, c := range []struct{ text, want string }{
		{"output = file\nerror = ./file\nlog = out/log", ""},
		{"output = out", "DIR/out"},
		{"output = ./out/", "DIR/out"},
		{"output = .", "DIR"},
		{"output = out/..", "DIR"},
		{"output = DIR/out", "DIR/out"},
		{"output = none/a", "DIR/none"},
		{"initialdir = ./out/../out/\noutput = none/a", "DIR/out/none"},
		{"initialdir = out/\noutput = a", ""},
		{"initialdir = none/\noutput = a", "DIR/none/"},
		{"input = none", "DIR/none"},
		{"executable = script", "DIR/script"},
	} {
		text := replaceDir("executable = /bin/sleep\n"+c.text+"\nqueue\n", dir)
		said := strings.Join(lookAt(t, text, dir)(), "\n")
		if got, _, _ := strings.Cut(said, ": "); got != replaceDir(c.want, dir) {
			t.Errorf("wrong places of %q = %s, want %s", c.text, said, replaceDir(c.want, dir))
		}
		cmdtest.Printed(t, fmt.Sprintf("submit (%q)", c.text), 0, "", said)
	}
}

func replaceDir(text, dir string) string { return strings.ReplaceAll(text, "DIR", dir) }

// Where every one of very many procs writes files of its own, no path is put
// together and no expression is made for each.
func TestPlacesOfManyProcsCostLittle(t *testing.T) {
	const procs = 5000
	look := lookAt(t, fmt.Sprintf("executable = /bin/sleep\narguments = $(Process)\noutput = out.$(Process)\nerror = err.$(Process)\nqueue %d\n", procs), t.TempDir())
	if got := testing.AllocsPerRun(3, func() { look() }) / procs; got > 0.5 {
		t.Errorf("%.2f allocations for a proc, want less than one for two", got)
	}
}
