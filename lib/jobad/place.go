package jobad

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/submitfile"
)

// errFound ends the search of Refuse.
var errFound = errors.New("found")

// Refuse returns the error that says why jobs from a proc on may not have an attribute as that
// proc has it: at the line of the command, or of +Attr, that first gives it to one of them, and
// by the name that it has there. Without one it names the attribute.
func (j *Jobs) Refuse(attr string, proc int, why error) error {
	return j.refuseFor(commandOf(attr), attr, attr, proc, why)
}

// RefuseCommand does so for an attribute by the name of its command. Without a line that gives
// it, it names the command.
func (j *Jobs) RefuseCommand(command, attr string, proc int, why error) error {
	return j.refuseFor(command, attr, command, proc, why)
}

func (j *Jobs) refuseFor(command, attr, called string, proc int, why error) error {
	var refusal error
	err := j.description.Walk(1, nil, func(p *submitfile.Job) error {
		if p.First()+p.Count() <= proc {
			return nil
		}
		if proc > p.Proc() {
			p.Skip(proc - p.First())
		}
		one := j.job(p, nil)
		g, ok, err := one.asked(command, attr)
		if ok && err == nil {
			refusal, err = one.refuse(g, "%w", why), errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		return refusal
	}
	return fmt.Errorf("%s: %w", called, why)
}

// commandOf returns the name of the command that gives an attribute.
func commandOf(attr string) string {
	for _, c := range credentials {
		if strings.EqualFold(c.attr, attr) {
			return c.command
		}
	}
	key := strings.ToLower(attr)
	if name, isRequest := strings.CutPrefix(key, "request"); byName()[key] == nil && isRequest {
		key = requestPrefix + name
	}
	return key
}

// origin returns what gives the job an attribute: +Attr or, without that, its command.
func (j *job) origin(attr string) (g given, ok bool, err error) {
	return j.asked(commandOf(attr), attr)
}
