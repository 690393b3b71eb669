package submitfile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// reported returns what Parse, or a look at show for every proc, says of a text, with
// the excerpt.
func reported(text string, o Options) string {
	d, _, err := Parse(text, "a.sub", o)
	if err == nil {
		_, err = shown(d)
	}
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("%T %[1]v", err)
	}
	return e.Error() + "\n" + e.Excerpt()
}

// TestExcerpts holds where errors are, to the character.
func TestExcerpts(t *testing.T) {
	w := &outside{files: map[string]string{"/d/inc": "a = 1\n  b c\n"}, commands: map[string]string{"gen": "\n x = $INT(z)\nshow = $(x)\nqueue"}}
	for _, c := range []struct{ name, text, want string }{
		{"a statement", "show = a\n  no statement\nqueue", `
a.sub:2: "no statement": want NAME = value, or queue
      no statement
      ^`},
		{"a tab", "show = a\n\tqueue\tx", `
a.sub:2: queue x: want a number of jobs, or variables followed by in, from or matching
     queue x
           ^`},
		{"a count", "show = a\nqueue  -1 in (a)", `
a.sub:2: queue -1 in (a): a negative number of jobs
    queue  -1 in (a)
           ^`},
		{"where items come from", "show = a\nqueue from, x from [::0] list", `
a.sub:2: queue from, x from [::0] list: [::0]: want a slice such as [2:10:2], of whole numbers, the last above 0
    queue from, x from [::0] list
                  ^`},
		{"items of a continued line", "show = a\nqueue x \\\n  from [::0] list", `
a.sub:3: queue x from [::0] list: [::0]: want a slice such as [2:10:2], of whole numbers, the last above 0
      from [::0] list
      ^`},
		{"items of a line with macros", "f = none\nshow = a\nqueue 1 x from $(f)", `
a.sub:3: queue 1 x from $(f): none: open /d/none: file does not exist
    queue 1 x from $(f)
          ^`},
		{"CRLF", "show = a\r\n if x\r\nendif\r\n", `
a.sub:2: if x: x: want true, false, a number, defined NAME, or version with ==, >= or <=
     if x
        ^`},
		{"a macro's value", "show = $(b)\nb = 12$INT(x)\nqueue", `
a.sub:2: $INT(x): x: want a constant expression
    b = 12$INT(x)
          ^`},
		{"a reference on a later line", "show = a $(y:1) \\\n  $INT(x) b\nqueue", `
a.sub:2: $INT(x): x: want a constant expression
      $INT(x) b
      ^`},
		{"a reference within another", "show = a $(none:b $INT(x))\nqueue", `
a.sub:1: $INT(x): x: want a constant expression
    show = a $(none:b $INT(x))
             ^`},
		{"a value with what it was before", "show = abc\nshow = $(show) $INT(x)\nqueue", `
a.sub:2: $INT(x): x: want a constant expression
    show = $(show) $INT(x)
           ^`},
		{"a continued value", "show = a \\\n   $(b)\nb = \\\n   $INT(x)\nqueue", `
a.sub:4: $INT(x): x: want a constant expression
       $INT(x)
       ^`},
		{"a continued condition", "if \\\n  x\nendif\nqueue", `
a.sub:2: if x: x: want true, false, a number, defined NAME, or version with ==, >= or <=
      x
      ^`},
		{"wide characters", "größe = 1\nqueue", `
a.sub:1: "größe = 1": want NAME = value, or queue; a name has letters, digits, underscores, dots and slashes
    größe = 1
    ^`},
		{"wide characters before it", "include: ü日本 $INT(ü)\nqueue", `
a.sub:1: $INT(ü): ü: want a constant expression
    include: ü日本 $INT(ü)
                   ^`},
		{"an included file", "include : inc\nqueue", `
inc:2: "b c": want NAME = value, or queue
      b c
      ^`},
		{"an included command", "include : gen |", `
gen:2: $INT(z): z: want a constant expression
     x = $INT(z)
         ^`},
		{"a file that is not there", "include : inc$(DOLLAR)\nqueue", `
a.sub:1: include : inc$: open /d/inc$: file does not exist
    include : inc$(DOLLAR)
              ^`},
		{"a value of several lines", "show @=end\n\n   $INT(x)\n@end\nqueue", `
a.sub:3: $INT(x): x: want a constant expression
       $INT(x)
       ^`},
		{"an open if", "show = a\n   if true\nqueue", `
a.sub:2: if: no endif closes it
       if true
       ^`},
		{"an item", "show = $(x)\nqueue x in (\na\n$INT(b)\n)", `
a.sub:2: $INT(b): b: want a constant expression
    queue x in (
    ^`},
		{"the description", "show = a", `
a.sub: no queue line, so no jobs: end it with the line queue, or queue N
`},
	} {
		if got := reported(c.text, w.options()); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s: Parse(%q) =\n%s\nwant%s", c.name, c.text, got, c.want)
		}
	}
}

// TestCommandLinePlaces holds where errors are in what the command line gives.
func TestCommandLinePlaces(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"a definition", "show = $(x)\nqueue", Options{Define: []string{"x=1$INT(y)"}}, `
command line: $INT(y): y: want a constant expression
    x=1$INT(y)
       ^`},
		{"an appended line", "show = a\nqueue", Options{Append: []string{"show = $INT(y)"}}, `
command line: $INT(y): y: want a constant expression
    show = $INT(y)
           ^`},
		{"an appended line that is none", "show = a\nqueue", Options{Append: []string{"show"}}, `
command line: show: want NAME = VALUE
    show
    ^`},
		{"queue arguments", "show = a", Options{Queue: "2 $(Process)", HasQueue: true}, `
command line: $(Process): has no value yet where conditions, includes and queue lines are read
    queue 2 $(Process)
            ^`},
	} {
		if got := reported(c.text, c.o); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s: Parse(%q) =\n%s\nwant%s", c.name, c.text, got, c.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	for _, c := range []struct {
		col          int
		source, want string
	}{
		{0, "abc", ""}, {5, "abc", ""}, {1, "", ""}, {9, "üü", ""},
		{1, "abc", "abc\n^"}, {4, "abc", "abc\n   ^"}, {3, "üüü", "üüü\n  ^"},
		{3, "日本x", "日本x\n    ^"}, {3, "a\u0301x", "a\u0301x\n ^"}, {3, "\xff\xfex", "\uFFFD\uFFFDx\n  ^"},
		{2, "\tx", " x\n ^"}, {3, "\x1b[x", " [x\n  ^"},
		{1, long, long[:100] + "...\n^"},
		{150, long, "..." + long[74:174] + "...\n" + strings.Repeat(" ", 3+75) + "^"},
		{301, long, "..." + long[225:] + "\n" + strings.Repeat(" ", 3+75) + "^"},
	} {
		want := c.want
		if want != "" {
			want = "    " + strings.ReplaceAll(want, "\n", "\n    ")
		}
		if got := (Place{File: "f", Line: 1, Col: c.col, Source: c.source}).Excerpt(); got != want {
			t.Errorf("Excerpt of column %d of %q =\n%s\nwant\n%s", c.col, c.source, got, want)
		}
	}
}

// TestValuePlace holds where the bytes of a value stand.
func TestValuePlace(t *testing.T) {
	const text = "b = B\nargs = ü \\\n   xyz\nmixed = $(b)x\nlines @=end\n ab\n cd\n@end\nqueue item in (q)"
	d, _, err := Parse(text, "a.sub", Options{Define: []string{"given = v"}})
	testenv.OK(t, err)
	for _, c := range []struct {
		name   string
		offset int
		want   string
	}{
		{"args", 0, "2:8"}, {"args", 2, "2:9"}, {"args", 3, "3:4"}, {"args", 5, "3:6"},
		{"mixed", 0, "4:9"}, {"mixed", 1, "4:9"},
		{"lines", 0, "6:2"}, {"lines", 1, "6:3"}, {"lines", 4, "7:2"},
		{"given", 0, "1:9"}, {"item", 0, "9:1"},
	} {
		err := d.Walk(1, nil, func(j *Job) error {
			v, ok, err := j.Lookup(c.name)
			p := v.Place(c.offset)
			if got := fmt.Sprintf("%d:%d", p.Line, p.Col); got != c.want || !ok {
				t.Errorf("place of byte %d of %s = %s, want %s", c.offset, c.name, got, c.want)
			}
			return err
		})
		if err != nil {
			t.Errorf("Lookup(%s) = %v", c.name, err)
		}
	}
}

// TestLines holds where statements stand.
func TestLines(t *testing.T) {
	d, _, err := Parse("\n a = 1\n\tqueue 2", "a.sub", Options{})
	testenv.OK(t, err)
	if p := d.Assignments()[0].Place(); d.File() != "a.sub" || p != (Place{"a.sub", 2, 6, " a = 1"}) {
		t.Errorf("the assignment of %s stands at %+v, want a.sub, line 2, column 6", d.File(), p)
	}
	_ = d.Walk(1, nil, func(j *Job) error {
		if p := j.Line(); p != (Place{"a.sub", 3, 2, "\tqueue 2"}) {
			t.Errorf("Line() = %+v, want line 3, column 2", p)
		}
		return nil
	})
	for want, p := range map[string]Place{"": {}, "3: ": {Line: 3}, "f: ": {File: "f"}, "f:3: ": {File: "f", Line: 3}} {
		if got := (Warning{Place: p, Msg: "m"}).String(); got != want+"m" {
			t.Errorf("Warning at %+v = %q, want %q", p, got, want+"m")
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\tb\nc", "a b c"}, {strings.Repeat("x", 60), strings.Repeat("x", 60)}, {strings.Repeat("x", 61), strings.Repeat("x", 57) + "..."},
		{strings.Repeat("ü", 31), strings.Repeat("ü", 28) + "..."},
	} {
		if got := Shorten(c.text); got != c.want {
			t.Errorf("Shorten(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestUnwrap holds that the cause of an error is there to be asked for.
func TestUnwrap(t *testing.T) {
	_, _, err := Parse("include : none\nqueue", "a.sub", (&outside{}).options())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Parse of an include of no file = %v, want fs.ErrNotExist within", err)
	}
	_, _, err = Parse("queue from cmd |", "a.sub", (&outside{}).options())
	if !errors.Is(err, errCommand) {
		t.Errorf("Parse of a command that fails = %v, want its error within", err)
	}
}
