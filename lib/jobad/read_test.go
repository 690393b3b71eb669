package jobad

import (
	"testing"
	"time"

	"fairspool/lib/submitfile"
)

func testOptions() Options {
	return Options{
		Owner: "alice", Domain: "example.org", Dir: "/home/alice", Now: time.Unix(1700000000, 0),
		Environ: []string{"HOME=/home/alice", "LANG=C"},
	}
}

// read reads a description in a folder where no file can be read.
func read(text string, o Options) (*Jobs, []submitfile.Warning, error) {
	d, warnings, err := submitfile.Parse(text, "a.sub", submitfile.Options{
		Dir: o.Dir, LookupEnv: func(name string) (string, bool) { return "/opt", name == "PREFIX" },
	})
	if err != nil {
		return nil, warnings, err
	}
	j, more, err := New(d, o)
	return j, append(warnings, more...), err
}

func parse(t *testing.T, text string) (*Jobs, []submitfile.Warning) {
	t.Helper()
	j, warnings, err := read(text, testOptions())
	if err != nil {
		t.Fatalf("read(%q) = %v", text, err)
	}
	return j, warnings
}
