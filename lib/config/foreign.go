package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/nearest"
)

// MostForeign bounds a file that was written for another program, in bytes. A larger file
// is something else, and every command reads it.
const MostForeign = 16 << 20

// ReadForeign returns the path and the text of a file that was written for another program.
// The name is relative to the folder. The error is not one of fs: callers take that for one
// of the configuration file's own, and go on without it.
func ReadForeign(folder, name string) (path, text string, err error) {
	if path = name; !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	why := func(err error) (string, string, error) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", "", fmt.Errorf("%s: %v", OneLine(path), err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return why(err)
	case !info.Mode().IsRegular():
		return why(errors.New("want a file")) // nothing may ever come out of a FIFO
	case info.Size() > MostForeign:
		return why(fmt.Errorf("%d bytes: want at most %d", info.Size(), MostForeign))
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return why(err)
	}
	return path, string(all), nil
}

// Foreign is a reader's place in a file that was written for another program, and the
// file's oddities. Problems in such a file are warnings, never errors.
type Foreign struct {
	File     string
	Line     int
	Warnings []string
	more     int               // warnings beyond MostWarnings
	hints    map[string]string // by unknown name
}

// MostWarnings keeps a file that is something else from filling terminals and mailboxes.
const MostWarnings = 1000

// From returns the place of the line.
func (f *Foreign) From() Origin { return Origin{File: f.File, Line: f.Line} }

// full reports whether there are enough warnings, and counts one more if so.
func (f *Foreign) full() bool {
	if len(f.Warnings) < MostWarnings {
		return false
	}
	f.more++
	return true
}

// Add adds a warning that has its place.
func (f *Foreign) Add(warning string) {
	if !f.full() {
		f.Warnings = append(f.Warnings, Shortened(warning))
	}
}

// Tell reports a problem of the line.
func (f *Foreign) Tell(note string) {
	if !f.full() {
		f.Warnings = append(f.Warnings, f.From().String()+": "+Shortened(note))
	}
}

// Warn reports a problem of a name; an empty note reports nothing.
func (f *Foreign) Warn(name, note string) {
	if note != "" && !f.full() {
		f.Warnings = append(f.Warnings, f.From().String()+": "+Shortened(name)+": "+Shortened(note))
	}
}

// TellMore tells how many warnings there are beyond MostWarnings.
func (f *Foreign) TellMore() {
	if f.more > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s: %d more warnings", f.File, f.more))
	}
}

// MostShown bounds the shown part of a name or of a problem, in bytes: a line may be as long
// as the file.
const MostShown = 300

func Shortened(text string) string {
	if len(text) <= MostShown {
		return text
	}
	return strings.ToValidUTF8(text[:MostShown], "") + "..."
}

// MostHints keeps a file that is something else from taking long: a hint takes half a
// millisecond, and every command reads the file.
const MostHints = 50

// Hint returns the known name that an unknown one resembles, as nearest.Hint does, for the
// first of them.
func (f *Foreign) Hint(name string, known []string) string {
	of := known[0] + " " + name // attributes and parameters have names of their own
	hint, ok := f.hints[of]
	if !ok && len(f.hints) < MostHints {
		hint = nearest.Hint(name, known)
		if f.hints == nil {
			f.hints = map[string]string{}
		}
		f.hints[of] = hint
	}
	return hint
}

// ErrNotServed is the error of a key that another version may serve.
var ErrNotServed = errors.New("not part of this version")

// LaterKeys are names of keys that the manuals have and this version does not serve, each with
// the value that asks for nothing; empty: there is no such value. The keys are refused by
// name, so that no setting seems to be in force that is not.
type LaterKeys map[string]string

// LaterNames returns what reads the keys of a list when they are first asked for, as NAME or
// NAME=VALUE with blanks between.
func LaterNames(list string) func() LaterKeys {
	return sync.OnceValue(func() LaterKeys {
		keys := LaterKeys{}
		for _, word := range strings.Fields(list) {
			name, value, _ := strings.Cut(word, "=")
			keys[name] = value
		}
		return keys
	})
}

// later are the keys at the top of the file.
var later = LaterNames(`
	ACCOUNTANT_DATABASE_FILE MAX_ACCOUNTANT_DATABASE_SIZE
	NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES=false FORCE_NEGOTIATOR_SLOT_WEIGHT=false
	NEGOTIATOR_CYCLE_DELAY=0 NEGOTIATOR_TIMEOUT
	NEGOTIATOR_MAX_TIME_PER_CYCLE=31536000 NEGOTIATOR_MAX_TIME_PER_SCHEDD=31536000
	NEGOTIATOR_MAX_TIME_PER_SUBMITTER=31536000 NEGOTIATOR_MAX_TIME_PER_PIESPIN=31536000
	ALLOW_PSLOT_PREEMPTION=false NEGOTIATOR_SUBMITTER_CONSTRAINT=true
	NEGOTIATOR_UPDATE_AFTER_CYCLE=false NEGOTIATOR_UPDATE_INTERVAL
	NEGOTIATOR_CROSS_SLOT_PRIOS=false NEGOTIATOR_INFORM_STARTD=false
	NEGOTIATOR_PREFETCH_REQUESTS=false NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE=1 NEGOTIATOR_NUM_THREADS=1
	USE_RESOURCE_REQUEST_COUNTS=false
	CONSUMPTION_POLICY=false PRIORITY_FACTOR_AUTHORIZATION=false
	START=true RANK=0 PREEMPT=false KILL=false WANT_VACATE=true
	JOB_DEFAULT_NOTIFICATION=never DEFAULT_UNIVERSE=vanilla DEFAULT_RANK=0 SUBMIT_ATTRS
	MAX_JOBS_SUBMITTED=2147483647 MAX_JOBS_RUNNING=2147483647
	JOB_TRANSFORM_NAMES SUBMIT_MAX_PROCS_IN_CLUSTER=0 SUBMIT_ALLOW_GETENV=true
	IMMUTABLE_JOB_ATTRS PROTECTED_JOB_ATTRS SECURE_JOB_ATTRS
	SYSTEM_PERIODIC_HOLD=false SYSTEM_PERIODIC_RELEASE=false SYSTEM_PERIODIC_REMOVE=false SYSTEM_PERIODIC_VACATE=false`)

// Take returns an error for a key that is one of these, unless it is set to nothing or to what
// asks for nothing. ok reports whether it is one.
func (l LaterKeys) Take(name string, value any) (ok bool, err error) {
	nothing, ok := l[name]
	if ok && !asksNothing(nothing, value) {
		err = ErrNotServed
	}
	return ok, err
}

// AsksNothing reports whether a key at the top of the file is one that the manuals have and this
// version does not serve, and whether the value asks for nothing, so that the key is taken.
func AsksNothing(key string, value any) (known, nothing bool) {
	known, err := later().Take(key, value)
	return known, known && err == nil
}

// asksNothing reports whether a value is empty or the one that asks for nothing, however that is
// written.
func asksNothing(nothing string, value any) bool {
	text, ok := PlainText(value)
	if yes, is := value.(bool); is {
		text, ok = fmt.Sprint(yes), true
	}
	text = strings.TrimSpace(text)
	switch {
	case !ok:
		return false
	case text == "" || strings.EqualFold(text, nothing):
		return true
	case nothing == "0":
		return strings.Contains(text, "0") && strings.Trim(text, "0:.") == "" // also 0.0 and 00:00:00
	case nothing == "false" || nothing == "true":
		return truthWord(text) == nothing
	}
	x, wrong := strconv.ParseFloat(text, 64)
	y, also := strconv.ParseFloat(nothing, 64)
	return wrong == nil && also == nil && x == y
}

// truthWord returns true or false, as the word means; empty for any other word.
func truthWord(word string) string {
	switch strings.ToLower(word) {
	case "true", "yes", "on", "1":
		return "true"
	case "false", "no", "off", "0":
		return "false"
	}
	return ""
}
