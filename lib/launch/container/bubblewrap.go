package container

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/lib/launch"
)

// bubblewrap makes a container of namespaces alone: no image is copied, no record is kept, and the
// kernel ends all processes when the first one dies.
var bubblewrap = runtime{
	name: "bubblewrap", programs: []string{"bwrap"}, kinds: []launch.ImageKind{launch.Directory},
	command: bubblewrapped, monitors: true, complains: "bwrap: ",
	trial: func(root, program string) []string {
		return []string{"--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "--die-with-parent", "--", program}
	},
}

// apart are the directories that bubblewrap makes itself.
var apart = []string{"proc", "dev", "tmp"}

// bubblewrapped mounts each entry of the image in a root of its own, so that mount points can be added
// that the image lacks; nothing is written to the image.
func bubblewrapped(r request) (args, env []string, err error) {
	if r.program() == "" {
		return nil, nil, &launch.StartError{Reason: "container: the job names no executable, and a directory has no default program"}
	}
	args = []string{
		"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--json-status-fd", "4",
	}
	if r.Container.Network == "none" {
		args = append(args, "--unshare-net")
	}
	var tops []string
	for _, m := range r.mounts {
		tops = append(tops, strings.TrimPrefix(m.To, "/"))
	}
	err = r.Account.As(func() error {
		more, err := root(r.Container.Image, append(tops, apart...))
		args = append(args, more...)
		return err
	})
	if err != nil {
		return nil, nil, &launch.StartError{Reason: "container image " + r.Container.Image + ": " + reason(err), Code: HoldImage}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--bind", r.tmp, "/tmp")
	if r.Container.GPUs {
		args = append(args, devices()...)
	}
	for _, m := range r.mounts {
		how := "--ro-bind"
		if m.Writable {
			how = "--bind"
		}
		args = append(args, how, m.From, m.To)
	}
	args = append(args, "--remount-ro", "/", "--chdir", r.Inside(r.Dir))
	env = slices.Clone(r.Env)
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		env = append(env, "PATH="+launch.DefaultPath)
	}
	if r.Mark != "" {
		env = append(env, r.Mark)
	}
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "LD_") { // for the job, not for bubblewrap
			args = append(args, "--setenv", name, value)
		}
	}
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "LD_") })
	args = append(args, "--", r.program())
	return append(args, r.Args...), env, nil
}

// root returns the arguments that mount the entries at the top of an image, except those
// named.
func root(image string, without []string) (args []string, err error) {
	entries, err := os.ReadDir(image)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		from, to := filepath.Join(image, e.Name()), "/"+e.Name()
		if slices.Contains(without, e.Name()) {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(from)
			if err != nil {
				return nil, err
			}
			args = append(args, "--symlink", target, to)
			continue
		}
		args = append(args, "--ro-bind", from, to)
	}
	// The machine's own name servers, where the image has a place for them.
	const names = "/etc/resolv.conf"
	if info, err := os.Lstat(image + names); err == nil && info.Mode().IsRegular() {
		args = append(args, "--ro-bind-try", names, names)
	}
	return args, nil
}

// devices returns the arguments for the device files of GPUs that there are.
func devices() (args []string) {
	for _, pattern := range []string{"/dev/nvidia*", "/dev/dri", "/dev/kfd"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			args = append(args, "--dev-bind", path, path)
		}
	}
	return args
}

// reason returns the system's error about a file, without its name.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
