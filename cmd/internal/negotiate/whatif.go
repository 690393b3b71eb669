package negotiate

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/nearest"
)

// change is one -what-if.
type change struct {
	text  string // as written
	apply func(*world) error
}

// changeKind is a kind of change, by the command that makes it for good.
type changeKind struct {
	name, example string
	// read reads the words behind the name. It fails as a wrong use.
	read func(words []string) (apply func(*world) error, err error)
}

// changeKinds are all kinds, in the order of the manual page.
func changeKinds() []changeKind {
	return []changeKind{
		{"userprio", "userprio -setfactor alice@example.org 2", readUserprio},
		{"config", "config GROUP_QUOTA_physics=30", readConfig},
		{"slots", "slots add 10 like slot1@node1", readSlots},
		{"submit", "submit 100 like 12.0", readSubmit},
		{"prio", "prio +5 12", readPrio},
		{"qdel", "qdel 12", readQdel},
	}
}

// examplesOfChanges returns an example of each kind.
func examplesOfChanges() string {
	var list []string
	for _, k := range changeKinds() {
		list = append(list, "'"+k.example+"'")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// readChanges reads what -what-if says, in order.
func readChanges(c *cmdline.Call) ([]change, error) {
	var changes []change
	for _, args := range c.Repeated("what-if") {
		apply, err := readChange(args[0])
		if err != nil {
			return nil, ofChange(args[0], err)
		}
		changes = append(changes, change{args[0], apply})
	}
	return changes, nil
}

// ofChange says which change an error is about.
func ofChange(text string, err error) error { return fmt.Errorf("-what-if '%s': %w", text, err) }

func readChange(text string) (func(*world) error, error) {
	words, err := split(text)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return nil, cmdline.Usagef("want a change, like %s", examplesOfChanges())
	}
	var names []string
	for _, k := range changeKinds() {
		if k.name == words[0] {
			return k.read(words[1:])
		}
		names = append(names, k.name)
	}
	return nil, unknownChange(words[0], names)
}

// unknownChange proposes the kind of change that was probably meant.
func unknownChange(word string, names []string) error {
	near, ok := nearest.Name(word, names)
	if !ok {
		return cmdline.Usagef("%s: unknown change: want one like %s", word, examplesOfChanges())
	}
	for _, k := range changeKinds() {
		if k.name == near {
			return cmdline.Usagef("%s: unknown change; did you mean %s, as in '%s'?", word, near, k.example)
		}
	}
	return nil
}

// split returns the words of a text as a shell does: blanks part them; within
// single quotes all is as it stands, within double quotes a backslash makes the next
// double quote or backslash a plain one, and elsewhere any next character.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\n", b) >= 0:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case quote == 0 && (b == '\'' || b == '"'):
			quote = b
		case quote != 0 && b == quote:
			quote = 0
		case b == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte(`"\`, text[i+1]) >= 0):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(b)
		}
		begun = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
