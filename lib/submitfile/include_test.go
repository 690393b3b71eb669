package submitfile

import (
	"fmt"
	"strings"
	"testing"
)

func TestIncludes(t *testing.T) {
	w := &outside{
		files: map[string]string{
			"/d/inc":        "show = inc $(x:none)\r\n",
			"/abs/inc":      "show = abs",
			"/d/sub/nested": "include : inc\nshow = $(show) nested",
			"/d/loop":       "include : loop",
			"/d/queue":      "show = q\nqueue 2",
			"/d/open":       "\n\tif true",
			"/d/bad":        "\nno statement",
			"/d/cached":     "show = from the cache",
			"/d/directory":  "show = no",
			"/d/twice":      "include : empty\ninclude : empty",
			"/d/empty":      "",
		},
		commands: map[string]string{
			"make show": "show = made", "echo a b": "show = a b", "bad": "no statement", "list -m": "show = l\n",
		},
	}
	w.check(t, [][2]string{
		{"include : inc\nqueue", "inc none"},
		{"x = 1\ninclude : inc\nqueue", "inc 1"},
		{"include:inc\nqueue", "inc none"},
		{"@include : inc\nqueue", "inc none"},
		{"INCLUDE  :  /abs/inc\nqueue", "abs"},
		{"f = inc\ninclude : $(f)\nqueue", "inc none"},
		{"include : sub/nested\nqueue", "inc none nested"},
		{"include : queue\nqueue", "q | q | q"},
		{"include ifexist : none\nshow = a\nqueue", "a"},
		{"include ifexist : inc\nqueue", "inc none"},
		{"include ifexist : $(none)\nshow = a\nqueue", "a"},
		{"include : make show |\nqueue", "made"},
		{"include command : make show\nqueue", "made"},
		{"include : \"echo 'a b'\" |\nqueue", "a b"},
		{"include command into cached : fail\nqueue", "from the cache"},
		{"include command into fresh : make show\nqueue", "made"},
		{"c = cached\ninclude command into $(c) : fail\nqueue", "from the cache"},
		{"include command into : make show\nqueue", "a.sub:1: include into: want a file before the colon"},
		{"include into cached : inc\nqueue", "a.sub:1: include into cached: only the output of a command goes there"},
		{"include command into $(Process) : inc\nqueue", "a.sub:1: $(Process): has no value yet where conditions, includes and queue lines are read"},
		{"include = 1\nshow = $(include)\nqueue", "1"},
		{"if false\ninclude : none\nendif\nshow = a\nqueue", "a"},
		{"include : none\nqueue", "a.sub:1: include : none: open /d/none: file does not exist"},
		{"include : loop\nqueue", "loop:1: include : loop: more than 20 files in each other"},
		{strings.Repeat("include : twice\n", 334) + "queue", "twice:1: include : empty: more than 1000 files in all"},
		{"include : open\nqueue", "open:2: if: no endif closes it"},
		{"include : bad\nqueue", `bad:2: "no statement": want NAME = value, or queue`},
		{"include : bad |\nqueue", `bad:1: "no statement": want NAME = value, or queue`},
		{"include : fail now |\nqueue", "a.sub:1: include command : fail now: exit status 3"},
		{"include command : fail\nqueue", "a.sub:1: include command : fail: exit status 3"},
		{"include command into fresh : fail\nqueue", "a.sub:1: include command : fail: exit status 3"},
		{"include : \"a |\nqueue", `a.sub:1: include command : "a: the double quote at its beginning is not closed`},
		{"include : |\nqueue", "a.sub:1: include : |: empty"},
		{"include :\nqueue", "a.sub:1: include : : empty"},
		{"include inc\nqueue", "a.sub:1: include: want include : FILE"},
		{"include some : inc\nqueue", "a.sub:1: include some: want ifexist, command, or command into FILE before the colon"},
	})
	if got := w.wrote["/d/fresh"]; got != "show = made" {
		t.Errorf("include command into fresh wrote %q, want what the command printed", got)
	}
}

// TestNothingOutside holds that a description which asks for more than its
// Options have is refused.
func TestNothingOutside(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"include : f\nqueue", "a.sub:1: include : f: not possible here"},
		{"include : f |\nqueue", "a.sub:1: include command : f: not possible here"},
		{"queue from f", "a.sub:1: queue from f: f: not possible here"},
		{"queue from f |", "a.sub:1: queue from f |: not possible here"},
		{"queue from -", "a.sub:1: queue from -: standard input is not there to be read for items"},
		{"queue matching *", "a.sub:1: queue matching *: not possible here"},
	} {
		if _, _, err := Parse(c.text, "a.sub", Options{}); fmt.Sprint(err) != c.want {
			t.Errorf("Parse(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}

// TestIncludedBytes holds that included text is bounded in all.
func TestIncludedBytes(t *testing.T) {
	w := &outside{files: map[string]string{"/d/big": strings.Repeat("#", 1<<20)}}
	got := w.worth(strings.Repeat("include : big\n", 65) + "queue")
	if want := "a.sub:65: include : big: more than 67108864 bytes of included text in all"; got != want {
		t.Errorf("65 includes of a megabyte = %s, want %s", got, want)
	}
}
