package container

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"fairspool/lib/asuser"
	"fairspool/lib/launch"
)

// Found is a runtime of this machine, which was tried.
type Found struct {
	Name    string // as Container.Runtimes has it
	Version string // of the program, its own words: "bubblewrap 0.8.0"
	Err     error  // why it runs no container; nil: it does
	runtime runtime
}

// trialTime bounds how long all trials may take together, and each question to a runtime but fetching an image.
const trialTime = 30 * time.Second

// trialUser is the user as whom root tries runtimes that would run with the rights of a
// job's owner.
const trialUser = 65534

// Detect tries each runtime that is allowed and installed, by running a container that does nothing.
func (s Settings) Detect(ctx context.Context) (list []Found) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	for _, r := range s.installed() {
		f := Found{Name: r.name, runtime: r.runtime}
		var words string
		if words, f.Err = r.ask(ctx, "--version"); f.Err == nil {
			f.Version = r.name + " " + number(words)
			f.Err = r.try(ctx)
		}
		list = append(list, f)
	}
	return list
}

// number returns the first word of a text that begins with a digit: the number of a version.
func number(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.TrimRight(word, ",")
		}
	}
	return "unknown"
}

// try runs a container.
func (i installed) try(ctx context.Context) error {
	if i.trial == nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if i.monitors {
		program = "/bin/true"
	}
	_, err = i.ask(ctx, i.trial(filepath.Clean(dir), program)...)
	return err
}

// ask runs the program and returns its output. If the container's program has run, the runtime works, however
// that program ended.
func (i installed) ask(ctx context.Context, args ...string) (string, error) {
	var out strings.Builder
	err := i.run(ctx, &out, args...)
	return out.String(), err
}

// run runs the program, which prints to out.
func (i installed) run(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, i.path, args...)
	cmd.Env, cmd.WaitDelay = steering(launch.CurrentAccount()), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if i.tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+i.tmp)
	}
	if i.extra != nil {
		cmd.ExtraFiles = []*os.File{i.extra}
	}
	if asuser.Privileged() && i.forgets == nil {
		cmd.Dir = "/"
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: trialUser, Gid: trialUser}
	}
	var wrong strings.Builder
	cmd.Stdout, cmd.Stderr = out, &wrong
	var err error
	if e := asuser.Root(func() {
		goruntime.LockOSThread() // its end would be the program's
		defer goruntime.UnlockOSThread()
		err = cmd.Run()
	}); e != nil {
		return e
	}
	code := cmd.ProcessState.ExitCode()
	if err == nil || i.forgets != nil && args[0] == "run" && code >= 0 && (code < 125 || code > 127) {
		return nil
	}
	return words(wrong.String(), err)
}

// words returns the last line of a runtime's error output.
func words(text string, err error) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return &launch.StartError{Reason: last}
	}
	return err
}

// Offer returns the attributes of a slot with these runtimes: truths, the kinds of images as HTCondor names
// them, sorted; and texts, the runtimes' versions and why others do not work.
func Offer(list []Found) (truths []string, texts [][2]string) {
	var versions, failed []string
	for _, f := range list {
		if f.Err != nil {
			failed = append(failed, f.Name+": "+f.Err.Error())
			continue
		}
		versions = append(versions, f.Version)
		truths = append(truths, "HasContainer", f.runtime.attribute)
		for _, kind := range f.runtime.kinds {
			truths = append(truths, offers[kind])
		}
		if f.runtime.version != "" && !slices.ContainsFunc(texts, func(t [2]string) bool { return t[0] == f.runtime.version }) {
			texts = append(texts, [2]string{f.runtime.version, f.Version})
		}
	}
	slices.Sort(truths)
	truths = slices.DeleteFunc(slices.Compact(truths), func(name string) bool { return name == "" })
	if len(versions) > 0 {
		texts = append(texts, [2]string{"ContainerRuntimes", strings.Join(versions, ", ")})
	}
	if len(failed) > 0 {
		texts = append(texts, [2]string{"ContainerRuntimesFailed", strings.Join(failed, "; ")})
	}
	return truths, texts
}

// offers are the attributes of slots that take images of a kind. A slot for archives takes images of Docker
// registries, and a slot for SIF files takes those of registries.
var offers = map[launch.ImageKind]string{
	launch.Directory: "HasSandboxImage", launch.SIF: "HasSIF", launch.Docker: "HasDockerURL",
}
