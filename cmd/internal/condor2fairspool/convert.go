// Package condor2fairspool is the program: it makes a fairspool.toml of HTCondor's configuration.
//
// lib/condorconfig knows the language and how macros are expanded. Here is which macro means what: keys
// one by one (convert.go), groups and limits (groups.go), and comments of what is not taken over, with
// the lines as they are printed (comments.go).
package condor2fairspool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/policy/registry"
)

// Command is condor2fairspool.
func Command() cmdline.Command {
	return cmdline.Command{
		Name: "condor2fairspool", Brief: "make a fairspool.toml of HTCondor's configuration", WithoutSpool: true,
		Synopsis: []string{"[-json | -q] FILE..."},
		About:    `Reads configuration files of HTCondor in the given order, as one configuration, and prints the fairspool.toml that says the same, with the line that each setting comes from. - is standard input. A setting that has no meaning here, or that could not be taken over, becomes a comment with the reason; warnings name what needs a look. It changes no file, and runs no command of the files.`,
		Flags: []cmdline.Flag{
			{Name: "json", Help: "print the result and the warnings as JSON"},
			{Name: "q", Aliases: []string{"quiet"}, Help: "leave out the warnings"},
		},
		Examples: []cmdline.Example{
			{Does: "move from HTCondor", Line: "condor2fairspool /etc/condor/condor_config > fairspool.toml"},
			{Does: "what the result sets", Line: "negotiate -config fairspool.toml -check-config"},
		},
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "condor2fairspool", Value: output{}}} },
		Run:     convert,
	}
}

// convert prints the fairspool.toml that says what HTCondor's configuration files say.
func convert(c *cmdline.Call) error {
	if _, err := c.One("json", "q"); err != nil {
		return err
	}
	if len(c.Args) == 0 {
		return cmdline.Usagef("which files? name those that HTCondor reads, in its order, such as /etc/condor/condor_config")
	}
	var sources []condorconfig.Source
	for _, name := range c.Args {
		text, err := readSource(c, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, cmdline.Cause(err))
		}
		sources = append(sources, condorconfig.Source{Name: name, Text: string(text)})
	}
	done, err := convertConfig(sources, included)
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(output{done.text, append([]string{}, done.warnings...)})
	}
	if !c.Has("q") {
		for _, w := range done.warnings {
			c.Warn("%s", w)
		}
	}
	_, err = io.WriteString(c.Data(), done.text)
	return err
}

// output is what -json prints.
type output struct {
	Text     string   // of the fairspool.toml
	Warnings []string // "FILE:LINE: what needs a look"
}

// readSource reads a file of the command line; "-" is standard input.
func readSource(c *cmdline.Call, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.Stdin)
	}
	return os.ReadFile(name)
}

// included reads a file that another includes.
func included(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cmdline.Cause(err)
	}
	return string(text), nil
}

// converted is what became of configuration files of HTCondor.
type converted struct {
	text     string   // of a fairspool.toml
	warnings []string // one line each
}

// conversion is one under way.
type conversion struct {
	*condorconfig.Config
	lines    []tomlLine
	groups   []string          // GROUP_NAMES as taken over
	set      map[string]bool   // macros that became a line, by lower-case name
	put      map[string]bool   // macros that were put into one
	reasons  map[string]string // why macros are not in a line, by lower-case name
	files    []condorconfig.Source
	warnings []warning
}

// warning is about a line that the administrator has to look at.
type warning struct {
	condorconfig.Place
	text string
}

// tomlLine is a key that is set.
type tomlLine struct {
	key, value string   // value as TOML
	above      []string // comments before the line
	warning    string   // of the value; empty for none
	from       string   // where it came from
}

// convertConfig converts the files. open reads what they include.
func convertConfig(files []condorconfig.Source, open func(string) (string, error)) (converted, error) {
	in, err := condorconfig.Read(files, condorconfig.Options{Open: open, Subsystem: "NEGOTIATOR", Default: condorDefault})
	if err != nil {
		return converted{}, err
	}
	v := &conversion{Config: in, files: files, set: map[string]bool{}, put: map[string]bool{}, reasons: map[string]string{}}
	for _, n := range in.Notes {
		if n.Warning {
			v.warn(n.Place, "%s", n.Text)
		}
	}
	for _, step := range []func() error{v.keys, v.groupKeys, v.limits} {
		if err := step(); err != nil {
			return converted{}, err
		}
	}
	text, err := v.print()
	if err != nil {
		return converted{}, err
	}
	if _, err := registry.Parse("the result", []byte(text)); err != nil {
		return converted{}, fmt.Errorf("internal error: %w: leave out the macro of that key, and report this", err)
	}
	return converted{text: text, warnings: v.inOrder()}, nil
}

func (v *conversion) warn(at condorconfig.Place, format string, args ...any) {
	v.warnings = append(v.warnings, warning{at, fmt.Sprintf(format, args...)})
}

// inOrder returns the warnings in the order of the files; those of included files come
// last.
func (v *conversion) inOrder() []string {
	order := func(file string) int {
		i := slices.IndexFunc(v.files, func(s condorconfig.Source) bool { return s.Name == file })
		return cmp.Or(i+1, len(v.files)+1)
	}
	slices.SortStableFunc(v.warnings, func(a, b warning) int {
		return cmp.Or(order(a.File)-order(b.File), strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	var list []string
	for _, w := range v.warnings {
		list = append(list, w.Place.String()+": "+w.text)
	}
	return list
}

// ours are the keys without a macro of HTCondor, or with another meaning than the macro
// of the same name.
var ours = []string{"SPOOL", "DETECT_SLOTS", "ALLOW_NETWORK_SPOOL", "ADMINISTRATORS", "JOB_PRIORITY_POLICY", "NEGOTIATOR_PIE", "RESERVE_POOL_FRACTION", "RESERVE_MAX_TIME", "HEALTH_TIMEOUT", "METRICS_SUBMITTERS",
	"EXECUTE", "SUBMIT_COMMAND_TIMEOUT", "MAX_CLUSTERS_PER_OWNER", "MAX_SPOOL_BYTES_PER_OWNER", "NOTIFY_COMMAND", "NOTIFY_COMMAND_TIMEOUT", "CHECKPOINT_COMMAND"}

// macrosOf returns the macros with the meaning of the key, in order of precedence.
func macrosOf(key string) []string {
	switch key {
	case "MACHINE_MAX_VACATE_TIME":
		return []string{"MachineMaxVacateTime", key}
	case "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT":
		return []string{key, "GROUP_DYNAMIC_MACH_CONSTRAINT"}
	}
	if slices.Contains(ours, key) {
		return nil
	}
	return []string{key}
}

// keys sets the keys of the table.
func (v *conversion) keys() error {
	for _, k := range config.Keys {
		m, ok := v.first(macrosOf(k.Name))
		switch {
		case !ok:
			if !v.emptied(k) {
				v.standard(k)
			}
			continue
		case k.Name == "GROUP_NAMES":
			if err := v.groupNames(m); err != nil {
				return err
			}
			continue
		case k.Name == "SUBMIT_REQUIREMENT_NAMES":
			if err := v.requirements(m); err != nil {
				return err
			}
			continue
		case k.Name == "NEGOTIATE_ALL_JOBS_IN_CLUSTER" && v.skipsAutoclusters(m):
			v.reasons[strings.ToLower(m.Name)] = "HTCondor skips equal jobs, as fairspool always does; false would skip whole clusters here"
			continue
		}
		taken := len(v.lines)
		if err := v.take(k, k.Name, m, ""); err != nil {
			return err
		}
		if len(v.lines) == taken {
			v.standard(k)
		}
	}
	return nil
}

// first returns the first of the macros that is set to something. The others get their
// reasons.
func (v *conversion) first(names []string) (found condorconfig.Macro, ok bool) {
	for _, name := range names {
		m, set := v.Lookup(name)
		switch {
		case !set:
		case v.isEmpty(m):
			v.leaveUnset(m)
		case ok:
			v.reasons[strings.ToLower(m.Name)] = found.Name + " goes before it"
		default:
			found, ok = m, true
		}
	}
	return found, ok
}

// isEmpty reports whether a macro expands to nothing. HTCondor tests the expanded text, so that
// a value of only a reference to an undefined macro is empty.
func (v *conversion) isEmpty(m condorconfig.Macro) bool {
	x, err := v.Expand(m)
	return err == nil && strings.TrimSpace(x.Text) == ""
}

// leaveUnset notes that a macro expands to nothing.
func (v *conversion) leaveUnset(m condorconfig.Macro) {
	v.reasons[strings.ToLower(m.Name)] = "as if it were not set"
	if x, err := v.Expand(m); err == nil {
		v.warnOfMissing(m, x)
	}
}

// skipsAutoclusters reports whether m is the false that HTCondor has by default, which means
// autoclusters as long as SIGNIFICANT_ATTRIBUTES does not say otherwise.
func (v *conversion) skipsAutoclusters(m condorconfig.Macro) bool {
	x, err := v.Expand(m)
	yes, ok := condorconfig.Truth(x.Text)
	return err == nil && ok && !yes && !v.isSet("SIGNIFICANT_ATTRIBUTES")
}

// isSet reports whether there is a macro of the name that expands to something.
func (v *conversion) isSet(name string) bool {
	m, ok := v.Lookup(name)
	return ok && !v.isEmpty(m)
}

// take sets the key to the value of the macro, if that is known and in range. before is
// text that the line needs to be accepted, such as GROUP_NAMES.
func (v *conversion) take(k config.Key, key string, m condorconfig.Macro, before string) error {
	x, err := v.Expand(m)
	if err != nil {
		return err
	}
	line, why := v.lineOf(k, key, m, x, before)
	if why != "" {
		v.refuse(k, m, why)
		return nil
	}
	v.add(line, m, x)
	return nil
}

// refuse notes why a macro that has a key here is not taken over.
func (v *conversion) refuse(k config.Key, m condorconfig.Macro, why string) {
	v.reasons[strings.ToLower(m.Name)] = why
	if k.Name == "UID_DOMAIN" && why == hostName {
		return
	}
	v.warn(m.Place, "%s: not taken over: %s", m.Name, why)
}

// hostName is why a name of the host is not taken over.
const hostName = "the name of the host, which is the default"

// lineOf returns the line that sets the key, or why no line does.
func (v *conversion) lineOf(k config.Key, key string, m condorconfig.Macro, x condorconfig.Expansion, before string) (line tomlLine, why string) {
	if len(x.Unknown) > 0 {
		if k.Name == "UID_DOMAIN" && strings.EqualFold(x.Text, "$(FULL_HOSTNAME)") {
			return line, hostName
		}
		return line, "depends on " + strings.Join(x.Unknown, ", ") + ", which only HTCondor knows; write the value"
	}
	text := x.Text
	if k.Name == "BASE_CGROUP" {
		text = strings.TrimLeft(text, "/ ") // a path from where control groups are mounted, either way
	}
	value, err := tomlOf(k.Kind, text)
	most, beyond := greatest(k, text)
	if beyond {
		value, err = most, nil
		line.above = []string{shown(text) + " in the files; " + most + " is the greatest value that is kept"}
		line.warning = shown(text) + ": read as " + most + ", the greatest value that is kept"
	}
	if err != nil {
		return line, err.Error()
	}
	if k.Kind == config.Amount {
		if err := jobad.CheckDefaultRequest(k.Name, strings.TrimSpace(text)); err != nil {
			return line, err.Error()
		}
	}
	if _, err := registry.Parse("", []byte(before+tomlKey(key)+" = "+value+"\n")); err != nil {
		return line, reasonOf(err, key)
	}
	line.key, line.value, line.from = tomlKey(key), value, m.Place.String()
	return line, ""
}

// warnOfMissing warns of undefined macros in the value of m.
func (v *conversion) warnOfMissing(m condorconfig.Macro, x condorconfig.Expansion) {
	for _, name := range x.Missing {
		v.warn(m.Place, "%s: $(%s) is not defined: nothing was put in for it", m.Name, name)
	}
}

// reasonOf returns the error of a key without the place and the name.
func reasonOf(err error, key string) string {
	_, why, ok := strings.Cut(err.Error(), key+": ")
	if !ok {
		return err.Error()
	}
	return why
}

// add adds a line with its comments, and notes the macros used.
func (v *conversion) add(line tomlLine, m condorconfig.Macro, x condorconfig.Expansion) {
	if m.Name != line.key && !strings.EqualFold(v.Plain(m.Name), strings.Trim(line.key, `"`)) {
		line.from += " " + m.Name
	}
	if len(x.Assumed) > 0 {
		line.above = append(line.above, "Not defined in the files, so that HTCondor's own was put in: $("+strings.Join(x.Assumed, "), $(")+")")
	}
	for _, name := range x.Missing {
		line.above = append(line.above, fmt.Sprintf("$(%s) is not defined in the files: nothing was put in", name))
	}
	v.warnOfMissing(m, x)
	if line.warning != "" {
		v.warn(m.Place, "%s: %s", m.Name, line.warning)
	}
	v.set[strings.ToLower(m.Name)] = true
	for _, name := range x.Used {
		v.put[strings.ToLower(name)] = true
	}
	v.lines = append(v.lines, line)
}

// print returns the whole file: lines first, then the macros that were not taken over.
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
	p.comment("fairspool.toml made by condor2fairspool from " + strings.Join(names, " "))
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

// tomlOf returns the value of a macro as a TOML value of the kind. The error says why
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

// greatest returns the greatest value of a key. beyond reports whether the text is a greater
// number: HTCondor keeps any number, and one so large means unlimited. A key of at most 1 is
// a fraction, for which a greater number has no meaning.
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
