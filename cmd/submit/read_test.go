package main

import (
	"fmt"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"a.sub", "[] a.sub"}, {"-", "[] -"}, {"", "[] -"}, {"./a=b.sub", "[] ./a=b.sub"}, {"dir/a=b", "[] dir/a=b"},
		{"N=3 a.sub", `["N = 3"] a.sub`}, {"N=3 M=a=b", `["N = 3" "M = a=b"] -`}, {"+Foo=1 MY.Bar=2 a", `["+Foo = 1" "MY.Bar = 2"] a`},
		{"N= a", `["N = "] a`}, {"P=/x/y a", `["P = /x/y"] a`},
		{"a-b=3 a.sub", "a-b=3: want NAME=VALUE; a file of this name is written ./a-b=3"},
		{"=3 a.sub", "=3: want NAME=VALUE; a file of this name is written ./=3"},
		{"a.sub N=3", "N=3: stands before the description's file"},
		{"a.sub b.sub", "b.sub: one submit description at a time"},
		{"N=3\nqueue a.sub", "N=3 queue: want one line"},
	} {
		args := strings.Split(c.args, " ")
		if c.args == "" {
			args = nil
		}
		s := &submission{Call: &cmdline.Call{Args: args, Stdin: strings.NewReader("")}}
		define, file, err := s.arguments()
		got := fmt.Sprintf("%q %s", define, file)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("arguments(%q) = %s, want %s", c.args, got, c.want)
		}
	}
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
	for key, want := range map[string]string{
		"nightly": "", "a b/ü $x": "", strings.Repeat("k", 256): "",
		"": "-unique: the key is empty", " ": "-unique: the key is empty",
		"a\nb":                   `-unique "a b": has control characters`,
		strings.Repeat("k", 257): "-unique " + strings.Repeat("k", 57) + "...: 257 bytes, at most 256",
	} {
		got := ""
		if err := checkKey(key); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("checkKey(%q) = %q, want %q", key, got, want)
		}
	}
}
