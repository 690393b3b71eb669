package cmdtest

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/platform"
	"fairspool/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden pages of tests anew")

// Updating reports whether tests are to write their golden pages anew.
func Updating() bool { return *update }

// Messages are the golden pages in a folder: COMMAND.txt has the output of the command in
// tests. An entry is the test and the call, then the exit status unless it is 0, the lines of
// standard output behind | and those of standard error behind !.
//
// A test fails when a page lacks its call, when the command prints something else, and when
// a page has a call that the test does not make. With -update, a test that passes writes its
// entries anew.
type Messages struct {
	dir   string
	mu    sync.Mutex
	pages map[string][]message // by command
}

// message is an entry of a page.
type message struct{ test, call, text string }

// readMessages reads the pages in a folder. The test fails when a page has entries of tests
// that are not known; with -update they go.
func readMessages(t testing.TB, dir string, known func(test string) bool) *Messages {
	t.Helper()
	m := &Messages{dir: dir, pages: map[string][]message{}}
	files, err := filepath.Glob(m.file("*"))
	testenv.OK(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		testenv.OK(t, err)
		command, stale := strings.TrimSuffix(filepath.Base(f), ".txt"), false
		for block := range strings.SplitSeq(string(text), "\n\n") {
			head, body, _ := strings.Cut(strings.TrimSuffix(block, "\n"), "\n")
			test, call, ok := strings.Cut(head, ": ")
			switch {
			case !ok:
			case known(test):
				m.pages[command] = append(m.pages[command], message{test, call, body})
			default:
				stale = true
			}
		}
		switch {
		case stale && !*update:
			t.Errorf("%s has entries of tests that are no more: go test -update takes them out", f)
		case stale:
			m.write(t, command)
		}
	}
	return m
}

func (m *Messages) file(command string) string { return filepath.Join(m.dir, command+".txt") }

// write writes a page: tests are sorted by name, and the calls of a test stand in its order.
func (m *Messages) write(t testing.TB, command string) {
	page := m.pages[command]
	slices.SortStableFunc(page, func(a, b message) int { return cmp.Compare(a.test, b.test) })
	var b strings.Builder
	for i, e := range page {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", e.test, e.call)
		if e.text != "" {
			b.WriteString(e.text + "\n")
		}
	}
	err := os.MkdirAll(m.dir, 0o755)
	if err == nil {
		err = os.WriteFile(m.file(command), []byte(b.String()), 0o644)
	}
	if err == nil && len(page) == 0 {
		err = os.Remove(m.file(command))
	}
	if err != nil {
		t.Error(err)
	}
}

// Calls are the calls that one test makes.
type Calls struct {
	of      *Messages
	test    string
	plain   *strings.Replacer
	printed map[string][]message // by command
}

// Test returns the calls of a test, none so far. In what commands print, name is written for
// each folder that it names. A test that is partial here leaves out some of its calls.
func (m *Messages) Test(t testing.TB, test string, partial bool, folders map[string]string) *Calls {
	var pairs []string
	for name, folder := range folders {
		pairs = append(pairs, folder, name)
	}
	c := &Calls{m, test, strings.NewReplacer(pairs...), map[string][]message{}}
	t.Cleanup(func() {
		if !partial && !t.Failed() && !t.Skipped() {
			c.end(t)
		}
	})
	return c
}

// PrintedOn compares the output of a call, a command and its arguments, with its entry on a
// page.
func (c *Calls) PrintedOn(page string, call []string, status int, out, bad string) error {
	return c.compare(page, strings.Join(quoted(call), " "), status, narrow(out), narrow(bad))
}

func (c *Calls) compare(command, call string, status int, out, bad string) error {
	call = strings.ReplaceAll(c.normal(call), "\n", `\n`)
	e := message{c.test, call, text(status, c.normal(out), c.normal(bad))}
	for n := 2; slices.ContainsFunc(c.printed[command], e.is); n++ {
		e.call = fmt.Sprintf("%s #%d", call, n)
	}
	c.printed[command] = append(c.printed[command], e)
	if *update {
		return nil
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	i := slices.IndexFunc(c.of.pages[command], e.is)
	if i < 0 {
		return fmt.Errorf("%s\n%s\n%s has no such entry: go test -update writes it", e.call, e.text, c.of.file(command))
	}
	if want := c.of.pages[command][i].text; want != e.text {
		return fmt.Errorf("%s\n%s\n%s has:\n%s\ngo test -update writes it anew", e.call, e.text, c.of.file(command), want)
	}
	return nil
}

// end compares the calls that the pages have of a test with those that it made, or writes
// these.
func (c *Calls) end(t testing.TB) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if *update {
		for command, made := range c.printed {
			others := slices.DeleteFunc(c.of.pages[command], func(e message) bool { return e.test == c.test })
			c.of.pages[command] = append(others, made...)
			c.of.write(t, command)
		}
	}
	for command, page := range c.of.pages {
		unused := func(e message) bool { return e.test == c.test && !slices.ContainsFunc(c.printed[command], e.is) }
		switch i := slices.IndexFunc(page, unused); {
		case i >= 0 && *update:
			c.of.pages[command] = slices.DeleteFunc(page, unused)
			c.of.write(t, command)
		case i >= 0:
			t.Errorf("%s has a call that is made no more: %s\ngo test -update takes it out", c.of.file(command), page[i].call)
		}
	}
}

// is reports whether two entries are of the same call.
func (e message) is(other message) bool { return e.test == other.test && e.call == other.call }

// text returns an entry's lines.
func text(status int, out, bad string) string {
	var lines []string
	if status != 0 {
		lines = append(lines, fmt.Sprintf("  exit %d", status))
	}
	for line := range strings.Lines(out) {
		lines = append(lines, "  | "+line)
	}
	for line := range strings.Lines(bad) {
		lines = append(lines, "  ! "+line)
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\n")
	}
	return strings.Join(lines, "\n")
}

// quoted returns words as a script has them.
func quoted(words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'#$") {
			words[i] = "'" + strings.ReplaceAll(w, "'", "''") + "'"
		}
	}
	return words
}

// differs finds what differs between runs of a test, in the order of same.
var differs = sync.OnceValue(func() (list []*regexp.Regexp) {
	name, host := "a^", "a^"
	if u, err := user.Current(); err == nil {
		name = regexp.QuoteMeta(u.Username)
	}
	if h, err := os.Hostname(); err == nil {
		host = regexp.QuoteMeta(h)
	}
	for _, text := range []string{
		`\b(X86_64|INTEL|` + regexp.QuoteMeta(platform.Arch()) + `)\b`,
		`(@|UID_DOMAIN )` + host + `\b`,
		`(owner:|by user) +` + name + `\b`,
		`\b` + name + `@`,
		`"` + name + `"`,
		`\bpid [0-9]+`,
		`(held by .* since) [-0-9]+T[0-9:]+Z`,
		`(wait|took) [0-9.]+ m?s\b`,
		`(is|id) ([0-9a-f]{8}|[0-9a-f]{16})\b`,
		`\b[0-9.]+ (bytes|KB|MB)`,
		`(recorded are|instead of) [0-9]+`,
		`(/log/)[0-9]{4}-[0-9]{2}\b`,
		`(/history/[-0-9]+\.ads):[0-9]+`,
		`(?m)^(Has(Container|SandboxImage|SIF|DockerURL|Docker|Singularity)|ContainerRuntimes(Failed)?|DockerVersion|SingularityVersion) = .*\n`,
		`(?m)^\w+: now is 0:0[0-9:]+ before the last event; .*\n`,
	} {
		list = append(list, regexp.MustCompile(text))
	}
	return list
})

// same are what stands for what differs finds: processors; hosts and users; processes, times, checksums
// and sizes; months of the clock and lines of files that name users; nothing where slots say what runs containers, and where jobs really ran
// for some minutes while the policy's clock stood.
var same = []string{"ARCH", "${1}HOST", "$1 USER", "USER@", `"USER"`, "pid N", "$1 TIME", "$1 TIME", "$1 SUM", "SIZE", "$1 N", "${1}MONTH", "$1:N", "", ""}

var gap = regexp.MustCompile(`(\S)  +`)

// narrow leaves two blanks between columns, as their widths depend on names of users and hosts.
func narrow(text string) string { return gap.ReplaceAllString(text, "$1  ") }

// normal replaces what differs between runs of a test.
func (c *Calls) normal(text string) string {
	text = c.plain.Replace(text)
	for i, r := range differs() {
		text = r.ReplaceAllString(text, same[i])
	}
	return text
}

// tested is the folder of the package that is tested: tests begin there, and may leave it.
var tested, _ = os.Getwd()

// messages are the pages of the package that is tested.
var messages struct {
	sync.Mutex
	pages *Messages
	calls map[testing.TB]*Calls
}

// Printed compares the output of a command's call with the test's entry in the page
// testdata/messages/COMMAND.txt; a call that succeeds silently has none. call is the
// entry's heading, and begins with the command.
func Printed(t testing.TB, call string, status int, out, bad string) {
	t.Helper()
	Displayed(t, call, status, narrow(out), narrow(bad))
}

// Displayed is Printed for a display with columns that have to be as wide as the page's.
func Displayed(t testing.TB, call string, status int, out, bad string) {
	t.Helper()
	said := pages(t)
	messages.Lock()
	defer messages.Unlock()
	c := messages.calls[t]
	if c == nil {
		c = said.Test(t, t.Name(), false, nil)
		messages.calls[t] = c
	}
	if status == 0 && out+bad == "" {
		return
	}
	folder := regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/\w+/[0-9]{3}\b`)
	out, bad = folder.ReplaceAllString(out, "$$TMP"), folder.ReplaceAllString(bad, "$$TMP")
	command, args, _ := strings.Cut(folder.ReplaceAllString(call, "$$TMP"), " ")
	if err := c.compare(command, strings.TrimSpace(command+" "+args), status, out, bad); err != nil {
		t.Error(err)
	}
}

// pages returns the pages of the package that is tested.
func pages(t testing.TB) *Messages {
	t.Helper()
	messages.Lock()
	defer messages.Unlock()
	if messages.pages == nil {
		messages.pages = readMessages(t, filepath.Join(tested, "testdata", "messages"), isTest)
		messages.calls = map[testing.TB]*Calls{}
	}
	return messages.pages
}

// isTest reports whether the package that is tested has a story or a test of that name.
func isTest(name string) bool {
	if _, err := os.Stat(filepath.Join(tested, "testdata", "script", name+".txtar")); err == nil {
		return true
	}
	name, _, _ = strings.Cut(name, "/")
	files, err := filepath.Glob(filepath.Join(tested, "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
	})
}

// Says runs a command that is to end with this exit status, and to print its page's text.
// It returns the standard output of the command.
func Says(t testing.TB, c cmdline.Command, status int, args ...string) string {
	t.Helper()
	got, out, bad := Run(c, args...)
	call := strings.Join(quoted(append([]string{c.Name}, args...)), " ")
	if got != status {
		t.Errorf("%s = %d, %q, %q, want %d", call, got, out, bad, status)
	}
	Printed(t, call, got, out, bad)
	return out
}

// Refuses runs a command as Says does that is to print nothing to standard output.
func Refuses(t testing.TB, c cmdline.Command, status int, args ...string) {
	t.Helper()
	if out := Says(t, c, status, args...); out != "" {
		t.Errorf("%s %q prints %q, want nothing", c.Name, args, out)
	}
}
