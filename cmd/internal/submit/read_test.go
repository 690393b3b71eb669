package submit

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
)

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
