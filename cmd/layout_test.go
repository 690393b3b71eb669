package cmd

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// layout says which of our packages each of ours may import; docs/design.md
// has the picture. Whoever adds an arrow adds it here, and thinks about it.
var layout = map[string][]string{
	"lib/accountant":                  nil,
	"lib/accountant/state":            {"lib/accountant"},
	"lib/batchscript":                 {"lib/jobargs", "lib/nearest", "lib/submitfile"},
	"lib/caseless":                    nil,
	"lib/classad":                     {"lib/caseless", "lib/classad/internal/lazydfa", "lib/classad/internal/recenttext", "lib/classad/internal/timetext", "lib/elapsed"},
	"lib/classad/internal/lazydfa":    nil,
	"lib/classad/internal/recenttext": nil,
	"lib/classad/internal/timetext":   nil,
	"lib/heap":                        nil,
	"lib/internal/golden":             nil,
	"lib/nearest":                     nil,
	"lib/plural":                      nil,
	"lib/clean":                       nil,
	"lib/condorconfig":                {"lib/caseless", "lib/classad", "lib/clean", "lib/macro"},
	"lib/config":                      {"lib/accountant", "lib/caseless", "lib/classad", "lib/elapsed", "lib/jobevent", "lib/nearest", "lib/negotiator", "lib/negotiator/concurrency", "lib/pool"},
	"lib/history":                     {"lib/accountant"},
	"lib/jobad":                       {"lib/accountant", "lib/caseless", "lib/classad", "lib/jobargs", "lib/jobevent", "lib/jobpolicy", "lib/macro", "lib/nearest", "lib/pool", "lib/sge", "lib/submitfile"},
	"lib/jobargs":                     {"lib/classad", "lib/pool"},
	"lib/pool":                        {"lib/accountant", "lib/caseless", "lib/classad"},
	"lib/asuser":                      nil,
	"lib/elapsed":                     nil,
	"lib/engine":                      {"lib/config"},
	"lib/family":                      {"lib/asuser"},
	"lib/jobevent":                    nil,
	"lib/jobpolicy":                   {"lib/classad", "lib/elapsed", "lib/pool"},
	"lib/jobprio":                     {"lib/classad", "lib/pool"},
	"lib/launch":                      {"lib/asuser", "lib/classad", "lib/jobargs", "lib/jobpolicy", "lib/pool"},
	"lib/launch/container":            {"lib/asuser", "lib/config", "lib/jobpolicy", "lib/launch"},
	"lib/launch/local":                {"lib/asuser", "lib/classad", "lib/family", "lib/jobargs", "lib/jobpolicy", "lib/jobprio", "lib/launch", "lib/launch/container", "lib/pool", "lib/shell"},
	"lib/lifecycle":                   {"lib/accountant", "lib/classad", "lib/config", "lib/elapsed", "lib/jobad", "lib/jobpolicy", "lib/jobprio", "lib/negotiator", "lib/negotiator/concurrency", "lib/plural", "lib/policy", "lib/pool", "lib/submitfile", "spool"},
	"lib/link":                        nil,
	"lib/shell":                       {"lib/link", "lib/pool"},
	"lib/localdisk":                   nil,
	"lib/macro":                       {"lib/classad", "lib/clean", "lib/nearest"},
	"lib/maui":                        {"lib/accountant", "lib/classad", "lib/elapsed", "lib/jobprio", "lib/parallel", "lib/plural", "lib/pool", "lib/radix"},
	"lib/matchmaking":                 {"lib/config", "lib/lifecycle", "lib/negotiator", "lib/negotiator/negotiation", "lib/policy", "lib/policy/registry", "lib/pool", "spool"},
	"lib/negotiator":                  {"lib/accountant", "lib/classad", "lib/jobprio", "lib/negotiator/concurrency", "lib/negotiator/shares", "lib/plural", "lib/pool"},
	"lib/negotiator/concurrency":      {"lib/pool"},
	"lib/negotiator/deal":             {"lib/accountant", "lib/caseless", "lib/classad", "lib/heap", "lib/jobprio", "lib/negotiator", "lib/negotiator/concurrency", "lib/negotiator/shapes", "lib/negotiator/shares", "lib/plural", "lib/pool"},
	"lib/negotiator/negotiation":      {"lib/negotiator", "lib/negotiator/deal", "lib/negotiator/why"},
	"lib/negotiator/shapes":           {"lib/accountant", "lib/classad", "lib/jobprio", "lib/parallel", "lib/pool"},
	"lib/negotiator/shares":           nil,
	"lib/negotiator/why":              {"lib/accountant", "lib/classad", "lib/jobprio", "lib/negotiator", "lib/negotiator/concurrency", "lib/negotiator/deal", "lib/negotiator/shapes", "lib/plural", "lib/pool"},
	"lib/parallel":                    nil,
	"lib/policy":                      {"lib/accountant", "lib/caseless", "lib/classad", "lib/config", "lib/jobprio", "lib/nearest", "lib/pool", "lib/submitfile"},
	"lib/policy/condor":               {"lib/config", "lib/jobprio", "lib/policy"},
	"lib/policy/maui":                 {"lib/accountant", "lib/classad", "lib/clean", "lib/config", "lib/jobprio", "lib/maui", "lib/nearest", "lib/policy", "lib/policy/maui/mauicfg", "lib/pool"},
	"lib/policy/maui/mauicfg":         {"lib/elapsed"},
	"lib/policy/registry":             {"lib/config", "lib/policy", "lib/policy/condor", "lib/policy/maui", "lib/policy/sge"},
	"lib/policy/sge":                  {"lib/accountant", "lib/classad", "lib/clean", "lib/config", "lib/jobad", "lib/jobprio", "lib/nearest", "lib/negotiator", "lib/policy", "lib/policy/sge/qconf", "lib/pool", "lib/sge", "lib/submitfile"},
	"lib/policy/sge/qconf":            nil,
	"lib/radix":                       nil,
	"lib/replay":                      {"lib/accountant", "lib/classad", "lib/config", "lib/jobad", "lib/launch", "lib/lifecycle", "lib/matchmaking", "lib/negotiator", "lib/negotiator/shares", "lib/policy", "lib/policy/registry", "lib/pool", "lib/submitfile", "lib/workload", "spool"},
	"lib/report":                      {"lib/lifecycle", "lib/negotiator"},
	"lib/report/cycle":                {"lib/accountant", "lib/classad", "lib/clean", "lib/elapsed", "lib/lifecycle", "lib/negotiator", "lib/plural", "lib/pool", "lib/report", "lib/report/table", "spool"},
	"lib/report/accounts":             {"lib/accountant", "lib/accountant/state", "lib/classad", "lib/config", "lib/elapsed", "lib/history", "lib/jobprio", "lib/lifecycle", "lib/nearest", "lib/negotiator", "lib/plural", "lib/policy", "lib/policy/maui", "lib/policy/registry", "lib/policy/sge", "lib/pool", "lib/report", "lib/report/table", "lib/sge", "spool"},
	"lib/report/queue":                {"lib/accountant", "lib/caseless", "lib/classad", "lib/clean", "lib/config", "lib/elapsed", "lib/jobargs", "lib/jobpolicy", "lib/jobprio", "lib/lifecycle", "lib/negotiator", "lib/parallel", "lib/plural", "lib/policy", "lib/policy/registry", "lib/pool", "lib/report", "lib/report/table", "spool"},
	"lib/report/table":                {"lib/clean"},
	"lib/sge":                         {"lib/accountant", "lib/classad", "lib/heap", "lib/jobprio", "lib/nearest", "lib/parallel", "lib/plural", "lib/pool", "lib/radix"},
	"lib/submitfile":                  {"lib/classad", "lib/jobargs", "lib/macro"},
	"lib/supervise":                   {"lib/classad", "lib/jobpolicy", "lib/launch", "lib/pool"},
	"lib/userlog":                     {"lib/elapsed", "lib/pool"},
	"lib/workload":                    {"lib/classad", "lib/pool"},
	"spool":                           {"lib/accountant", "lib/caseless", "lib/classad", "lib/history", "lib/localdisk", "lib/parallel", "lib/plural", "lib/pool", "spool/internal/alike", "spool/internal/attrtext", "spool/internal/cyclejson", "spool/internal/dumptext", "spool/internal/endline", "spool/internal/extracttext", "spool/internal/files", "spool/internal/flocks", "spool/internal/left", "spool/internal/lockline", "spool/internal/logtext", "spool/internal/poolrows", "spool/internal/postpone", "spool/internal/quotedtext", "spool/internal/reserve", "spool/internal/rowtext", "spool/internal/sampling", "spool/internal/summarytext", "spool/internal/takers", "spool/internal/wantedlines"},
	"spool/heard":                     nil,
}

// inner says which packages of cmd/internal each of them may import; all may import lib and spool.
var inner = map[string][]string{
	"account":          {"cmdline"},
	"adprint":          {"cmdline"},
	"chart":            {"cmdline"},
	"claimlock":        {"cmdline"},
	"classad":          {"adprint", "cmdline"},
	"cmdline":          {"door", "onchange"},
	"complete":         {"cmdline"},
	"condor2fairspool": {"cmdline"},
	"cmdtest":          {"cmdline", "door", "platform", "systemd"},
	"cmdtest/fifo":     nil,
	"desk":             {"claimlock", "cmdline", "hooks", "joblog", "onchange", "trouble"},
	"door":             nil,
	"drain":            {"cmdline"},
	"edit":             {"cmdline"},
	"flock":            {"cmdline", "onchange", "pilot", "platform"},
	"glidein":          {"account", "cmdline", "machine", "onchange", "platform", "systemd"},
	"health":           {"cmdline", "hooks", "joblog", "onchange"},
	"hooks":            {"onchange", "trouble"},
	"joblog":           {"cmdline", "hooks"},
	"machine":          {"cmdline", "platform"},
	"negotiate":        {"cmdline", "complete", "health", "joblog", "machine", "onchange", "trouble", "whatif"},
	"onchange":         nil,
	"page":             {"cmdline"},
	"pilot":            {"claimlock", "desk"},
	"pilotdesk":        {"account", "cmdline", "desk", "onchange", "pilot", "stir", "trouble"},
	"platform":         nil,
	"prio":             {"cmdline", "complete", "joblog", "selection"},
	"qdel":             {"cmdline", "complete", "selection", "steer"},
	"qhold":            {"cmdline", "complete", "selection", "steer"},
	"qrls":             {"cmdline", "complete", "selection", "steer"},
	"qstat":            {"adprint", "cmdline", "complete", "door", "health", "selection", "trial", "waiting"},
	"qshell":           {"cmdline", "complete", "desk", "door", "qdel"},
	"qtail":            {"cmdline", "complete", "door"},
	"replay":           {"chart", "cmdline", "page", "whatif"},
	"report":           {"chart", "cmdline", "complete", "health", "page"},
	"selection":        {"cmdline"},
	"setup":            {"cmdline", "onchange"},
	"slots":            {"adprint", "cmdline", "complete", "desk", "joblog", "machine"},
	"spool":            {"cmdline"},
	"starter":          {"account", "claimlock", "cmdline", "desk", "door", "drain", "hooks", "joblog", "machine", "onchange", "pilot", "stir", "systemd", "trouble"},
	"steer":            {"cmdline", "joblog", "selection"},
	"stir":             nil,
	"submit":           {"adprint", "cmdline", "door", "joblog", "machine", "platform", "qshell", "waiting"},
	"systemd":          nil,
	"trial":            {"cmdline"},
	"trouble":          nil,
	"userprio":         {"adprint", "cmdline", "complete", "edit"},
	"waiting":          {"cmdline"},
	"whatif":           {"cmdline", "door", "drain", "prio", "qdel", "qhold", "qrls", "slots", "submit", "userprio"},
}

// worldly are the packages in lib whose job is files, processes or the clock; that of
// lib/internal/golden is the files of tests.
var worldly = []string{"lib/asuser", "lib/config", "lib/family", "lib/internal/golden", "lib/launch", "lib/launch/container", "lib/launch/local", "lib/link", "lib/localdisk", "lib/shell", "lib/supervise", "lib/userlog"}

// TestLayout holds the imports to the layout, and lib to its purity.
func TestLayout(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "fairspool/lib/...", "fairspool/spool", "fairspool/spool/heard", "fairspool/cmd/internal/...")
	list.Stderr = os.Stderr // go says there what it downloads
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], "fairspool/")
		may, ok := layout[name]
		prefix := "fairspool/"
		if short, is := strings.CutPrefix(name, "cmd/internal/"); is {
			may, ok = inner[short]
			prefix += "cmd/internal/"
		}
		if !ok {
			t.Errorf("%s: not in the layout", name)
		}
		for _, i := range fields[1:] {
			ours, is := strings.CutPrefix(i, prefix)
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

// What keeps code small: methods of a type, lines and files of a package, lines of a package main, and of
// a package of cmd/internal that is a command.
// Files of tests do not count; lines are those of wc -l, blanks and comments included.
const (
	mostMethods = 40
	mostLines   = 8000
	mostFiles   = 30
	mostMain    = 400
	mostCommand = 2000
)

// oversized are the exceptions, with their present figures: these may only shrink.
var oversized = map[string]int{
	"cmd/internal/cmdline.Call methods":      60,
	"cmd/internal/submit lines":              3041,
	"cmd/internal/submit.submission methods": 45,
	"lib/classad lines":                      11358,
	"lib/classad.Ad methods":                 43,
	"lib/jobad.job methods":                  147,
	"spool files":                            32,
	"spool lines":                            13790,
	"spool.Spool methods":                    122,
	"spool.View methods":                     42,
}

// excesses returns the figures of all packages of the repository that exceed what is allowed, by
// package or type and what is counted.
func excesses(t *testing.T) map[string]int {
	lines, files, methods, mains := map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return cmp.Or(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.Dir(path), "../")
		lines[name] += bytes.Count(text, []byte("\n"))
		files[name]++
		mains[name] = f.Name.Name == "main"
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[name+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	testenv.OK(t, err)
	over := map[string]int{}
	for name, n := range methods {
		if n > mostMethods {
			over[name+" methods"] = n
		}
	}
	for name, n := range lines {
		command, inner := strings.CutPrefix(name, "cmd/internal/")
		if n > mostLines || mains[name] && n > mostMain || inner && mains["cmd/"+command] && n > mostCommand {
			over[name+" lines"] = n
		}
		if files[name] > mostFiles {
			over[name+" files"] = files[name]
		}
	}
	return over
}

// receiver returns the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident).Name
}

// TestSizes holds types and packages to their sizes, and the exceptions to theirs.
func TestSizes(t *testing.T) {
	over := excesses(t)
	for what, n := range over {
		switch listed := oversized[what]; {
		case listed == 0:
			t.Errorf("%s: %d are too many: divide it", what, n)
		case n > listed:
			t.Errorf("%s: %d, and were %d: exceptions may only shrink", what, n, listed)
		case n < listed:
			t.Errorf("%s: %d, and were %d: lower the figure in oversized", what, n, listed)
		}
	}
	for what := range oversized {
		if over[what] == 0 {
			t.Errorf("%s: an exception no more: remove it from oversized", what)
		}
	}
}

// TestReplayHasNoRules holds that replay decides nothing by itself: it runs the operations of a job's life and the cycle's one entrance, and
// sees none of the packages that deal slots out, say why jobs wait, or are a policy.
func TestReplayHasNoRules(t *testing.T) {
	files, err := filepath.Glob("../lib/replay/*.go")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			imported[strings.Trim(i.Path.Value, `"`)] = true
		}
	}
	for _, name := range []string{"lib/lifecycle", "lib/matchmaking", "lib/launch"} {
		if !imported["fairspool/"+name] {
			t.Errorf("lib/replay does not import %s", name)
		}
	}
	for name := range imported {
		for _, rules := range []string{"negotiator/deal", "negotiator/why", "negotiator/shapes", "negotiator/negotiation", "policy/condor", "policy/maui", "policy/sge", "maui", "sge", "jobprio", "jobpolicy", "supervise"} {
			if name == "fairspool/lib/"+rules || strings.HasPrefix(name, "fairspool/lib/"+rules+"/") {
				t.Errorf("lib/replay imports %s, which has rules of its own", name)
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
		testenv.OK(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			testenv.OK(t, err)
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
		"cmd/internal/qstat/watch.go":    "moves of the cursor, between lines that are clean",
		"cmd/internal/chart/plot.go":     "a chart's colours; its names are clean",
		"cmd/internal/qtail/main.go":     "the bytes of the user's own job",
		"cmd/internal/qtail/follow.go":   "the bytes of the user's own job",
		"cmd/internal/qshell/qshell.go":  "what a program of the user's own writes on a terminal",
		"cmd/internal/submit/door.go":    "the streams of a program that is submit",
		"cmd/internal/starter/follow.go": "the streams of a program that is serve",
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
	testenv.OK(t, err)
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
	testenv.OK(t, err)
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

// TestWayOfAJob holds that the functions exist by which docs/design.md walks a job through a cycle, and
// that the page is short.
func TestWayOfAJob(t *testing.T) {
	text, err := os.ReadFile("../docs/design.md")
	testenv.OK(t, err)
	if lines := strings.Count(string(text), "\n"); lines > 400 {
		t.Errorf("docs/design.md has %d lines, want 400 at most", lines)
	}
	_, way, _ := strings.Cut(string(text), "**The way of one job**")
	way, _, _ = strings.Cut(way, "\n- **")
	names := regexp.MustCompile("`((?:negotiation|deal|shapes|shares|why)\\.[\\w.]+)`").FindAllStringSubmatch(way, -1)
	if len(names) < 20 {
		t.Fatalf("%d functions on the way, want 20 at least", len(names))
	}
	there := map[string]bool{}
	files, err := filepath.Glob("../lib/negotiator/*/*.go")
	testenv.OK(t, err)
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		testenv.OK(t, err)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
				there[f.Name.Name+"."+receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			} else if ok {
				there[f.Name.Name+"."+d.Name.Name] = true
			}
		}
	}
	for _, n := range names {
		if !there[n[1]] {
			t.Errorf("%s does not exist", n[1])
		}
	}
}
