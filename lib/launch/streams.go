package launch

import (
	"path/filepath"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// appends tells whether output and error keep what they hold: those that AppendFiles
// names at any time, and both, when this is not the job's first start, of a job with
// DontAppend = false or one that writes checkpoints, which goes on where it was.
func (j Job) appends(ad *classad.Ad) (out, err bool, _ error) {
	names, e := text(ad, pool.AttrAppendFiles, "")
	if e != nil {
		return false, false, e
	}
	both := false
	c := &classad.Context{}
	if starts, ok := ad.EvalInt(c, pool.AttrNumJobStarts); ok && starts > 0 {
		erases, given := ad.EvalBool(c, pool.AttrDontAppend)
		both = given && !erases || writesCheckpoints(ad)
	}
	return both || j.isListed(names, j.Out), both || j.isListed(names, j.Err), nil
}

// isListed tells whether a list names a file: by its path or its last name alone, with
// * for anything.
func (j Job) isListed(names, path string) bool {
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if matches(name, filepath.Base(path)) || matches(j.path(name), path) {
			return true
		}
	}
	return false
}

// matches tells whether a text is what a pattern says, in which * is anything.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}
