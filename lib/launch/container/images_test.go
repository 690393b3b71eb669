package container

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// packed returns an archive of files; a file without text is what its header says.
func packed(t *testing.T, files ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h, text := tar.Header{}, []byte(nil)
		switch f := files[i+1].(type) {
		case tar.Header:
			h = f
		case []byte:
			h, text = tar.Header{Size: int64(len(f)), Typeflag: tar.TypeReg}, f
		}
		h.Name, h.Mode = files[i].(string), 0o644
		testenv.OK(t, w.WriteHeader(&h))
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	testenv.OK(t, w.Close())
	return b.Bytes()
}

func TestInspect(t *testing.T) {
	device := func(kind byte, major, minor int64) tar.Header {
		return tar.Header{Typeflag: kind, Devmajor: major, Devminor: minor}
	}
	plain := packed(t, "etc/", tar.Header{Typeflag: tar.TypeDir}, "etc/hosts", []byte("x"), "a", tar.Header{Typeflag: tar.TypeLink, Linkname: "etc/hosts"})
	usual := packed(t, "dev/null", device(tar.TypeChar, 1, 3), "etc/tty", device(tar.TypeChar, 5, 0))
	disk := packed(t, "etc/hosts", []byte("x"), "./etc/../disk", device(tar.TypeBlock, 8, 0))
	console := packed(t, "dev/console", device(tar.TypeChar, 5, 1))
	block := packed(t, "null", device(tar.TypeBlock, 1, 3))
	two := []byte(`[{"Config":"c.json","Layers":["1.tar","2.tar"]}]`)
	for _, c := range []struct {
		name, want string
		image      []byte
	}{
		{"plain", "", packed(t, "1.tar", plain, "2.tar", usual, "c.json", []byte("{}"), "manifest.json", two)},
		{"disk", "/disk: it is a device file", packed(t, "1.tar", disk, "2.tar", plain, "manifest.json", two)},
		{"in the last layer", "/dev/console: it is a device file", packed(t, "manifest.json", two, "1.tar", plain, "2.tar", console)},
		{"block device with the number of null", "/null: it is a device file", packed(t, "1.tar", plain, "2.tar", block, "manifest.json", two)},
		{"layer not seen", "left out the layer 2.tar", packed(t, "1.tar", plain, "manifest.json", two)},
		{"layer is a link", "left out the layer 2.tar", packed(t, "1.tar", plain, "2.tar", tar.Header{Typeflag: tar.TypeSymlink, Linkname: "1.tar"}, "manifest.json", two)},
		{"no manifest", "listed no layers", packed(t, "1.tar", plain)},
		{"no layers", "listed no layers", packed(t, "manifest.json", []byte(`[{"Layers":[]}]`))},
		{"nothing", "listed no layers", nil},
		{"manifest is no JSON", "invalid character", packed(t, "manifest.json", []byte("x"))},
		{"layer is no archive", "EOF", packed(t, "1.tar", []byte("x"), "manifest.json", two)},
		{"cut short", "EOF", packed(t, "1.tar", plain)[:700]},
	} {
		got := ""
		if err := inspect(bytes.NewReader(c.image)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
