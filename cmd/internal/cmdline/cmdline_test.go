package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/spool"
)

func execute(run func(*Call) error, args ...string) (status int, out, bad string) {
	var o, b bytes.Buffer
	status = Execute(toy(run), args, strings.NewReader(""), &o, &b)
	return status, o.String(), b.String()
}

// alone points everything that a command looks at into a folder of the test's.
func alone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("FAIRSPOOL_CONFIG", "")
	t.Setenv("FAIRSPOOL_DIR", "")
	t.Setenv("FAIRSPOOL_NOW", "")
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	return dir
}

func TestExitStatus(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		err    error
		status int
		bad    string
	}{
		{nil, 0, ""},
		{errors.New("jobs: no\nsuch"), 1, "toy: jobs: no\\nsuch\n"},
		{Usagef("want %d", 2), 2, "toy: want 2\n"},
		{fmt.Errorf("%w for long", spool.ErrLocked), 75, "toy: the spool is locked for long\n"},
		{pointing{"a\n ^"}, 1, "toy: wrong\na\n ^\n"},
		{fmt.Errorf("later: %w", pointing{"a\n"}), 1, "toy: later: wrong\na\n"},
		{pointing{}, 1, "toy: wrong\n"},
		{ErrReported, 1, ""},
		{syscall.EPIPE, 1, ""},
	} {
		status, _, bad := execute(func(*Call) error { return c.err })
		if status != c.status || bad != c.bad {
			t.Errorf("exit for %v = %d, %q, want %d, %q", c.err, status, bad, c.status, c.bad)
		}
	}
}

// pointing is an error that shows what is wrong.
type pointing struct{ excerpt string }

func (pointing) Error() string     { return "wrong" }
func (p pointing) Excerpt() string { return p.excerpt }

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestLostOutput(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		err error
		bad string
	}{
		{syscall.ENOSPC, "toy: standard output: no space left on device: the output is lost, everything else is done\n"},
		{syscall.EPIPE, ""},
	} {
		for _, n := range []int{1, 1 << 16} {
			var bad bytes.Buffer
			status := Execute(toy(func(c *Call) error {
				fmt.Fprint(c.Stdout, strings.Repeat("x", n))
				return nil
			}), nil, nil, broken{c.err}, &bad)
			if status != 1 || bad.String() != c.bad {
				t.Errorf("output of %d bytes lost to %v = %d, %q, want 1, %q", n, c.err, status, bad.String(), c.bad)
			}
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	alone(t)
	t.Setenv("FAIRSPOOL_CONFIG", "/nowhere/at/all")
	status, out, bad := execute(nil, "x", "-help")
	if _, short, _ := execute(nil, "-h"); status != 0 || bad != "" || short != out {
		t.Errorf("-help = %d, %q, want 0, and -h the same", status, bad)
	}
	for _, want := range []string{
		"toy - try flags\n", "usage: toy [options] [ARG...]\n", "A command for tests.\n",
		"  -setprio USER RUP (-s)\n", "  -setfactor USER FACTOR (-setf)\n", "  -delete USER (-del)\n",
		"  -u USER (-user)\n", "  -af[:lh,] ATTR...\n", "  +N, -N\n", "  -lock-wait SECONDS\n", "    toy -all\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("-help lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "duration") {
		t.Errorf("-help lists a refused flag:\n%s", out)
	}
	status, out, _ = execute(nil, "-version")
	if want := "toy fairspool " + Version; status != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("-version = %d, %q, want %q", status, out, want)
	}
}

func TestNow(t *testing.T) {
	alone(t)
	now := func(args ...string) (got time.Time) {
		execute(func(c *Call) error { got = c.Now; return nil }, args...)
		return got
	}
	if got := now("-now", "1795248000.25"); !got.Equal(time.UnixMilli(1795248000250)) {
		t.Errorf("-now = %v", got)
	}
	before := time.Now()
	if got := now(); got.Before(before) || got.After(time.Now()) {
		t.Errorf("now without -now = %v, want the clock's", got)
	}
	t.Setenv("FAIRSPOOL_NOW", "2026-11-21T08:00:00+02:00")
	if got := now(); !got.Equal(time.Unix(1795240800, 0)) {
		t.Errorf("FAIRSPOOL_NOW = %v, %d", got, got.Unix())
	}
	if got := now("-now", "5"); !got.Equal(time.Unix(5, 0)) {
		t.Errorf("-now over FAIRSPOOL_NOW = %v", got)
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Time
	}{
		{"0", time.Unix(0, 0)},
		{"1795248000", time.Unix(1795248000, 0)},
		{"1795248000.123456789", time.Unix(1795248000, 123456789)},
		{"1.5", time.Unix(1, 5e8)},
		{"1970-01-01T00:00:01.5Z", time.Unix(1, 5e8)},
	} {
		if got, err := ParseTime(c.text); err != nil || !got.Equal(c.want) {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "-5", "+5", "1e9", "nan", "1.", ".5", "1.1234567891", "1.+5", "253402300800", "99999999999999999999", "1969-12-31T23:59:59Z", "2026-11-21"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("ParseTime(%q) = %v, want an error", text, got)
		}
	}
}

func TestPlaces(t *testing.T) {
	dir := alone(t)
	file := func(path, text string) string {
		path = filepath.Join(dir, path)
		testenv.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	place := func(args ...string) (got string) {
		status, _, bad := execute(func(c *Call) error {
			d, err := c.SpoolDir()
			got = d
			return err
		}, args...)
		if status != 0 {
			return bad
		}
		return got
	}
	if got := place(); got != systemSpool && got != filepath.Join(dir, "state", "fairspool") {
		t.Errorf("default spool = %q", got)
	}
	file("config/fairspool/fairspool.toml", `SPOOL = "/in/xdg"`)
	if _, err := os.Stat(systemConfig); err != nil {
		if got := place(); got != "/in/xdg" {
			t.Errorf("spool of the user's configuration = %q", got)
		}
		// Which is there, whatever a file is missing that it names.
		lacks := file("config/fairspool/fairspool.toml", "[maui]\nmaui_cfg = \"gone\"\n")
		if got, want := place(), "toy: "+lacks+":2: maui.maui_cfg: "+filepath.Join(filepath.Dir(lacks), "gone")+": no such file or directory\n"; got != want {
			t.Errorf("a configuration that names a missing file = %q, want %q", got, want)
		}
	}
	named := file("named.toml", `SPOOL = "/in/named"`)
	t.Setenv("FAIRSPOOL_CONFIG", named)
	if got := place(); got != "/in/named" {
		t.Errorf("spool of FAIRSPOOL_CONFIG = %q", got)
	}
	if got := place("-config", file("other.toml", `SPOOL = "/in/other"`)); got != "/in/other" {
		t.Errorf("spool of -config = %q", got)
	}
	t.Setenv("FAIRSPOOL_DIR", "/in/variable")
	if got := place(); got != "/in/variable" {
		t.Errorf("spool of FAIRSPOOL_DIR = %q", got)
	}
	if got := place("-spool", "/in/flag"); got != "/in/flag" {
		t.Errorf("spool of -spool = %q", got)
	}
	if got, want := place("-config", "/no/such/file"), "toy: configuration /no/such/file: no such file or directory\n"; got != want {
		t.Errorf("-config without a file = %q, want %q", got, want)
	}
	bad := file("bad.toml", "x = \n")
	if got, want := place("-config", bad), "toy: "+bad+":1: "; !strings.HasPrefix(got, want) {
		t.Errorf("-config with a bad file = %q, want %q", got, want)
	}
}

// A command without a spool has no flag for one, and no broken configuration
// stops it.
func TestWithoutSpool(t *testing.T) {
	dir := alone(t)
	bad := filepath.Join(dir, "bad.toml")
	testenv.OK(t, os.WriteFile(bad, []byte("x = \n"), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", bad)
	t.Setenv("FAIRSPOOL_NOW", "5")
	c := toy(func(c *Call) error {
		_, err := fmt.Fprintln(c.Stdout, c.Now.Unix(), c.Config != nil)
		return err
	})
	c.WithoutSpool = true
	for _, x := range []struct {
		flag   string
		status int
		out    string
	}{
		{"-all", 0, "5 true\n"},
		{"-now=6", 0, "6 true\n"},
		{"-spool=" + dir, 2, "toy: unknown flag -spool; see toy -help\n"},
		{"-config=" + bad, 2, "toy: unknown flag -config; see toy -help\n"},
		{"-lock-wait=1", 2, "toy: unknown flag -lock-wait; see toy -help\n"},
	} {
		var out bytes.Buffer
		if status := Execute(c, []string{x.flag}, nil, &out, &out); status != x.status || out.String() != x.out {
			t.Errorf("toy %s without a spool = %d, %q, want %d, %q", x.flag, status, out.String(), x.status, x.out)
		}
	}
	var out bytes.Buffer
	if Execute(c, []string{"-help"}, nil, &out, &out); strings.Contains(out.String(), "spool in") || !strings.Contains(out.String(), "  -now TIME\n") {
		t.Errorf("-help without a spool =\n%s", out.String())
	}
}

func TestUsable(t *testing.T) {
	dir := t.TempDir()
	if !usable(dir) || !usable(filepath.Join(dir, "new")) {
		t.Errorf("usable(own folder) = false, want true")
	}
	if usable(filepath.Join(dir, "no", "where")) {
		t.Errorf("usable(folder in no folder) = true, want false")
	}
}

func TestTableAndJSON(t *testing.T) {
	alone(t)
	_, out, _ := execute(func(c *Call) error {
		columns := []Column{{Head: "Name"}, {Head: "Cpus", Right: true}}
		if err := c.Table(columns, [][]string{{"slot1@a", "1"}, {"s\x1b\n", "16"}}); err != nil {
			return err
		}
		return c.Table(columns, nil)
	})
	if want := "Name     Cpus\nslot1@a     1\ns??        16\n"; out != want {
		t.Errorf("Table = %q, want %q", out, want)
	}
	_, out, _ = execute(func(c *Call) error { return c.JSON(map[string]string{"a": "<&>"}) })
	if want := "{\n  \"SchemaVersion\": 1,\n  \"a\": \"<&>\"\n}\n"; out != want {
		t.Errorf("JSON = %q, want %q", out, want)
	}
}

func TestOne(t *testing.T) {
	alone(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""}, {[]string{"-all"}, "all"},
		{[]string{"-all", "-u", "x"}, "toy: -all and -u: only one of them at a time\n"},
		{[]string{"+5", "-all"}, "toy: -all and +5: only one of them at a time\n"},
		{[]string{"-adjust", "5", "-all"}, "toy: -all and -adjust: only one of them at a time\n"},
	} {
		var got string
		_, _, bad := execute(func(c *Call) (err error) { got, err = c.One("all", "u", "adjust"); return err }, c.args...)
		if got+bad != c.want {
			t.Errorf("One of %v = %q, want %q", c.args, got+bad, c.want)
		}
	}
}

func TestExitStatusOfWhatWasWaitedFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{ExitStatus(0), 0},
		{ExitStatus(3), 3},
		{ExitStatus(137), 137},
		{fmt.Errorf("more: %w", ExitStatus(7)), 7},
	} {
		var bad bytes.Buffer
		command := Command{Name: "toy", WithoutSpool: true, Run: func(*Call) error { return c.err }}
		if got := Execute(command, nil, strings.NewReader(""), &bytes.Buffer{}, &bad); got != c.want || bad.Len() > 0 {
			t.Errorf("exit status of %v = %d, %q, want %d without a word", c.err, got, bad.String(), c.want)
		}
	}
	if errors.Is(ExitStatus(1), ErrReported) {
		t.Error("ExitStatus(1) is ErrReported, want it to be its own")
	}
}

func TestActions(t *testing.T) {
	alone(t)
	c := Command{
		Name: "toy", Brief: "try actions", Synopsis: []string{"go", "stay"},
		Flags: []Flag{{Name: "fast", Help: "go: hurry"}, {Name: "q", Aliases: []string{"quiet"}, Help: "say nothing"}},
		Actions: []Action{
			{"go", []string{"fast", "q"}, func(c *Call, args []string) error {
				_, err := fmt.Fprintln(c.Stdout, "go", args, c.Has("fast"))
				return err
			}},
			{"stay", []string{"q"}, func(c *Call, args []string) error { return Usagef("stay: no") }},
		},
		WithoutSpool: true,
	}
	for _, k := range []struct {
		args, out, bad string
		status         int
	}{
		{"go", "go [] false\n", "", 0},
		{"-fast go here there", "go [here there] true\n", "", 0},
		{"stay", "", "toy: stay: no\n", 2},
		{"", "", "toy: what to do? one of go, stay; see toy -help\n", 2},
		{"sta", "", "toy: sta: unknown action: want one of go, stay; did you mean stay?\n", 2},
		{"xyzzy", "", "toy: xyzzy: unknown action: want one of go, stay; see toy -help\n", 2},
		{"stay -quiet -fast", "", "toy: -fast: does not apply to stay\n", 2},
	} {
		var out, bad bytes.Buffer
		status := Execute(c, strings.Fields(k.args), strings.NewReader(""), &out, &bad)
		if status != k.status || out.String() != k.out || bad.String() != k.bad {
			t.Errorf("toy %s = %d, %q, %q, want %d, %q, %q", k.args, status, out.String(), bad.String(), k.status, k.out, k.bad)
		}
	}
}
