package condorconfig

import (
	"errors"

	"fairspool/lib/macro"
)

// version is the release of HTCondor that `if version` is asked against: one that is
// newer than any file, as the files are to be read as their newest form.
var version = [3]int{99, 0, 0}

// branch carries out if, elif, else or endif. One that is misplaced is a warning.
func (r *reader) branch(open *macro.Branches, word, condition string, at Place) error {
	holds := func() (bool, error) { return r.holds(condition, at) }
	var err error
	switch word {
	case "if":
		err = open.If(at.Line, holds)
	case "elif":
		err = open.Elif(holds)
	case "else":
		err = open.Else()
	case "endif":
		err = open.Endif()
	}
	var misplaced macro.Misplaced
	if errors.As(err, &misplaced) {
		r.warn(at, "%s", misplaced)
		return nil
	}
	return err
}

// holds tells whether a condition is true. One that cannot be told is taken as
// false, with a warning. A literal may be any constant expression here.
func (r *reader) holds(condition string, at Place) (bool, error) {
	x, err := r.expand(condition, at)
	if err != nil {
		return false, err
	}
	c, wrong := macro.ParseCondition(x.Text)
	if wrong == nil {
		return c.Holds(r.defined, version), nil
	}
	switch c.Word {
	case "defined":
		return c.Not, nil // there is no macro of such a name
	case "version":
		r.warn(at, "if %s: taken as false; want version, then ==, >= or <=, then x.y.z", shorten(condition))
		return false, nil
	}
	yes, ok := Truth(c.Rest)
	if !ok {
		r.warn(at, "if %s: taken as false, as it cannot be told here", shorten(condition))
	}
	return ok && yes != c.Not, nil
}

// defined tells whether there is a macro of the name that is worth something.
func (r *reader) defined(name string) bool {
	m, ok := r.Lookup(name)
	return ok && m.Text != "" || !ok && isBuiltin(name)
}
