package launch

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// tarEntry is an entry of a malicious archive.
type tarEntry struct {
	kind       byte
	name, text string
}

// archive returns a stream of such entries; OUT in names is outside.
func archive(outside string, items ...tarEntry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(s string) string { return strings.ReplaceAll(s, "OUT", outside) }
	for _, i := range items {
		h := &tar.Header{Typeflag: i.kind, Name: put(i.name), Mode: 0o755, Format: tar.FormatPAX}
		switch i.kind {
		case tar.TypeReg:
			h.Size = int64(len(i.text))
		case tar.TypeSymlink, tar.TypeLink:
			h.Linkname = put(i.text)
		}
		if w.WriteHeader(h) == nil && i.kind == tar.TypeReg {
			io.WriteString(w, i.text)
		}
	}
	w.Close()
	return b.Bytes()
}

// canary is what stands outside of the directories that archives are unpacked to, and may neither be changed nor read.
const canary = "nobody else's"

// hostileAttempt returns an attempt whose machine sends what it likes.
func hostileAttempt(t *testing.T) (a attempt, outside string) {
	b := newBench(t).apartFrom()
	outside = t.TempDir()
	b.write(outside, "secret", canary, 0o600)
	b.write(outside, "dir/secret", canary, 0o600)
	b.write(b.iwd, "old", "O", 0o644)
	b.write(b.iwd, "dir/old", "O", 0o644)
	return b.attempt("TransferInput", `"dir"`, "TransferOutput", `"out, d/deep, dir, ./"`, "Out", `"stdout"`, "Err", `"stderr"`, "CheckpointExitCode", "85", "TransferExecutable", "false"), outside
}

// endure has all that reads archives read this one.
func (a attempt) endure(stream []byte, outside string) (errs []error) {
	before := tree(a.T, outside)
	for _, of := range []Files{Output, Checkpoint, Rest} {
		err := a.job.TakeBack(context.Background(), bytes.NewReader(stream), of)
		errs = append(errs, err)
	}
	_, err := a.there.Receive(context.Background(), bytes.NewReader(stream))
	errs = append(errs, err)
	if err == nil { // the same files go back, and those that came here go there
		for _, of := range []Files{Rest, Checkpoint} {
			through(
				func(w io.Writer) error { return a.there.SendBack(context.Background(), w, Placed{}, of) },
				func(r io.Reader) error { return a.job.TakeBack(context.Background(), r, of) })
		}
	}
	a.tryPlace(context.Background())
	if after := tree(a.T, outside); after != before {
		a.Errorf("outside was %s and is %s", before, after)
	}
	for _, dir := range []string{a.iwd, a.staging, a.execute} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&^fs.ModeDir&^fs.ModeSymlink != 0 {
				a.Errorf("%s is %v, %v", path, d, err)
			}
			if text, _ := os.ReadFile(path); err == nil && d.Type().IsRegular() && string(text) == canary {
				a.Errorf("%s holds what is outside", path)
			}
			return nil
		})
	}
	for _, dir := range []string{a.staging, a.execute} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Name() != "12.0.kept" && (e.Name() != "12.0.1" || dir == a.staging) {
				a.Errorf("%s has %s", dir, e.Name())
			}
		}
	}
	return errs
}

// hostile are archives, and what becomes of them.
var hostile = []struct {
	name  string
	items []tarEntry
	whole bool // it can be unpacked
}{
	{"up", []tarEntry{{tar.TypeReg, "files/../../x", "X"}}, false},
	{"up at the top", []tarEntry{{tar.TypeReg, "../x", "X"}}, false},
	{"absolute", []tarEntry{{tar.TypeReg, "OUT/x", "X"}}, false},
	{"absolute below", []tarEntry{{tar.TypeReg, "files/OUT/x", "X"}}, false}, // files//...
	{"not clean", []tarEntry{{tar.TypeReg, "files/./x", "X"}}, false},
	{"of no part", []tarEntry{{tar.TypeReg, "x", "X"}}, false},
	{"the directory itself", []tarEntry{{tar.TypeSymlink, "files", "OUT"}}, false},
	{"a part as a directory", []tarEntry{{tar.TypeDir, "stdout/", ""}}, false},
	{"a part as a link", []tarEntry{{tar.TypeSymlink, "stdout", "OUT/secret"}}, false},
	{"below a part", []tarEntry{{tar.TypeReg, "stdout/x", "X"}}, false},
	{"a hard link", []tarEntry{{tar.TypeLink, "files/x", "OUT/secret"}}, false},
	{"a device", []tarEntry{{tar.TypeChar, "files/x", ""}}, false},
	{"a block device", []tarEntry{{tar.TypeBlock, "files/x", ""}}, false},
	{"a pipe", []tarEntry{{tar.TypeFifo, "files/x", ""}}, false},
	{"a link, and a file through it", []tarEntry{{tar.TypeSymlink, "files/d", "OUT"}, {tar.TypeReg, "files/d/deep", "X"}}, true},
	{"a link, and a directory through it", []tarEntry{{tar.TypeSymlink, "files/d", "OUT"}, {tar.TypeDir, "files/d/new", ""}}, true},
	{"a file through a link in a directory", []tarEntry{{tar.TypeDir, "files/d", ""}, {tar.TypeSymlink, "files/d/l", "OUT"}, {tar.TypeReg, "files/d/l/secret", "X"}}, true},
	{"a link over a directory, and a file through it", []tarEntry{
		{tar.TypeDir, "files/d/deep", ""}, {tar.TypeSymlink, "files/d", "OUT"}, {tar.TypeReg, "files/d/deep/x", "X"}, {tar.TypeSymlink, "files/d/deep", "OUT"},
	}, true},
	{"a link over a directory whose mode is to be set", []tarEntry{{tar.TypeDir, "files/d", ""}, {tar.TypeSymlink, "files/d", "OUT/dir"}}, true},
	{"a file over a directory", []tarEntry{{tar.TypeReg, "files/d/deep", "X"}, {tar.TypeReg, "files/d", "X"}, {tar.TypeReg, "files/d/deep", "X"}}, true},
	{"a link in an output that is an input", []tarEntry{{tar.TypeSymlink, "files/dir/l", "OUT/secret"}, {tar.TypeReg, "files/out", "X"}, {tar.TypeReg, "files/d/deep", "X"}}, true},
	{"a link in the place of standard output", []tarEntry{{tar.TypeSymlink, "files/stdout", "OUT/secret"}, {tar.TypeReg, "files/dir/x", "X"}, {tar.TypeReg, "files/out", "X"}, {tar.TypeReg, "files/d/deep", "X"}}, true},
	{"a link as output", []tarEntry{{tar.TypeSymlink, "files/out", "OUT/secret"}}, true},
	{"a link to a directory as output", []tarEntry{{tar.TypeSymlink, "files/dir", "OUT/dir"}}, true},
	{"output through a link", []tarEntry{{tar.TypeSymlink, "files/d", "OUT"}}, true},
	{"a link over a link", []tarEntry{{tar.TypeSymlink, "files/out", "OUT/secret"}, {tar.TypeReg, "files/out", "X"}, {tar.TypeSymlink, "files/out", "OUT/secret"}}, true},
	{"a link as standard output", []tarEntry{{tar.TypeSymlink, "files/_condor_stdout", "OUT/secret"}, {tar.TypeSymlink, "files/_condor_stderr", "OUT/new"}}, true},
	{"a link as a note", []tarEntry{{tar.TypeSymlink, "files/.job.ad", "OUT/secret"}}, true},
	{"a long name", []tarEntry{{tar.TypeReg, "files/" + strings.Repeat("x", 300), "X"}}, false},
	{"a deep name", []tarEntry{{tar.TypeReg, "files/" + strings.Repeat("x/", 100_000) + "x", "X"}}, false},
	{"twice", []tarEntry{{tar.TypeReg, "files/out", "1"}, {tar.TypeReg, "files/out", "2"}}, true},
	{"something behind the end", []tarEntry{{tar.TypeReg, "end", ""}, {tar.TypeReg, "files/x", "X"}}, false},
}

func TestHostileArchive(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			a, outside := hostileAttempt(t)
			stream := archive(outside, append(slices.Clone(c.items), tarEntry{tar.TypeReg, partEnd, ""})...)
			for i, err := range a.endure(stream, outside) {
				if i > 0 && i < 3 && (err == nil) != c.whole {
					t.Errorf("it was read with %v, want that to be nil: %v", err, c.whole)
				}
			}
		})
	}
}

func TestLeadsInside(t *testing.T) {
	for _, c := range []struct {
		path, to string
		want     bool
	}{
		{"/d/l", "x", true}, {"/d/l", "x/y", true}, {"/d/e/l", "../x", true}, {"/d/e/l", "..", true}, {"/d/l", ".", true},
		{"/d/l", "/d/x", false}, {"/d/l", "..", false}, {"/d/e/l", "../../x", false}, {"/d/e/l", "x/../y", false}, {"/d/e/l", "b/..", false},
	} {
		if got := leadsInside("/d", c.path, c.to); got != c.want {
			t.Errorf("leadsInside(/d, %s, %s) = %v, want %v", c.path, c.to, got, c.want)
		}
	}
}

// What sends few bytes for many could fill the disk with them.
func TestSparseArchive(t *testing.T) {
	a, outside := hostileAttempt(t)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	// GNU.sparse.map says that all of it is a hole. It is small, for a test that fails.
	const size = 8 << 20
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax", PAXRecords: map[string]string{"comment": "none"}})
	testenv.OK(t, err)
	w.Flush()
	record := func(k, v string) string {
		text := fmt.Sprintf(" %s=%s\n", k, v)
		n := len(text) + 2
		if n > 99 {
			n++
		}
		return fmt.Sprintf("%d%s", n, text)
	}
	records := record("GNU.sparse.major", "0") + record("GNU.sparse.minor", "1") + record("GNU.sparse.numblocks", "1") +
		record("GNU.sparse.map", fmt.Sprintf("%d,0", size)) + record("GNU.sparse.size", fmt.Sprint(size))
	x := tar.NewWriter(&b)
	testenv.OK(t, x.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "pax", Size: int64(len(records)), Format: tar.FormatUSTAR}))
	head := b.Len() - 512
	io.WriteString(x, records)
	x.Flush()
	raw := b.Bytes()
	raw[head+156] = 'x' // an extended header
	copy(raw[head+148:], fmt.Sprintf("%06o\x00 ", checksum(raw[head:head+512])))
	raw = append(raw, archive(outside, tarEntry{tar.TypeReg, "files/out", ""}, tarEntry{tar.TypeReg, partEnd, ""})...)
	r := tar.NewReader(bytes.NewReader(raw[head:]))
	if h, err := r.Next(); err != nil || h.Size != size {
		t.Fatalf("the test's own archive is no sparse one: %+v, %v", h, err)
	}
	for _, err := range a.endure(raw[head:], outside) {
		if !isLink(err) {
			t.Errorf("it was read with %v, want an error of the stream", err)
		}
	}
}

// checksum returns that of a tar header.
func checksum(block []byte) (sum int) {
	for i, b := range block {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int(b)
	}
	return sum
}

// itemsOf reads items from bytes: a kind, and names and texts with their lengths.
func itemsOf(b []byte) (items []tarEntry) {
	field := func() string {
		if len(b) == 0 {
			return ""
		}
		n := min(int(b[0]), len(b)-1)
		text := string(b[1 : 1+n])
		b = b[1+n:]
		return text
	}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		name := field()
		items = append(items, tarEntry{kind, name, field()})
	}
	return items
}

// FuzzTakeBack has archives of any entries, or any bytes, read where they may do no harm.
func FuzzTakeBack(f *testing.F) {
	for _, c := range hostile {
		var b []byte
		for _, i := range append(slices.Clone(c.items), tarEntry{tar.TypeReg, partEnd, ""}) {
			if len(i.name) > 255 {
				continue
			}
			b = append(b, i.kind, byte(len(i.name)))
			b = append(append(b, i.name...), byte(len(i.text)))
			b = append(b, i.text...)
		}
		f.Add(true, b)
		f.Add(false, archive("/nowhere", c.items...))
	}
	f.Fuzz(func(t *testing.T, made bool, b []byte) {
		a, outside := hostileAttempt(t)
		if made {
			b = archive(outside, itemsOf(b)...)
		}
		a.endure(b, outside)
	})
}
