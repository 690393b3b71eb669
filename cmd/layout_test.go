package cmd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layout says which of our packages each of ours may import; docs/design.md
// has the picture. Whoever adds an arrow adds it here, and thinks about it.
var layout = map[string][]string{
	"lib/accountant":               nil,
	"lib/batchscript":              {"lib/jobargs", "lib/nearest", "lib/submitfile"},
	"lib/classad":                  {"lib/classad/internal/lazydfa", "lib/elapsed"},
	"lib/classad/internal/lazydfa": nil,
	"lib/heap":                     nil,
	"lib/internal/golden":          nil,
	"lib/nearest":                  nil,
	"lib/plural":                   nil,
	"lib/clean":                    nil,
	"lib/condorconfig":             {"lib/classad", "lib/clean", "lib/macro"},
	"lib/config":                   {"lib/accountant", "lib/classad", "lib/maui", "lib/maui/mauicfg", "lib/nearest", "lib/negotiator", "lib/sge/qconf", "lib/sge"},
	"lib/history":                  {"lib/accountant"},
	"lib/jobad":                    {"lib/accountant", "lib/classad", "lib/jobargs", "lib/jobpolicy", "lib/macro", "lib/nearest", "lib/pool", "lib/sge", "lib/submitfile"},
	"lib/jobargs":                  {"lib/classad", "lib/pool"},
	"lib/pool":                     {"lib/accountant", "lib/classad"},
	"lib/asuser":                   nil,
	"lib/elapsed":                  nil,
	"lib/family":                   {"lib/asuser"},
	"lib/jobpolicy":                {"lib/classad", "lib/elapsed", "lib/pool"},
	"lib/jobprio":                  {"lib/classad", "lib/pool"},
	"lib/launch":                   {"lib/asuser", "lib/classad", "lib/jobargs", "lib/pool"},
	"lib/macro":                    {"lib/classad", "lib/clean", "lib/nearest"},
	"lib/maui":                     {"lib/accountant", "lib/classad", "lib/elapsed", "lib/jobprio", "lib/parallel", "lib/plural", "lib/pool", "lib/radix"},
	"lib/maui/mauicfg":             nil,
	"lib/negotiator":               {"lib/accountant", "lib/classad", "lib/heap", "lib/jobprio", "lib/parallel", "lib/plural", "lib/pool"},
	"lib/parallel":                 nil,
	"lib/sge/qconf":                nil,
	"lib/radix":                    nil,
	"lib/sge":                      {"lib/accountant", "lib/classad", "lib/heap", "lib/jobprio", "lib/nearest", "lib/parallel", "lib/plural", "lib/pool", "lib/radix"},
	"lib/submitfile":               {"lib/classad", "lib/jobargs", "lib/macro"},
	"lib/userlog":                  {"lib/elapsed", "lib/pool"},
	"spool":                        {"lib/accountant", "lib/classad", "lib/history", "lib/parallel", "lib/plural", "lib/pool"},
}

// worldly are the packages in lib whose job is files, processes or the clock; that of
// lib/internal/golden is the files of tests.
var worldly = []string{"lib/asuser", "lib/config", "lib/family", "lib/internal/golden", "lib/launch", "lib/userlog"}

// TestLayout holds the imports to the layout, and lib to its purity.
func TestLayout(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "fairspool/lib/...", "fairspool/spool").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], "fairspool/")
		may, ok := layout[name]
		if !ok {
			t.Errorf("%s: not in the layout", name)
		}
		for _, i := range fields[1:] {
			ours, is := strings.CutPrefix(i, "fairspool/")
			if is && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s, which the layout does not allow", name, ours)
			}
			if i == "math/rand/v2" && name == "lib/submitfile" {
				continue // its chance is a seed that it is given
			}
			if pure(name) && slices.Contains([]string{"os", "os/exec", "os/user", "net", "syscall", "math/rand", "math/rand/v2"}, i) {
				t.Errorf("%s imports %s, but knows nothing of the outside world", name, i)
			}
		}
	}
}

// TestNoClock holds that only those read the clock whose job it is.
func TestNoClock(t *testing.T) {
	for name := range layout {
		if !pure(name) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") && strings.Contains(string(text), "time.Now(") {
				t.Errorf("%s reads the clock", f)
			}
		}
	}
}

func pure(name string) bool {
	return strings.HasPrefix(name, "lib/") && !slices.Contains(worldly, name)
}

// TestOneWayOut holds that commands print by package cmdline alone, which cleans what they print: the
// exceptions are told with what they print as it is.
func TestOneWayOut(t *testing.T) {
	may := map[string]string{
		"cmd/internal/qstat/watchscreen.go": "moves of the cursor, between lines that are clean",
		"cmd/internal/qstat/watch.go":       "what was cleaned when it was drawn; the descriptor alone",
		"cmd/internal/userprio/plot.go":     "a chart's colours; its names are clean",
		"cmd/internal/qtail/main.go":        "the bytes of the user's own job",
		"cmd/internal/qtail/follow.go":      "the bytes of the user's own job",
		"cmd/internal/submit/door.go":       "the streams of a program that is submit",
		"cmd/starter/main.go":               "the streams of a program that is serve",
	}
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "internal/cmdline" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, out := range []string{"os.Stdout", "os.Stderr", "cmdline.Raw(", "fmt.Print"} {
			if path = filepath.Join("cmd", path); regexp.MustCompile(`[^\w.]` + regexp.QuoteMeta(out)).Match(text) {
				used[path] = true
				if may[path] == "" {
					t.Errorf("%s has %s: what a command prints is to be cleaned", path, out)
				}
			}
			path = strings.TrimPrefix(path, "cmd/")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range may {
		if !used[path] {
			t.Errorf("%s is an exception no more", path)
		}
	}
}

// eachTestFile calls f with each file of tests in the repository, by its path there.
func eachTestFile(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		f(strings.TrimPrefix(path, "../"), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLawsDrawTheSame holds that laws run by testenv.Run, which sets their seed.
func TestLawsDrawTheSame(t *testing.T) {
	laws, run := map[string]bool{}, map[string]bool{}
	eachTestFile(t, func(path, text string) {
		dir := filepath.Dir(path)
		laws[dir] = laws[dir] || strings.Contains(text, `"pgregory.net/rapid"`)
		run[dir] = run[dir] || strings.Contains(text, "testenv.Run(m)")
	})
	for dir, is := range laws {
		if is && !run[dir] {
			t.Errorf("%s: its laws draw something else each time: a TestMain has to call testenv.Run", dir)
		}
	}
}

// TestNoSleep holds that tests wait for conditions alone, by testenv.Until and testenv.Await.
// Those of power cuts are a module of their own, and have the same wait for themselves.
func TestNoSleep(t *testing.T) {
	const sleep = "time." + "Sleep("
	eachTestFile(t, func(path, text string) {
		if strings.Contains(text, sleep) && filepath.Dir(path) != "soak/powercut" {
			t.Errorf("%s sleeps, instead of waiting for a condition", path)
		}
	})
}
