package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fairspool/lib/history"
	"fairspool/lib/plural"
)

// samples checks the files of samples and the names.
func (c *checker) samples() {
	text, err := contents(c.s.files, c.s.path(namesFile))
	if err == nil {
		n, _, bad := history.ParseNames(text)
		if c.altered(namesFile, bad) && n != nil {
			c.fine(namesFile, "%s", plural.Count(n.Len(), "name"))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.trouble(namesFile, err)
	}
	files, err := c.s.sampleFiles()
	if c.trouble(samplesDir, err) {
		return
	}
	for _, tier := range history.Tiers() {
		for _, name := range files[tier.Name] {
			c.sampleFile(samplesDir + "/" + name)
		}
	}
}

func (c *checker) sampleFile(name string) {
	f, err := c.s.files.Open(c.s.path(name), readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return // it was too old
	}
	if c.trouble(name, err) {
		return
	}
	defer f.Close()
	size, err := f.Size()
	if c.trouble(name, err) {
		return
	}
	blocks := 0
	found, err := history.Scan(whole(f, size), func(*history.Block) error { blocks++; return nil })
	if c.trouble(name, err) || !c.altered(name, found.Damaged) {
		return
	}
	torn := ""
	if found.End < size {
		torn = fmt.Sprintf(", and %s of one that was never completed", plural.Count(int(size-found.End), "byte"))
	}
	c.fine(name, "samples of %s%s", plural.Count(blocks, "moment"), torn)
}

// altered reports damage and tells whether there was none.
func (c *checker) altered(name string, bad []history.Damage) bool {
	for _, d := range bad {
		c.damaged(name, d.Line, "%s", d.Why)
	}
	return len(bad) == 0
}

// samplesSize returns the sizes of the files of samples, by tier.
func (s *Spool) samplesSize() (map[string]int64, error) {
	sizes := map[string]int64{}
	files, err := s.sampleFiles()
	for tier, names := range files {
		for _, name := range names {
			info, err := os.Stat(s.path(samplesDir + "/" + name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			sizes[tier] += info.Size()
		}
	}
	return sizes, err
}
