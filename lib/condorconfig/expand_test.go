package condorconfig

import (
	"fmt"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"X = $(Y)\nY = 2", "2"},
		{"X = $(Y)$(Z)\nZ = $(Y)\nY = 2", "22"},
		{"X = $(Y:a $(Z))\nZ = 1", "a 1"},
		{"X = $(Y:)x", "x"},
		{"Y =\nX = $(Y:7)", "7"},
		{"X = a$(nothing)b", "ab"},
		{"X = 1\nX = $(X), 2\nX = $(X), 3", "1, 2, 3"},
		{"X = $(x), 2", ", 2"},
		{"X = $(X:5), 2", "5, 2"},
		{"Y = 1\nX = $(Y)\nX = $(X) $(Y)\nY = 2", "2 2"},
		{"X = 1\nNEGOTIATOR.X = $(X), 2", "1, 2"},
		{"NEGOTIATOR.Y = 1\nY = 2\nX = $(Y)", "1"},
		{"X = $$(Y) $$([ $(Z) ])\nZ = 1", "$$(Y) $$([ 1 ])"},
		{"X = $(DOLLAR)(Y)", "$(Y)"},
		{"X = $(SUBSYSTEM)", "NEGOTIATOR"},
		{"X = $(HOUR)", "(60 * 60)"},
		{"X = $(FULL_HOSTNAME).$(ARCH)", "$(FULL_HOSTNAME).$(ARCH)"},
		{"FULL_HOSTNAME = a\nX = $(FULL_HOSTNAME)", "a"},
		{"X = $( $($(", "$( $($("},
		{"X = cost $5 (a) $", "cost $5 (a) $"},
		{"N = Y\nY = 3\nX = $($(N))", "3"},
		{"X = $(a b)", "$(a b)"},
		{"Y = 1\nX = $( Y ) $(a $(Y)) $$$(Y)", "$( Y ) $(a 1) $$1"},
		{"Y = 6\nA = 2 * $(Y)\nX = $INT(A) $INT(A,%04d) $INT(A,Area=%d) $INT(7.9)", "12 0012 Area=12 7"},
		{"A = 1.0 / 4\nX = $REAL(A) $REAL(A,%.1f) $REAL(1e7)", "0.25 0.2 10000000"},
		{"S = toUpper(\"ab\")\nX = $STRING(S) $STRING(S,<%s>) $EVAL(S)", "AB <AB> AB"},
		{"L = split(\"a b\")\nX = $EVAL(L)", `{ "a","b" }`},
		{"X = $INT(Memory)", "$INT(Memory)"},
		{"X = $INT(1,%d%d)", "$INT(1,%d%d)"},
		{"X = $INT(pow(2, 3), %d) $INT(1,%s)", " 8 $INT(1,%s)"},
		{"L = a, b c\nX = $CHOICE(1,L) $CHOICE(0,x,y) $CHOICE(9,L)", "b c x $CHOICE(9,L)"},
		{"N = abcdef\nX = $SUBSTR(N,2) $SUBSTR(N,0,-2) $SUBSTR(N,1,3) $SUBSTR(N,-1) <$SUBSTR(N,4,-3)>", "cdef abcd bcd f <>"},
		{"X = $Fn(/tmp/sim.exe) $Fx(/tmp/sim.exe) $Fp(/tmp/sim.exe) $Fdb(/a/tmp/sim.exe) $Fqnx(/tmp/sim.exe)", `sim .exe /tmp/ tmp "sim.exe"`},
		{"F = /a/b.c\nX = $DIRNAME(F) $BASENAME(F) $BASENAME(F,.c) $Fxb(F)", "/a/ b.c b c"},
		{"X = $ENV(HOME) $RANDOM_CHOICE(1,2) $RANDOM_INTEGER(-$(Y),1)\nY = 3", "$ENV(HOME) $RANDOM_CHOICE(1,2) $RANDOM_INTEGER(-3,1)"},
		{"X = $NOSUCH(1) $int(2)", "$NOSUCH(1) $int(2)"},
		{"A = $(B)\nB = $(C)\nC = $(A)\nX = $(A)", "pool.conf:4: X: macros that refer to each other in a circle: A -> B -> C -> A; take one of the references out"},
		{"X = $(Y)\nY = $(X)", "pool.conf:1: X: macros that refer to each other in a circle: X -> Y -> X; take one of the references out"},
	} {
		if got := worth(t, read(t, c.text), "X"); got != c.want {
			t.Errorf("Expand(X) of %q = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestExpansion(t *testing.T) {
	c := read(t, "X = $(A) $(GONE) $(LOG)/x $(HOUR) $ENV(HOME) $(gone)\nA = $(B)\nB = 1")
	m, _ := c.Lookup("X")
	x, err := c.Expand(m)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q %v %v %v %v", x.Text, x.Used, x.Assumed, x.Missing, x.Unknown)
	if want := `"1  $(LOG)/x (60 * 60) $ENV(HOME) " [A B HOUR MINUTE] [HOUR MINUTE] [GONE] [$(LOG) $ENV(HOME)]`; got != want {
		t.Errorf("Expand(X) = %s, want %s", got, want)
	}
	if x, err = c.Shown(m); err != nil || x.Text != "1 $(GONE) $(LOG)/x (60 * 60) $ENV(HOME) $(gone)" {
		t.Errorf("Shown(X) = %q, %v, want what is missing as it is written", x.Text, err)
	}
}

// TestItself holds what is known of references to a macro itself that nothing stands
// behind.
func TestItself(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"X = a\nX = $(X), b", `"a, b" [] []`},
		{"X = $(X), b", `", b" [] [X]`},
		{"X = $(X), b\nX = $(X), c", `", b, c" [] [X]`},
		{"X = $(X:a), b", `"a, b" [] []`},
		{"X =\nX = $(X)b", `"b" [] []`},
		{"HOUR = $(HOUR) + 1\nX = $(HOUR)", `"(60 * 60) + 1" [HOUR MINUTE] []`},
	} {
		config := read(t, c.text)
		m, _ := config.Lookup("X")
		x, err := config.Expand(m)
		if got := fmt.Sprintf("%q %v %v", x.Text, x.Assumed, x.Missing); got != c.want || err != nil {
			t.Errorf("Expand(X) of %q = %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}

// TestBounds holds that texts that double with each line end in an error, and soon.
func TestBounds(t *testing.T) {
	var doubling, itself, deep strings.Builder
	doubling.WriteString("A0 = x\n")
	itself.WriteString("X = xx\n")
	for i := range 60 {
		fmt.Fprintf(&doubling, "A%d = $(A%d)$(A%d)\n", i+1, i, i)
		itself.WriteString("X = $(X)$(X)\n")
	}
	for i := range 200 {
		fmt.Fprintf(&deep, "A%d = $(A%d)\n", i, i+1)
	}
	for _, c := range []struct{ text, want string }{
		{doubling.String() + "X = $(A60)", "more than 10000 macros in one value"},
		{deep.String() + "X = $(A0)", "macros nested more than 100 deep"},
		{"X = " + strings.Repeat("$(X:", 1000) + strings.Repeat(")", 1000), ""},
		{"X = " + strings.Repeat("$INT(", 1000) + strings.Repeat(")", 1000), "macros nested more than 100 deep"},
		{"X = " + strings.Repeat("$(", 100_000), ""},
	} {
		if got := worth(t, read(t, c.text), "X"); !strings.Contains(got, c.want) {
			t.Errorf("Expand(X) of %.40q... = %.80q, want %q", c.text, got, c.want)
		}
	}
	_, err := Read([]Source{{"pool.conf", itself.String()}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "a value longer than") {
		t.Errorf("Read of a value that doubles = %v, want that it is too long", err)
	}
}

func TestTruth(t *testing.T) {
	for _, c := range []struct {
		text    string
		yes, ok bool
	}{
		{"True", true, true}, {" t", true, true}, {"YES", true, true}, {"y", true, true}, {"1", true, true},
		{"false", false, true}, {"F", false, true}, {"no", false, true}, {"n", false, true}, {"0", false, true},
		{"2", true, true}, {"1 > 2", false, true}, {"0.0", false, true}, {"", false, false}, {"Cpus > 1", false, false},
		{"time() > 0", false, false}, {"\"a\"", false, false}, {"(", false, false}, {"undefined", false, false},
	} {
		if yes, ok := Truth(c.text); yes != c.yes || ok != c.ok {
			t.Errorf("Truth(%q) = %v, %v, want %v, %v", c.text, yes, ok, c.yes, c.ok)
		}
	}
}

func TestConstant(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"24*60*60", "86400"}, {"(60 * (60 * 60))", "216000"}, {"1e10", "10000000000.0"}, {`size("a\b\"")`, "4"},
		{"Cpus", ""}, {"time()", ""}, {"random()", ""}, {"1/0", ""}, {"MY.A", ""}, {"TARGET.A", ""}, {"", ""}, {"1 2", ""},
	} {
		v, ok := Constant(c.text)
		if got := v.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("Constant(%q) = %s, %v, want %q", c.text, got, ok, c.want)
		}
	}
}
