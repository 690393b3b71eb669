package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairspool/lib/nearest"
)

// mostForeign bounds a file that was written for another program, in bytes: what is larger
// is something else, and every command reads it.
const mostForeign = 16 << 20

// readForeign returns where a file lies that was written for another program, and its text.
// The name is relative to the folder. The error is not one of fs: callers take that for one
// of the configuration file's own, and go on without it.
func readForeign(folder, name string) (path, text string, err error) {
	if path = name; !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	why := func(err error) (string, string, error) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", "", fmt.Errorf("%s: %v", oneLine(path), err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return why(err)
	case !info.Mode().IsRegular():
		return why(errors.New("want a file")) // nothing may ever come out of a FIFO
	case info.Size() > mostForeign:
		return why(fmt.Errorf("%d bytes: want at most %d", info.Size(), mostForeign))
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return why(err)
	}
	return path, string(all), nil
}

// foreign is where somebody is in a file that was written for another program, and what was
// odd there. What is wrong in such a file is a warning, and never an error.
type foreign struct {
	file     string
	line     int
	warnings []string
	more     int               // warnings beyond mostWarnings
	hints    map[string]string // by unknown name
}

// mostWarnings keeps a file that is something else from filling terminals and mailboxes.
const mostWarnings = 1000

// full tells whether there are enough warnings, and counts one more if so.
func (f *foreign) full() bool {
	if len(f.warnings) < mostWarnings {
		return false
	}
	f.more++
	return true
}

func (f *foreign) from() origin { return origin{file: f.file, line: f.line} }

func (f *foreign) at() string { return f.from().String() }

// tellOf tells what is wrong with the line.
func (f *foreign) tellOf(note string) {
	if !f.full() {
		f.warnings = append(f.warnings, f.at()+": "+shortened(note))
	}
}

// warn tells what is wrong with a name; an empty note tells nothing.
func (f *foreign) warn(name, note string) {
	if note != "" && !f.full() {
		f.warnings = append(f.warnings, f.at()+": "+shortened(name)+": "+shortened(note))
	}
}

// tellMore tells how many warnings there are beyond mostWarnings.
func (f *foreign) tellMore() {
	if f.more > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %d more warnings", f.file, f.more))
	}
}

// mostShown is how much is shown of a name or of what is wrong with it, in bytes: a line may
// be as long as the file.
const mostShown = 300

func shortened(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + "..."
}

// mostHints keeps a file that is something else from taking long: a hint takes half a
// millisecond, and every command reads the file.
const mostHints = 50

// hint returns the known name that an unknown one resembles, as nearest.Hint does, for the
// first of them.
func (f *foreign) hint(name string, known []string) string {
	of := known[0] + " " + name // attributes and parameters have names of their own
	hint, ok := f.hints[of]
	if !ok && len(f.hints) < mostHints {
		hint = nearest.Hint(name, known)
		if f.hints == nil {
			f.hints = map[string]string{}
		}
		f.hints[of] = hint
	}
	return hint
}
