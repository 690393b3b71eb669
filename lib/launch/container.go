package launch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Container is the image that a job runs in, instead of the machine's own files. Package
// lib/launch/container has the programs that run it.
type Container struct {
	Kind ImageKind
	// Image is the path of the image, or the name of one in a registry, without a scheme.
	Image string
	// Target is where the scratch directory is inside.
	Target string
	// Network is host or none; empty: host.
	Network string
	// PullAlways: the image is fetched from its registry even if the machine has it.
	PullAlways bool
	// Entrypoint: the program and its arguments are arguments for the program that the image names.
	Entrypoint bool
	// GPUs: the slot has some.
	GPUs bool

	// Binds are the files and directories of the machine that the job has in their places, if it
	// transfers no files.
	Binds []string

	// Runtimes are the names of the runtimes for containers in the slot's ad; nil: the ad
	// has none.
	Runtimes []string

	executable string // the file to copy to the scratch directory as the program; empty: none
}

// ImageKind is what an image is.
type ImageKind int

const (
	Directory ImageKind = iota // with the root of a file system
	SIF                        // a file of Apptainer's
	Archive                    // a file of "docker save" or "podman save"
	Docker                     // in a registry of Docker's
	Oras                       // a SIF in a registry
)

func (k ImageKind) String() string {
	return [...]string{"directories", "SIF files", "image archives", "images of Docker registries", "SIF images of registries"}[k]
}

// File reports whether an image of this kind is a file or directory.
func (k ImageKind) File() bool { return k <= Archive }

// DefaultTarget is where a job finds its scratch directory in a container, if it does not say.
const DefaultTarget = "/srv"

// ImageOf returns the kind of the image with a name, and the name without its scheme.
func ImageOf(name string) (kind ImageKind, image string) {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "docker://"):
		return Docker, name[len("docker://"):]
	case strings.HasPrefix(lower, "docker:"):
		return Docker, name[len("docker:"):]
	case strings.HasPrefix(lower, "oras://"):
		return Oras, name[len("oras://"):]
	case strings.HasSuffix(lower, ".sif"):
		return SIF, name
	}
	for _, ending := range []string{".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(lower, ending) {
			return Archive, name
		}
	}
	return Directory, name
}

// IsContained reports whether an ad's job runs in a container.
func IsContained(ad *classad.Ad) bool {
	c, err := containerOf(ad)
	return c != nil || err != nil
}

// containerOf returns the container that an ad asks for; nil: none.
func containerOf(ad *classad.Ad) (*Container, error) {
	c := &classad.Context{}
	docker, _ := ad.EvalBool(c, pool.AttrWantDocker)
	wanted, _ := ad.EvalBool(c, pool.AttrWantContainer)
	var image Container
	for _, name := range []string{pool.AttrDockerImage, pool.AttrContainerImage, pool.AttrSingularityImage} {
		text, err := text(ad, name, "")
		if err != nil {
			return nil, err
		}
		if text == "" || name != pool.AttrSingularityImage && !docker && !wanted {
			continue
		}
		if name == pool.AttrDockerImage {
			text = "docker://" + strings.TrimPrefix(text, "docker://")
		}
		if image.Kind, image.Image = ImageOf(text); !image.Kind.File() && (image.Image == "" || image.Image[0] == '-') {
			return nil, fmt.Errorf("%s: %q names no image", name, text)
		}
		break
	}
	switch {
	case image.Image == "" && docker:
		return nil, fmt.Errorf("%s: the job names no image", pool.AttrDockerImage)
	case image.Image == "" && wanted:
		return nil, fmt.Errorf("%s: the job names no image", pool.AttrContainerImage)
	case image.Image == "":
		return nil, nil
	}
	return &image, image.asks(ad, docker)
}

// asks reads what else an ad says of the container.
func (c *Container) asks(ad *classad.Ad, docker bool) (err error) {
	if c.Target, err = text(ad, "ContainerTargetDir", DefaultTarget); err != nil {
		return err
	}
	if c.Target = filepath.Clean(c.Target); !filepath.IsAbs(c.Target) || c.Target == "/" || strings.ContainsAny(c.Target, ":,\n") {
		return fmt.Errorf("ContainerTargetDir: %q: want the whole path of a directory, without colons and commas", c.Target)
	}
	if c.Network, err = text(ad, "DockerNetworkType", ""); err != nil {
		return err
	}
	if c.Network != "" && c.Network != "host" && c.Network != "none" {
		return fmt.Errorf("DockerNetworkType: %q: containers here have the networks host and none", c.Network)
	}
	pull, err := text(ad, "DockerPullPolicy", "")
	if err != nil {
		return err
	}
	c.PullAlways = strings.EqualFold(pull, "always")
	overrides, _ := ad.EvalBool(&classad.Context{}, "DockerOverrideEntrypoint")
	c.Entrypoint = docker && !overrides
	return nil
}

// contain finds the image and the program of a job that runs in a container.
func (j *Job) contain(ad *classad.Ad, p Place) {
	c, t := j.Container, j.Transfer
	if p.SlotAd != nil {
		gpus, _ := text(p.SlotAd, assigned+"GPUs", "")
		c.GPUs = gpus != ""
		runtimes, _ := text(p.SlotAd, pool.AttrContainerRuntimes, "")
		for _, r := range list(runtimes) {
			c.Runtimes = append(c.Runtimes, strings.Fields(r)[0])
		}
	}
	if c.Kind.File() {
		j.findImage(p.Apart)
	}
	cmd, _ := text(ad, pool.AttrCmd, "")
	stays, given := ad.EvalBool(&classad.Context{}, pool.AttrTransferExecutable)
	brings := cmd != "" && (stays || !given)
	switch {
	case t == nil:
		c.Binds = []string{j.Dir}
		if brings {
			c.Binds = append(c.Binds, j.Cmd)
		}
	case brings && !p.Apart:
		c.executable, j.Arg0 = j.Cmd, j.Cmd
		j.Cmd = t.inScratch(executableName)
	}
}

// placeProgram copies the program of a job in a container to its scratch directory.
func (j Job) placeProgram(ctx context.Context) error {
	if j.Container == nil || j.Container.executable == "" {
		return nil
	}
	there := j
	there.Cmd = j.Container.executable
	return j.Account.As(func() error {
		if _, err := there.check(); err != nil {
			return err
		}
		c := &copier{ctx: ctx, into: inScratch{}}
		if err := c.file(there.Cmd, j.Cmd); err != nil {
			return failed(ctx, "executable", parcel{name: there.Cmd}, HoldStart, err)
		}
		return makeExecutable(j.Cmd)
	})
}

// findImage sets the path of an image. One that is among the inputs is used in its place where the
// machine sees that.
func (j *Job) findImage(apart bool) {
	c, t := j.Container, j.Transfer
	dir := j.Dir
	if t != nil {
		dir = t.Iwd
		i := slices.IndexFunc(t.inputs, func(p parcel) bool { return filepath.Base(p.from) == c.Image })
		switch {
		case i >= 0 && apart:
			t.inputs[i].contents, t.inputs[i].to = false, t.inScratch(c.Image)
			c.Image = t.inScratch(c.Image)
			return
		case i >= 0:
			c.Image = t.inputs[i].from
			t.inputs = slices.Delete(t.inputs, i, i+1)
			return
		}
	}
	if !filepath.IsAbs(c.Image) {
		c.Image = filepath.Join(dir, c.Image)
	}
	c.Image = filepath.Clean(c.Image)
}

// Inside returns the path in the job's container of one on the machine.
func (j Job) Inside(path string) string {
	if j.Container == nil || j.Scratch == "" {
		return path
	}
	if below, ok := strings.CutPrefix(path, j.Scratch); ok && (below == "" || below[0] == '/') {
		return j.Container.Target + below
	}
	return path
}

// inside returns the job as it finds itself, with the paths of its container.
func (j Job) inside() Job {
	if j.Container == nil {
		return j
	}
	j.Dir, j.Scratch, j.Account.Home = j.Inside(j.Dir), j.Container.Target, j.Container.Target
	return j
}

// Unnamed returns a file without a name that holds a text, to be read from its beginning.
func Unnamed(text string) (*os.File, error) { return inMemory(text) }

// Release closes the files that a runtime has inherited.
func (j Job) Release() {
	if j.Inherited != nil {
		j.Inherited.Close()
	}
}

// Executed reports whether the program of a job in a container that has ended was executed at all.
func (p *Process) Executed() bool {
	return p.monitor == nil || reported(p.monitor, "exit-code") >= 0
}

// reported returns a number that bubblewrap has written to its file of JSON objects (bwrap(1),
// --json-status-fd); -1: it has not.
func reported(f *os.File, name string) int {
	if f == nil {
		return -1
	}
	var space [1024]byte
	n, _ := f.ReadAt(space[:], 0)
	_, rest, ok := strings.Cut(string(space[:n]), `"`+name+`":`)
	if !ok {
		return -1
	}
	rest = strings.TrimLeft(rest, " ")
	number, err := strconv.Atoi(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))])
	if err != nil {
		return -1
	}
	return number
}

// ParentOf returns the parent of a process; 0 if it is not there.
func ParentOf(pid int) int {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
