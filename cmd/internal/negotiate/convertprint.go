package negotiate

import (
	"strings"

	"fairspool/lib/clean"
)

// print returns the whole file: lines first, then what was not taken over.
func (v *conversion) print() (string, error) {
	comments, putIn, err := v.comments()
	if err != nil {
		return "", err
	}
	var p tomlText
	var names []string
	for _, f := range v.files {
		names = append(names, f.Name)
	}
	p.comment("fairspool.toml made by negotiate -convert-config from " + strings.Join(names, " "))
	p.comment("A comment behind a line says where it came from.")
	p.blank()
	for _, l := range v.lines {
		p.line(l)
	}
	v.statements(&p)
	if len(comments) > 0 {
		p.blank()
		p.comment("What has no meaning here or was not taken over, in the order of the files:")
		p.comment("")
		for _, c := range comments {
			p.comment(c.String())
		}
	}
	if len(putIn) > 0 {
		p.blank()
		p.comment("Only for other macros:")
		p.wrapped(putIn)
	}
	return p.String(), nil
}

// statements tells of those that are not carried out.
func (v *conversion) statements(p *tomlText) {
	begun := false
	for _, n := range v.Notes {
		if n.Warning {
			continue
		}
		if !begun {
			begun = true
			p.blank()
			p.comment("Statements that are not carried out: commands are not run, templates of use are not known here.")
			p.comment("What they set is not in this file.")
		}
		p.comment(n.Text + " (" + n.Place.String() + ")")
		if !strings.HasPrefix(n.Text, "include : ") {
			v.warn(n.Place, "%s: not carried out; look whether it sets something that counts here", n.Text)
		}
	}
}

// tomlText is a TOML file being written.
type tomlText struct{ strings.Builder }

func (p *tomlText) blank() { p.WriteByte('\n') }

// comment writes a line of comment, whatever is in the text.
func (p *tomlText) comment(text string) {
	p.WriteString(strings.TrimRight("# "+clean.Blanked(text), " ") + "\n")
}

// line writes a key with where it came from behind it, or above it when the value has
// several lines.
func (p *tomlText) line(l tomlLine) {
	for _, text := range l.above {
		p.comment(text)
	}
	if strings.Contains(l.value, "\n") || len(l.key)+len(l.value) > 100 {
		p.comment(l.from)
		p.WriteString(l.key + " = " + l.value + "\n")
		return
	}
	p.WriteString(l.key + " = " + l.value + " ")
	p.comment(l.from)
}

// wrapped writes names as lines of comment that fit a screen.
func (p *tomlText) wrapped(names []string) {
	const width = 88
	line := ""
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != "" && len(line)+len(name) >= width {
			p.comment(line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+name, " ")
	}
	p.comment(line)
}
