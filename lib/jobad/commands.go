package jobad

import (
	"slices"
	"strings"
	"sync"
)

// Fate is what becomes of a submit command.
type Fate int

// What becomes of a command: Served acts; Kept is an attribute of the job, or
// nothing at all, and means nothing here that anybody could miss; Waiting is an
// attribute on which the pool does not act, which is said once; Refused is an
// error, for the jobs would silently misbehave.
const (
	Served Fate = iota
	Kept
	Waiting
	Refused
)

// String returns the fate in one word, as submit(5) has it.
func (f Fate) String() string { return [...]string{"served", "kept", "waiting", "refused"}[f] }

// Command is a submit command.
type Command struct {
	Name string   // its name, in lower case
	Also []string // its other names, in lower case: where several are given, the first counts, Name before all
	Attr string   // the attribute that it sets; empty: none, or several
	Fate Fate
	Why  string // what does not happen, or why it is refused; may be empty

	kind  kind
	names []string // Name and Also
}

// kind is how a command that sets one attribute says its value.
type kind int

const (
	elsewhere kind = iota // a part of its own sees to the command
	text                  // a string, double quotes around it left out
	list                  // a string: words with commas between
	file                  // a string: a path, relative to the working directory
	truthful              // true or false
	whole                 // a whole number, or an expression that gives one as it stands
	natural               // the same, from 0 up
	seconds               // a whole number from 0 up, or an expression
	expr                  // an expression
)

// Commands returns all submit commands by subject: what submit(5) tells of them.
func Commands() []Command { return slices.Clone(table()) }

// table has all commands, with all of their names.
var table = sync.OnceValue(func() []Command {
	all := slices.Concat(programCommands, requestCommands, transferCommands, policyCommands,
		accountCommands, peopleCommands, universeCommands, otherCommands)
	taken := map[string]bool{}
	for _, c := range all {
		for _, n := range append(c.Also, c.Name) {
			taken[n] = true
		}
	}
	for i := range all {
		c := &all[i]
		for _, n := range []string{strings.ToLower(c.Attr), strings.ReplaceAll(c.Name, "_", "")} {
			if n != "" && !taken[n] && !ambiguous[n] {
				taken[n] = true
				c.Also = append(slices.Clip(c.Also), n)
			}
		}
		c.names = append([]string{c.Name}, c.Also...)
	}
	return all
})

// ambiguous are names that would be those of two commands (transfer_output is a
// truth, and TransferOutput the attribute of transfer_output_files), and attributes
// whose names people give to macros of their own.
var ambiguous = map[string]bool{"transferinput": true, "transferoutput": true, "in": true, "out": true, "err": true}

// byName finds a command by any of its names.
var byName = sync.OnceValue(func() map[string]*Command {
	m := map[string]*Command{}
	all := table()
	for i := range all {
		for _, n := range all[i].names {
			m[n] = &all[i]
		}
	}
	return m
})

// namesOf returns all names of a command, the one that counts first before all.
func namesOf(command string) []string {
	if c := byName()[command]; c != nil {
		return c.names
	}
	return []string{command}
}

// suggestions are the names that a warning may propose.
var suggestions = sync.OnceValue(func() []string {
	var out []string
	for _, c := range table() {
		if c.Fate != Refused {
			out = append(out, c.Name)
		}
	}
	return out
})

// requestPrefix begins the commands that ask for a resource by name.
const requestPrefix = "request_"

// requirePrefix begins the commands that say what each of a resource has to be like,
// transformPrefix those that say what is set when the job has to leave.
const (
	requirePrefix   = "require_"
	transformPrefix = "transform_body_"
)

// families are the beginnings and ends of commands that take part of their name
// from the user, besides request_NAME. The first two of the beginnings act, the others
// are kept without an attribute. Behind oauth stands what may be followed by _HANDLE.
var families = struct{ beginnings, ends, oauth []string }{
	[]string{requirePrefix, transformPrefix, "jobset.", "ec2_tag_", "ec2_parameter_", "cloud_label_"},
	[]string{"_container_port"},
	[]string{"_oauth_permissions", "_oauth_resource", "_oauth_options"},
}

// isCommand reports whether a name, in lower case, is a submit command's.
func isCommand(key string) bool {
	if byName()[key] != nil || isRequest(key) {
		return true
	}
	return slices.ContainsFunc(families.beginnings, func(b string) bool { return len(key) > len(b) && strings.HasPrefix(key, b) }) ||
		slices.ContainsFunc(families.ends, func(e string) bool { return strings.HasSuffix(key, e) }) ||
		slices.ContainsFunc(families.oauth, func(o string) bool {
			service, handle, found := strings.Cut(key, o)
			return found && service != "" && (handle == "" || len(handle) > 1 && handle[0] == '_')
		})
}

// isRequest tells whether a name, in lower case, asks for a resource that has no
// command of its own.
func isRequest(key string) bool {
	return len(key) > len(requestPrefix) && strings.HasPrefix(key, requestPrefix) && byName()[key] == nil
}
