package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fairspool/lib/pool"
)

// maxTold is how many places of one command are told of by name.
const maxTold = 10

// places are the commands that name a place, each with the attribute that it
// becomes and what tells what is wrong there; nil: a file is to be written there.
var places = [...]struct {
	command, attr string
	look          func(path string) error
}{
	{"executable", pool.AttrCmd, program},
	{"input", pool.AttrIn, source},
	{"output", pool.AttrOut, nil},
	{"error", pool.AttrErr, nil},
	{"log", pool.AttrUserLog, nil},
}

// warnOfPlaces looks for what will keep the jobs from running: files and
// folders that are not there, an executable that is none. They may be made
// in time, so that is no error. Each place is looked at and told of once.
func (s *submission) warnOfPlaces(k cluster) {
	if s.Has("disable") {
		return
	}
	l := newLooking(k)
	var named, more [len(places)]int
	for _, r := range k.Runs {
		l.at(r)
		for i, p := range places {
			place, err := l.new(i)
			switch {
			case err == nil || l.told[place]:
				continue
			case named[i] == maxTold:
				more[i]++
			default:
				named[i]++
				s.warn("%s: %s: %v", p.command, place, err)
			}
			l.told[place] = true
		}
	}
	for i, n := range more {
		if n > 0 {
			s.warn("%s: and %d more like these", places[i].command, n)
		}
	}
}

// looking is a look at the places of a cluster's jobs.
type looking struct {
	*texts
	begun   [len(places)]bool            // for each command, whether a place was looked at
	seen    [len(places)]map[string]bool // and which, where nothing is written
	folders map[string]*folder
	told    map[string]bool // places that were told of
}

func newLooking(k cluster) *looking {
	l := &looking{texts: newTexts(k), folders: map[string]*folder{}, told: map[string]bool{}}
	for i := range l.seen {
		l.seen[i] = map[string]bool{}
	}
	return l
}

// new looks at the place of a command if it has not been looked at, and returns
// what is wrong where.
func (l *looking) new(i int) (place string, err error) {
	p := &places[i]
	if l.begun[i] && !l.run.Has(p.attr) && !l.run.Has(pool.AttrIwd) {
		return "", nil
	}
	path, dir := l.text(p.attr), ""
	if path == "" {
		return "", nil
	}
	l.begun[i] = true
	if !filepath.IsAbs(path) {
		dir = l.text(pool.AttrIwd)
	}
	if p.look == nil {
		return l.target(dir, path)
	}
	if dir != "" {
		path = filepath.Join(dir, path)
	}
	if l.seen[i][path] {
		return "", nil
	}
	l.seen[i][path] = true
	return path, p.look(path)
}

// program looks at what is to be run. Whether it is there was looked at when the
// description was checked.
func program(path string) error {
	if st, err := os.Stat(path); err == nil && st.Mode()&0o111 == 0 {
		return errors.New("may not be executed: chmod +x it")
	}
	return nil
}

// source looks at a file that is to be read.
func source(path string) error { return exists(path, false) }

// target looks at a file that is to be written, by its path from dir on: what is
// wrong may be the file or its folder. There may be one for each of very many
// procs, so that no path is put together unless something is wrong.
func (l *looking) target(dir, name string) (string, error) {
	if dir == "" || strings.Contains(name, "/") || name == "." || name == ".." {
		path := filepath.Join(dir, name)
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	f := l.folders[dir]
	if f == nil {
		f = &folder{name: filepath.Clean(dir)}
		f.wrong = exists(f.name, true)
		l.folders[dir] = f
	}
	if f.wrong != nil {
		return f.name, f.wrong
	}
	if f.has(name) {
		return filepath.Join(f.name, name), errors.New("is a folder")
	}
	return "", nil
}

const (
	// fewTargets are looked at one by one; for more of them the folder is listed.
	fewTargets = 100
	// maxListed bounds the list: a folder with more names is not worth it.
	maxListed = 1 << 20
)

// folder is one in which files are to be written.
type folder struct {
	name   string
	wrong  error           // why nothing can be written there
	asked  int             // so many files were asked for
	listed bool            // it was tried
	nested map[string]bool // names that are, or may be, folders; nil: not known
}

// has tells whether a name in the folder is another folder.
func (f *folder) has(name string) bool {
	if f.asked++; f.asked > fewTargets {
		if !f.listed {
			f.listed, f.nested = true, foldersIn(f.name)
		}
		if f.nested != nil && !f.nested[name] {
			return false
		}
	}
	st, err := os.Stat(filepath.Join(f.name, name))
	return err == nil && st.IsDir()
}

// foldersIn returns the names in a folder that are not files; nil if these are
// not to be had cheaply.
func foldersIn(dir string) map[string]bool {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	found := map[string]bool{}
	for n := 0; n < maxListed; {
		list, err := d.ReadDir(4096)
		for _, e := range list {
			if !e.Type().IsRegular() {
				found[e.Name()] = true
			}
		}
		n += len(list)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return nil
		}
	}
	return nil
}
