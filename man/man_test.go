package man

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// surface is what a command says of itself with -help.
type surface struct {
	brief           string
	options, common map[string]bool // with their sign
	variables       map[string]bool // that stand for common options
	examples        []string
}

var (
	option   = regexp.MustCompile(`[-+][A-Za-z][A-Za-z0-9-]*`)
	variable = regexp.MustCompile(`FAIRSPOOL_[A-Z]+`)
)

// help runs a command with -help.
func help(t *testing.T, dir, command string) surface {
	t.Helper()
	out, err := exec.Command(filepath.Join(dir, command), "-help").Output()
	if err != nil {
		t.Fatalf("%s -help: %v", command, err)
	}
	s := surface{options: map[string]bool{}, common: map[string]bool{}, variables: map[string]bool{}}
	for _, v := range variable.FindAllString(string(out), -1) {
		s.variables[v] = true
	}
	into, examples := map[string]bool{}, false
	for i, line := range strings.Split(string(out), "\n") {
		switch {
		case i == 0:
			s.brief = strings.TrimPrefix(line, command+" - ")
		case line == "options:":
			into = s.options
		case line == "common options:":
			into = s.common
		case line == "examples:":
			examples = true
		case examples && strings.HasPrefix(line, "    "):
			s.examples = append(s.examples, line[4:])
		case !examples && (strings.HasPrefix(line, "  -") || strings.HasPrefix(line, "  +")):
			for _, o := range option.FindAllString(line, -1) {
				into[o] = true
			}
		}
	}
	return s
}

// TestCommands holds the pages to the commands.
func TestCommands(t *testing.T) {
	dir := testenv.Commands(t)
	entries, err := os.ReadDir(dir)
	testenv.OK(t, err)
	var commands []string
	for _, e := range entries {
		commands = append(commands, e.Name())
	}
	t.Run("Pages", func(t *testing.T) { testPages(t, dir, commands) })
	t.Run("FirstSession", func(t *testing.T) { testFirstSession(t, dir) })
	t.Run("BuiltIn", func(t *testing.T) { testBuiltIn(t, dir) })
}

// testPages holds each command's page to what the command says of itself.
func testPages(t *testing.T, dir string, commands []string) {
	overview := read(t, "fairspool.7")
	common := map[string]bool{} // of all commands; one may have fewer
	for _, name := range commands {
		files, _ := filepath.Glob(name + ".[18]")
		if len(files) != 1 {
			t.Errorf("pages of %s = %v, want one in section 1 or 8", name, files)
			continue
		}
		p, s := read(t, files[0]), help(t, dir, name)
		want := maps.Clone(s.options)
		maps.Copy(want, s.common)
		if got := p.options(); !maps.Equal(got, want) {
			t.Errorf("%s: options = %v, -help has %v", p.file, keys(got), keys(want))
		}
		maps.Copy(common, s.common)
		if got := p.variables(); !maps.Equal(got, s.variables) {
			t.Errorf("%s: variables = %v, -help has %v", p.file, keys(got), keys(s.variables))
		}
		if got := p.macro("Nd"); len(got) != 1 || got[0] != s.brief+" (fairspool)" {
			t.Errorf("%s: its one line = %q, want %q", p.file, got, s.brief+" (fairspool)")
		}
		for _, section := range []string{"SYNOPSIS", "ENVIRONMENT", "EXIT STATUS"} {
			if !p.has(section) {
				t.Errorf("%s: no section %s", p.file, section)
			}
		}
		text := plain(p.lines)
		for _, e := range s.examples {
			if !strings.Contains(text, e) {
				t.Errorf("%s: lacks the example of -help %q", p.file, e)
			}
		}
	}
	if got := overview.options(); !maps.Equal(got, common) {
		t.Errorf("%s: common options = %v, the commands' -help has %v", overview.file, keys(got), keys(common))
	}
	for _, p := range pages(t) {
		if (filepath.Ext(p.file) == ".1" || filepath.Ext(p.file) == ".8") && !slices.Contains(commands, p.name()) {
			t.Errorf("%s: there is no such command", p.file)
		}
	}
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// foreign are the pages of others that ours refer to.
var foreign = []string{"accounting 5", "cp 1", "cron 8", "crontab 5", "flock 1", "flock 2", "grep 1", "less 1", "ssh 1", "ssh_config 5"}

var reference = regexp.MustCompile(`(?:^\.|[ (])Xr (\S+ [1-9])\b`)

// TestReferences holds that every reference leads to a page, and that every
// page can be found from the overview.
func TestReferences(t *testing.T) {
	told := map[string]bool{}
	for _, p := range pages(t) {
		for i, l := range p.lines {
			for _, m := range reference.FindAllStringSubmatch(l, -1) {
				file := strings.Replace(m[1], " ", ".", 1)
				if _, err := os.Stat(file); err != nil && !slices.Contains(foreign, m[1]) {
					t.Errorf("%s:%d: refers to %s, which is not there", p.file, i+1, m[1])
				}
				if file == p.file {
					t.Errorf("%s:%d: refers to itself", p.file, i+1)
				}
				if p.file == "fairspool.7" {
					told[file] = true
				}
			}
		}
	}
	for _, p := range pages(t) {
		if p.file != "fairspool.7" && !told[p.file] {
			t.Errorf("fairspool.7: does not refer to %s", p.file)
		}
	}
}

// settingOf is a setting of which a page says that another page describes it.
var settingOf = regexp.MustCompile(`\n\.(?:Li|Ic) ([A-Z][A-Z0-9_]{3,})(?: = \S+)?\n(of|in|see)\n\.Xr (\S+) ([1-9])`)

// TestSettingReferences holds that the page that another one names for a setting describes the setting.
func TestSettingReferences(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		for _, m := range settingOf.FindAllStringSubmatch(strings.Join(p.lines, "\n"), -1) {
			if m[2] == "in" && m[3] == "fairspool.toml" {
				continue // it stands in the file
			}
			found++
			there := read(t, m[3]+"."+m[4])
			if !slices.ContainsFunc(there.lines, func(l string) bool { return strings.HasPrefix(l, ".It Ic "+m[1]) || strings.HasSuffix(l, " , "+m[1]) }) {
				t.Errorf("%s: says that %s describes %s, which it does not", p.file, there.file, m[1])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d references for settings were found, want more", found)
	}
}

// inMessage is a page that a message names.
var inMessage = regexp.MustCompile(`\b([a-z][a-z0-9.-]+)\(([1-8])\)`)

// TestMessageReferences holds that the pages that messages of programs name are there.
func TestMessageReferences(t *testing.T) {
	found := 0
	for _, root := range []string{"../cmd", "../lib", "../spool"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			var s scanner.Scanner
			s.Init(set.AddFile(path, -1, len(text)), text, nil, 0)
			for _, kind, literal := s.Scan(); kind != token.EOF; _, kind, literal = s.Scan() {
				if kind != token.STRING {
					continue
				}
				for _, m := range inMessage.FindAllStringSubmatch(literal, -1) {
					found++
					if _, err := os.Stat(m[1] + "." + m[2]); err != nil && !slices.Contains(foreign, m[1]+" "+m[2]) {
						t.Errorf("%s: a message names %s, which is not there", path, m[0])
					}
				}
			}
			return nil
		})
		testenv.OK(t, err)
	}
	if found < 20 {
		t.Errorf("%d references were found in messages, want more", found)
	}
}

// TestSections holds what every page has to have.
func TestSections(t *testing.T) {
	for _, p := range pages(t) {
		for _, section := range []string{"NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"} {
			if !p.has(section) {
				t.Errorf("%s: no section %s", p.file, section)
			}
		}
		if got := p.macro("Nm"); len(got) == 0 || got[0] != p.name() {
			t.Errorf("%s: its name = %q, want %q", p.file, got, p.name())
		}
	}
}

// parsed are the macros that our pages use as arguments of others. Any other
// word of two letters that looks like a macro is most likely one by mistake,
// as in "In Use", and is written with \& in front.
var parsed = []string{"Ar", "Cm", "Dq", "Ev", "Fl", "Ic", "Li", "No", "Ns", "Oc", "Oo", "Op", "Pa", "Pq", "Ta", "Xr"}

// lateMacro is a macro that does not begin its line.
var lateMacro = regexp.MustCompile(`\S +\.[A-Z][a-z] `)

// TestMacros looks for words that mandoc takes for macros, and for macros that it does not.
func TestMacros(t *testing.T) {
	for _, p := range pages(t) {
		for i, l := range p.lines {
			words := strings.Fields(l)
			if !strings.HasPrefix(l, ".") && lateMacro.MatchString(l) {
				t.Errorf("%s:%d: %q has a macro in the text, which is printed as it is", p.file, i+1, l)
			}
			if !strings.HasPrefix(l, ".") || strings.HasPrefix(l, `.\"`) || words[0] == ".Nd" || words[0] == ".Bl" || words[0] == ".Bd" {
				continue
			}
			for _, w := range words[1:] {
				if isMacro.MatchString(w) && !slices.Contains(parsed, w) {
					t.Errorf("%s:%d: %s is taken for a macro", p.file, i+1, w)
				}
			}
		}
	}
}

// outOfOrder is what mandoc says of pages whose EXAMPLES stand before ENVIRONMENT and the like, as in the common form.
var outOfOrder = regexp.MustCompile(`(?m)^.* WARNING: sections out of conventional order: Sh .*\n`)

// TestLint runs mandoc over the pages, where it is installed.
func TestLint(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	args := []string{"-T", "lint", "-W", "warning"}
	for _, p := range pages(t) {
		args = append(args, p.file)
	}
	out, _ := exec.Command(mandoc, args...).CombinedOutput()
	if out = outOfOrder.ReplaceAll(out, nil); len(out) > 0 {
		t.Errorf("mandoc -T lint = %s, want nothing", out)
	}
}

// testFirstSession runs the marked example of the overview in a new spool.
func testFirstSession(t *testing.T, bin string) {
	const mark = `.\" Run by man_test.go.`
	p := read(t, "fairspool.7")
	from := slices.Index(p.lines, mark)
	if from < 0 {
		t.Fatalf("%s: no line %s", p.file, mark)
	}
	lines := p.lines[from+2:]
	lines = lines[:slices.Index(lines, ".Ed")]
	script := escapes.Replace(strings.Join(lines, "\n"))

	work := t.TempDir()
	settings := filepath.Join(work, "fairspool.toml")
	testenv.OK(t, os.WriteFile(settings, nil, 0o600))
	c := exec.Command("sh", "-e")
	c.Stdin = strings.NewReader(script)
	c.Dir = work
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FAIRSPOOL_NOW=",
		"FAIRSPOOL_DIR="+filepath.Join(work, "spool"), "FAIRSPOOL_CONFIG="+settings)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("the first session = %v\n%s", err, out)
	}
	for _, want := range []string{"2 jobs submitted to cluster 1.\n", "\nhello from job 0\n", "Number of users: 1"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the first session lacks %q:\n%s", want, out)
		}
	}
}
