package submit

import (
	"fmt"
	"os/user"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

func TestCheckOwner(t *testing.T) {
	for _, name := range []string{"alice", "first.last", "_x", "a-b_2", strings.Repeat("a", 64), "nice", "nice-user", "nice-users.bob", "a@b.org"} {
		if err := jobad.CheckOwner(name, "nice-user", nil); err != nil {
			t.Errorf("CheckOwner(%q) = %v, want nil", name, err)
		}
	}
	for _, name := range []string{
		"", "a@", "@b", "a@b@c", "a@b c", "12", "12.0", "*", "-x", "a b", "a\nb", "jos\u00e9", strings.Repeat("a", 300), "nice-user.bob", "Nice-User.bob",
	} {
		refusal(t, fmt.Sprintf("submit -owner %.20q", name), jobad.CheckOwner(name, "nice-user", nil))
	}
}

// refusal compares what a part of submit is refused for with the golden page.
func refusal(t *testing.T, call string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", call)
		return
	}
	cmdtest.Printed(t, call, 0, "", err.Error()+"\n")
}

func TestAds(t *testing.T) {
	d, _, err := submitfile.Parse("executable = /x\n+A = \"x\"\nqueue 2\n+A = \"y\"\nqueue", "a.sub", submitfile.Options{})
	testenv.OK(t, err)
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "d", Dir: "/"})
	testenv.OK(t, err)
	c, err := jobs.Expand(7)
	testenv.OK(t, err)
	k := cluster{7, 3, c}
	var got string
	for ad := range k.ads() {
		e, _ := ad.Lookup(pool.AttrClusterID)
		p, _ := ad.Lookup(pool.AttrProcID)
		got += e.String() + "." + p.String() + textOf(ad, "A") + " "
	}
	if want := "7.0x 7.1x 7.2y "; got != want {
		t.Errorf("ads = %q, want %q", got, want)
	}
	n := 0
	for range k.ads() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("ads went on after break: %d", n)
	}
}

// Jobs have their owner's group where one queue of all jobs may reckon by it.
func TestGroupOf(t *testing.T) {
	me, err := user.Current()
	testenv.OK(t, err)
	mine, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Skipf("no name for the group %s on this machine: %v", me.Gid, err)
	}
	for _, c := range []struct{ policy, owner, want string }{
		{"maui", me.Username, mine.Name}, {"sge", me.Username, mine.Name}, {"condor", me.Username, ""}, {"maui", "nobody.of.this.name", ""},
	} {
		if got := groupOf(&cmdline.Call{Config: &config.Config{JobPriorityPolicy: c.policy}}, c.owner); got != c.want {
			t.Errorf("groupOf(%s) under %s = %q, want %q", c.owner, c.policy, got, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"a.sub", "[] a.sub"}, {"-", "[] -"}, {"", "[] -"}, {"./a=b.sub", "[] ./a=b.sub"}, {"dir/a=b", "[] dir/a=b"},
		{"N=3 a.sub", `["N = 3"] a.sub`}, {"N=3 M=a=b", `["N = 3" "M = a=b"] -`}, {"+Foo=1 MY.Bar=2 a", `["+Foo = 1" "MY.Bar = 2"] a`},
		{"N= a", `["N = "] a`}, {"P=/x/y a", `["P = /x/y"] a`}, {"N=3 job.sh a -b", `["N = 3"] job.sh a -b`},
	} {
		define, words, err := arguments(c.args)
		if got := fmt.Sprintf("%q %s", define, strings.Join(words, " ")); got != c.want || err != nil {
			t.Errorf("arguments(%q) = %s, %v, want %s", c.args, got, err, c.want)
		}
	}
	for _, args := range []string{"a-b=3 a.sub", "=3 a.sub", "N=3\nqueue a.sub"} {
		_, _, err := arguments(args)
		refusal(t, "submit "+args, err)
	}
	for _, args := range []string{"a.sub N=3", "a.sub b.sub"} {
		_, words, _ := arguments(args)
		_, err := (&submission{}).description(given{text: "queue", words: words[1:]}, submitfile.Options{}, &jobad.Options{})
		refusal(t, "submit "+args, err)
	}
}

// arguments reads the arguments of a command line: definitions, and words from the
// description's file on.
func arguments(line string) (define, words []string, err error) {
	var args []string
	if line != "" {
		args = strings.Split(line, " ")
	}
	s := &submission{Call: &cmdline.Call{Args: args, Stdin: strings.NewReader("")}}
	define, file, words, err := s.arguments()
	return define, append([]string{file}, words...), err
}

func TestQueueLine(t *testing.T) {
	for _, c := range []struct {
		line, words string
		ok          bool
	}{
		{"queue", "", true}, {"Queue 3 in (a b)", "3 in (a b)", true}, {" queue\t5 ", "5", true},
		{"queue = 5", "= 5", false}, {"queue=5", "=5", false}, {"queued 5", "5", false}, {"a = queue", "= queue", false}, {"", "", false},
	} {
		words, ok := queueLine(c.line)
		if words != c.words || ok != c.ok {
			t.Errorf("queueLine(%q) = %q, %v, want %q, %v", c.line, words, ok, c.words, c.ok)
		}
	}
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"nightly", "a b/ü $x", strings.Repeat("k", 256)} {
		if err := checkKey(key); err != nil {
			t.Errorf("checkKey(%q) = %v, want nil", key, err)
		}
	}
	for _, key := range []string{"", " ", "a\nb", strings.Repeat("k", 257)} {
		refusal(t, fmt.Sprintf("submit -unique %.20q", key), checkKey(key))
	}
}
