package submitfile

import (
	"strings"
	"testing"
)

// TestConditions has the examples of HTCondor's manual first.
func TestConditions(t *testing.T) {
	var cases [][2]string
	for condition, want := range map[string]string{
		"defined MY_UNDEFINED_VARIABLE": "no", "version >= 8.1.6": "yes", "version == 25.14": "yes", "version <= 25.14.0": "yes", "version >= 25.15": "no",
		"true": "yes", "yes": "yes", "1": "yes", "False": "no", "no": "no", "0": "no", "! true": "no", "!defined x": "no", "!defined none": "yes",
		"defined x": "yes", "defined X": "yes", "defined empty": "no", "defined blank": "yes", "defined ARCH": "yes", "defined Process": "yes",
		"$(x)": "yes", "$(none)": "no", "$(empty)": "no", "$(none:true)": "yes", "defined $(none)": "no", "defined $(x)": "yes", "$ENV(HOME:0)": "err",
		"$(n) == 1": "err", "x && y": "err", "version": "err", "version > x": "err", "defined a b": "err", "2.5": "yes", "": "no", "!": "yes",
	} {
		text := "x = true\nempty =\nblank = $(empty)\nn = 1\nif " + condition + "\nshow = yes\nelse\nshow = no\nendif\nqueue"
		if want == "err" {
			if got := (&outside{}).worth(text); !strings.HasPrefix(got, "a.sub:5: if "+condition+": ") {
				t.Errorf("if %s = %s, want an error", condition, got)
			}
			continue
		}
		cases = append(cases, [2]string{text, want})
	}
	(&outside{}).check(t, cases)
}

func TestBranches(t *testing.T) {
	(&outside{}).check(t, [][2]string{
		{"if false\nshow = a\nelif true\nshow = b\nelif true\nshow = c\nelse\nshow = d\nendif\nqueue", "b"},
		{"if false\nshow = a\nelif false\nshow = b\nelse\nshow = d\nendif\nqueue", "d"},
		{"show = x\nif true\nif false\nshow = a\nelse\n  IF yes\nshow = b\n  EndIf\nendif\nelse\nshow = c\nendif\nqueue", "b"},
		{"show = x\nif false\nif true\nshow = a\nelse\nshow = b\nendif\nnot a statement\nendif\nqueue", "x"},
		{"show = x\nif false\nif not a condition\nelif nor this\nendif\ninclude : nosuch\nerror : no\nendif\nqueue", "x"},
		{"if = 1\nelse = 2\nshow = $(if)$(else)\nqueue", "12"},
		{"if true\nshow = a\nqueue", "a.sub:1: if: no endif closes it"},
		{"if true\nif true\nendif\nqueue", "a.sub:1: if: no endif closes it"},
		{"show = a\nendif\nqueue", "a.sub:2: endif without if"},
		{"else\nqueue", "a.sub:1: else without if"},
		{"elif x\nqueue", "a.sub:1: elif without if"},
		{"if true\nelse\nelse\nendif\nqueue", "a.sub:3: else after else"},
		{"if true\nelse\nelif x\nendif\nqueue", "a.sub:3: elif after else"},
		{"error : no $(x:queue)\nqueue", "a.sub:1: the description says: no queue"},
		{"error = 1\nwarning = 2\nshow = $(error)$(warning)\nqueue", "12"},
		{"use feature : GPUs\nqueue", "a.sub:1: use: templates belong to HTCondor's configuration: write what it stands for"},
		{"show\nqueue", `a.sub:1: "show": want NAME = value, or queue`},
		{"a b = 1\nqueue", `a.sub:1: "a b = 1": want NAME = value, or queue; a name has no blanks in it`},
		{"a-b = 1\nqueue", `a.sub:1: "a-b = 1": want NAME = value, or queue; a name has letters, digits, underscores, dots and slashes`},
		{"-Foo = 1\nqueue", `a.sub:1: "-Foo = 1": want NAME = value, or queue; a name has letters, digits, underscores, dots and slashes`},
		{"a += 1\nqueue", `a.sub:1: "a += 1": want NAME = value, or queue; there is no +=: want a = $(a) ...`},
		{"a : 1\nqueue", `a.sub:1: "a : 1": want NAME = value, or queue; did you mean a = VALUE?`},
		{"= 1\nqueue", `a.sub:1: "": not a name`},
		{"+ = 1\nqueue", `a.sub:1: "MY.": not a name`},
		{"a = \x00\nqueue", "a.sub:1: a NUL byte: not a text file"},
	})
}

// TestDefine has macros of the command line.
func TestDefine(t *testing.T) {
	const sample = "if defined X\n  show = -n $(X)\nelse\n  show = -n 1 -debug\nendif\nqueue"
	for _, c := range []struct {
		define []string
		want   string
	}{
		{nil, "-n 1 -debug"},
		{[]string{"X=3"}, "-n 3"},
		{[]string{" x = 3 4 "}, "-n 3 4"},
		{[]string{"X="}, "-n 1 -debug"},
		{[]string{"X=a=b\\"}, "-n a=b\\"},
		{[]string{"X=1", "X=$(X)$(Process)"}, "-n 10"},
		{[]string{"# X=3"}, "command line: # X=3: want NAME = VALUE"},
		{[]string{"X 3"}, "command line: X 3: want NAME = VALUE"},
		{[]string{"X"}, "command line: X: want NAME = VALUE"},
		{[]string{"=3"}, `command line: "": not a name`},
	} {
		o := (&outside{}).options()
		o.Define = c.define
		d, _, err := Parse(sample, "a.sub", o)
		got := ""
		if err == nil {
			var all []string
			all, err = shown(d)
			got = strings.Join(all, " | ")
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Parse with %q = %s, want %s", c.define, got, c.want)
		}
		for i, a := range assignmentsOf(d) {
			if a.Defined != (i < len(c.define)) {
				t.Errorf("with %q assignment %d, %s, has Defined = %v", c.define, i, a.Name, a.Defined)
			}
		}
	}
}

func assignmentsOf(d *Description) []Assignment {
	if d == nil {
		return nil
	}
	return d.Assignments()
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"warning : look $(ARCH)\nqueue", "a.sub:1: the description says: look X86_64"},
		{"if $(none)\nendif\nqueue", ""},
		{"if defined none\nendif\nqueue", ""},
		{"include ifexist : x$(none)\nqueue", "a.sub:1: $(none): not defined, taken as empty"},
		{"include ifexist : x$(a$(b:-))\nqueue", "a.sub:1: $(a-): not a name, taken as it stands"},
		{"include ifexist : x$ENV(NONE)\nqueue", "a.sub:1: $ENV(NONE): not set in the environment, taken as empty"},
	} {
		_, warnings, err := Parse(c.text, "a.sub", (&outside{}).options())
		var list []string
		for _, w := range warnings {
			list = append(list, w.String())
		}
		if got := strings.Join(list, "; "); got != c.want || err != nil {
			t.Errorf("Parse(%q) warns %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	d, _, err := Parse("show = $(none)$(none:)$(none2:x)\nqueue 2", "a.sub", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	_ = d.Walk(1, func(w Warning) { got = append(got, w.String()) }, func(j *Job) error {
		_, _, err := j.Lookup("show")
		return err
	})
	if want := "a.sub:1: $(none): not defined, taken as empty"; strings.Join(got, "; ") != want {
		t.Errorf("Walk warns %q, want %s", got, want)
	}
}
