package spool

import (
	"os"
	"path/filepath"
)

// Inside tells whether a file or folder, which need not be there yet, is a
// directory or lies in it, by whatever name: also through symbolic links.
func Inside(name, dir string) bool {
	home, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if name, err = filepath.Abs(name); err != nil {
		return false
	}
	for {
		info, err := os.Stat(name)
		if err == nil && os.SameFile(info, home) {
			return true
		}
		if real, e := filepath.EvalSymlinks(name); err == nil && e == nil {
			name = real
		}
		parent := filepath.Dir(name)
		if parent == name {
			return false
		}
		name = parent
	}
}
