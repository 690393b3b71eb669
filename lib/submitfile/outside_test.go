package submitfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// outside is a world in memory.
type outside struct {
	files    map[string]string
	commands map[string]string // output by the words, joined by blanks
	stdin    string
	wrote    map[string]string
}

var errCommand = errors.New("exit status 3")

// options returns what reads a description in that world, in the folder /d.
func (w *outside) options() Options {
	return Options{
		Dir: "/d",
		Predefined: map[string]string{
			"ARCH": "X86_64", "OPSYS": "LINUX", "OPSYSVER": "1200", "OPSYSMAJORVER": "12", "OPSYSANDVER": "Debian12",
			"SPOOL": "/spool", "ISLINUX": "true", "ISWINDOWS": "false",
			"SUBMIT_TIME": "1700000000", "YEAR": "2023", "MONTH": "11", "DAY": "14",
		},
		LookupEnv: func(name string) (string, bool) {
			value, ok := map[string]string{"HOME": "/home/alice", "EMPTY": ""}[name]
			return value, ok
		},
		Read:  func(name string) (string, error) { return w.read(name) },
		Write: func(name, text string) error { w.wrote = map[string]string{name: text}; return nil },
		Run: func(words []string) (string, error) {
			out, ok := w.commands[strings.Join(words, " ")]
			if !ok {
				return "", errCommand
			}
			return out, nil
		},
		Glob:  w.glob,
		Stdin: func() (string, error) { return w.stdin, nil },
		Seed:  7,
	}
}

func (w *outside) read(name string) (string, error) {
	text, ok := w.files[name]
	if !ok {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return text, nil
}

// glob matches the names of files in /d, and of folders, which end in a slash.
func (w *outside) glob(pattern string) ([]string, error) {
	var out []string
	for name := range w.files {
		rel, ok := strings.CutPrefix(name, "/d/")
		if match, err := path.Match(pattern, strings.TrimSuffix(rel, "/")); err != nil {
			return nil, err
		} else if ok && match {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	return out, nil
}

// shown returns what the name show is worth for every proc of cluster 5.
func shown(d *Description) ([]string, error) {
	var out []string
	err := d.Walk(5, nil, func(j *Job) error {
		for {
			v, ok, err := j.Lookup("show")
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("proc %d has no show", j.Proc())
			}
			out = append(out, v.Text)
			if !j.Next() {
				return nil
			}
		}
	})
	return out, err
}

// worth reads a description a.sub and returns what show is worth, procs parted by " | ", or
// the error.
func (w *outside) worth(text string) string {
	d, _, err := Parse(text, "a.sub", w.options())
	if err != nil {
		return err.Error()
	}
	out, err := shown(d)
	if err != nil {
		return err.Error()
	}
	return strings.Join(out, " | ")
}

// check holds that each text gives what it should.
func (w *outside) check(t *testing.T, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		if got := w.worth(c[0]); got != c[1] {
			t.Errorf("Parse(%.300q) = %s, want %s", c[0], got, c[1])
		}
	}
}
