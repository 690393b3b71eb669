package jobad

import (
	"fmt"
	"strings"

	"fairspool/lib/macro"
	"fairspool/lib/nearest"
	"fairspool/lib/submitfile"
)

// names looks at every name that the description gives a value: some may not
// have one, some are likely to be mistakes.
func (j *Jobs) names() ([]submitfile.Warning, error) {
	var out []submitfile.Warning
	assignments := j.description.Assignments()
	used := j.description.Uses()
	late := j.description.AfterLast()
	set := map[string]bool{}
	for _, a := range assignments {
		set[strings.ToLower(a.Name)] = true
	}
	for i, a := range assignments {
		if err := checkName(a); err != nil {
			return nil, err
		}
		if len(out) > mostDoubts {
			continue
		}
		if msg := doubt(a, used, set, late[i]); msg != "" {
			at := a.Place()
			at.Col = 0
			if len(out) == mostDoubts {
				msg = "and more like these"
			}
			out = append(out, submitfile.Warning{Place: at, Msg: msg})
		}
	}
	return out, nil
}

// mostDoubts is of how many names it is told that they may be mistakes. To look for what
// was meant takes its time, and nobody reads on.
const mostDoubts = 100

// checkName refuses attributes that are none.
func checkName(a submitfile.Assignment) error {
	attr, ok := customName(a.Name)
	if ok && !isAttributeName(attr) {
		return refuseAt(a.Place(), "+"+attr, "%q is no name of an attribute", submitfile.Shorten(attr))
	}
	return nil
}

// customName returns the attribute's name of MY.Name.
func customName(name string) (string, bool) {
	if len(name) > len(customPrefix) && strings.EqualFold(name[:len(customPrefix)], customPrefix) {
		return name[len(customPrefix):], true
	}
	return "", false
}

func isAttributeName(name string) bool {
	return macro.IsName(name) && !strings.Contains(name, ".") && (name[0] < '0' || name[0] > '9')
}

// doubt returns why an assignment may be a mistake, if so.
func doubt(a submitfile.Assignment, used submitfile.Uses, set map[string]bool, late bool) string {
	key := strings.ToLower(a.Name)
	attr, custom := customName(a.Name)
	switch {
	case late:
		return a.Name + ": stands behind the last queue line and has no effect"
	case submitfile.Settled(key):
		return a.Name + ": is set for every job, this line has no effect"
	case custom && isProtected(attr):
		return "+" + attr + ": " + ownSetter(attr) + ", this line has no effect"
	case custom:
		return ""
	case isCommand(key):
		if better := outranked(key, set); better != "" && !used.Certainly(a.Name) {
			return fmt.Sprintf("%s: has no effect beside %s", a.Name, better)
		}
		if meant := likeRequest(key); meant != "" {
			return fmt.Sprintf("%s: taken for a resource of that name, did you mean %s?", a.Name, meant)
		}
		return ""
	case used.Certainly(a.Name):
		return ""
	}
	warning, near := unknown(a.Name)
	if !near && used.Refer(a.Name) {
		return ""
	}
	return warning
}

// ownSetter says who sets an attribute that no description may: submit, or who does that when
// the job is in the queue, if there is a command that is refused for it.
func ownSetter(attr string) string {
	for _, c := range table() {
		if c.Fate == Refused && strings.EqualFold(c.Attr, attr) {
			return c.Why
		}
	}
	return "submit itself sets this attribute"
}

// outranked returns the other name of the same command that has a value and
// counts before key.
func outranked(key string, set map[string]bool) string {
	if c := byName()[key]; c != nil {
		for _, n := range c.names {
			if n == key {
				break
			}
			if set[n] {
				return n
			}
		}
	}
	return ""
}

// ordinaryResources are those that requests are mistyped for.
var ordinaryResources = []string{"cpus", "memory", "disk", "gpus"}

// likeRequest returns the command that a request for another resource is likely to be
// meant for, if any. Resources that sites number, or that begin with another letter, such
// as tpus, are not mistyped.
func likeRequest(key string) string {
	resource := strings.TrimPrefix(key, requestPrefix)
	if !isRequest(key) || mistakenRequests[key] != "" || strings.ContainsAny(resource, "0123456789") {
		return ""
	}
	meant, near := nearest.Name(resource, ordinaryResources)
	if resource == "mem" {
		meant, near = "memory", true
	}
	if !near || meant[0] != resource[0] {
		return ""
	}
	return requestPrefix + meant
}

// meantFor says, behind "not given", which name of the description is likely to be meant for
// a command, or what to do instead.
func (j *Jobs) meantFor(command, instead string) string {
	for _, a := range j.description.Assignments() {
		if near, ok := nearest.Name(a.Name, suggestions()); ok && near == command && !isCommand(strings.ToLower(a.Name)) {
			return fmt.Sprintf("; did you mean %s by %s in line %d?", command, a.Name, a.Place().Line)
		}
	}
	return ": " + instead
}

// unknown words the warning of a name that is no command, and tells whether it
// is near to one.
func unknown(name string) (warning string, near bool) {
	if command, ok := nearest.Name(name, suggestions()); ok {
		return fmt.Sprintf("%s: unknown command, did you mean %s?", name, command), true
	}
	return name + ": unknown command, and no macro uses it", false
}
