package condorconfig

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// known are defaults for the tests.
func known(name string) (string, bool) {
	text, ok := map[string]string{"hour": "(60 * $(MINUTE))", "minute": "60"}[strings.ToLower(name)]
	return text, ok
}

func read(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Read([]Source{{"pool.conf", text}}, Options{Subsystem: "NEGOTIATOR", Default: known})
	if err != nil {
		t.Fatalf("Read(%q) = %v, want no error", text, err)
	}
	return c
}

// worth returns what a macro of the text is worth.
func worth(t *testing.T, c *Config, name string) string {
	t.Helper()
	m, ok := c.Lookup(name)
	if !ok {
		return "(not defined)"
	}
	x, err := c.Expand(m)
	if err != nil {
		return err.Error()
	}
	return x.Text
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"X = 1", "1"},
		{"x=1\nX = 2", "2"},
		{"  X   =  a b  \r\n", "a b"},
		{"X = a, \\\n  b, \\   \n\tc", "a, b, c"},
		{"X = a \\\n# b \\\n c\nY = 3", "a c"},
		{"X = a \\\n# b\n c", "a c"},
		{"# no \\\nX = 1", "1"},
		{"X = a \\\n\nY = 1", "a"},
		{"X = a \\", "a"},
		{"X = 1\nX =", ""},
		{"X @=end\n a\n  b\n @end\nY = 2", " a\n  b"},
		{"X @= end\r\na\r\n@end\r\n", "a"},
		{"X : 1", "(not defined)"},
		{"\uFEFFX = 1", "1"},
		{"X += 1", "(not defined)"},
		{"NEGOTIATOR.X = 1\nX = 2", "1"},
		{"SCHEDD.X = 1", "(not defined)"},
		{"if true\nX = 1\nelse\nX = 2\nendif", "1"},
		{"if no\nX = 1\nelif 0\nX = 2\nelif 1\nX = 3\nelse\nX = 4\nendif", "3"},
		{"if false\nif true\nX = 1\nendif\nelse\nX = 2\nendif", "2"},
		{"if true\nif false\nX = 1\nelse\nX = 2\nendif\nendif", "2"},
		{"Y = T\nIF $(Y)\nX = 1\nENDIF", "1"},
		{"if $(Y)\nX = 1\nelse\nX = 2\nendif", "2"},
		{"if ! $(Y)\nX = 1\nendif", "1"},
		{"if defined Y\nX = 1\nelse\nX = 2\nendif", "2"},
		{"Y = 0\nif defined Y\nX = 1\nendif", "1"},
		{"if !defined Y\nX = 1\nendif", "1"},
		{"Y = 5\nif defined $(Y)\nX = 1\nendif", "1"},
		{"if defined $(Y)\nX = 1\nelse\nX = 2\nendif", "2"},
		{"if defined a b\nX = 1\nelse\nX = 2\nendif", "2"},
		{"if version >= 8.1.6\nX = 1\nelse\nX = 2\nendif", "1"},
		{"if version <= 8.9\nX = 1\nelse\nX = 2\nendif", "2"},
		{"if version == 8.2\nX = 1\nelse\nX = 2\nendif", "2"},
		{"if !version<8\nX = 1\nendif", "1"},
		{"Y = 3\nif $(Y) > 2\nX = 1\nendif", "1"},
		{"if banana\nX = 1\nendif", "(not defined)"},
		{"if $(FULL_HOSTNAME)\nX = 1\nendif", "(not defined)"},
		{"ifx = 1\nX = $(ifx)", "1"},
		{"use = 1\nX = $(use)", "1"},
		{"if = 1\nX = $(if)", "1"},
		{"N = X\n$(N) = 4", "4"},
		{"use ROLE : Execute\nX = 1", "1"},
		{"if false\nerror : no\nX @=e\n1\n@e\nendif", "(not defined)"},
	} {
		if got := worth(t, read(t, c.text), "X"); got != c.want {
			t.Errorf("Read(%q): X = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestReadNotes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"X = a \\   \n b", ""},
		{"\nPRIORITY_HALFLIFE : 5", "pool.conf:2: PRIORITY_HALFLIFE : 5: left out; want PRIORITY_HALFLIFE = value"},
		{"\uFEFFX = 1", "pool.conf:1: begins with a byte order mark, which HTCondor takes for a part of the first name: left out"},
		{"X += 1", "pool.conf:1: X += 1: left out; there is no +=: want X = $(X) ..."},
		{"X 1", "pool.conf:1: X 1: left out; want X = value"},
		{"a b = 1", "pool.conf:1: a b = 1: left out; want a name without blanks before ="},
		{"!", "pool.conf:1: !: left out; want NAME = value"},
		{"endif", "pool.conf:1: endif without if"},
		{"if true\nX = 1", "pool.conf:1: if without endif"},
		{"if true\nelse\nelse\nendif", "pool.conf:3: else after else"},
		{"if banana\nendif", "pool.conf:1: if banana: taken as false, because it cannot be determined"},
		{"if version = x\nendif", "pool.conf:1: if version = x: taken as false; want version, then ==, >= or <=, then x.y.z"},
		{"X @=end\n1", "pool.conf:1: X: no line @end ends the value"},
		{"Y = 5\nwarning : five is $(Y)", "pool.conf:2: the configuration says: five is 5"},
		{"use ROLE : Execute", "note pool.conf:1: use ROLE : Execute"},
		{"@use FEATURE:GPUs(a, b)", "note pool.conf:1: use FEATURE : GPUs(a, b)"},
		{"include command : /bin/make", "note pool.conf:1: include command : /bin/make"},
		{"include : /bin/make |", "note pool.conf:1: include command : /bin/make |"},
		{"include command into /tmp/x : /bin/make", "note pool.conf:1: include command : /bin/make"},
	} {
		var got []string
		for _, n := range read(t, c.text).Notes {
			kind := "note "
			if n.Warning {
				kind = ""
			}
			got = append(got, kind+n.Place.String()+": "+n.Text)
		}
		if all := strings.Join(got, "\n"); all != c.want {
			t.Errorf("Read(%q) notes %q, want %q", c.text, all, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Y = 1\nerror : no $(Y)", "pool.conf:2: the configuration says: error: no 1"},
		{"A = $(B)\nB = $(a)\nif $(A)\nendif", "pool.conf:3: macros that refer to each other in a circle: A -> B -> A; take one of the references out"},
		{"include : gone", "pool.conf:1: include : gone: file does not exist"},
		{"include : itself", "itself:1: include : itself: more than 20 files in each other, or 1000 in all"},
	} {
		open := func(path string) (string, error) {
			if path == "itself" {
				return "include : itself", nil
			}
			return "", fs.ErrNotExist
		}
		_, err := Read([]Source{{"pool.conf", c.text}}, Options{Open: open})
		if fmt.Sprint(err) != c.want {
			t.Errorf("Read(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}

func TestReadIncludes(t *testing.T) {
	files := map[string]string{"/etc/condor/more": "A = 1\ninclude : sub/last", "/etc/condor/sub/last": "B = $(A)2", "/abs": "C = 3"}
	open := func(path string) (string, error) {
		text, ok := files[path]
		if !ok {
			return "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
		return text, nil
	}
	c, err := Read([]Source{
		{"/etc/condor/condor_config", "DIR = .\ninclude : $(DIR)/more\nINCLUDE IFEXIST : none\ninclude : $(LOCAL_DIR)/x"},
		{"/etc/condor/second", "@include : /abs\nD = $(C)$(B)"},
	}, Options{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	if got := worth(t, c, "D"); got != "312" {
		t.Errorf("D = %q, want 312", got)
	}
	if m, _ := c.Lookup("B"); m.Place.String() != "/etc/condor/sub/last:1" {
		t.Errorf("B is from %s, want /etc/condor/sub/last:1", m.Place)
	}
	if n := len(c.Notes); n != 2 {
		t.Errorf("%d notes, want 2 about the file that cannot be told", n)
	}
}

func TestMacros(t *testing.T) {
	c := read(t, "A = 1\nB = 2\na = 3\n")
	var got []string
	for _, m := range c.Macros() {
		got = append(got, fmt.Sprint(m.Name, "=", m.Text, "@", m.Place))
	}
	if all := strings.Join(got, " "); all != "B=2@pool.conf:2 a=3@pool.conf:3" {
		t.Errorf("Macros() = %s, want the last definitions in their order", all)
	}
	if got := c.Plain("negotiator.X"); got != "X" {
		t.Errorf("Plain(negotiator.X) = %s, want X", got)
	}
}
