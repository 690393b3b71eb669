package man

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/jobad"
)

var update = flag.Bool("update", false, "write the pages and tables that are made from the code")

// TestFates holds the table in submit(5) to the table of commands: the same
// commands, other names, fates, attributes and reasons. -update writes it.
func TestFates(t *testing.T) {
	const begin, end = ".\\\" Begin of the table. go test ./man -run Fates -update writes it.", ".\\\" End of the table."
	p := read(t, "submit.5")
	from, to := slices.Index(p.lines, begin), slices.Index(p.lines, end)
	if from < 0 || to < from {
		t.Fatalf("%s: no table between %q and %q", p.file, begin, end)
	}
	got, want := p.lines[from+1:to], fates()
	if slices.Equal(got, want) {
		return
	}
	if *update {
		lines := slices.Concat(p.lines[:from+1], want, p.lines[to:])
		if err := os.WriteFile(p.file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s:%d: %q, want %q", p.file, from+2+i, at(got, i), at(want, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// fates writes the table: an item for each command, and one for all that follow
// each other and have neither an attribute nor another fate.
func fates() []string {
	lines := []string{`.Bl -tag -width "transfer_input_files" -compact`}
	var bare []jobad.Command
	flush := func() {
		if len(bare) == 0 {
			return
		}
		for i, c := range bare {
			comma := " ,"
			if i+1 == len(bare) {
				comma = ""
			}
			lines = append(lines, ".It Ic "+c.Name+others(c)+comma)
		}
		lines = append(lines, fate(bare[0]))
		bare = nil
	}
	for _, c := range jobad.Commands() {
		if len(bare) > 0 && (c.Attr != "" || c.Fate != bare[0].Fate || c.Why != bare[0].Why) {
			flush()
		}
		if bare = append(bare, c); c.Attr != "" {
			flush()
		}
	}
	flush()
	return append(lines, ".El")
}

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

// fate says what becomes of a command.
func fate(c jobad.Command) string {
	text := c.Fate.String()
	if c.Attr != "" {
		text += ", " + c.Attr
	}
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

// TestServed holds that submit(5) tells of every command that does something.
func TestServed(t *testing.T) {
	p := read(t, "submit.5")
	text := strings.Join(p.part("COMMANDS").lines, "\n") + "\n"
	for _, c := range jobad.Commands() {
		if c.Fate == jobad.Served && !regexp.MustCompile(`(?m)^\.It Ic `+c.Name+`( |$)`).MatchString(text) {
			t.Errorf("%s: COMMANDS has no %s", p.file, c.Name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\.It Ic (\w+)(?: Pq Ic (.*))?$`).FindAllStringSubmatch(text, -1) {
		i := slices.IndexFunc(jobad.Commands(), func(c jobad.Command) bool { return c.Name == m[1] })
		if i < 0 {
			t.Errorf("%s: COMMANDS has %s, which is no command", p.file, m[1])
			continue
		}
		c := jobad.Commands()[i]
		for _, n := range strings.Split(m[2], " , ") {
			if n != "" && !slices.Contains(c.Also, strings.ToLower(n)) {
				t.Errorf("%s: COMMANDS calls %s %s, which it is not", p.file, c.Name, n)
			}
		}
		if c.Fate != jobad.Served && c.Fate != jobad.Waiting {
			t.Errorf("%s: COMMANDS has %s, which is %v", p.file, c.Name, c.Fate)
		}
	}
}
