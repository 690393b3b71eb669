package submitfile

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse holds that reading any text, and looking up every value for some procs,
// ends, with an error of one line that has its place.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"executable = /bin/sleep\narguments = $(Process) $INT(x,%04d)\nx = $(Process)+1\nqueue 3",
		"a = $(a) $Fn(a) $CHOICE(0,l)\nl = x,y\nqueue 2 x, y from [1:] (\na b\nc\x1fd\n)",
		"if defined X\ninclude : inc\nelif version >= 8\ninclude : cmd |\nelse\nerror : e\nendif\nqueue in (a, b)",
		"queue matching files *.dat", "queue f from table(sep=;) list", "v @=e\n1\n@e\nqueue $(v)", "include command into c : cmd\nqueue from -",
		"a0 = $(a1)$(a1)\na1 = $(a2)$(a2)\na2 = $(a0:x)\nqueue 1", "a = " + strings.Repeat("$(", 200) + "\nb = " + strings.Repeat("$(a:", 50) + strings.Repeat(")", 50) + "\nqueue",
		"a = \\\n # x\n \\\n\r\n b\nqueue \\\n 2", "+A = \"x\"\nMY.B = $$([Memory*2]) $$(x:$(A))\nqueue", "\uFEFFa=ü\xff$ENV(HOME:$(b))\nqueue x in ü",
		strings.Repeat("if true\n", 50) + "queue", "queue from 0\r0",
	} {
		f.Add(text, "x=1", "queue")
	}
	f.Fuzz(func(t *testing.T, text, define, queue string) {
		w := &outside{
			files:    map[string]string{"/d/inc": "b = $(a)\n", "/d/list": "a;b\nc;$(x)\n", "/d/x.dat": "", "/d/loop": "include : loop"},
			commands: map[string]string{"cmd": "c = 1"}, stdin: "s",
		}
		o := w.options()
		o.Define, o.Append = []string{define}, []string{define}
		o.Queue, o.HasQueue = queue, len(queue) > 5
		d, warnings, err := Parse(text, "a.sub", o)
		for _, w := range warnings {
			holdsPlace(t, w.Place, w.Msg)
		}
		if err == nil {
			err = d.Walk(1, func(w Warning) { holdsPlace(t, w.Place, w.Msg) }, lookAtAll)
		}
		if d != nil {
			d.Uses().Refer("x")
			d.AfterLast()
		}
		if err == nil {
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("Parse(%q) = %T %[2]v, want *Error", text, err)
		}
		holdsPlace(t, e.Place, e.Msg)
	})
}

// lookAtAll looks up every value for the first procs and the last.
func lookAtAll(j *Job) error {
	for _, n := range []int{0, min(1, j.Count()-1), j.Count() - 1} {
		j.Skip(n)
		for _, key := range j.Names() {
			v, _, err := j.Lookup(key)
			if err != nil {
				return err
			}
			v.Place(len(v.Text)).Excerpt()
		}
	}
	return nil
}

// holdsPlace holds that a message is one line, and that its place can be shown.
func holdsPlace(t *testing.T, p Place, msg string) {
	t.Helper()
	if msg == "" || strings.ContainsAny(msg, "\n\r") || !utf8.ValidString(msg) && len(msg) > 2000 {
		t.Errorf("message %q, want one line", msg)
	}
	if p.Line < 0 || p.Col < 0 || p.Col > len(p.Source)+1 {
		t.Errorf("place %d:%d in %q, want one within the line", p.Line, p.Col, p.Source)
	}
	if e := p.Excerpt(); e != "" && strings.Count(e, "\n") != 1 {
		t.Errorf("excerpt %q, want two lines", e)
	}
}
