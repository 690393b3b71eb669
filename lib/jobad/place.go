package jobad

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/submitfile"
)

// errFound ends the search of Refuse.
var errFound = errors.New("found")

// Refuse returns the error that says why the description's jobs may not have an attribute as
// they have it: at the line of the command, or of +Attr, that first gives it, and by the name
// that it has there. Without one it names the attribute.
func (j *Jobs) Refuse(attr string, why error) error {
	var refusal error
	err := j.description.Walk(1, nil, func(p *submitfile.Job) error {
		one := j.job(p, nil)
		g, ok, err := one.origin(attr)
		if ok && err == nil {
			refusal, err = one.refuse(g, "%w", why), errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		return refusal
	}
	return fmt.Errorf("%s: %w", attr, why)
}

// origin returns what gives the job an attribute: +Attr or, without that, its command.
func (j *job) origin(attr string) (g given, ok bool, err error) {
	key := strings.ToLower(attr)
	if name, isRequest := strings.CutPrefix(key, "request"); byName[key] == nil && isRequest {
		key = requestPrefix + name
	}
	return j.asked(key, attr)
}
