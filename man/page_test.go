package man

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is a manual page as far as the tests have to understand it.
type page struct {
	file  string // submit.1
	lines []string
}

// pages reads every page of this folder.
func pages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob("*.[1-9]")
	if err != nil || len(files) == 0 {
		t.Fatalf("manual pages = %v, %v, want some", files, err)
	}
	var list []page
	for _, f := range files {
		list = append(list, read(t, f))
	}
	return list
}

func read(t *testing.T, file string) page {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return page{file, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")}
}

// name returns the page's name, of its file.
func (p page) name() string { return strings.TrimSuffix(p.file, filepath.Ext(p.file)) }

// macro returns what follows a macro on the lines that begin with it.
func (p page) macro(name string) (found []string) {
	for _, l := range p.lines {
		if rest, ok := strings.CutPrefix(l, "."+name+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

// has reports whether the page has a section.
func (p page) has(section string) bool { return slices.Contains(p.macro("Sh"), section) }

// part returns what of the page that is a section, without its head; no lines: it has none.
func (p page) part(name string) page {
	from := slices.Index(p.lines, ".Sh "+name)
	if from < 0 {
		return page{p.file, nil}
	}
	rest := p.lines[from+1:]
	if end := slices.IndexFunc(rest, func(l string) bool { return strings.HasPrefix(l, ".Sh ") }); end >= 0 {
		rest = rest[:end]
	}
	return page{p.file, rest}
}

// options returns the options that the page lists, each with its sign: those
// of the lines `.It Fl` and `.It Cm +`.
func (p page) options() map[string]bool {
	set := map[string]bool{}
	for _, item := range p.macro("It") {
		words := strings.Fields(item)
		for i, w := range words {
			rest := words[i+1:]
			switch {
			case w == "Fl" && rest[0] == "Ns": // -N
				set["-"+rest[2]] = true
			case w == "Fl":
				set["-"+rest[0]] = true
			case w == "Cm" && rest[0] == "+": // +N
				set["+"+rest[3]] = true
			}
		}
	}
	return set
}

// variables returns fairspool's variables of the environment that the page
// lists.
func (p page) variables() map[string]bool {
	set := map[string]bool{}
	for _, item := range p.macro("It") {
		for _, v := range variable.FindAllString(item, -1) {
			set[v] = true
		}
	}
	return set
}

// items returns the text of each item of the page's lists whose head is the
// macro with a name: `.It Ic NAME`.
func (p page) items(macro string) map[string]string {
	all := map[string]string{}
	name, from := "", 0
	end := func(i int) {
		if name != "" {
			all[name] = plain(p.lines[from:i])
		}
		name = ""
	}
	for i, l := range p.lines {
		head, isItem := strings.CutPrefix(l, ".It ")
		if isItem || strings.HasPrefix(l, ".El") {
			end(i)
		}
		if rest, ok := strings.CutPrefix(head, macro+" "); isItem && ok {
			name, from = rest, i+1
		}
	}
	return all
}

var (
	isMacro = regexp.MustCompile(`^[A-Z][a-z1-9]$`)
	escapes = strings.NewReplacer(`\(dq`, `"`, `\e`, `\`, `\-`, `-`, `\&`, ``)
)

// plain returns the words of some lines, without macros, a blank between
// them; punctuation stands with the word before. Paragraphs are lines.
func plain(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		switch {
		case l == ".Pp":
			b.WriteString("\n")
			continue
		case strings.HasPrefix(l, ".Bd "):
			continue
		}
		words := strings.Fields(l)
		if rest, ok := strings.CutPrefix(l, "."); ok {
			words = slices.DeleteFunc(strings.Fields(rest), isMacro.MatchString)
		}
		for _, w := range words {
			if !strings.HasSuffix(b.String(), "\n") && b.Len() > 0 && !(strings.HasPrefix(l, ".") && strings.Trim(w, ".,;:") == "") {
				b.WriteByte(' ')
			}
			b.WriteString(escapes.Replace(w))
		}
	}
	return b.String()
}
