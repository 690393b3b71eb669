package submit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
)

// maxFile bounds a file that a description is read from, or takes items or
// lines from, in bytes.
const maxFile = 256 << 20

// readFile returns the text of a file or of a named pipe. The error says what
// is wrong, without the name.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", cmdline.Cause(err)
	}
	defer f.Close()
	return readAll(f)
}

// readAll returns all that there is to be read, if it is not too much.
func readAll(r io.Reader) (string, error) {
	var b strings.Builder
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && st.Size() <= maxFile {
			b.Grow(int(st.Size()))
		}
	}
	n, err := io.Copy(&b, io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return "", cmdline.Cause(err)
	case n > maxFile:
		return "", fmt.Errorf("larger than %d MB", maxFile>>20)
	}
	return b.String(), nil
}

// writeFile replaces a file as a whole.
func writeFile(path, text string) error {
	_, err := cmdline.Replace(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return cmdline.Cause(err)
}

// glob returns the paths that match a pattern of *, ? and [], sorted, those of
// folders with a slash at the end. As in a shell a name that begins with a dot
// is matched by a dot only, and a pattern that ends in a slash by folders only.
func glob(pattern string) ([]string, error) {
	here := ""
	if strings.HasPrefix(pattern, "./") { // filepath.Glob would lose it
		here = "./"
	}
	wanted := strings.TrimLeft(strings.TrimPrefix(pattern, here), "/")
	if here == "" {
		wanted = pattern
	}
	stem := strings.TrimRight(wanted, "/")
	if stem == "" {
		stem = wanted
	}
	found, err := filepath.Glob(negated(stem))
	if err != nil {
		return nil, errors.New("a [ that is not closed, or a \\ at the end")
	}
	slices.Sort(found)
	out := found[:0]
	for _, path := range found {
		if !shows(stem, path) {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			path = strings.TrimRight(path, "/") + "/"
		} else if stem != wanted {
			continue
		}
		out = append(out, here+path)
	}
	return out, nil
}

// negated writes [!a] as [^a], which is what filepath.Match knows.
func negated(pattern string) string {
	b := []byte(pattern)
	inside := false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '[' && !inside:
			inside = true
			if i+1 < len(b) && b[i+1] == '!' {
				b[i+1] = '^'
			}
		case b[i] == ']':
			inside = false
		}
	}
	return string(b)
}

// shows tells whether a path has only such names with a dot in front as the
// pattern that it matches asks for.
func shows(pattern, path string) bool {
	if !strings.Contains(path, "/.") && path[0] != '.' {
		return true
	}
	wanted, names := components(pattern), components(path)
	for i, name := range names {
		if name[0] == '.' && i < len(wanted) && wanted[i][0] != '.' && wanted[i][0] != '\\' {
			return false
		}
	}
	return true
}

func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// exists returns a *fault that says in a few words what is wrong with a path, nil for nothing.
func exists(path string, dir bool) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir:
		return &fault{"no such folder", unix.ENOENT}
	case errors.Is(err, fs.ErrNotExist):
		return &fault{"no such file", unix.ENOENT}
	case err != nil:
		return newFault(err)
	case dir && !st.IsDir():
		return &fault{"not a folder", unix.ENOTDIR}
	case !dir && st.IsDir():
		return &fault{"is a folder", unix.EISDIR}
	}
	return nil
}
