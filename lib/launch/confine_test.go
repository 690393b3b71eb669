package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// printed runs a script with a change to its job and returns what it prints.
func printed(t *testing.T, script string, change func(*Job)) string {
	t.Helper()
	job := shellIn(t.TempDir(), script)
	job.Core = -1
	change(&job)
	if got := start(t, job, nil).Wait(); got.Signal != 0 {
		t.Errorf("the job was killed by signal %d", got.Signal)
	}
	return strings.TrimSpace(contents(t, job.Out))
}

// niceOf prints the shell's own nice value.
const niceOf = `read -r stat </proc/$$/stat; set -- ${stat##*) }; echo ${17}`

func TestNice(t *testing.T) {
	before := printed(t, niceOf, func(*Job) {})
	if got := printed(t, niceOf, func(j *Job) { j.Nice = 7 }); got != "7" {
		t.Errorf("nice value = %s, want 7", got)
	}
	if got := printed(t, niceOf, func(j *Job) { j.Nice = 99 }); got != "19" {
		t.Errorf("nice value for 99 = %s, want 19", got)
	}
	want := "-5"
	if os.Geteuid() != 0 {
		want = before // no more than it had
	}
	if got := printed(t, niceOf, func(j *Job) { j.Nice = -5 }); got != want {
		t.Errorf("nice value for -5 = %s, want %s", got, want)
	}
}

// A thread that has taken on the nice value and processors of a job starts no other.
func TestNiceIsTheJobsAlone(t *testing.T) {
	before := printed(t, niceOf, func(*Job) {})
	var all sync.WaitGroup
	for i := range 40 {
		nice := i % 2 * 5
		all.Go(func() {
			want := before
			if nice != 0 {
				want = "5"
			}
			if got := printed(t, niceOf, func(j *Job) { j.Nice = nice }); got != want {
				t.Errorf("nice value = %s, want %s", got, want)
			}
		})
	}
	all.Wait()
	testenv.Until(t, "no thread has a job's nice value", func() bool {
		threads, _ := filepath.Glob("/proc/self/task/*/stat")
		for _, name := range threads {
			if filepath.Base(filepath.Dir(name)) == strconv.Itoa(os.Getpid()) {
				continue // the first thread cannot end; Go lets it rest
			}
			b, _ := os.ReadFile(name)
			if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 16 && f[16] == "5" {
				return false
			}
		}
		return true
	})
}

func TestProcessors(t *testing.T) {
	var have unix.CPUSet
	testenv.OK(t, unix.SchedGetaffinity(0, &have))
	last := -1
	for cpu := range 1024 {
		if have.IsSet(cpu) {
			last = cpu
		}
	}
	const allowed = `while read n list; do case $n in Cpus_allowed_list:) echo $list; esac; done </proc/$$/status`
	if got := printed(t, allowed, func(j *Job) { j.CPUs = []int{last} }); got != fmt.Sprint(last) {
		t.Errorf("processors = %s, want %d", got, last)
	}
	if have.Count() > 1 {
		if got := printed(t, allowed, func(*Job) {}); got == fmt.Sprint(last) {
			t.Errorf("processors of a job that may have all = %s, want more", got)
		}
	}
	job := shellIn(t.TempDir(), "exit 0")
	job.CPUs = []int{1000, 1001}
	_, err := Start(job, nil, nil)
	if want := "processors 1000,1001: invalid argument"; err == nil || err.Error() != want {
		t.Errorf("Start on processors that are not there = %v, want %s", err, want)
	}
}

func TestCoreSize(t *testing.T) {
	for size, want := range map[int64]string{0: "0 0", 1 << 20: "2048 2048"} {
		// The shell counts in blocks of 512 bytes.
		if got := printed(t, `echo $(ulimit -S -c) $(ulimit -H -c)`, func(j *Job) { j.Core = size }); got != want {
			t.Errorf("the largest core for %d bytes = %s, want %s", size, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	var before [16]unix.Rlimit
	for i := range before {
		unix.Getrlimit(i, &before[i])
	}
	// As /proc has them: soft and hard.
	const script = `while read -r line; do case $line in "Max file size"*|"Max stack"*|"Max open files"*|"Max address"*) set -- ${line#Max * * }; echo $line; esac; done </proc/$$/limits`
	got := printed(t, script, func(j *Job) {
		j.Limits = []Rlimit{
			{unix.RLIMIT_FSIZE, 1 << 20, 1 << 21}, {unix.RLIMIT_FSIZE, 1 << 22, 1 << 19},
			{unix.RLIMIT_STACK, 1 << 22, 1 << 23}, {unix.RLIMIT_NOFILE, 100, 200}, {unix.RLIMIT_AS, 1 << 33, Same},
		}
	})
	for _, want := range []string{
		"Max file size 524288 524288 bytes", "Max stack size 4194304 8388608 bytes",
		"Max open files 100 200 files", "Max address space 8589934592 unlimited bytes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("limits of the job:\n%s\nwant %s", got, want)
		}
	}
	for i, want := range before {
		var now unix.Rlimit
		if unix.Getrlimit(i, &now); now != want {
			t.Errorf("limit %d of this process = %v, want %v as before", i, now, want)
		}
	}
}

// A job of another user has hard limits above ours, if the machine gives it such and
// lets root do so; in a container it may not.
func TestLimitsOfAnother(t *testing.T) {
	a, folder := otherAccount(t)
	var before unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_SIGPENDING, &before))
	job := shellIn(givenTo(t, a, filepath.Join(folder, "iwd")), `grep -e "pending signals" -e "processes" -e "open files" /proc/self/limits`)
	job.Account = a
	job.Limits = []Rlimit{{unix.RLIMIT_SIGPENDING, before.Max + 1, before.Max + 2}, {unix.RLIMIT_NPROC, 90, 91}, {unix.RLIMIT_NOFILE, 70, 80}}
	start(t, job, nil).Wait()
	got := strings.Join(strings.Fields(contents(t, job.Out)), " ")
	const lower = "Max processes 90 91 processes Max open files 70 80 files Max pending signals %d %d signals"
	raised, kept := fmt.Sprintf(lower, before.Max+1, before.Max+2), fmt.Sprintf(lower, before.Max, before.Max)
	if got != raised && got != kept {
		t.Errorf("limits of the job: %s, want %s", got, raised)
	}
}

// With CAP_SYS_RESOURCE root sets the limits of others as root, and nobody's signals reach it
// meanwhile; without it those of its own processes are all that it may set.
func TestMayLimit(t *testing.T) {
	a, folder := otherAccount(t)
	header, have := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	testenv.OK(t, unix.Capget(&header, &have[0]))
	may := have[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
	for _, c := range []struct {
		account Account
		want    bool
	}{{a, may}, {CurrentAccount(), true}} {
		job := shellIn(givenTo(t, c.account, filepath.Join(folder, c.account.Name)), `exec sleep 1000`)
		job.Account = c.account
		p := start(t, job, nil)
		if got := mayLimit(p.PID()); got != c.want {
			t.Errorf("mayLimit of a process of %s = %v, want %v", c.account.Name, got, c.want)
		}
		p.Kill()
		p.Wait()
	}
}

// A program that may not fork more is stopped by the limit of its user, not of root.
func TestNoMoreProcesses(t *testing.T) {
	a, folder := otherAccount(t)
	a.UID = 61234 // who has no other processes
	job := shellIn(givenTo(t, a, filepath.Join(folder, "iwd")), `(sleep 1000 & sleep 1000 & sleep 1000 & sleep 1000 & echo five); exit 3`)
	job.Account, job.Limits = a, []Rlimit{{unix.RLIMIT_NPROC, 3, 3}}
	p := start(t, job, nil)
	p.Wait()
	if got := contents(t, job.Out); strings.Contains(got, "five") {
		t.Errorf("the job printed %q, want it unable to start five processes", got)
	}
}

// Of two limits for one resource the lower counts, whatever their order, and Same
// limits nothing.
func TestLowestLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Just(Same), rapid.Just(uint64(unix.RLIM_INFINITY)))
		limits := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Rlimit {
			return Rlimit{rapid.IntRange(0, 2).Draw(t, "resource"), part.Draw(t, "soft"), part.Draw(t, "hard")}
		})).Draw(t, "limits")
		got := Job{Core: -1, Limits: limits}.limits()
		for i, l := range got {
			if i > 0 && got[i-1].Resource >= l.Resource {
				t.Fatalf("limits of %v = %v, want one of each, sorted", limits, got)
			}
			soft := Same
			for _, k := range limits {
				if k.Resource == l.Resource && k.Soft != Same && (soft == Same || k.Soft < soft) {
					soft = k.Soft
				}
			}
			if l.Soft != soft {
				t.Fatalf("limits of %v = %v, want soft %d", limits, got, soft)
			}
			next := l.over(unix.Rlimit{Cur: 1, Max: 2})
			if next.Cur > next.Max {
				t.Fatalf("%v over 1, 2 = %v, want soft below hard", l, next)
			}
		}
	})
}

// A program that takes on other rights is not held up to be given limits: it starts with
// the soft ones all the same, and gets the others soon.
func TestLimitsOfProgramWithRights(t *testing.T) {
	dir := t.TempDir()
	shell, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sh"), shell, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(dir, "sh"), os.ModeSetuid|0o755)
	}
	testenv.OK(t, err)
	if path := filepath.Join(dir, "sh"); !takesRights(path) || takesRights("/bin/sh") {
		t.Fatalf("takesRights(%s) = %v, of /bin/sh %v, want true, false", path, takesRights(path), takesRights("/bin/sh"))
	}
	got := printed(t, `echo $(ulimit -S -s); until test $(ulimit -S -n) = 100; do :; done; echo $(ulimit -H -n)`, func(j *Job) {
		j.Cmd = filepath.Join(dir, "sh")
		j.Limits = []Rlimit{{unix.RLIMIT_STACK, 1 << 22, Same}, {unix.RLIMIT_NOFILE, 100, 200}}
	})
	if want := "4096\n200"; got != want {
		t.Errorf("limits = %q, want %q", got, want)
	}
}

func TestLimitsConf(t *testing.T) {
	const all = unix.RLIM_INFINITY
	c := conf{
		Account{Name: "alice", UID: 1000, GID: 1000, Groups: []int{1000, 50}},
		func(name string) (int, bool) {
			gid, ok := map[string]int{"staff": 50, "wheel": 10}[name]
			return gid, ok
		},
	}
	for _, k := range []struct {
		text     string
		want     []Rlimit
		priority int
	}{
		{"", nil, 0},
		{"# alice hard nproc 5", nil, 0},
		{"alice hard nproc 5 # as agreed", []Rlimit{{unix.RLIMIT_NPROC, Same, 5}}, 0},
		{"  alice\tsoft  nproc\t5\n", []Rlimit{{unix.RLIMIT_NPROC, 5, Same}}, 0},
		{"alice - nproc 5", []Rlimit{{unix.RLIMIT_NPROC, 5, 5}}, 0},
		{"alice - NPROC 5", []Rlimit{{unix.RLIMIT_NPROC, 5, 5}}, 0},
		{"alice - core 4", []Rlimit{{unix.RLIMIT_CORE, 4096, 4096}}, 0},
		{"alice - cpu 2", []Rlimit{{unix.RLIMIT_CPU, 120, 120}}, 0},
		{"alice - nofile unlimited", []Rlimit{{unix.RLIMIT_NOFILE, all, all}}, 0},
		{"alice - as -1", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - as infinity", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - as 18446744073709551615", []Rlimit{{unix.RLIMIT_AS, all, all}}, 0},
		{"alice - nice -10", []Rlimit{{unix.RLIMIT_NICE, 30, 30}}, 0},
		{"alice - nice 100", []Rlimit{{unix.RLIMIT_NICE, 1, 1}}, 0},
		{"alice - priority 7", nil, 7},
		{"alice - priority 70", nil, 19},
		{"alice - maxlogins 2", nil, 0},
		{"alice - locks 2", nil, 0},
		{"% - nproc 2", nil, 0},
		{"%staff - nproc 2", nil, 0},
		{"alice - nproc five", nil, 0},
		{"alice - nproc", nil, 0},
		{"bob - nproc 2", nil, 0},
		{"@staff - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"@wheel - nproc 2", nil, 0},
		{"@nosuch - nproc 2", nil, 0},
		{"* - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{":1000 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"1000: - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"500:1500 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"1001: - nproc 2\n500:999 - nproc 3\n:999 - nproc 4\n: - nproc 5\na:b - nproc 6", nil, 0},
		{"@:50 - nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 2}}, 0},
		{"@40:60 - nproc 2\n@60: - nproc 3", []Rlimit{{unix.RLIMIT_NPROC, 3, 3}}, 0}, // ranges are of the first group
		// The closest holds whatever the order, and of equals the last.
		{"alice - nproc 1\n@staff - nproc 2\n* - nproc 3", []Rlimit{{unix.RLIMIT_NPROC, 1, 1}}, 0},
		{"* - nproc 3\n@staff - nproc 2\n@:1000 - nproc 4", []Rlimit{{unix.RLIMIT_NPROC, 4, 4}}, 0},
		{"* - nproc 3\nalice soft nproc 2", []Rlimit{{unix.RLIMIT_NPROC, 2, 3}}, 0},
		{"* - priority 3\nalice - priority 2\n@staff - priority 5", nil, 2},
		{"alice - nproc 1\nalice -", nil, 0},
		{"@staff -\nalice - nproc 1", nil, 0},
		{"* -\nbob -\nalice - nproc 1", []Rlimit{{unix.RLIMIT_NPROC, 1, 1}}, 0},
	} {
		if got, priority := c.limits([]string{k.text}); !reflect.DeepEqual(got, k.want) || priority != k.priority {
			t.Errorf("limits of %q = %v, %d, want %v, %d", k.text, got, priority, k.want, k.priority)
		}
	}
	// What adds to the file comes behind it.
	if got, _ := c.limits([]string{"alice - nproc 1", "alice - nproc 2\n* - sigpending 3"}); !reflect.DeepEqual(got, []Rlimit{{unix.RLIMIT_NPROC, 2, 2}, {unix.RLIMIT_SIGPENDING, 3, 3}}) {
		t.Errorf("limits of two files = %v, want 2 processes and 3 signals", got)
	}
}

func FuzzLimitsConf(f *testing.F) {
	f.Add("alice hard nproc 5\n* soft core unlimited\n@staff - as -1\nalice -\n")
	f.Add("1000:2000 - nice -21\n@:: - : 1\n: - priority 99999999999999999999\n")
	c := conf{Account{Name: "alice", UID: 1000, GID: 1000}, func(name string) (int, bool) { return len(name), true }}
	f.Fuzz(func(t *testing.T, text string) {
		limits, priority := c.limits([]string{text})
		if priority < -20 || priority > 19 {
			t.Errorf("limits of %q: priority %d, want a nice value", text, priority)
		}
		for i, l := range limits {
			if i > 0 && limits[i-1].Resource >= l.Resource {
				t.Errorf("limits of %q = %v, want them sorted, and one of each", text, limits)
			}
		}
		if len(limits) > 0 && !strings.Contains(text, " ") && !strings.ContainsAny(text, "\t\v\f\r\u0085\u00a0") {
			t.Errorf("limits of %q = %v, want none of a text of single words", text, limits)
		}
	})
}
