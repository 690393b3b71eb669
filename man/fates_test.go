package man

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/jobad"
)

var update = flag.Bool("update", false, "write the pages and tables that are made from the code")

// submitCommands is the section of a page that describes submit commands.
const submitCommands = "SUBMIT COMMANDS"

// described is where a submit command is described.
type described struct {
	page     page
	sentence []string // the first one of the description, as lines of the page
}

// commandItem is the head of an item about a submit command, with its other names.
var commandItem = regexp.MustCompile(`^\.It Ic (\w+)(?: Pq Ic (.*))?$`)

// descriptions returns where the pages describe each submit command.
func descriptions(t *testing.T) map[string]described {
	t.Helper()
	all := map[string]described{}
	for _, p := range pages(t) {
		lines := p.part(submitCommands).lines
		for i, l := range lines {
			m := commandItem.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			if before, twice := all[m[1]]; twice {
				t.Errorf("%s: describes %s, and so does %s", p.file, m[1], before.page.file)
			}
			all[m[1]] = described{p, sentence(lines[i+1:])}
		}
	}
	return all
}

// sentence returns the lines of the first sentence of a description.
func sentence(lines []string) []string {
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, ".It ") || strings.HasPrefix(l, ".El") || l == ".Pp":
			return lines[:i]
		case strings.HasSuffix(l, "."):
			return lines[:i+1]
		}
	}
	return lines
}

// TestFates holds submit-commands(5) to the table of commands and to the pages that describe them. -update writes it.
func TestFates(t *testing.T) {
	const file = "submit-commands.5"
	where := descriptions(t)
	text, err := os.ReadFile("testdata/submit-commands.head")
	testenv.OK(t, err)
	want := string(text) + strings.Join(slices.Concat(
		[]string{".Sh COMMANDS"}, acting(where), []string{".Sh COMMANDS WITHOUT EFFECT", keptMeans}, kept(), seeAlso(where)), "\n") + "\n"
	if *update {
		testenv.OK(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, wanted := read(t, file).lines, strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	for i := range max(len(got), len(wanted)) {
		if at(got, i) != at(wanted, i) {
			t.Fatalf("%s:%d: %q, want %q (go test ./man -run Fates -update writes it)", file, i+1, at(got, i), at(wanted, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

const keptMeans = `These set the attribute of the job ad that stands behind them, if any, and the pool does not use it.`

// acting returns the items of the commands that do something, or are refused, by name.
func acting(where map[string]described) []string {
	lines := []string{".Bl -tag -width Ds"}
	commands := slices.DeleteFunc(jobad.Commands(), func(c jobad.Command) bool { return c.Fate == jobad.Kept })
	slices.SortFunc(commands, func(a, b jobad.Command) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range commands {
		lines = append(lines, ".It Ic "+c.Name+others(c))
		switch d := where[c.Name]; c.Fate {
		case jobad.Refused:
			lines = append(lines, "Refused"+colon(c.Why)+".")
		case jobad.Waiting:
			lines = append(lines, "Kept, with a warning, and not used"+colon(c.Why)+".")
			if c.Attr != "" {
				lines = append(lines, "Sets "+c.Attr+".")
			}
		default:
			lines = append(lines, d.sentence...)
			if !strings.Contains(strings.Join(d.sentence, "\n"), c.Attr) {
				lines = append(lines, "Sets "+c.Attr+".")
			}
			lines = append(lines, "See", ".Xr "+d.page.name()+" "+section(d.page)+" .")
		}
	}
	return append(lines, ".El")
}

func colon(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// kept returns the items of the commands that are attributes at most: an item for each, and one for all that follow each
// other and have neither an attribute nor another reason.
func kept() []string {
	lines := []string{`.Bl -tag -width "transfer_input_files" -compact`}
	var bare []jobad.Command
	flush := func() {
		for i, c := range bare {
			comma := " ,"
			if i+1 == len(bare) {
				comma = ""
			}
			lines = append(lines, ".It Ic "+c.Name+others(c)+comma)
		}
		if len(bare) > 0 {
			lines = append(lines, cmp.Or(strings.TrimPrefix(bare[0].Attr+colon(bare[0].Why), ": "), "no attribute"))
		}
		bare = nil
	}
	for _, c := range jobad.Commands() {
		if c.Fate != jobad.Kept {
			continue
		}
		if len(bare) > 0 && (c.Attr != "" || c.Why != bare[0].Why) {
			flush()
		}
		if bare = append(bare, c); c.Attr != "" {
			flush()
		}
	}
	flush()
	return append(lines, ".El")
}

// seeAlso returns the last section: the pages that describe commands.
func seeAlso(where map[string]described) []string {
	names := []string{"1 submit", "5 submit", "7 fairspool"}
	for _, d := range where {
		names = append(names, section(d.page)+" "+d.page.name())
	}
	slices.Sort(names)
	lines := []string{".Sh SEE ALSO"}
	for _, n := range slices.Compact(names) {
		number, name, _ := strings.Cut(n, " ")
		lines = append(lines, ".Xr "+name+" "+number+" ,")
	}
	last := len(lines) - 1
	lines[last] = strings.TrimSuffix(lines[last], " ,")
	return lines
}

// section returns the number of a page's section.
func section(p page) string { return strings.TrimPrefix(filepath.Ext(p.file), ".") }

// others returns the other names of a command that do not go without saying.
func others(c jobad.Command) string {
	var names []string
	for _, n := range c.Also {
		if n != strings.ToLower(c.Attr) && n != strings.ReplaceAll(c.Name, "_", "") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Pq Ic " + strings.Join(names, " , ")
}

// TestServed holds that the pages describe every command that does something, and no other, by its names.
func TestServed(t *testing.T) {
	where := descriptions(t)
	commands := jobad.Commands()
	for _, c := range commands {
		if d, ok := where[c.Name]; c.Fate == jobad.Served && (!ok || len(d.sentence) == 0) {
			t.Errorf("no page describes %s in a section %s", c.Name, submitCommands)
		}
	}
	for _, p := range pages(t) {
		for _, l := range p.part(submitCommands).lines {
			m := commandItem.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			i := slices.IndexFunc(commands, func(c jobad.Command) bool { return c.Name == m[1] })
			if i < 0 {
				t.Errorf("%s: describes %s, which is no command", p.file, m[1])
				continue
			}
			c := commands[i]
			for _, n := range strings.Split(m[2], " , ") {
				if n != "" && !slices.Contains(c.Also, strings.ToLower(n)) {
					t.Errorf("%s: calls %s %s, which it is not", p.file, c.Name, n)
				}
			}
			if c.Fate != jobad.Served && c.Fate != jobad.Waiting {
				t.Errorf("%s: describes %s, which is %v", p.file, c.Name, c.Fate)
			}
		}
	}
}
