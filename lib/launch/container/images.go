package container

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/launch"
)

// cache is a folder that records which images jobs have fetched into the store of podman. It has two kinds of files:
//
//   - name-HASH has the ID of the image behind a name or an archive. A process that looks for an image locks the file,
//     so that the image is fetched once.
//   - id-ID has the size of an image in bytes, and the time of its last use as its own. Supervisors share its lock as long
//     as their jobs use the image; a process that removes the image has the lock alone.
//
// Jobs name images by their IDs, which are checksums of their content: an archive cannot pass for an image of a
// registry.
type cache struct {
	dir  string
	most int64 // CONTAINER_CACHE_SIZE, in bytes
	by   installed
}

// cache returns the cache of the account that runs podman.
func (s Settings) cache(by installed) cache {
	c := cache{s.Cache, s.CacheSize, by}
	switch {
	case c.dir != "":
	case asuser.Privileged():
		c.dir = "/var/cache/fairspool/images"
	default:
		c.dir = filepath.Join(launch.CurrentAccount().Home, ".cache/fairspool/images")
	}
	return c
}

// fetch returns the ID of an image, which it fetches if podman does not have it or it is to do so always, the open file that keeps
// the image there, and how long fetching took. Key and archive are as source returns them.
func (c cache) fetch(ctx context.Context, key string, archive *os.File, always bool) (id string, use *os.File, took time.Duration, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return "", nil, 0, err
	}
	name, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("name-%x", sha256.Sum256([]byte(key)))), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", nil, 0, err
	}
	defer name.Close()
	if err := lock(ctx, name); err != nil {
		return "", nil, 0, err
	}
	if id = contents(name); id != "" && !always {
		if use, err = c.use(ctx, id); err == nil {
			return id, use, 0, nil
		}
	}
	begun := time.Now()
	if id, err = c.pull(ctx, name.Name()+".tmp", key, archive); err != nil {
		return "", nil, 0, err
	}
	if err := c.check(ctx, name.Name()+".tmp", id); err != nil {
		c.by.ask(ctx, "image", "rm", id) // which another image may be made of
		return "", nil, 0, err
	}
	if use, err = c.use(ctx, id); err != nil {
		return "", nil, 0, err
	}
	took = time.Since(begun)
	if _, err = name.WriteAt([]byte(id), 0); err != nil {
		use.Close()
		return "", nil, 0, err
	}
	c.shrink(ctx)
	return id, use, took, nil
}

// check refuses an image of root's podman with device files: as containers have no control group of their own, nothing else would
// keep a job from the machine's disks.
func (c cache) check(ctx context.Context, tmp, id string) error {
	if !asuser.Privileged() {
		return nil // the kernel lets no user make them
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	by := c.by
	by.tmp = tmp // it copies the layers
	r, w := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := by.run(ctx, w, "image", "save", "--quiet", "--format", "docker-archive", id)
		w.CloseWithError(cmp.Or(err, io.EOF))
		saved <- err
	}()
	err := inspect(r)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // what fills the last block
	}
	r.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
	if e := cmp.Or(err, <-saved); e != nil {
		return refuse(e.Error())
	}
	return nil
}

// harmless are the device files that each machine has for all: null, zero, full, random, urandom, tty and ptmx.
var harmless = [][2]int64{{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}}

// inspect refuses an image, as "podman save" writes it, with device files that are not harmless. Their places and names
// do not matter, as other layers can have links to them.
func inspect(archive io.Reader) error {
	layers := map[string]bool{}
	var manifest []struct{ Layers []string }
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return complete(manifest, layers)
		case err != nil:
			return err
		case h.Name == "manifest.json":
			err = json.NewDecoder(r).Decode(&manifest)
		case strings.HasSuffix(h.Name, ".tar") && h.Typeflag == tar.TypeReg:
			layers[h.Name] = true
			err = inspectLayer(r)
		}
		if err != nil {
			return err
		}
	}
}

func inspectLayer(layer io.Reader) error {
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case h.Typeflag != tar.TypeChar && h.Typeflag != tar.TypeBlock:
		case h.Typeflag == tar.TypeBlock || !slices.Contains(harmless, [2]int64{h.Devmajor, h.Devminor}):
			return fmt.Errorf("%s: it is a device file, which no image may have that root's podman runs: make the image without it", path.Join("/", h.Name))
		}
	}
}

// complete refuses an image with layers that were not seen.
func complete(manifest []struct{ Layers []string }, seen map[string]bool) error {
	if len(manifest) != 1 || len(manifest[0].Layers) == 0 {
		return errors.New("podman save listed no layers")
	}
	for _, name := range manifest[0].Layers {
		if !seen[name] {
			return fmt.Errorf("podman save left out the layer %s", name)
		}
	}
	return nil
}

// source returns what tells the image of a job from all others, which is what podman pulls, and for an archive its open file.
func source(j launch.Job) (key string, archive *os.File, err error) {
	image := j.Container.Image
	if j.Container.Kind != launch.Archive {
		return "docker://" + qualified(image), nil, nil
	}
	err = j.Account.As(func() error { archive, err = os.OpenFile(image, os.O_RDONLY|unix.O_NONBLOCK, 0); return err })
	if err != nil {
		return "", nil, refuse(image + ": " + reason(err))
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(archive.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		archive.Close()
		return "", nil, refuse(image + ": it is no file")
	}
	return fmt.Sprint(image, st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim), archive, nil
}

// qualified returns the name of an image as docker reads it: one without a registry is of docker.io.
func qualified(image string) string {
	first, _, path := strings.Cut(image, "/")
	switch {
	case !path:
		return "docker.io/library/" + image
	case first != "localhost" && !strings.ContainsAny(first, ".:"):
		return "docker.io/" + image
	}
	return image
}

// pull has podman fetch an image, with a folder for temporary files.
func (c cache) pull(ctx context.Context, tmp, key string, archive *os.File) (id string, err error) {
	os.RemoveAll(tmp) // of one that was killed
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	by := c.by
	by.tmp, by.extra = tmp, archive
	if archive != nil {
		key = "docker-archive:/proc/self/fd/3"
	}
	out, err := by.ask(ctx, "pull", "--quiet", key)
	if err != nil {
		return "", refuse(err.Error())
	}
	lines := strings.Fields(out)
	if len(lines) == 0 || strings.Trim(lines[len(lines)-1], "0123456789abcdef") != "" {
		return "", refuse("podman pull printed no ID")
	}
	id = lines[len(lines)-1]
	if archive != nil { // it names itself as it likes
		_, err = by.ask(ctx, "untag", id)
	}
	return id, err
}

// use returns the open file that keeps an image; an error: podman does not have the image.
func (c cache) use(ctx context.Context, id string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, "id-"+id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
	var size string
	if err == nil {
		size, err = c.by.ask(ctx, "image", "inspect", "--format", "{{.Size}}", id)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strings.TrimSpace(size)), 0)
	}
	if err != nil {
		os.Remove(f.Name())
		f.Close()
		return nil, err
	}
	return f, nil
}

// shrink removes the least recently used images while the images take too much space, except images that a job uses.
func (c cache) shrink(ctx context.Context) {
	files, _ := os.ReadDir(c.dir)
	type image struct {
		fs.FileInfo
		size int64
	}
	var images []image
	var total int64
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !strings.HasPrefix(f.Name(), "id-") {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(c.dir, f.Name()))
		size, _ := strconv.ParseInt(string(text), 10, 64)
		images, total = append(images, image{info, size}), total+size
	}
	slices.SortFunc(images, func(a, b image) int { return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name())) })
	for _, i := range images {
		if total <= c.most {
			break
		}
		if c.remove(ctx, i.Name()) {
			total -= i.size
		}
	}
}

// remove removes the image of a file, if no job uses it.
func (c cache) remove(ctx context.Context, file string) bool {
	path := filepath.Join(c.dir, file)
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	id := strings.TrimPrefix(file, "id-")
	c.by.ask(ctx, "untag", id)
	if _, err := c.by.ask(ctx, "image", "rm", id); err != nil { // a container other than a job's uses it
		return false
	}
	return os.Remove(path) == nil
}

// lock waits for a lock of a file until the context ends.
func lock(ctx context.Context, f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// contents returns the content of a short file.
func contents(f *os.File) string {
	var space [256]byte
	n, _ := f.ReadAt(space[:], 0)
	return string(space[:n])
}

// refuse returns the error of a job without its image.
func refuse(why string) error {
	return &launch.StartError{Reason: "container image: " + why, Code: HoldImage}
}
