package cmdline

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// toy has a flag of every sort.
func toy(run func(*Call) error) Command {
	return Command{
		Name: "toy", Brief: "try flags", Synopsis: []string{"[options] [ARG...]"},
		About: "A command for tests.",
		Flags: []Flag{
			{Name: "setprio", Args: []string{"USER", "RUP"}, Min: 1, Help: "set"},
			{Name: "setfactor", Args: []string{"USER", "FACTOR"}, Min: 1, Help: "set"},
			{Name: "delete", Args: []string{"USER"}, Min: 3, Help: "delete"},
			{Name: "duration", Args: []string{"S"}, Min: 1, Refused: true},
			{Name: "remote", Refused: true, Why: "there is but one pool"},
			{Name: "all", Min: 1, Help: "all"},
			{Name: "u", Aliases: []string{"user"}, Args: []string{"USER"}, Help: "only USER"},
			{Name: "af", Args: []string{"ATTR..."}, Letters: "lh,", Help: "attributes"},
			{Name: "adjust", Args: []string{"N"}, Help: "adjust"},
			{Name: "if", Args: []string{"CHANGE"}, Repeat: true, Help: "change"},
		},
		Number:   "adjust",
		Examples: []Example{{"everything", "toy -all"}},
		Run:      run,
	}
}

// seen runs toy and returns what its Run saw, or its message and status.
func seen(args ...string) string {
	var out, bad bytes.Buffer
	status := Execute(toy(func(c *Call) error {
		var parts []string
		for _, f := range toy(nil).AllFlags() {
			if !c.Has(f.Name) {
				continue
			}
			s := f.Name
			if l := c.Letters(f.Name); l != "" {
				s += ":" + l
			}
			if len(f.Args) > 0 {
				s += fmt.Sprint(c.Values(f.Name))
				for _, more := range c.Repeated(f.Name)[1:] {
					s += fmt.Sprint(more)
				}
			}
			parts = append(parts, s)
		}
		fmt.Fprintf(c.Stdout, "%s %q", strings.Join(parts, " "), c.Args)
		return nil
	}), args, nil, &out, &bad)
	if status != 0 {
		return fmt.Sprintf("%d %s", status, strings.TrimSuffix(bad.String(), "\n"))
	}
	return out.String()
}

func TestFlags(t *testing.T) {
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	for _, c := range []struct{ line, want string }{
		{"", ` []`},
		{"a b", ` ["a" "b"]`},
		{"-all a", `all ["a"]`},
		{"a --all b", `all ["a" "b"]`},
		{"-a", `all []`},
		{"-a -a", `all []`},
		{"-s alice 4", `setprio[alice 4] []`},
		{"-setf alice 4 x", `setfactor[alice 4] ["x"]`},
		{"-setfactor=alice 4 x", `setfactor[alice 4] ["x"]`},
		{"-setprio alice -5", `setprio[alice -5] []`},
		{"-if a --if=b -all -if c", `all if[a][b][c] []`},
		{"-if", `2 toy: -if: wants CHANGE`},
		{"-del a -delete b", `2 toy: -delete: given twice`},
		{"-u a,b", `u[a,b] []`},
		{"--user=a,b", `u[a,b] []`},
		{"-u=-all", `u[-all] []`},
		{"-u -", `u[-] []`},
		{"x -af A B C -all", `all af[A B C] ["x"]`},
		{"-af:lh A -- B", `af:lh[A] ["B"]`},
		{"-af A - +5", `af[A -] adjust[+5] []`},
		{"-5 12", `adjust[-5] ["12"]`},
		{"+5 12", `adjust[+5] ["12"]`},
		{"-- -5 -all", ` ["-5" "-all"]`},
		{"-", ` ["-"]`},
		{"a=b", ` ["a=b"]`},

		{"-frob", `2 toy: unknown flag -frob; see toy -help`},
		{"-setfacotr a 5", `2 toy: unknown flag -setfacotr; did you mean -setfactor?`},
		{"--del a", `2 toy: unknown flag --del; did you mean -delete?`},
		{"-de a", `2 toy: unknown flag -de; did you mean -delete?`},
		{"-conf x", `2 toy: unknown flag -conf; did you mean -config?`},
		{"-?", `2 toy: unknown flag -?; did you mean -help?`},
		{"-d 5", `2 toy: -duration: not part of this version`},
		{"-remote x", `2 toy: -remote: there is but one pool`},
		{"-setprio alice", `2 toy: -setprio: wants RUP`},
		{"-setprio -all", `2 toy: -setprio: wants USER RUP, got the flag -all`},
		{"-u -- x", `2 toy: -u: wants USER, got the flag --`},
		{"-af", `2 toy: -af: wants ATTR...`},
		{"-af:x A", `2 toy: -af:x: want letters of lh, after the colon`},
		{"-all:x", `2 toy: -all: takes no options after a colon`},
		{"-all=yes", `2 toy: -all: takes no argument`},
		{"-u a -u b", `2 toy: -u: given twice`},
		{"-adjust 5 -adjust 6", `2 toy: -adjust: given twice`},
		{"+5 -3", `2 toy: +5 and -3: only one of them at a time`},
		{"-spool a -spool b", `2 toy: -spool: given twice`},
		{"-now yesterday", `2 toy: -now: "yesterday": want Unix seconds or a time like 2026-11-21T08:00:00Z`},
		{"-lock-wait nan", `2 toy: -lock-wait: "nan": want a number of seconds from 0 to 86400`},
	} {
		got := seen(strings.Fields(c.line)...)
		if got = strings.TrimPrefix(got, "config[/dev/null] "); got != c.want {
			t.Errorf("toy %s: %s, want %s", c.line, got, c.want)
		}
	}
}

// Arguments reach the command as they are, whatever is in them.
func TestArgumentsAreKept(t *testing.T) {
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	word := rapid.StringMatching(`[a-z ,=:*"'\\%{}$\n-]{0,8}`)
	rapid.Check(t, func(r *rapid.T) {
		user, rup := word.Draw(r, "user"), word.Draw(r, "rup")
		rest := rapid.SliceOfN(word, 0, 3).Draw(r, "rest")
		var gotValues, gotArgs []string
		status := Execute(toy(func(c *Call) error {
			gotValues, gotArgs = c.Values("setprio"), c.Args
			return nil
		}), append([]string{"-setprio=" + user, "x" + rup, "--"}, rest...), nil, &bytes.Buffer{}, &bytes.Buffer{})
		if status != 0 || fmt.Sprintf("%q", gotValues) != fmt.Sprintf("%q", []string{user, "x" + rup}) {
			r.Errorf("-setprio=%q %q = %q, status %d", user, "x"+rup, gotValues, status)
		}
		if fmt.Sprintf("%q", gotArgs) != fmt.Sprintf("%q", rest) {
			r.Errorf("arguments %q = %q", rest, gotArgs)
		}
	})
}

// TestCommandLine holds that the words behind -- are a command with CommandLine's as they are,
// and another's arguments.
func TestCommandLine(t *testing.T) {
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	for _, c := range []struct{ words, args, behind []string }{
		{[]string{"a"}, []string{"a"}, nil},
		{[]string{"a", "--"}, []string{"a"}, []string{}},
		{[]string{"a", "-all", "--", "-all", "--", "", "-help", "\xff"}, []string{"a"}, []string{"-all", "--", "", "-help", "\xff"}},
		{[]string{"-af", "A", "--", "b"}, nil, []string{"b"}},
		{[]string{"--", "-u"}, nil, []string{"-u"}},
	} {
		var got *Call
		command := toy(func(c *Call) error { got = c; return nil })
		command.CommandLine = true
		status := Execute(command, c.words, nil, io.Discard, io.Discard)
		if status != 0 || !slices.Equal(got.Args, c.args) || !slices.Equal(got.CommandLine, c.behind) || (got.CommandLine == nil) != (c.behind == nil) {
			t.Errorf("%q = %q, %q, status %d, want %q, %q", c.words, got.Args, got.CommandLine, status, c.args, c.behind)
		}
		command.CommandLine = false
		status = Execute(command, c.words, nil, io.Discard, io.Discard)
		if all := slices.Concat(c.args, c.behind); status != 0 || !slices.Equal(got.Args, all) || got.CommandLine != nil {
			t.Errorf("%q = %q, %q, status %d, want %q", c.words, got.Args, got.CommandLine, status, all)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"-s a 4", "-af:lh A -- B", "+5 -5", "-u=", "--", "-", "-:", "-=", "--=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		flags, args, _, err := toy(nil).tokens(words)
		if err != nil {
			if strings.Contains(oneLine(err.Error()), "\n") {
				t.Errorf("tokens(%q) = %v, want one line", line, err)
			}
			return
		}
		n := len(args)
		for _, o := range flags {
			if len(o.args) < len(o.flag.Args) {
				t.Errorf("tokens(%q): -%s with %q", line, o.flag.Name, o.args)
			}
			n += len(o.args)
		}
		if n > len(words) {
			t.Errorf("tokens(%q) made %d arguments of %d words", line, n, len(words))
		}
	})
}

// TestTrialCall holds that a trial's words are read as Execute reads the command line.
func TestTrialCall(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"a -s alice 4 b +5", `[alice 4] [+5] [a b]`},
		{"-if a -if b", `[] [] [] `},
		{"-del a -del b", `-delete: given twice`},
		{"-setpiro alice 4", `unknown flag -setpiro; did you mean -setprio?`},
		{"-now 5", `-now: not inside -what-if`},
	} {
		call, err := Trial{Command: toy(nil), Words: strings.Fields(c.line)}.Call(&Call{})
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.TrimRight(fmt.Sprint(call.Values("setprio"), call.Values("adjust"), call.Args), " ")
		}
		if got != strings.TrimRight(c.want, " ") {
			t.Errorf("a trial of %q is %s, want %s", c.line, got, c.want)
		}
	}
}
