package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sweep removes the generations that are no longer in force, save those that
// a reader has pinned, and every file that none of the others names. It runs
// under fold.lock.
func (s *Spool) sweep(current int) error {
	s.forget() // or what it has pinned itself could not go
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	kept, retired := []int{current}, false
	for _, e := range entries {
		n, ok := numbered(e.Name(), "index.")
		if !ok || n == current {
			continue
		}
		gone, err := s.retire(n)
		if err != nil {
			return err
		}
		if !gone {
			kept = append(kept, n)
		}
		retired = retired || gone
	}
	if retired {
		// Or a power cut brings back an index whose files are gone.
		if err := s.files.SyncDir(s.dir); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	var generations []*generation
	for _, n := range kept {
		g, err := s.readGeneration(n)
		if err != nil {
			return err
		}
		g.name(named)
		generations = append(generations, g)
	}
	if err := s.sweepDigests(generations); err != nil {
		return err
	}
	return s.removeUnnamed(entries, named)
}

// retire removes the index of a generation and its journal, unless somebody
// has pinned it.
func (s *Spool) retire(n int) (gone bool, err error) {
	pin, err := lockFile(s.files, s.indexFile(n), readWrite, false, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer pin.Unlock()
	return true, s.files.Remove(s.indexFile(n))
}

// name notes the files that belong to a generation.
func (g *generation) name(named map[string]bool) {
	named["index."+strconv.Itoa(g.number)] = true
	named["journal."+strconv.Itoa(g.number)] = true
	for _, f := range g.jobs {
		named["jobs/"+f.name] = true
	}
	for _, f := range g.slots {
		named["slots/"+f.name] = true
	}
	for _, t := range g.tables {
		named[t.name] = true
	}
}

// swept returns the number of a journal's or a small table's file.
func swept(name string) (n int, ok bool) {
	kind, _, _ := strings.Cut(name, ".")
	if kind != "journal" && !slices.Contains(tableNames, kind) {
		return 0, false
	}
	return numbered(name, kind+".")
}

// removeUnnamed removes the files of generations that are gone. What is called
// otherwise than they are is somebody else's.
func (s *Spool) removeUnnamed(entries []os.DirEntry, named map[string]bool) error {
	var names []string
	for _, e := range entries {
		if _, ok := swept(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	for _, dir := range []string{"jobs", "slots"} {
		in, err := os.ReadDir(s.path(dir))
		if err != nil {
			return err
		}
		for _, e := range in {
			if _, ok := numbered(filepath.Ext(e.Name()), "."); ok && e.Type().IsRegular() {
				names = append(names, dir+"/"+e.Name())
			}
		}
	}
	for _, name := range names {
		if named[name] {
			continue
		}
		if err := s.files.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// numbered returns the number in names such as journal.7.
func numbered(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && strconv.Itoa(n) == rest
}
