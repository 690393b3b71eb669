package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// leftovers mentions files that belong to nothing that was looked at: what a
// crash left and the next writer or fold removes, or, where an index is damaged,
// perhaps what it named.
func (c *checker) leftovers(entries []os.DirEntry) {
	for _, e := range entries {
		name := e.Name()
		n, generational := generationOf(name)
		switch {
		case c.named[name]:
		case name == unfinished || strings.HasSuffix(name, ".new"):
			c.fine(name, leftOver)
		case generational:
			c.unnamed(name, n)
		}
	}
	for _, dir := range []string{"jobs", "slots"} {
		in, err := os.ReadDir(c.s.path(dir))
		if !errors.Is(err, fs.ErrNotExist) && c.trouble(dir, err) {
			continue
		}
		for _, e := range in {
			n, _ := numbered(filepath.Ext(e.Name()), ".")
			if name := dir + "/" + e.Name(); !c.named[name] {
				c.unnamed(name, n)
			}
		}
	}
	c.digestsLeft()
	if !c.lost {
		return
	}
	for _, dir := range []string{"history", "log"} {
		in, _ := os.ReadDir(c.s.path(dir))
		for _, e := range in {
			c.fine(dir+"/"+e.Name(), "not looked at: %s", c.why)
		}
	}
}

// folders mentions the folders that are missing. What the spool says that was in
// them is missing by itself.
func (c *checker) folders() {
	for _, name := range folders {
		if _, err := os.Lstat(c.s.path(name)); errors.Is(err, fs.ErrNotExist) {
			c.fine(name, "missing: the next command that writes makes it anew")
		}
	}
}

// generationOf returns the number of a file that belongs to a generation by its
// name.
func generationOf(name string) (n int, ok bool) {
	if n, ok = numbered(name, "index."); ok {
		return n, true
	}
	return swept(name)
}

const leftOver = "left over, or on its way: it does not count"

// unnamed mentions a file of a generation, by its name, that no index names.
func (c *checker) unnamed(name string, generation int) {
	if c.blind > 0 && generation <= c.blind {
		c.fine(name, "not looked at: %s", c.why)
		return
	}
	c.fine(name, leftOver)
}
