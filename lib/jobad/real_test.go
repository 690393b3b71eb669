package jobad

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/internal/golden"
	"fairspool/lib/submitfile"
)

// realRefusals are the real files that are refused, and with which words; the
// reasons stand in submit-commands(5).
var realRefusals = map[string]string{
	"027.sub": "027.sub:3: Universe: grid: jobs are not handed to other batch systems",
	"034.sub": `034.sub:15: requirements: (Arch == "X86_64" && OpSys == "LINUX": expected an operator or )`,
	"038.sub": "038.sub:10: machine_count: 3: a job runs on one slot",
}

// realMatches are the files that patterns of real descriptions find, where it
// matters which.
var realMatches = map[string][]string{
	"042.sub": {"povray/dice/", "povray/mini_demo/"},
	"050.sub": {"fileA.txt", "fileB.txt"},
}

// realOthers are attributes whose expected value was read off the description, and which
// HTCondor's program sets otherwise.
var realOthers = map[string]map[string]any{"045.sub": {"Cmd": "java"}}

// TestRealFiles reads submit files of real users. Each must give the jobs that
// HTCondor made of it, or be refused for the reason that is known.
func TestRealFiles(t *testing.T) {
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "real", "submit", "*.sub"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no submit files in %s: %v", shared, err)
	}
	agree := 0
	for _, file := range files {
		name := filepath.Base(file)
		jobs, err := readReal(t, file)
		switch refusal, refused := realRefusals[name]; {
		case refused && (err == nil || !strings.HasPrefix(err.Error(), refusal)):
			t.Errorf("%s: error %v, want %s", name, err, refusal)
		case refused:
			t.Logf("%v", err)
		case err != nil:
			t.Errorf("%s: %v, want its jobs", name, err)
		case compareReal(t, name, jobs, strings.TrimSuffix(file, ".sub")+".expect.json"):
			agree++
		}
	}
	t.Logf("%d of %d files agree, %d are refused", agree, len(files), len(realRefusals))
}

// TestGoldenSubmit holds what HTCondor 25.14 makes of lines of descriptions, and that each command
// in them is known. The lines are from descriptions of other people and of HTCondor's own tests,
// which were run through its condor_submit, with neighbors by the same rules.
func TestGoldenSubmit(t *testing.T) {
	type submitCase struct {
		Defaults struct{ CPUs, Memory, Disk string } // JOB_DEFAULT_REQUEST...
		Lines    string
		Ad       map[string]string // "-": no such attribute
	}
	golden.Each(t, "condor", "submit.json", func(t *testing.T, _ string, cases *[]submitCase) {
		for _, c := range *cases {
			o := testOptions()
			o.RequestCpus, o.RequestMemory, o.RequestDisk = c.Defaults.CPUs, c.Defaults.Memory, c.Defaults.Disk
			if got := said(sleep+c.Lines+"\nqueue\n", o); strings.Contains(got, "unknown command") {
				t.Errorf("read(%q) said %s, want commands that are known", c.Lines, got)
			}
			for name, want := range c.Ad {
				if got := attribute(t, c.Lines, name, o); got != want {
					t.Errorf("%s of %q with defaults %q = %s, want %s", name, c.Lines, c.Defaults, got, want)
				}
			}
		}
	})
}

func realOptions() Options {
	return Options{
		Owner: "user1", Domain: "example.org", Dir: "/submit", Now: time.Unix(1700000000, 0),
		Arch: "X86_64", OpSys: "LINUX", FileSystemDomain: "example.org",
	}
}

func readReal(t *testing.T, file string) (*Jobs, error) {
	t.Helper()
	name := filepath.Base(file)
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	d, _, err := submitfile.Parse(string(text), name, submitfile.Options{
		Dir:        "/submit",
		Predefined: map[string]string{"ARCH": "X86_64", "OPSYS": "LINUX"},
		LookupEnv: func(name string) (string, bool) {
			if name == "GLIDEIN_COUNT" {
				return "2", true
			}
			return "/env/" + name, true
		},
		Read: func(path string) (string, error) {
			items, err := os.ReadFile(strings.TrimSuffix(file, "sub") + filepath.Base(path))
			if err != nil {
				return "one two three four\n", nil // a list that the repository does not have
			}
			return string(items), nil
		},
		Glob: func(pattern string) ([]string, error) {
			if known := realMatches[name]; known != nil {
				return known, nil
			}
			return []string{strings.ReplaceAll(pattern, "*", "x")}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	jobs, _, err := New(d, realOptions())
	return jobs, err
}

func compareReal(t *testing.T, name string, jobs *Jobs, expected string) bool {
	t.Helper()
	text, err := os.ReadFile(expected)
	testenv.OK(t, err)
	var want struct {
		Jobs     *int           `json:"jobs"`
		FirstJob map[string]any `json:"first_job"`
	}
	testenv.OK(t, json.Unmarshal(text, &want))
	c, err := jobs.Expand(7)
	if err != nil {
		t.Errorf("%s: Expand: %v", name, err)
		return false
	}
	ads := adsOf(c)
	same := true
	if want.Jobs != nil && len(ads) != *want.Jobs {
		t.Errorf("%s: %d jobs, want %d", name, len(ads), *want.Jobs)
		same = false
	}
	maps.Copy(want.FirstJob, realOthers[name])
	for attr, value := range want.FirstJob {
		if value == nil {
			continue
		}
		if bad := differs(ads[0], attr, value); bad != "" {
			t.Errorf("%s: %s", name, bad)
			same = false
		}
	}
	return same
}

// adsOf returns the ads of all procs.
func adsOf(c Cluster) []*classad.Ad {
	var out []*classad.Ad
	for _, r := range c.Runs {
		out = append(out, slices.Repeat([]*classad.Ad{r.Ad().Chain(c.Ad)}, r.Count)...)
	}
	return out
}

// differs compares an attribute with what is expected of it, and says how they
// differ. The names of what is expected are those of the files: Out_endswith.
func differs(ad *classad.Ad, name string, value any) string {
	fill := strings.NewReplacer("{SUBMITDIR}", "/submit", "<ClusterId>", "7")
	attr, how, _ := strings.Cut(name, "_contains")
	contains := attr != name && how == ""
	attr, ends := strings.CutSuffix(attr, "_endswith")
	attr, numbered := strings.CutSuffix(attr, "_number")
	e, ok := ad.Lookup(attr)
	if !ok {
		return fmt.Sprintf("%s = nothing, want %v", attr, value)
	}
	got := plain(e)
	var want string
	switch v := value.(type) {
	case string:
		want = fill.Replace(v)
	case float64:
		want = strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		want = strconv.FormatBool(v)
	}
	if numbered {
		want, _ = signalName(want)
	}
	same := blankless(got) == blankless(want)
	switch _, isText := constantText(e); {
	case contains:
		same = strings.Contains(blankless(got), blankless(want))
	case ends:
		same = strings.HasSuffix(got, want)
	case isText:
		same = got == want
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s = %s, want %s", attr, got, want)
}

// plain returns a string's text, or an expression's.
func plain(e *classad.Expr) string {
	if s, ok := constantText(e); ok {
		return s
	}
	return e.String()
}

func constantText(e *classad.Expr) (string, bool) {
	v, constant := e.Constant()
	s, isText := v.Text()
	return s, constant && isText
}

func blankless(text string) string { return strings.Join(strings.Fields(text), "") }
