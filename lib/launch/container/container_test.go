package container

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/launch"
)

// TestArguments holds what each runtime is called with. Apptainer and docker are tested by that alone.
func TestArguments(t *testing.T) {
	account := launch.Account{Name: "alice", Home: "/home/alice", UID: os.Getuid(), GID: os.Getgid()}
	job := func(c launch.Container, cmd string) request {
		c.Target = "/srv"
		j := launch.Job{Cmd: cmd, Args: []string{"a b"}, Dir: "/scratch", Scratch: "/scratch", Account: account, Mark: "M=1", Env: []string{"A=x", "B=1\n2", "LD_X=y"}, Container: &c, Core: -1}
		return request{Job: j, name: "f-1.0.1", tmp: "/scratch/.tmp", image: "", mounts: []Mount{{From: "/data", To: "/data"}, {From: "/scratch", To: "/srv", Writable: true}}}
	}
	dir := t.TempDir()
	for _, name := range []string{"bin", "tmp", "data"} {
		testenv.OK(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	testenv.OK(t, os.Symlink("bin", filepath.Join(dir, "sbin")))
	fetched := job(launch.Container{Kind: launch.Archive, Network: "none"}, "/scratch/condor_exec.exe")
	fetched.image, fetched.Core = "cafe", 0
	fetched.Limits = []launch.Rlimit{{Resource: unix.RLIMIT_NOFILE, Soft: 64, Hard: 64}, {Resource: unix.RLIMIT_NPROC, Soft: 50, Hard: 60}, {Resource: unix.RLIMIT_FSIZE, Soft: 1024, Hard: launch.Same}}
	for _, c := range []struct {
		by   runtime
		r    request
		want string
	}{
		{bubblewrap, job(launch.Container{Image: dir, Network: "none"}, "/bin/sh"), "--die-with-parent --new-session --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try" +
			" --cap-drop ALL --json-status-fd 4 --unshare-net --ro-bind DIR/bin /bin --symlink bin /sbin --proc /proc --dev /dev --bind /scratch/.tmp /tmp" +
			" --ro-bind /data /data --bind /scratch /srv --remount-ro / --chdir /srv --setenv LD_X y -- /bin/sh a b"},
		{apptainer, job(launch.Container{Kind: launch.SIF, Image: "/x.sif", GPUs: true}, "/bin/sh"), "exec --containall --no-home --workdir /scratch/.tmp --pwd /srv --nv" +
			" --bind /data:/data:ro --bind /scratch:/srv /x.sif /bin/sh a b"},
		{apptainer, job(launch.Container{Kind: launch.Oras, Image: "r.org/x:1", Network: "none"}, ""), "run --containall --no-home --workdir /scratch/.tmp --pwd /srv --net --network none" +
			" --bind /data:/data:ro --bind /scratch:/srv oras://r.org/x:1 a b"},
		{docker, job(launch.Container{Kind: launch.Docker, Image: "debian", GPUs: true, PullAlways: true, Entrypoint: true}, "/bin/sh"), "run --interactive --name f-1.0.1 --network host" +
			" --pull always --gpus all --user IDS --cap-drop ALL --security-opt no-new-privileges --workdir /srv --volume /data:/data:ro --volume /scratch:/srv" +
			" --env-file /proc/self/fd/4 --env B=1\n2 debian /bin/sh a b"},
		{podman, fetched, "run --interactive --name f-1.0.1 --network none --pull never --cgroups disabled --log-driver none" +
			" --ulimit core=0:0 --ulimit fsize=1024:1024 --ulimit nofile=64:64 --ulimit nproc=50:50" +
			" USERNS--user IDS --cap-drop ALL --security-opt no-new-privileges --workdir /srv --volume /data:/data:ro --volume /scratch:/srv" +
			" --env-file /proc/self/fd/4 --env B=1\n2 --entrypoint /srv/condor_exec.exe cafe a b"},
	} {
		args, env, err := c.by.command(c.r)
		userns := "--userns keep-id "
		if os.Getuid() == 0 {
			userns = ""
		}
		if got, want := strings.ReplaceAll(strings.Join(args, " "), dir, "DIR"), strings.NewReplacer("USERNS", userns, "IDS", fmt.Sprint(os.Getuid(), ":", os.Getgid())).Replace(c.want); got != want || err != nil {
			t.Errorf("%s is called with\n%s, %v, want\n%s", c.by.name, got, err, want)
		}
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "LD_") }) {
			t.Errorf("%s has the environment %q, want nothing of the job's that changes it", c.by.name, env)
		}
	}
	if _, _, err := bubblewrap.command(job(launch.Container{Image: dir + "/none"}, "/bin/sh")); err == nil || !strings.HasSuffix(err.Error(), "/none: no such file or directory") {
		t.Errorf("bubblewrap without an image: %v, want that it is missing", err)
	}
	if got, want := environment(fetched), "A=x\nLD_X=y\nM=1\n"; got != want {
		t.Errorf("the environment is %q, want %q", got, want)
	}
}

func TestQualified(t *testing.T) {
	for name, want := range map[string]string{
		"debian": "docker.io/library/debian", "debian:12": "docker.io/library/debian:12", "a/b": "docker.io/a/b", "a/b/c:1": "docker.io/a/b/c:1",
		"r.org/b": "r.org/b", "r:5000/b": "r:5000/b", "localhost/b": "localhost/b",
	} {
		if got := qualified(name); got != want {
			t.Errorf("qualified(%q) = %q, want %q", name, got, want)
		}
	}
}

// fake is a cache whose podman is a script: it has the images that are files of its folder, and pulls what it is told to.
func fake(t *testing.T, most int64) (c cache, store string) {
	t.Helper()
	dir := t.TempDir()
	store = filepath.Join(dir, "store")
	script := `#!/bin/sh
cd ` + store + ` || exit 1
case "$1 $2" in
"pull --quiet") echo "$3" >>../pulls; case "$3" in *none*) echo "Error: no such thing" >&2; exit 125; esac; id=$(echo "$3" | tr -dc a-f0-9); >$id; echo $id ;;
"image inspect") [ -e "$5" ] && echo 100 ;;
"image rm") rm "$3" ;;
"image save") cat ../saved ;;
esac
`
	path := filepath.Join(dir, "podman")
	saved := packed(t, "1.tar", packed(t, "file", []byte("x")), "manifest.json", []byte(`[{"Layers":["1.tar"]}]`))
	err := cmp.Or(os.WriteFile(path, []byte(script), 0o755), os.WriteFile(filepath.Join(dir, "saved"), saved, 0o644), os.Mkdir(store, 0o755))
	testenv.OK(t, err)
	return cache{filepath.Join(dir, "cache"), most, installed{runtime: podman, path: path}}, store
}

// An image is fetched once, or always, or when it has gone; the oldest ones go that no job uses.
func TestCache(t *testing.T) {
	c, store := fake(t, 250)
	pulls := func() int {
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(store), "pulls"))
		return strings.Count(string(text), "\n")
	}
	used := map[string]*os.File{}
	fetch := func(name string, always bool) {
		t.Helper()
		id, use, _, err := c.fetch(context.Background(), name, nil, always)
		if err != nil || id != name {
			t.Fatalf("fetch(%s) = %s, %v, want its ID", name, id, err)
		}
		used[name].Close()
		used[name] = use
	}
	for n, step := range []struct {
		name   string
		always bool
		pulls  int
	}{{"a", false, 1}, {"a", false, 1}, {"a", true, 2}, {"b", false, 3}} {
		if fetch(step.name, step.always); pulls() != step.pulls {
			t.Errorf("step %d: %d pulls, want %d", n, pulls(), step.pulls)
		}
	}
	os.Remove(filepath.Join(store, "a"))
	if fetch("a", false); pulls() != 4 {
		t.Errorf("an image that has gone: %d pulls, want 4", pulls())
	}
	fetch("c", false)
	left := func() string {
		files, _ := os.ReadDir(store)
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		return strings.Join(names, " ")
	}
	if got := left(); got != "a b c" {
		t.Errorf("images %s are left, want all: jobs use them", got)
	}
	used["b"].Close()
	used["c"].Close()
	fetch("d", false)
	if got := left(); got != "a d" {
		t.Errorf("images %s are left, want a and d: a job uses the oldest", got)
	}
	if _, _, _, err := c.fetch(context.Background(), "none", nil, false); err == nil || err.Error() != "container image: Error: no such thing" {
		t.Errorf("no image: %v, want the words of podman", err)
	}
}
