package spool

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"fairspool/lib/plural"
)

// digestFiles returns the clusters for which there is a digest's file, ascending.
// What is called otherwise is somebody else's.
func (s *Spool) digestFiles() (clusters []int, err error) {
	entries, err := os.ReadDir(s.path("factories"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the spool was made before there were factories
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && strconv.Itoa(n) == e.Name() && e.Type().IsRegular() {
			clusters = append(clusters, n)
		}
	}
	slices.Sort(clusters)
	return clusters, err
}

// sweepDigests removes the digests that no reader of the generations can ask for:
// those of factories of which neither their tables nor their journals speak. The
// first generation is the one in force.
func (s *Spool) sweepDigests(kept []*generation) error {
	files, err := s.digestFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	named := map[int]bool{}
	for _, g := range kept {
		if err := s.nameDigests(g, named); err != nil {
			return err
		}
	}
	isNamed := func(cluster int) bool { return named[cluster] }
	if files = slices.DeleteFunc(files, isNamed); len(files) == 0 {
		return nil
	}
	// A writer may be making one of them just now: it is looked at again without
	// writers. Those who keep the lock leave it to a later fold.
	err = s.writing(func(w *writing) error {
		if w.current.Generation != kept[0].number {
			return nil
		}
		// What was dropped is to be so after a power cut too.
		if err := w.journal.Sync(); err != nil {
			return err
		}
		if err := s.nameDigests(kept[0], named); err != nil {
			return err
		}
		for _, cluster := range slices.DeleteFunc(files, isNamed) {
			if err := s.files.Remove(s.path(digestName(cluster))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrLocked) {
		return nil
	}
	return err
}

// nameDigests notes the factories of which a generation's table or journal speaks,
// also those that were dropped in it: somebody may have read only so far.
func (s *Spool) nameDigests(g *generation, named map[int]bool) error {
	var texts []chunk
	if load := s.tableOf(g, "factories"); load != nil {
		table, err := load()
		if err != nil {
			return err
		}
		texts = append(texts, table)
	}
	path := s.journal(g.number)
	journal, err := contents(s.files, path)
	if err != nil {
		return missing(path, err)
	}
	for _, c := range append(texts, chunk{text: journal}) {
		for _, line := range c.lines() {
			if !bytes.HasPrefix(line, []byte("F ")) {
				continue
			}
			if cluster, err := factoryKey(line); err == nil { // else the end of it is missing
				named[cluster] = true
			}
		}
	}
	return nil
}

// factories checks the digests of all factories, as the journal says, and mentions
// the others.
func (c *checker) factories(st *state, next int, sound bool) {
	rows, err := st.factories.all()
	if err != nil {
		c.digestless = "the table of factories is damaged"
		if sound { // or it was told when the table's file was looked at
			c.trouble("CURRENT", err)
		}
		return
	}
	for _, cluster := range slices.Sorted(maps.Keys(rows)) {
		name := digestName(cluster)
		c.named[name] = true
		if cluster >= next {
			c.damaged(name, 0, "its factory is of cluster %d, a number that was never given out", cluster)
			continue
		}
		err := c.s.eachDigestBlock(rows[cluster], func([]byte) error { return nil })
		if !c.trouble(name, err) {
			c.fine(name, "%s", plural.Count(int(rows[cluster].bytes), "byte"))
		}
	}
}

// digestsLeft mentions digests of no factory that was looked at.
func (c *checker) digestsLeft() {
	files, err := c.s.digestFiles()
	if c.trouble("factories", err) {
		return
	}
	for _, cluster := range files {
		switch name := digestName(cluster); {
		case c.named[name]:
		case c.digestless != "" || c.lost:
			c.fine(name, "not looked at: %s", cmp.Or(c.digestless, c.why))
		default:
			c.fine(name, leftOver)
		}
	}
}
