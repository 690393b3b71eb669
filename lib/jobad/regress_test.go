package jobad

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// regressRefusals are the sections that are refused, and why.
var regressRefusals = map[string]string{
	"grid_azure.sub":   "universe: grid: jobs are not handed to other batch systems",
	"grid_condorc.sub": "universe: grid: jobs are not handed to other batch systems",
	"grid_ec2.sub":     "universe: grid: jobs are not handed to other batch systems",
	"grid_gce.sub":     "universe: grid: jobs are not handed to other batch systems",
	"parallel.sub":     "machine_count: 5: a job runs on one slot",
	"parasched.sub":    "node_count: 5: a job runs on one slot",
	"kvm.sub":          "universe: vm: virtual machines are not run",
}

// TestRegress runs HTCondor's own collection of small descriptions against what
// it expects of them.
func TestRegress(t *testing.T) {
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set")
	}
	names, texts := sections(t, filepath.Join(shared, "real", "submit", "regress_dry.subs"))
	_, expected := sections(t, filepath.Join(shared, "real", "submit", "regress_dry.expect"))
	if len(names) == 0 {
		t.Fatal("no sections")
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			ads, err := regressAds(texts[name], "17"+name, i+1)
			if why, refused := regressRefusals[name]; refused {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("error %v, want %s", err, why)
				}
				return
			}
			testenv.OK(t, err)
			compareRegress(t, ads, expected[name], i+1)
		})
	}
}

// sections reads a bundle of files, each behind a line ==NAME.
func sections(t *testing.T, file string) (names []string, texts map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	testenv.OK(t, err)
	texts = map[string]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		if begins, ok := strings.CutPrefix(strings.TrimSpace(line), "=="); ok {
			name = begins
			names = append(names, name)
			continue
		}
		texts[name] += line
	}
	return names, texts
}

func regressAds(text, file string, cluster int) ([]*classad.Ad, error) {
	d, _, err := submitfile.Parse(text, file, submitfile.Options{
		Dir: "/submit", Predefined: map[string]string{"ARCH": "X86_64", "OPSYS": "LINUX"},
	})
	if err != nil {
		return nil, err
	}
	jobs, _, err := New(d, realOptions())
	if err != nil {
		return nil, err
	}
	c, err := jobs.Expand(cluster)
	return adsOf(c), err
}

// compareRegress compares ads with the blocks of lines Name=value that a dot
// divides. A value is the text of an expression, or /a regular expression/ that
// some part of it matches.
func compareRegress(t *testing.T, ads []*classad.Ad, expected string, cluster int) {
	t.Helper()
	proc := 0
	for line := range strings.Lines(expected) {
		line = strings.TrimSpace(line)
		name, want, assigned := strings.Cut(line, "=")
		switch {
		case line == ".":
			proc++
		case !assigned || name == "" || line[0] == '#':
		case name == "ClusterId" && want == strconv.Itoa(cluster), name == "ProcId" && want == strconv.Itoa(proc):
		case proc >= len(ads):
			t.Fatalf("%d jobs, want more than %d", len(ads), proc)
		default:
			if bad := regressDiffers(ads[proc], name, want); bad != "" {
				t.Errorf("proc %d: %s", proc, bad)
			}
		}
	}
}

func regressDiffers(ad *classad.Ad, name, want string) string {
	e, ok := ad.Lookup(name)
	if !ok {
		return fmt.Sprintf("%s = nothing, want %s", name, want)
	}
	got := e.String()
	if s, isText := constantText(e); isText {
		got = `"` + s + `"`
	}
	same := blankless(got) == blankless(want)
	if pattern, ok := strings.CutPrefix(want, "/"); ok && strings.HasSuffix(pattern, "/") {
		same = regexp.MustCompile(strings.TrimSuffix(pattern, "/")).MatchString(got)
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s = %s, want %s", name, got, want)
}
