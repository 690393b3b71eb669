package launch

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Files of a job travel in a tar archive. The first part of an entry's name says what the entry is; the last entry only
// marks the end.
const (
	partFiles      = "files"      // inputs, or the job's output; below it are paths in the scratch directory
	partKept       = "kept"       // likewise what an earlier attempt has left: comes over the inputs
	partExecutable = "executable" // this and the next three are files
	partStdin      = "stdin"
	partStdout     = "stdout"
	partStderr     = "stderr"
	partEnd        = "end"
)

// linkError is an error of the stream that carries files, and of none of the files.
type linkError struct{ err error }

func (e *linkError) Error() string { return "files between machines: " + e.err.Error() }

func (e *linkError) Unwrap() error { return e.err }

// toLink and fromLink make linkErrors of a stream's errors.
type (
	toLink   struct{ io.Writer }
	fromLink struct{ io.Reader }
)

func (w toLink) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if err != nil {
		err = &linkError{err}
	}
	return n, err
}

func (r fromLink) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		err = &linkError{err}
	}
	return n, err
}

const (
	// bufferSize is how much of a file is read and written at once.
	bufferSize = 512 << 10
	// headSize is the buffer of an archive, which large files pass over.
	headSize = 64 << 10
)

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// stream copies all of from, and returns the number of bytes. It uses a buffer of ours: those of os.File are
// small.
func stream(ctx context.Context, from io.Reader, to io.Writer) (n int64, err error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		const most = 16 * bufferSize // between two looks at the context
		m, err := io.CopyBuffer(struct{ io.Writer }{to}, io.LimitReader(from, most), buffer[:])
		if n += m; err != nil || m < most {
			return n, err
		}
	}
}

// inArchive makes copies in an archive, of paths below a directory. A later entry
// replaces an earlier one when it is unpacked.
type inArchive struct {
	tar  *tar.Writer
	out  *bufio.Writer
	top  string // the directory
	part string // the part of the archive with its paths; empty: they are parts
	torn bool   // an entry is not whole, and the archive cannot go on
}

func newArchive(w io.Writer, top string) *inArchive {
	out := bufio.NewWriterSize(toLink{w}, headSize)
	return &inArchive{tar: tar.NewWriter(out), out: out, top: top}
}

var errShorter = errors.New("became shorter while it was copied")

// put begins an entry. PAX keeps times and names as they are.
func (a *inArchive) put(path string, h tar.Header) error {
	name, err := filepath.Rel(a.top, path)
	if err != nil {
		return err
	}
	h.Name, h.Format = filepath.Join(a.part, name), tar.FormatPAX
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return a.tar.WriteHeader(&h)
}

func (a *inArchive) folder(path string, perm fs.FileMode) (made bool, err error) {
	if path == a.top {
		return false, nil
	}
	return false, a.put(path, tar.Header{Typeflag: tar.TypeDir, Mode: int64(perm)})
}

func (a *inArchive) file(ctx context.Context, from io.Reader, info fs.FileInfo, path string) error {
	err := a.put(path, tar.Header{Typeflag: tar.TypeReg, Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()})
	if err == nil && info.Size() > headSize {
		err = a.out.Flush() // so that the buffer is passed over
	}
	if err != nil {
		return err
	}
	n, err := stream(ctx, io.LimitReader(from, info.Size()), a.tar)
	if err == nil && n < info.Size() {
		err = errShorter
	}
	a.torn = err != nil
	return err
}

func (a *inArchive) link(to, path string) error {
	return a.put(path, tar.Header{Typeflag: tar.TypeSymlink, Linkname: to})
}

// end says that the archive is whole.
func (a *inArchive) end() error {
	err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: partEnd, Format: tar.FormatPAX})
	if err == nil {
		err = a.tar.Close()
	}
	if err == nil {
		err = a.out.Flush()
	}
	return err
}

// unpacker unpacks an archive into a directory that was empty, while no other process makes anything there. It does not
// trust the archive: it makes all entries below the directory, and follows no link of the archive. Later entries
// replace earlier ones.
type unpacker struct {
	ctx    context.Context
	tar    *tar.Reader
	into   inScratch
	top    string
	places map[string]string // where parts are that are files, by their names at the top of the directory
	kept   func()            // if not nil, files of an earlier attempt may follow; called when no inputs do
	bytes  *int64            // counts what came of files, if not nil

	folders map[string]bool // that were made, and are there
	modes   map[string]fs.FileMode
}

var (
	errCut    = errors.New("they did not all arrive")
	errName   = errors.New("not a name that a file may have there")
	errSort   = errors.New("neither a file nor a directory nor a symbolic link")
	errBehind = errors.New("something follows their end")
)

// unpack unpacks the archive that r is. Errors are linkErrors if they are not of a file that was to be made.
func (u *unpacker) unpack(r io.Reader) error {
	u.tar = tar.NewReader(bufio.NewReaderSize(fromLink{r}, headSize))
	u.folders, u.modes = map[string]bool{}, map[string]fs.FileMode{}
	for {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		h, err := u.tar.Next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errCut
		}
		if err != nil {
			return broken(err)
		}
		if h.Name == partEnd {
			break
		}
		path, err := u.path(h)
		if err != nil {
			return &linkError{fmt.Errorf("%.200q: %w", h.Name, err)}
		}
		if err := u.entry(h, path); err != nil {
			return err
		}
	}
	if _, err := u.tar.Next(); err != io.EOF {
		return &linkError{errBehind}
	}
	u.beyondInputs()
	return u.close()
}

// broken makes a linkError of an error that may be one.
func broken(err error) error {
	var e *linkError
	if errors.As(err, &e) {
		return e
	}
	return &linkError{err}
}

func (u *unpacker) beyondInputs() {
	if u.kept != nil {
		u.kept()
		u.kept = nil
	}
}

// path returns where an entry belongs.
func (u *unpacker) path(h *tar.Header) (string, error) {
	name := h.Name
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeSymlink:
	case tar.TypeDir:
		name = strings.TrimSuffix(name, "/")
	default:
		return "", errSort
	}
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") { // a few bytes could fill the disk
			return "", errSort
		}
	}
	part, below, _ := strings.Cut(name, "/")
	if filepath.Clean(name) != name { // so it stays below its part
		return "", errName
	}
	if part != partFiles {
		u.beyondInputs()
	}
	if place := u.places[part]; place != "" && below == "" && h.Typeflag == tar.TypeReg {
		return filepath.Join(u.top, place), nil
	}
	if _, brings := u.places[partKept]; below == "" || part != partFiles && !(brings && part == partKept) {
		return "", errName
	}
	return filepath.Join(u.top, below), nil
}

// entry makes what an entry has.
func (u *unpacker) entry(h *tar.Header, path string) error {
	if len(path) >= unix.PathMax {
		return &fs.PathError{Op: "open", Path: path, Err: unix.ENAMETOOLONG}
	}
	if err := u.above(path); err != nil {
		return err
	}
	info := h.FileInfo()
	if h.Typeflag == tar.TypeDir {
		return u.folder(path, info.Mode().Perm())
	}
	u.forget(path)
	if h.Typeflag == tar.TypeSymlink {
		return u.into.link(h.Linkname, path)
	}
	err := u.into.file(u.ctx, entry{u.tar}, info, path)
	if err == nil && u.bytes != nil {
		*u.bytes += info.Size()
	}
	return err
}

// entry is what an entry holds.
type entry struct{ *tar.Reader }

func (e entry) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = &linkError{errCut}
	case err != nil && err != io.EOF:
		err = broken(err)
	}
	return n, err
}

// above makes the directories that lead to a path, as far as they are not there.
func (u *unpacker) above(path string) error {
	dir := filepath.Dir(path)
	if dir == u.top || u.folders[dir] {
		return nil
	}
	if err := u.above(dir); err != nil {
		return err
	}
	return u.folder(dir, 0o755)
}

// folder makes a directory. Its owner may do anything there until all is unpacked.
func (u *unpacker) folder(path string, perm fs.FileMode) error {
	made, err := u.into.folder(path, perm)
	if err != nil {
		return err
	}
	u.folders[path] = true
	if before, is := u.modes[path]; made || is && before&all != all {
		u.modes[path] = perm
	}
	return nil
}

// forget forgets a directory that another entry replaces, and the directories in it.
func (u *unpacker) forget(path string) {
	if !u.folders[path] {
		return
	}
	for dir := range u.folders {
		if dir == path || strings.HasPrefix(dir, path+"/") {
			delete(u.folders, dir)
			delete(u.modes, dir)
		}
	}
}

// close gives the directories their modes, those in others first.
func (u *unpacker) close() error {
	var paths []string
	for path := range u.modes {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range slices.Backward(paths) {
		if err := os.Chmod(path, u.modes[path]); err != nil {
			return err
		}
	}
	return nil
}
