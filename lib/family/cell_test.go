package family

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

func TestFindMount(t *testing.T) {
	for _, c := range []struct{ name, text, mount, root string }{
		{"v2 alone", "25 18 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "/sys/fs/cgroup", "/"},
		{"hybrid", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified", "/"},
		{"a part of it", "25 18 0:22 /a\\040b /mnt/c\\134d rw - cgroup2 none rw\n", `/mnt/c\d`, "/a b"},
		{"v1 alone", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "", ""},
		{"a name only", "32 31 0:29 / /cgroup2 rw - ext4 cgroup2 rw\n", "", ""},
		{"cut short", "32 31 0:29 - cgroup2\n- cgroup2 x\n", "", ""},
	} {
		mount, root, ok := findMount(c.text)
		if mount != c.mount || root != c.root || ok != (c.mount != "") {
			t.Errorf("%s: findMount = %q, %q, %v, want %q, %q", c.name, mount, root, ok, c.mount, c.root)
		}
	}
}

func FuzzFindMount(f *testing.F) {
	f.Add("25 18 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n")
	f.Add("25 18 0:22 /a\\040b /mnt/c\\134 rw - cgroup2 none rw")
	f.Fuzz(func(t *testing.T, text string) {
		if mount, root, ok := findMount(text); ok != (mount+root != "") && ok != strings.Contains(text, "cgroup2 ") {
			t.Errorf("findMount(%q) = %q, %q, %v", text, mount, root, ok)
		}
	})
}

func TestOwnGroup(t *testing.T) {
	for _, c := range []struct{ text, root, want string }{
		{"0::/\n", "/", "/"},
		{"1:cpu:/\n0::/system.slice/cron.service\n", "/", "/system.slice/cron.service"},
		{"0::/a/b\n", "/a", "/b"},
		{"0::/a\n", "/a", "/"},
		{"0::/ab\n", "/a", ""},
		{"0::/../x\n", "/", ""},
		{"0::/x (deleted)\n", "/", ""},
		{"4:memory:/x\n", "/", ""},
		{"", "/", ""},
	} {
		if got, ok := ownGroup(c.text, c.root); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("ownGroup(%q, %q) = %q, %v, want %q", c.text, c.root, got, ok, c.want)
		}
	}
}

func TestBase(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"fairspool", "fairspool"}, {"a/b", "a/b"}, {"/a/b/", "a/b"}, {"", ""}, {"/", ""}, {"..", ""}, {"a/../..", ""},
	} {
		if got, err := base(c.text); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("base(%q) = %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
	}{{"0123-12.0.1", true}, {"", false}, {".", false}, {"..", false}, {"a/b", false}, {"a\nb", false}, {strings.Repeat("x", 201), false}} {
		if got := plain(c.name); got != c.want {
			t.Errorf("plain(%q) = %v, want %v", c.name, got, c.want)
		}
	}
}

// cgroupFiles makes a folder that looks like a tree of cgroups to those who have no eye for
// file systems.
func cgroupFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testenv.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.OK(t, err)
	return string(b)
}

func TestPlaces(t *testing.T) {
	dir := cgroupFiles(t, map[string]string{
		"alone.scope/cgroup.procs":      "17\n",
		"alone.scope/leaf/cgroup.procs": "",
		"cron.service/cgroup.procs":     "1\n17\n",
		"x.scope/supervisor/procs":      "17\n",
	})
	for _, c := range []struct {
		own  string
		want []place
	}{
		{"/alone.scope", []place{{dir + "/alone.scope", true}, {dir, false}}},
		{"/cron.service", []place{{dir, false}}},
		{"/x.scope/supervisor", []place{{dir + "/x.scope", false}}},
		{"/", []place{{dir, false}}},
	} {
		if got := places(dir, c.own, 17); !slices.Equal(got, c.want) {
			t.Errorf("places of %s = %v, want %v", c.own, got, c.want)
		}
	}
}

// A place that we leave hands its controllers down, and what is below it, too.
func TestPrepare(t *testing.T) {
	dir := cgroupFiles(t, map[string]string{
		"cgroup.procs": "17\n", "cgroup.subtree_control": "", "supervisor/cgroup.procs": "",
		"a/cgroup.subtree_control": "", "a/b/cgroup.subtree_control": "", "a/b/cgroup.procs": "",
	})
	got, err := place{dir, true}.prepare("a/b", 17)
	if err != nil || got != dir+"/a/b" {
		t.Fatalf("prepare = %s, %v, want %s", got, err, dir+"/a/b")
	}
	if got := content(t, dir+"/supervisor/cgroup.procs"); got != "17" {
		t.Errorf("the leaf's processes = %q, want 17", got)
	}
	for _, name := range []string{"", "/a", "/a/b"} {
		// A real one takes word by word; in a file the second is written over the first.
		if got, want := content(t, dir+name+"/cgroup.subtree_control"), "+iomory"; got != want {
			t.Errorf("%s: subtree_control = %q, want %q", name, got, want)
		}
	}
	if _, err := (place{dir + "/nowhere", false}).prepare("a", 17); err == nil {
		t.Error("prepare of a place that is not there = nil, want an error")
	}
}

func TestLimit(t *testing.T) {
	all := map[string]string{"memory.max": "", "memory.high": "", "memory.swap.max": "", "memory.oom.group": ""}
	for _, c := range []struct {
		name  string
		files map[string]string
		o     Options
		want  string // max, high, swap, group
		kept  bool
	}{
		{"hard", all, Options{MemoryMB: 512}, "536870912  0 1", true},
		{"soft", all, Options{MemoryMB: 512, Soft: true}, " 536870912  1", true},
		{"none", all, Options{}, "   ", false},
		{"too much to count", all, Options{MemoryMB: 1 << 50}, "   ", false},
		{"no controller", nil, Options{MemoryMB: 512}, "", false},
	} {
		cell := &cell{dir: cgroupFiles(t, c.files)}
		if got := cell.limit(c.o); got != c.kept {
			t.Errorf("%s: limit = %v, want %v", c.name, got, c.kept)
		}
		if c.files == nil {
			if entries, err := os.ReadDir(cell.dir); err != nil || len(entries) > 0 {
				t.Errorf("%s: limit made %v, want nothing", c.name, entries)
			}
			continue
		}
		var got []string
		for _, name := range []string{"memory.max", "memory.high", "memory.swap.max", "memory.oom.group"} {
			got = append(got, content(t, filepath.Join(cell.dir, name)))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: limits = %q, want %q", c.name, s, c.want)
		}
		by := map[bool]string{true: ByCgroup, false: ByWatch}[c.kept]
		if c.o.MemoryMB == 0 {
			by = ""
		}
		cell.limited = c.kept
		if got := (&Family{options: c.o, cell: cell}).By(); got != by {
			t.Errorf("%s: By = %q, want %q", c.name, got, by)
		}
	}
	if got := (&Family{options: Options{MemoryMB: 5}}).By(); got != ByWatch {
		t.Errorf("By without a cgroup = %q, want %q", got, ByWatch)
	}
}

func TestOutOfMemory(t *testing.T) {
	for _, c := range []struct {
		name, events string
		want         bool
	}{
		{"nothing", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", false},
		{"over the limit", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n", true},
		{"the machine's memory was short", "max 0\noom 0\noom_kill 1\n", false},
		{"it went well", "max 9\noom 1\noom_kill 0\n", false},
		{"no such file", "", false},
	} {
		files := map[string]string{"memory.events": c.events, "memory.peak": "4096000\n", "cgroup.procs": "",
			"memory.stat": "anon 1024000\nfile 999\nshmem 2048\n", "cpu.stat": "usage_usec 9\nuser_usec 5000000\nsystem_usec 2000000\n",
			"io.stat": "8:0 rbytes=10 wbytes=200 rios=1\n8:16 rbytes=5 wbytes=1 rios=2\n"}
		f := &Family{adopts: true, cell: &cell{dir: cgroupFiles(t, files), limited: true}}
		if got := f.OutOfMemory(); got != c.want {
			t.Errorf("%s: OutOfMemory = %v, want %v", c.name, got, c.want)
		}
		want := Usage{User: 5 * time.Second, System: 2 * time.Second, RSSKB: 1002, PeakKB: 1002, Exact: true, ReadBytes: 15, WrittenBytes: 201}
		if c.want {
			want.PeakKB = 4000
		}
		if got := f.Usage(); got != want {
			t.Errorf("%s: Usage = %+v, want %+v", c.name, got, want)
		}
	}
}

func TestGroupsBelow(t *testing.T) {
	dir := cgroupFiles(t, map[string]string{"x.slice/fairspool/n/f": "", "fairspool/n/f": "", "fairspool/nn/f": "", "other/n/f": ""})
	want := []string{dir + "/fairspool/n", dir + "/x.slice/fairspool/n"}
	if got := groupsBelow(dir, "fairspool/n"); !slices.Equal(got, want) {
		t.Errorf("groupsBelow = %q, want %q", got, want)
	}
}

// Who is alone in a cgroup, as in a scope of systemd's, moves to a leaf of it and makes the
// others beside that; what is started then begins its life there, and Close removes it.
func TestOwnScope(t *testing.T) {
	mount, own, ok := hierarchy()
	if !ok {
		t.Skip("this machine has no cgroups of version 2")
	}
	scope := filepath.Join(mount, own, "fairspool-test-"+strconv.Itoa(os.Getpid())+".scope")
	if err := os.Mkdir(scope, 0o755); err != nil {
		t.Skipf("this machine gives us no cgroup: %v", err)
	}
	c := &cell{dir: scope, fd: -1}
	t.Cleanup(func() {
		c.kill()
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	f := open(t, "")
	fd, err := openFile(scope, 0)
	testenv.OK(t, err)
	defer syscall.Close(fd)
	s := exec.Command(os.Args[0], "name", "base/sub", "cd "+f.dir+"; cat /proc/self/cgroup >group; >ready; "+"sleep "+f.token)
	s.Env = append(os.Environ(), "FAMILY_TEST=supervise")
	s.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	if _, err := s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, s.Start())
	f.sleepers(1)
	want := strings.TrimPrefix(scope, mount) + "/base/sub/name"
	if got := content(t, f.dir+"/group"); !strings.Contains(got, "0::"+want+"\n") {
		t.Errorf("the job's cgroups are %q, want %s", got, want)
	}
	groups := content(t, "/proc/"+strconv.Itoa(s.Process.Pid)+"/cgroup")
	if !strings.Contains(groups, "0::"+strings.TrimPrefix(scope, mount)+"/supervisor\n") {
		t.Errorf("the supervisor's cgroups are %q, want a leaf of %s", groups, scope)
	}
	s.Process.Kill()
	s.Wait()
	if killed, err := Survivors(Options{Name: "name", Base: "base/sub"}, testenv.Longest); killed < 1 || err != nil {
		t.Errorf("Survivors = %d, %v, want 1 at least", killed, err)
	}
	if _, err := os.Stat(scope + "/base/sub/name"); !os.IsNotExist(err) {
		t.Errorf("the cgroup after Survivors: %v, want none", err)
	}
}

// What is empty and not kept goes, what is in use stays whatever is said of it.
func TestSweep(t *testing.T) {
	f := open(t, "fairspool-test")
	job := f.start(`>ready; $S`)
	dir := filepath.Dir(f.cell.dir)
	for _, name := range []string{"kept", "left"} {
		testenv.OK(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		defer os.Remove(filepath.Join(dir, name))
	}
	Sweep("fairspool-test", func(name string) bool { return name == "kept" })
	for name, want := range map[string]bool{"kept": true, "left": false, f.options.Name: true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("after Sweep the cgroup %s: %v, want it there: %v", name, err, want)
		}
	}
	job.Process.Kill()
	job.Wait()
}
