package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"fairspool/lib/pool"
)

// maxTold is how many places of one command are told of by name.
const maxTold = 10

// places are the commands that name a place, each with the attribute that it
// becomes and what may be wrong there.
var places = [...]struct {
	command, attr string
	look          func(*looking, string) (path string, err error)
}{
	{"executable", pool.AttrCmd, (*looking).program},
	{"input", pool.AttrIn, (*looking).source},
	{"output", pool.AttrOut, (*looking).target},
	{"error", pool.AttrErr, (*looking).target},
	{"log", pool.AttrUserLog, (*looking).target},
}

// warnOfPlaces looks for what will keep the jobs from running: files and
// folders that are not there, an executable that is none. They may be made
// in time, so that is no error. Each place is looked at and told of once.
func (s *submission) warnOfPlaces(k cluster) {
	if s.Has("disable") {
		return
	}
	l := looking{texts: newTexts(k), seen: make([]map[string]bool, len(places)), folders: map[string]*folder{}, told: map[string]bool{}}
	for i := range l.seen {
		l.seen[i] = map[string]bool{}
	}
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
	seen    []map[string]bool // of each command, paths that were looked at
	folders map[string]*folder
	told    map[string]bool // places that were told of
}

// new looks at the place of a command if it has not been looked at, and returns
// what is wrong where.
func (l *looking) new(i int) (place string, err error) {
	p := places[i]
	if len(l.seen[i]) > 0 && !l.differs(p.attr, pool.AttrIwd) {
		return "", nil
	}
	path := l.text(p.attr)
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(l.text(pool.AttrIwd), path)
	}
	if path == "" || l.seen[i][path] {
		return "", nil
	}
	l.seen[i][path] = true
	return p.look(l, path)
}

// program looks at what is to be run. Whether it is there was looked at when the
// description was checked.
func (l *looking) program(path string) (string, error) {
	if st, err := os.Stat(path); err == nil && st.Mode()&0o111 == 0 {
		return path, errors.New("may not be executed: chmod +x it")
	}
	return path, nil
}

// source looks at a file that is to be read.
func (l *looking) source(path string) (string, error) { return path, exists(path, false) }

// target looks at a file that is to be written: what is wrong may be the file or
// its folder.
func (l *looking) target(path string) (string, error) {
	dir := filepath.Dir(path)
	f := l.folders[dir]
	if f == nil {
		f = &folder{name: dir, wrong: exists(dir, true)}
		l.folders[dir] = f
	}
	if f.wrong != nil {
		return dir, f.wrong
	}
	if f.has(filepath.Base(path)) {
		return path, errors.New("is a folder")
	}
	return path, nil
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
