package submit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairspool/internal/testenv"
)

func TestExists(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	testenv.OK(t, os.WriteFile(file, nil, 0o644))
	if err := errors.Join(exists(dir, true), exists(file, false)); err != nil {
		t.Error(err)
	}
	refusal(t, "submit (a folder as a file)", exists(dir, false))
	refusal(t, "submit (a file as a folder)", exists(file, true))
	refusal(t, "submit (no such file)", exists(dir+"/none", false))
	refusal(t, "submit (no such folder)", exists(dir+"/none", true))
	if err := exists(file+"/x", false); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("exists(%s/x) = %v, want %v", file, err, syscall.ENOTDIR)
	}
}

func TestGlob(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"d1", "d2/.deep", ".hidden"} {
		testenv.OK(t, os.MkdirAll(dir, 0o755))
	}
	for _, file := range []string{"b.dat", "a.dat", ".c.dat", "d10", "d1/x", "d2/x", "d2/.y", "[1].dat", ".hidden/z"} {
		testenv.OK(t, os.WriteFile(file, nil, 0o644))
	}
	testenv.OK(t, os.Symlink("d1", "link"))
	for _, c := range []struct{ pattern, want string }{
		{"*.dat", "[1].dat a.dat b.dat"},
		{"[ab].dat", "a.dat b.dat"}, {"?.dat", "a.dat b.dat"}, {"[!a].dat", "b.dat"}, {"[^a].dat", "b.dat"}, {`\[!a].dat`, ""},
		{`\[1].dat`, "[1].dat"},
		{".*.dat", ".c.dat"},
		{"d*", "d1/ d10 d2/"}, {"d*/", "d1/ d2/"}, {"d*/*", "d1/x d2/x"}, {"d2/.*", "d2/.deep/ d2/.y"},
		{"*/z", ""}, {".h*/*", ".hidden/z"}, {"./*.dat", "./[1].dat ./a.dat ./b.dat"}, {".//?.dat", "./a.dat ./b.dat"}, {"../*/none", ""},
		{"link", "link/"}, {"link/*", "link/x"},
		{"a.dat", "a.dat"}, {"none", ""}, {"a.dat/", ""},
	} {
		got, err := glob(c.pattern)
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("glob(%q) = %q, %v, want %q", c.pattern, got, err, c.want)
		}
	}
	if got, err := glob("[a"); err == nil {
		t.Errorf("glob([a) = %q, want an error", got)
	}
}

func TestFoldersIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"folder", "other"} {
		testenv.OK(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, target := range []string{"folder", "file"} {
		testenv.OK(t, os.Symlink(target, filepath.Join(dir, "to-"+target)))
	}
	f := &folder{name: dir}
	for range fewTargets + 1 { // so that it is looked at and listed
		var got []string
		for _, name := range []string{"file", "folder", "none", "to-file", "to-folder"} {
			if f.keeps(name) != nil {
				got = append(got, name)
			}
		}
		if want := []string{"folder", "to-folder"}; !slices.Equal(got, want) {
			t.Fatalf("folders = %v after %d names, want %v", got, f.asked, want)
		}
	}
	if len(f.nested) != 4 {
		t.Errorf("listed = %v, want what is no regular file", f.nested)
	}
}
