package submitfile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
)

// TestRealFiles reads submit files of real users. Those that use only what
// is served must give the jobs that HTCondor made of them, all others must be
// refused by name with file and line.
func TestRealFiles(t *testing.T) {
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "real", "submit", "*.sub"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no submit files in %s: %v", shared, err)
	}
	agree, refused := 0, 0
	for _, file := range files {
		name := filepath.Base(file)
		d, err := parseReal(t, file)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != name || e.Line == 0 || !strings.HasSuffix(e.Msg, later) {
				t.Errorf("Parse(%s) = %v, want file, line and what is not served", name, err)
			}
			t.Logf("%v", err)
			refused++
			continue
		}
		if compareReal(t, d, strings.TrimSuffix(file, ".sub")+".expect.json") {
			agree++
		}
	}
	if agree == 0 {
		t.Error("no file is served, want some")
	}
	t.Logf("%d of %d files agree, %d are refused", agree, len(files), refused)
}

func parseReal(t *testing.T, file string) (*Description, error) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, _, err := Parse(f, filepath.Base(file), Options{
		Owner: "user1", Domain: "example.org", Dir: "/submit", Now: time.Unix(1700000000, 0),
	})
	return d, err
}

func compareReal(t *testing.T, d *Description, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Jobs     *int           `json:"jobs"`
		FirstJob map[string]any `json:"first_job"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	ad, runs, err := d.Expand(7)
	if err != nil {
		t.Errorf("%s: Expand: %v", d.file, err)
		return false
	}
	jobs := 0
	for _, r := range runs {
		jobs += r.Count
	}
	same := true
	if want.Jobs != nil && jobs != *want.Jobs {
		t.Errorf("%s: %d jobs, want %d", d.file, jobs, *want.Jobs)
		same = false
	}
	first := runs[0].Ad.Chain(ad)
	for name, value := range want.FirstJob {
		if value != nil && !sameAttribute(t, d.file, first, name, value) {
			same = false
		}
	}
	return same
}

func sameAttribute(t *testing.T, file string, ad *classad.Ad, name string, value any) bool {
	t.Helper()
	fill := strings.NewReplacer("{SUBMITDIR}", "/submit", "<ClusterId>", "7")
	attr, part := strings.CutSuffix(name, "_contains")
	attr, end := strings.CutSuffix(attr, "_endswith")
	e, ok := ad.Lookup(attr)
	if !ok {
		t.Errorf("%s: %s = nothing, want %v", file, attr, value)
		return false
	}
	got := e.String()
	if v, constant := e.Constant(); constant {
		if s, isText := v.Text(); isText {
			got = s
		}
	}
	var want string
	switch v := value.(type) {
	case string:
		want = fill.Replace(v)
	case float64:
		want = strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		want = strconv.FormatBool(v)
	}
	same := got == want
	if part { // blanks of an expression may differ
		same = strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", ""))
	}
	if end {
		same = strings.HasSuffix(got, want)
	}
	if !same {
		t.Errorf("%s: %s = %s, want %s", file, attr, got, want)
	}
	return same
}
