package starter

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// image makes a directory with the file system of an image: busybox, which is linked statically, and its links.
func image(t *testing.T, dir string) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skipf("SKIPPED, NOTHING IS TESTED: %v", err)
	}
	top := filepath.Join(dir, "image")
	for _, name := range []string{"bin", "etc", "proc", "dev", "tmp", "var/tmp", "root"} {
		testenv.OK(t, os.MkdirAll(filepath.Join(top, name), 0o755))
	}
	text, err := os.ReadFile(busybox)
	if err == nil {
		err = os.WriteFile(filepath.Join(top, "bin/busybox"), text, 0o755)
	}
	testenv.OK(t, err)
	for _, name := range strings.Fields("sh cat id ls sleep setsid env kill tail mkfifo touch dd") {
		testenv.OK(t, os.Symlink("busybox", filepath.Join(top, "bin", name)))
	}
	testenv.OK(t, os.WriteFile(filepath.Join(top, "etc/image"), []byte("this is the image\n"), 0o644))
	return top
}

// archive makes of the directory of an image what "podman save" makes, and returns its path.
func archive(t *testing.T, top string) string {
	t.Helper()
	layer, config := parts(t, top)
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{"docker.io/library/busy:1"}, "Layers": []string{"layer.tar"}}})
	testenv.OK(t, err)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		text []byte
	}{{"config.json", config}, {"layer.tar", layer}, {"manifest.json", manifest}} {
		err = w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text))})
		if err == nil {
			_, err = w.Write(f.text)
		}
		testenv.OK(t, err)
	}
	w.Close()
	path := top + ".tar"
	testenv.OK(t, os.WriteFile(path, b.Bytes(), 0o644))
	cmdtest.Share(t, path)
	return path
}

// parts returns the layer and the configuration of an image.
func parts(t *testing.T, top string) (layer, config []byte) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target, _ := os.Readlink(path)
		h, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		h.Name, _ = filepath.Rel(top, path)
		if err = w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		w.Write(text)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		config, err = json.Marshal(map[string]any{
			"architecture": "amd64", "os": "linux",
			"config": map[string]any{"Env": []string{"PATH=/bin", "OF=image"}, "Entrypoint": []string{"/bin/sh", "-c", "echo entered $0 $@ $OF"}},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(b.Bytes())}},
		})
	}
	testenv.OK(t, err)
	return b.Bytes(), config
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// registry serves an image as busy:1 and returns its address.
func registry(t *testing.T, top string) string {
	t.Helper()
	const media = "application/vnd.docker.distribution.manifest.v2+json"
	layer, config := parts(t, top)
	blob := func(kind string, b []byte) map[string]any {
		return map[string]any{"mediaType": "application/vnd.docker." + kind, "size": len(b), "digest": digest(b)}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": media, "config": blob("container.image.v1+json", config),
		"layers": []any{blob("image.rootfs.diff.tar", layer)},
	})
	testenv.OK(t, err)
	files := map[string][]byte{
		"/v2/": {}, "/v2/busy/manifests/1": manifest, "/v2/busy/manifests/" + digest(manifest): manifest,
		"/v2/busy/blobs/" + digest(config): config, "/v2/busy/blobs/" + digest(layer): layer,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", media)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Write(text)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// podmanHere returns a program that is podman with a store of its own, which takes images of registries on this machine. Where control
// groups are of both versions, crun starts nothing as long as it sees those of version 2.
func podmanHere(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		return "podman"
	}
	dir := t.TempDir()
	cmdtest.Share(t, dir)
	run, err := os.MkdirTemp("/tmp", "run") // podman wants a short name
	testenv.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(run) })
	script := "#!/bin/sh\nexport CONTAINERS_STORAGE_CONF=" + dir + "/storage.conf CONTAINERS_REGISTRIES_CONF=" + dir + "/registries.conf\n"
	if _, err := os.Stat("/sys/fs/cgroup/unified/cgroup.controllers"); err == nil && os.Geteuid() == 0 {
		script += "exec unshare --mount /bin/sh -c 'umount -l /sys/fs/cgroup/unified; exec podman \"$@\"' podman \"$@\"\n"
	} else {
		script += "PATH=/usr/bin:/bin:$PATH HOME=" + dir + " XDG_RUNTIME_DIR=" + run + "\nexport HOME XDG_RUNTIME_DIR\nexec podman \"$@\"\n"
	}
	for name, text := range map[string]string{
		"podman":          script,
		"storage.conf":    fmt.Sprintf("[storage]\ndriver = \"overlay\"\nrunroot = %q\ngraphroot = %q\n", run, dir+"/store"),
		"registries.conf": "[[registry]]\nlocation = \"127.0.0.1\"\ninsecure = true\n",
	} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	program := filepath.Join(dir, "podman")
	if os.Geteuid() != 0 { // there are files of ids that only podman has for its user
		t.Cleanup(func() { exec.Command(program, "system", "reset", "--force").Run() })
	}
	return program
}
