package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mostMauiFile bounds a maui.cfg, in bytes: what is larger is something else, and every
// command reads it.
const mostMauiFile = 16 << 20

// readMauiFile returns the text of a maui.cfg. The error is not one of fs: callers take
// that for one of the configuration file's own, and go on without it.
func readMauiFile(path string) (string, error) {
	why := func(err error) (string, error) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", fmt.Errorf("%s: %v", oneLine(path), err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return why(err)
	case !info.Mode().IsRegular():
		return why(errors.New("want a file")) // nothing may ever come out of a FIFO
	case info.Size() > mostMauiFile:
		return why(fmt.Errorf("%d bytes: want at most %d", info.Size(), mostMauiFile))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return why(err)
	}
	return string(text), nil
}
