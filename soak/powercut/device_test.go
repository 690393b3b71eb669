package powercut

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// device is a block device in memory with a cache that a power cut empties. It is
// the only file of a FUSE file system, behind a loop device, which turns each flush
// of the file system on it into an fsync of the file.
type device struct {
	fs.Inode
	mu      sync.Mutex
	now     []byte  // what is read
	durable []byte  // what a power cut leaves at least
	cached  []write // since the last flush
	off     bool    // the power is: nothing that is written counts
	flushes int
	sector  int
}

type write struct {
	at   int64
	data []byte
}

// newDevice returns a device with that content, whose sectors have so many bytes: as much of a write
// as a power cut leaves whole.
func newDevice(content []byte, sector int) *device {
	return &device{now: append([]byte(nil), content...), durable: content, sector: sector}
}

// cut turns the power off and returns what is left: what was flushed and, if some is
// set, of what was written since some of the sectors, by chance.
func (d *device) cut(some bool, r *rand.Rand) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	if some {
		for _, w := range d.cached {
			for at := 0; at < len(w.data); at += d.sector {
				if r.IntN(2) == 0 {
					copy(d.durable[w.at+int64(at):], w.data[at:min(at+d.sector, len(w.data))])
				}
			}
		}
	}
	return d.durable
}

func (d *device) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(len(d.now))
	return 0
}

func (d *device) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, f, out)
}

func (d *device) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (d *device) Read(_ context.Context, _ fs.FileHandle, b []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at > int64(len(d.now)) {
		at = int64(len(d.now))
	}
	return fuse.ReadResultData(b[:copy(b, d.now[at:])]), 0
}

func (d *device) Write(_ context.Context, _ fs.FileHandle, b []byte, at int64) (uint32, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at < 0 || at+int64(len(b)) > int64(len(d.now)) {
		return 0, syscall.ENOSPC
	}
	if !d.off {
		copy(d.now[at:], b)
		d.cached = append(d.cached, write{at, append([]byte(nil), b...)})
	}
	return uint32(len(b)), 0
}

func (d *device) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.off {
		for _, w := range d.cached {
			copy(d.durable[w.at:], w.data)
		}
		d.cached = nil
		d.flushes++
	}
	return 0
}

// attached is a device that is plugged in.
type attached struct {
	*device
	server *fuse.Server
	loop   string // such as /dev/loop3
}

// attach plugs a device in. dir is an empty directory.
func attach(t *testing.T, d *device, dir string) *attached {
	t.Helper()
	root := &fs.Inode{}
	options := &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "powercut", MaxWrite: 1 << 20}}
	options.OnAdd = func(ctx context.Context) {
		root.AddChild("disk", root.NewPersistentInode(ctx, d, fs.StableAttr{Mode: syscall.S_IFREG}), false)
	}
	server, err := fs.Mount(dir, root, options)
	if err != nil {
		t.Skipf("SKIPPED: no FUSE file system can be mounted here: %v", err)
	}
	loop, err := exec.Command("losetup", "--find", "--show", filepath.Join(dir, "disk")).CombinedOutput()
	if err != nil {
		server.Unmount()
		t.Skipf("SKIPPED: no loop device can be had here: %v: %s", err, loop)
	}
	return &attached{d, server, strings.TrimSpace(string(loop))}
}

// detach unplugs the device.
func (a *attached) detach(t *testing.T) {
	t.Helper()
	run(t, "losetup", "--detach", a.loop)
	until(t, "the FUSE file system is unmounted", func() bool { return a.server.Unmount() == nil })
}
