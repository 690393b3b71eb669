package condorconfig

import (
	"strconv"
	"strings"
)

// version is the release of HTCondor that `if version` is asked against: one that is
// newer than any file, as the files are to be read as their newest form.
var version = [3]int{99, 0, 0}

// branch is one if that is not closed yet.
type branch struct {
	at     Place
	active bool // the statements that follow count, if those around do
	done   bool // some branch was taken
	last   bool // else has been
}

type branches []branch

// taken tells whether statements count now. A branch inside one that does not count is
// never active.
func (b branches) taken() bool { return len(b) == 0 || b[len(b)-1].active }

// branch carries out if, elif, else or endif.
func (r *reader) branch(open *branches, word, condition string, at Place) error {
	if word == "if" {
		now := branch{at: at}
		if open.taken() {
			yes, err := r.holds(condition, at)
			if err != nil {
				return err
			}
			now.active, now.done = yes, yes
		}
		*open = append(*open, now)
		return nil
	}
	if len(*open) == 0 {
		r.warn(at, "%s without if", word)
		return nil
	}
	now := &(*open)[len(*open)-1]
	around := (*open)[:len(*open)-1]
	if word == "endif" {
		*open = around
		return nil
	}
	if now.last {
		r.warn(at, "%s after else", word)
	}
	now.last = now.last || word == "else"
	now.active = !now.done && around.taken()
	if word == "elif" && now.active {
		yes, err := r.holds(condition, at)
		if err != nil {
			return err
		}
		now.active = yes
	}
	now.done = now.done || now.active
	return nil
}

// holds tells whether a condition is true. One that cannot be told is taken as
// false, with a warning.
func (r *reader) holds(condition string, at Place) (bool, error) {
	rest, not := strings.CutPrefix(condition, "!")
	rest = strings.TrimSpace(rest)
	switch word, behind := firstWord(rest); strings.ToLower(word) {
	case "defined":
		return r.defined(strings.TrimSpace(behind), not, at)
	case "version":
		yes, ok := compareVersion(strings.TrimSpace(behind))
		if !ok {
			r.warn(at, "if %s: taken as false; want version, then ==, >= or <=, then x.y.z", shorten(condition))
		}
		return ok && yes != not, nil
	}
	x, err := r.expand(rest, at)
	if err != nil {
		return false, err
	}
	yes, ok := Truth(x.Text)
	if len(x.Unknown) > 0 || !ok && x.Text != "" {
		r.warn(at, "if %s: taken as false, as it cannot be told here", shorten(condition))
		return false, nil
	}
	return yes != not, nil
}

func (r *reader) defined(name string, not bool, at Place) (bool, error) {
	x, err := r.expand(name, at)
	if err != nil {
		return false, err
	}
	m, ok := r.Lookup(strings.TrimSpace(x.Text))
	return (ok && m.Text != "" || !ok && isBuiltin(x.Text)) != not, nil
}

// compareVersion tells whether version stands in the relation to what follows it, as
// in ">= 8.1.6". A part that is left out is not compared.
func compareVersion(text string) (yes, ok bool) {
	for _, op := range []string{">=", "<=", "==", ">", "<"} {
		wanted, is := strings.CutPrefix(text, op)
		if !is {
			continue
		}
		parts := strings.Split(strings.TrimSpace(wanted), ".")
		if len(parts) > len(version) {
			return false, false
		}
		c := 0
		for i, p := range parts {
			n, err := strconv.Atoi(p)
			if err != nil {
				return false, false
			}
			if c == 0 && n != version[i] {
				c = 1
				if n > version[i] {
					c = -1
				}
			}
		}
		return c == 0 && strings.Contains(op, "=") || c > 0 && op[0] == '>' || c < 0 && op[0] == '<', true
	}
	return false, false
}
