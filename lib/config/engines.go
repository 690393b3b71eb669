package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fairspool/lib/nearest"
)

// Engine is what [engine.NAME] says of machines that run jobs.
type Engine struct {
	Name             string
	Kind             string   // KIND
	Hosts            []string // HOSTS
	Link             string   // LINK
	SSH              []string // SSH
	Starter          string   // STARTER
	State            string   // STATE; empty: the pilot's own default
	FileSystemDomain string   // FILESYSTEM_DOMAIN; empty: each machine's name
}

// LinkAttach and LinkHome are the values of LINK: this host calls the machines, or they call it.
const (
	LinkAttach = "attach"
	LinkHome   = "home"
)

// EngineKeys are what [engine.NAME] may say.
var EngineKeys = []EngineKey{
	{Key{Name: "KIND", Kind: String, Default: "", Choices: []string{"ssh"},
		Help: "How the machines are reached."},
		func(e *Engine, v any) { e.Kind = v.(string) }},
	{Key{Name: "HOSTS", Kind: Names, Default: []string(nil), Check: hostName,
		Help: "The machines, by the names that ssh knows them by."},
		func(e *Engine, v any) { e.Hosts = v.([]string) }},
	{Key{Name: "LINK", Kind: String, Default: LinkAttach, Choices: []string{LinkAttach, LinkHome},
		Help: "Who opens the link: this host by ssh, or the machine."},
		func(e *Engine, v any) { e.Link = v.(string) }},
	{Key{Name: "SSH", Kind: Words, Default: []string{"ssh"}, Check: sshWord,
		Help: "The command that runs another one on a machine, and its first arguments."},
		func(e *Engine, v any) { e.SSH = v.([]string) }},
	{Key{Name: "STARTER", Kind: String, Default: ".fairspool/starter", Check: remotePath,
		Help: "Where the program starter is on the machines."},
		func(e *Engine, v any) { e.Starter = v.(string) }},
	{Key{Name: "STATE", Kind: String, Default: "", Check: remotePath,
		Help: "The folder on the machines in which pilots keep what they know of their jobs."},
		func(e *Engine, v any) { e.State = v.(string) }},
	{Key{Name: "FILESYSTEM_DOMAIN", Kind: String, Default: "", Check: oneWord,
		Help: "The FileSystemDomain of the machines' slots."},
		func(e *Engine, v any) { e.FileSystemDomain = v.(string) }},
}

// EngineKey describes a key of an engine's table.
type EngineKey struct {
	Key
	set func(*Engine, any)
}

// engineTable is the name of the table that has a table for each engine.
const engineTable = "engine"

// enginesTable returns the table [engine].
func enginesTable() *Table {
	return &Table{Name: engineTable, Depth: func(string) int { return 1 }, Named: (*Config).takeEngine, Finish: (*Config).engines}
}

// hostName refuses what ssh could take for an option or for two words, or what cannot stand in a slot's name.
func hostName(s string) error {
	strange := strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) && r != '.' })
	if s == "" || strange || strings.HasPrefix(s, "-") || strings.HasPrefix(s, ".") {
		return fmt.Errorf("%q: want a machine's name of letters, digits, dots, - and _; users and ports stand in ssh_config", s)
	}
	return nil
}

func isNameRune(r rune) bool {
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// sshWord refuses a word of SSH that no command has.
func sshWord(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want a command without control characters", s)
	}
	return nil
}

// oneWord refuses blanks and control characters.
func oneWord(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fmt.Errorf("%q: want a name without blanks", s)
	}
	return nil
}

// remotePath refuses what is no path on another machine.
func remotePath(s string) error {
	switch {
	case s == "" || strings.HasPrefix(s, "-") || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%q: want a path", s)
	case strings.HasPrefix(s, "~"):
		return fmt.Errorf("%q: want a path without ~; one that does not begin with a slash begins in the account's home", s)
	}
	return nil
}

// takeEngine sets what a key of [engine.NAME] says.
func (c *Config) takeEngine(s Setting) (ok bool, err error) {
	name, key := s.Name, ""
	if dot := strings.LastIndexByte(s.Name, '.'); dot >= 0 {
		name, key = strings.Trim(s.Name[:dot], `"`), s.Name[dot+1:]
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return true, errors.New("want an engine's name of letters, digits, - and _")
	}
	if key == "" {
		return true, fmt.Errorf("%s: want a table, as in [engine.%s] with KIND = \"ssh\"", Shown(s.Value), name)
	}
	e := c.engine(name)
	if top := engineTable + "." + name; !c.Noted(top) {
		c.Note(top, s.From)
	}
	if belongsAtTop(key, true) {
		return true, fmt.Errorf("stands in table [engine.%s]; move it above the first table", name)
	}
	names := make([]string, len(EngineKeys))
	for i, k := range EngineKeys {
		if names[i] = k.Name; key == k.Name {
			v, err := k.checked(s)
			if err == nil {
				k.set(e, v)
				c.values[s.Key()] = v
			}
			return true, err
		}
	}
	return true, unknownKey(nearest.Hint(key, names) + "; an engine's table has " + strings.Join(names, ", "))
}

// engine returns the engine of the name, with the defaults if nothing was said of it before.
func (c *Config) engine(name string) *Engine {
	i, there := slices.BinarySearchFunc(c.Engines, name, func(e Engine, name string) int { return cmp.Compare(e.Name, name) })
	if !there {
		e := Engine{Name: name}
		for _, k := range EngineKeys {
			k.set(&e, k.Default)
		}
		c.Engines = slices.Insert(c.Engines, i, e)
	}
	return &c.Engines[i]
}

// engines looks for what no engine can do without, and for machines of two engines.
func (c *Config) engines() error {
	of := map[string]string{} // by the machine's name in lower case
	for _, e := range c.Engines {
		key := engineTable + "." + e.Name
		switch {
		case e.Kind == "":
			return c.Complain(key, errors.New(`without KIND = "ssh"`))
		case len(e.Hosts) == 0:
			return c.Complain(key, errors.New(`without HOSTS, as in HOSTS = ["n1", "n2"]`))
		case len(e.SSH) == 0 || e.SSH[0] == "":
			return c.Complain(key+".SSH", errors.New("an empty command"))
		}
		for _, host := range e.Hosts {
			other, twice := of[strings.ToLower(host)]
			switch {
			case twice && other == e.Name:
				return c.Complain(key+".HOSTS", fmt.Errorf("%s: named twice", host))
			case twice:
				return c.Complain(key+".HOSTS", fmt.Errorf("%s: engine %s has it, too (%s)", host, other, c.Where(engineTable+"."+other+".HOSTS")))
			}
			of[strings.ToLower(host)] = e.Name
		}
	}
	return nil
}
