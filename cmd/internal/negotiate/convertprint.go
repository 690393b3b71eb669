package negotiate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"fairspool/lib/clean"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
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

// tomlOf returns what a macro is worth as a TOML value of the kind. The error says why
// there is none.
func tomlOf(kind config.Kind, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch kind {
	case config.Boolean:
		yes, ok := condorconfig.Truth(text)
		if !ok {
			return "", errors.New("neither true nor false")
		}
		return strconv.FormatBool(yes), nil
	case config.Real, config.Seconds, config.Time, config.Integer:
		return tomlNumber(kind, text)
	case config.Amount:
		return tomlAmount(text), nil
	case config.Names:
		return tomlList(condorconfig.List(text)), nil
	case config.Expression:
		return tomlExpression(text)
	}
	return tomlString(text), nil
}

// tomlNumber writes a constant expression as a number.
func tomlNumber(kind config.Kind, text string) (string, error) {
	value, ok := condorconfig.Constant(text)
	n, number := value.Number()
	if !ok || !number || math.IsNaN(n) || math.IsInf(n, 0) {
		return "", errors.New("not a constant number")
	}
	if kind == config.Integer && n != math.Trunc(n) {
		return "", errors.New("not a whole number")
	}
	return tomlFloat(n), nil
}

func tomlFloat(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// greatest returns the most that a key may be. beyond reports whether the text is a number
// beyond it: HTCondor keeps any number, and one so large means without end or without bound.
// A key of at most 1 is a fraction, for which a greater number has no meaning.
func greatest(k config.Key, text string) (most string, beyond bool) {
	value, ok := condorconfig.Constant(text)
	n, number := value.Number()
	return tomlFloat(k.Most), ok && number && k.Most > 1 && n > k.Most
}

// tomlAmount writes a whole number as one, all else as it stands: an expression of the job's
// own, or a size.
func tomlAmount(text string) string {
	if n, err := tomlNumber(config.Integer, text); err == nil {
		return n
	}
	if x, err := tomlExpression(text); err == nil {
		return x
	}
	return tomlString(clean.Blanked(text))
}

// tomlExpression writes an expression, with escapes for the backslashes in it.
func tomlExpression(text string) (string, error) {
	_, text, err := condorconfig.Expression(text)
	if err != nil {
		return "", fmt.Errorf("not an expression: %w", err)
	}
	return tomlString(text), nil
}

func tomlList(items []string) string {
	quoted := make([]string, len(items))
	width := 0
	for i, item := range items {
		quoted[i] = tomlString(item)
		width += len(quoted[i]) + len(", ")
	}
	if width < 80 {
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return "[\n  " + strings.Join(quoted, ",\n  ") + ",\n]"
}

// tomlString writes a string literally where it has quotes of its own.
func tomlString(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, `"\`) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || unicode.IsControl(r) }) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tomlKey writes a key, in quotes where it needs them.
func tomlKey(key string) string {
	bare := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !bare(r) }) {
		return key
	}
	return tomlString(key)
}
