package container

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/launch"
)

// apptainer is not tested with the program itself: see docs/containers.md.
var apptainer = runtime{
	name: "apptainer", programs: []string{"apptainer", "singularity"},
	kinds:   []launch.ImageKind{launch.SIF, launch.Directory, launch.Oras, launch.Docker, launch.Archive},
	command: apptained, attribute: "HasSingularity", version: "SingularityVersion",
}

// apptained keeps the job's environment from the runtime by a prefix of the names, which apptainer takes off.
func apptained(r request) (args, env []string, err error) {
	verb := "exec"
	if r.program() == "" {
		verb = "run"
	}
	args = []string{verb, "--containall", "--no-home", "--workdir", r.tmp, "--pwd", r.Inside(r.Dir)}
	if r.Container.Network == "none" {
		args = append(args, "--net", "--network", "none")
	}
	if r.Container.GPUs {
		args = append(args, "--nv")
	}
	for _, m := range r.mounts {
		args = append(args, "--bind", text(m))
	}
	image := r.Container.Image
	switch r.Container.Kind {
	case launch.Docker:
		image = "docker://" + image
	case launch.Oras:
		image = "oras://" + image
	case launch.Archive:
		image = "docker-archive:" + image
	}
	args = append(args, image)
	if verb == "exec" {
		args = append(args, r.program())
	}
	env = []string{"PATH=" + launch.DefaultPath, "HOME=" + r.Account.Home, "USER=" + r.Account.Name}
	if r.Mark != "" {
		env = append(env, r.Mark, "APPTAINERENV_"+r.Mark)
	}
	for _, entry := range r.Env {
		env = append(env, "APPTAINERENV_"+entry)
	}
	return append(args, r.Args...), env, nil
}

// text returns a mount as apptainer, podman and docker read it.
func text(m Mount) string {
	if m.Writable {
		return m.From + ":" + m.To
	}
	return m.From + ":" + m.To + ":ro"
}

// podman needs no daemon: the container's processes descend from the supervisor, which adopts them.
var podman = runtime{
	name: "podman", programs: []string{"podman"}, kinds: []launch.ImageKind{launch.Docker, launch.Archive},
	attribute: "HasDocker", version: "DockerVersion", fetches: true, conmon: true, complains: "Error: ",
	forgets: []string{"rm", "--force", "--time", "0", "--volumes"},
	command: func(r request) (args, env []string, err error) {
		options := append([]string{"--pull", "never", "--cgroups", "disabled", "--log-driver", "none"}, limits(r.Limits, r.Core)...)
		if !asuser.Privileged() {
			options = append(options, "--userns", "keep-id")
		}
		if r.Container.GPUs {
			options = append(options, "--device", "nvidia.com/gpu=all")
		}
		args, env = dockered(r, options...)
		return args, env, nil
	},
	trial: func(root, program string) []string {
		args := []string{"run", "--rm", "--cgroups", "disabled", "--network", "none", "--log-driver", "none"}
		args = append(args, limits(nil, -1)...)
		return append(args, "--volume", program+":/trial:ro", "--entrypoint", "/trial", "--rootfs", root, "-h")
	},
}

// limited are the limits of setrlimit(2) as podman names them.
var limited = map[int]string{
	unix.RLIMIT_CPU: "cpu", unix.RLIMIT_DATA: "data", unix.RLIMIT_FSIZE: "fsize", unix.RLIMIT_MEMLOCK: "memlock",
	unix.RLIMIT_RSS: "rss", unix.RLIMIT_STACK: "stack", unix.RLIMIT_NOFILE: "nofile", unix.RLIMIT_NPROC: "nproc",
}

// limits returns the options for the limits of a job, with the size of a core file in bytes; negative: unchanged. They
// override podman's own. The limits of open files and processes are always among them: otherwise podman asks for more
// than it may have where root may not raise limits, and podman 4.3 lowers its own limit of processes to that of files
// there.
func limits(job []launch.Rlimit, core int64) (options []string) {
	hard := func(resource int) uint64 {
		var now unix.Rlimit
		unix.Prlimit(0, resource, nil, &now)
		return now.Max
	}
	files := min(hard(unix.RLIMIT_NOFILE), 1<<20)
	most := map[string]uint64{"nofile": files, "nproc": min(hard(unix.RLIMIT_NPROC), files)}
	for _, l := range job {
		name, known := limited[l.Resource]
		if value := min(l.Hard, l.Soft); known && value < launch.Same {
			if before, is := most[name]; !is || value < before {
				most[name] = value
			}
		}
	}
	if core >= 0 {
		most["core"] = uint64(core)
	}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		options = append(options, "--ulimit", fmt.Sprintf("%s=%d:%d", name, most[name], most[name]))
	}
	return options
}

// docker is not tested with the program itself. Its containers are processes of a daemon's, which are no
// part of the job's family.
var docker = runtime{
	name: "docker", programs: []string{"docker"}, kinds: []launch.ImageKind{launch.Docker},
	attribute: "HasDocker", version: "DockerVersion", complains: "docker: ",
	forgets: []string{"rm", "--force", "--volumes"},
	command: func(r request) (args, env []string, err error) {
		var options []string
		if r.Container.PullAlways {
			options = []string{"--pull", "always"}
		}
		if r.Container.GPUs {
			options = append(options, "--gpus", "all")
		}
		args, env = dockered(r, options...)
		return args, env, nil
	},
}

// dockered returns the command line that docker and podman have in common, with further options. The job's environment
// is in a file, where it neither steers the runtime nor is shown by ps(1); but values of several lines are not.
func dockered(r request, options ...string) (args, env []string) {
	args = append([]string{"run", "--interactive", "--name", r.name, "--network", cmp.Or(r.Container.Network, "host")}, options...)
	args = append(args,
		"--user", fmt.Sprintf("%d:%d", r.Account.UID, r.Account.GID), "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--workdir", r.Inside(r.Dir))
	for _, m := range r.mounts {
		args = append(args, "--volume", text(m))
	}
	args = append(args, "--env-file", "/proc/self/fd/4")
	for _, entry := range r.Env {
		if strings.Contains(entry, "\n") {
			args = append(args, "--env", entry)
		}
	}
	program, rest := r.program(), r.Args
	switch {
	case program == "":
	case r.Container.Entrypoint:
		rest = append([]string{program}, rest...)
	default:
		args = append(args, "--entrypoint", program)
	}
	args = append(args, cmp.Or(r.image, r.Container.Image))
	return append(args, rest...), steering(r.Account)
}

// environment returns the content of the file with the environment of a job.
func environment(r request) string {
	var b strings.Builder
	for _, entry := range append(slices.Clone(r.Env), r.Mark) {
		if entry != "" && !strings.Contains(entry, "\n") {
			b.WriteString(entry + "\n")
		}
	}
	return b.String()
}

// steering returns the environment of a runtime itself.
func steering(a launch.Account) []string {
	home := a.Home
	if asuser.Privileged() {
		home = "/root"
	}
	env := []string{"PATH=" + strings.Join(folders, ":"), "HOME=" + home}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && !asuser.Privileged() {
		env = append(env, "XDG_RUNTIME_DIR="+dir)
	}
	return env
}
