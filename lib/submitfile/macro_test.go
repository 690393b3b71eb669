package submitfile

import (
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

func TestMacros(t *testing.T) {
	(&outside{}).check(t, [][2]string{
		{"a = 1\nshow = <$(a)><$(A)>\nqueue", "<1><1>"},
		{"show = <$(b)>\nb = late\nqueue", "<late>"},
		{"show = <$(b)>\nqueue\nb = late\nqueue", "<> | <late>"},
		{"a = 1\na = 2\nshow = $(a)\nqueue", "2"},
		{"a = 1\nshow = $(a)\na = 2\nqueue", "2"},
		{"a =\nshow = <$(a)><$(a:d)><$(b:d)>\nqueue", "<><d><d>"},
		{"show = $(a:$(b:$(c:deep)))\nqueue", "deep"},
		{"a.b = 1\nc/d = 2\n7 = 3\nshow = $(a.b)$(C/D)$(7)\nqueue", "123"},
		{"c = 3\nshow = $(a:$(b:<$(c:deep)>))\nqueue", "<3>"},
		{"show = $(a:b:c) $(a:) $(a:(x) y)\nqueue", "b:c  (x) y"},
		{"show = $(a$(n)) $($(k)) $(a$(m):none)\na1 = one\nn = 1\nk = n\nqueue", "one 1 none"},
		{"show = $(DOLLAR)(x) $(dollar)$(DOLLAR)(Memory)\nqueue", "$(x) $$(Memory)"},
		{"show = $$(Memory) $$(Arch:X86) $$([Memory * 0.9]) $$(DOLLARDOLLAR)\nqueue", "$$(Memory) $$(Arch:X86) $$([Memory * 0.9]) $$(DOLLARDOLLAR)"},
		{"m = Memory\nshow = $$($(m)) $$([$(m) * 2])\nqueue", "$$(Memory) $$([Memory * 2])"},
		{"show = $ENV(HOME)/x $ENV(NONE:d) $ENV(EMPTY)<$ENV(NONE)>\nqueue", "/home/alice/x d <>"},
		{"v = HOME\nshow = $ENV($(v))\nqueue", "/home/alice"},
		{"k = a b\nshow = <$($(k):d)> $ENV($(k)) $($(k):$(k))\nqueue", "<$(a b:d)> $ENV(a b) $(a b:a b)"},
		{"show = a # no comment\n# a comment\nqueue", "a # no comment"},
		{"show = a\\\n  b \\\n# left out\n c\nqueue", "ab c"},
		{"\uFEFFshow = a\r\nqueue\r\n", "a"},
		{"  show\t=\ta  b\t\nqueue", "a  b"},
		{"show=\nqueue", ""},
		{"show = $(a b) $5 $x $( a )\nqueue", "$(a b) $5 $x $( a )"},
		{"+Attr = 1\nMY.b = $(my.attr)\nshow = $(MY.B)\nqueue", "1"},
		{"show @=end\n one\n  two # three\n\n@end\nqueue", "one\n  two # three"},
		{"x @=end\n@end\nshow = <$(x)>\nqueue", "<>"},
		{"show @=x\nqueue", "a.sub:1: show: no line @x ends the value"},
		{"show @=\nqueue", "a.sub:1: show @=: want a tag, and a line @TAG that ends the value"},
		{"if false\nshow @=x\nendif\n@x\nendif\nshow = a\nqueue", "a"},
	})
}

// TestPredefined has the macros that the surroundings define and the
// language's own.
func TestPredefined(t *testing.T) {
	(&outside{}).check(t, [][2]string{
		{"show = $(ARCH) $(OPSYS) $(OPSYSVER) $(OPSYSMAJORVER) $(OPSYSANDVER) $(SPOOL) $(IsLinux) $(IsWindows)\nqueue", "X86_64 LINUX 1200 12 Debian12 /spool true false"},
		{"show = $(SUBMIT_TIME) $(Year)-$(Month)-$(Day)\nqueue", "1700000000 2023-11-14"},
		{"show = $(SUBMIT_FILE)\nqueue", "a.sub"},
		{"ARCH = mine\nshow = $(arch)\nqueue", "mine"},
		{"ARCH = $(ARCH)_old\nshow = $(arch)\nqueue", "X86_64_old"},
		{"if $(IsLinux)\nshow = linux\nelse\nshow = other\nendif\nqueue", "linux"},
	})
	d, _, err := Parse("show = $(SUBMIT_FILE)\nqueue", "a$(b).sub", Options{})
	testenv.OK(t, err)
	if got, err := shown(d); err != nil || got[0] != "a$(b).sub" {
		t.Errorf("$(SUBMIT_FILE) of a$(b).sub = %q, %v", got, err)
	}
}

// TestSelfReference holds that a name in its own value is what it was before.
func TestSelfReference(t *testing.T) {
	(&outside{}).check(t, [][2]string{
		{"a = 1\na = $(a) 2\na = $(A) 3\nshow = $(a)\nqueue", "1 2 3"},
		{"a = $(a) 2\nshow = <$(a)>\nqueue", "< 2>"},
		{"a = $(a:0) 2\nshow = $(a)\nqueue", "0 2"},
		{"a = $(b)\na = $(a) 2\nb = late\nshow = $(a)\nqueue", "late 2"},
		{"a = $(b:$(a))\nshow = <$(a)>\nqueue", "<>"},
		{"show = $(Process)\nshow = <$(show)>\nqueue 2", "<0> | <1>"},
		{"a = x/y.dat\na = $Fn(a)\nshow = $(a)\nqueue", "y"},
		{"a = x/y.dat\na = $F(a).$Fx(A)\nshow = $(a)\nqueue", "x/y.dat..dat"},
		{"a = x/$(Process).dat\na = $Fn(a)\nshow = $(a)\nqueue 2", "0 | 1"},
		{"a = b\nb = another\na = $Fn(a)\nshow = $(a)\nqueue", "b"},
		{"n = 5\nn = $INT(n,%03d)\nshow = $(n)\nqueue", "005"},
		{"n = $(Process) + 1\nn = $INT(n,%03d)\nshow = $(n)\nqueue 2", "001 | 002"},
		{"a = abcdef\na = $SUBSTR(a,1,-1)\nshow = $(a)\nqueue", "bcde"},
		{"l = a b c\nl = $CHOICE(1,l)\nshow = $(l)\nqueue", "b"},
		{"l = a b c\nl = x$CHOICE(2,l)\nshow = $CHOICE(0,l)\nqueue", "xc"},
		{"l = a, a\nl = $RANDOM_CHOICE(l)\nshow = $(l)\nqueue", "a"},
		{"a = x.c\na = $BASENAME(a,.c)\nshow = $(a)\nqueue", "x"},
		{"a = $Fn(a)\nshow = $(a)\nqueue", "a.sub:1: a: refers to itself through $(a)"},
		{"a = $(b)\nb = $(a)\nshow = $(a)\nqueue", "a.sub:1: a: refers to itself through $(a)"},
		{"a = $($(b))\nb = a\nshow = $(a)\nqueue", "a.sub:1: a: refers to itself through $(a)"},
		{"n = x\nn = $INT(n)\nshow = $(n)\nqueue", "a.sub:2: $INT(n): x: want a constant expression"},
	})
}

// TestFunctions has the examples of HTCondor's manual first.
func TestFunctions(t *testing.T) {
	(&outside{}).check(t, [][2]string{
		{"MyIndex = $(Process) + 1\nshow = run-$INT(MyIndex,%04d)\nqueue 3", "run-0001 | run-0002 | run-0003"},
		{"Values = $(Process) * 10\nExtension = $INT(Values,%03d)\nshow = X.$(Extension)\nqueue 4", "X.000 | X.010 | X.020 | X.030"},
		{"Name = abcdef\nshow = $SUBSTR(Name, 2) $SUBSTR(Name, 0, -2) $SUBSTR(Name, 1, 3) $SUBSTR(Name, -1) <$SUBSTR(Name, 4, -3)>\nqueue", "cdef abcd bcd f <>"},
		{"file = /tmp/simulate.exe\nshow = $Fn(file) $Fx(file) $Fp(file) $Fn(/tmp/simulate.exe)\nqueue", "simulate .exe /tmp/ simulate"},
		{"show = $RANDOM_CHOICE(4) $RANDOM_INTEGER(8, 8, 2)\nqueue", "4 8"},
		{"l = a, b c, d\nshow = $CHOICE(0,l)$CHOICE(2,l)$CHOICE(1,x,y)$CHOICE($(Process),p,q)\nqueue 2", "adyp | adyq"},
		{"i = 1\nshow = $CHOICE(i,x,y)\nqueue", "y"},
		{"e = \"a,B,c\"\nshow = $EVAL(e) $STRING(e) $EVAL(toLower(\"ABC\"))\nqueue", "a,B,c a,B,c abc"},
		{"x = 1.0/4\nshow = $REAL(x) $REAL(x,%.3f) $REAL(2*$(x),%e)\nqueue", "0.25 0.250 5.000000e-01"},
		{"f = d/e.tar.gz\nshow = $DIRNAME(f) $BASENAME(f) $BASENAME(f,.gz) $Fnx(f) $Fq(f) $Fqa(f) $Fbx(f) $Ffp(f)\nqueue", `d/ e.tar.gz e.tar e.tar.gz "d/e.tar.gz" 'd/e.tar.gz' gz /d/d/`},
		{"show = $Fnx($(Item))\nqueue in (a/b.c d)", "b.c | d"},
		{"show = $Fnx(Item)\nqueue in (a/b.c d)", "b.c | d"},
		{"n = 3\nshow = $INT(n+1)\nqueue", "a.sub:2: $INT(n+1): n+1: want a constant expression"},
		{"n = 3\nshow = $INT($(n)+1)\nqueue", "4"},
		{"show = $INT(Process)\nqueue 2", "0 | 1"},
		{"show = $INT(x,%s)\nqueue", "a.sub:1: $INT(x,%s): format %s: want one of d, i, o, x, X, u behind %, once"},
		{"show = $CHOICE(5,a,b)\nqueue", "a.sub:1: $CHOICE(5,a,b): index 5: want 0 to 1"},
		{"show = $CHOICE(5)\nqueue", "a.sub:1: $CHOICE(5): want an index and a list"},
		{"show = $CHOICE(x,a,b)\nqueue", "a.sub:1: $CHOICE(x,a,b): x: want a whole number"},
		{"show = $SUBSTR(a)\nqueue", "a.sub:1: $SUBSTR(a): want a name, where to begin, and perhaps a length"},
		{"show = $SUBSTR(abc,99999999999999)<$SUBSTR(abc,-99999999999999,2)>\nqueue", "<ab>"},
		{"show = $RANDOM_INTEGER(2)\nqueue", "a.sub:1: $RANDOM_INTEGER(2): want the least, the greatest, and perhaps a step"},
		{"show = $RANDOM_INTEGER(2,1)\nqueue", "a.sub:1: $RANDOM_INTEGER(2,1): 2 to 1: want the smaller number first"},
		{"show = $int(3) $NOSUCH(3)\nqueue", "$int(3) $NOSUCH(3)"},
		{"show = $INT($(a))\na = $INT($(b))\nb = x\nqueue", "a.sub:2: $INT($(b)): x: want a constant expression"},
	})
}

// TestRandom holds that chance is the same for the same seed and proc, within its
// bounds, and another one for other procs and seeds.
func TestRandom(t *testing.T) {
	const text = "show = $RANDOM_INTEGER(0,1000000000) $RANDOM_CHOICE(a,b,c)\nqueue 50"
	all := func(seed uint64) []string {
		o := Options{Seed: seed}
		d, _, err := Parse(text, "a.sub", o)
		testenv.OK(t, err)
		out, err := shown(d)
		testenv.OK(t, err)
		return out
	}
	one, again, other := all(1), all(1), all(2)
	if strings.Join(one, ",") != strings.Join(again, ",") {
		t.Errorf("the same seed gives other numbers")
	}
	if strings.Join(one, ",") == strings.Join(other, ",") {
		t.Errorf("another seed gives the same numbers")
	}
	distinct := map[string]bool{}
	for _, s := range one {
		distinct[s] = true
	}
	if len(distinct) < 49 {
		t.Errorf("%d of 50 procs have numbers of their own, want all or all but one", len(distinct))
	}
	if got := (&outside{}).worth("a = $RANDOM_INTEGER(1,3)\nshow = x\nqueue $(a) in (a b)"); len(got) < len("x | x") {
		t.Errorf("queue $RANDOM_INTEGER(1,3) in (a b) = %s, want 2 jobs or more", got)
	}
}

// TestBounds holds that macros end with an error where they would not end.
func TestBounds(t *testing.T) {
	double := "a0 = xxxxxxxxxxxxxxxx\n"
	for i := 1; i < 40; i++ {
		double += "a" + strconv.Itoa(i) + " = $(a" + strconv.Itoa(i-1) + ")$(a" + strconv.Itoa(i-1) + ")\n"
	}
	deep := "b0 = x\n"
	for i := 1; i < 200; i++ {
		deep += "b" + strconv.Itoa(i) + " = $(b" + strconv.Itoa(i-1) + ")\n"
	}
	longName := strings.Repeat("x", maxName+1)
	long := strings.Repeat("x", maxText/2)
	for _, c := range []struct{ text, want string }{
		{double + "show = $(a39)\nqueue", "more than 10000 macros in one value"},
		{deep + "show = $(b199)\nqueue", "macros nested more than 100 deep"},
		{"l = " + long + "\nshow = $(l)$(l)x$(l)\nqueue", "a value longer than 1048576 bytes"},
		{"l = " + long + "\nshow = $SUBSTR($(l)$(l),0,1)$SUBSTR($(l)$(l),0,1)$SUBSTR($(l)$(l),0,1)$SUBSTR($(l)$(l),0,1)$SUBSTR($(l)$(l),0,1)\nqueue", "more than 4194304 bytes of macros in one value"},
		{"show = " + long + long + "x\nqueue", "a.sub:1: show: longer than 1048576 bytes"},
		{"show = " + long + "\nshow = $(show)$(show)x\nqueue", "a.sub:2: show: longer than 1048576 bytes"},
		{"n = " + longName + "\nshow = $($(n))\nqueue", "a name longer than 256 bytes"},
		{"show = " + strings.Repeat("$(a:", 1000) + strings.Repeat(")", 1000) + "\nqueue", "macros nested more than 100 deep"},
	} {
		if got := (&outside{}).worth(c.text); !strings.Contains(got, c.want) || len(got) > 300 {
			t.Errorf("Parse(%.60q...) = %.300s, want %s", c.text, got, c.want)
		}
	}
}
