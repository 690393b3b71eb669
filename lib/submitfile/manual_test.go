package submitfile

import "testing"

// manualNames are the macros that TestManualFunctions refers to.
const manualNames = `Name = abcdef
X = 2
Y = 6
XYArea = $(X) * $(Y)
FULL_HOSTNAME = host.DOMAIN
LCFullHostname = toLower("$(FULL_HOSTNAME)")
slist = "a,B,c"
lcslist = tolower($(slist))
list = split($(slist))
clist = size($(list)) * 10
semilist = join(";",split($(lcslist)))
F1 = /tmp/dir/simulate.tar.exe
F2 = simulate.exe
F3 = /tmp/dir/noext
F4 = "/tmp/my dir/a b.txt"
F5 = dir/
F6 = /top.x
F7 = a/b/c/d.e
F8 = .hidden
F9 = a.b/noext
FA = C:\w\f.txt
FB = /a//b.c
FC = d/.hidden
FD = d/x.
nums = 3, 5,,7
words = p q r
one = only
idx = 1
neg = -2
fl = 2.5
str = "q u"
empty =
big = 12345678901
padded = 008
`

// TestManualFunctions holds what HTCondor's manual and program give for every function,
// argument form and combination of letters.
func TestManualFunctions(t *testing.T) {
	for _, c := range [][2]string{
		{"$SUBSTR(Name, 2)", "cdef"}, {"$SUBSTR(Name, 0, -2)", "abcd"}, {"$SUBSTR(Name, 1, 3)", "bcd"}, {"$SUBSTR(Name, -1)", "f"},
		{"$SUBSTR(Name, 4, -3)", ""}, {"$SUBSTR(Name,-10)", "abcdef"}, {"$SUBSTR(Name,10)", ""}, {"$SUBSTR(Name,-3,2)", "de"},
		{"$SUBSTR(Name,-3,-1)", "de"}, {"$SUBSTR(Name,2,0)", ""}, {"$SUBSTR(Name,X)", "cdef"}, {"$SUBSTR(Name,X,X)", "cd"}, {"$SUBSTR(Name,neg)", "ef"},
		{"$SUBSTR(Name,$(X))", "cdef"}, {"$SUBSTR(Name,0,100)", "abcdef"}, {"$SUBSTR(Name,1,-100)", ""}, {"$SUBSTR(empty,0)", ""},
		{"$SUBSTR(name,2)", "cdef"}, {"$SUBSTR(Name,XYArea)", ""}, {"$INT(XYArea)", "12"}, {"$INT(XYArea,%04d)", "0012"},
		{"$INT(XYArea,Area=%d)", "Area=12"}, {"$INT(XYArea, %d)", " 12"}, {"$INT(XYArea,%d jobs)", "12 jobs"}, {"$INT(X,%x)", "2"},
		{"$INT(XYArea,%x)", "c"}, {"$INT(XYArea,%X)", "C"}, {"$INT(XYArea,%#x)", "0xc"}, {"$INT(XYArea,%o)", "14"}, {"$INT(XYArea,%+d)", "+12"},
		{"$INT(XYArea,%-5d|)", "12   |"}, {"$INT(XYArea,%i)", "12"}, {"$INT(XYArea,%lld)", "12"}, {"$INT(XYArea,%u)", "12"}, {"$INT(fl)", "2"},
		{"$INT(-2.7)", "-2"}, {"$INT(12)", "12"}, {"$INT(big)", "12345678901"}, {"$INT($(X)*3)", "6"}, {"$INT(010)", "10"}, {"$INT(7/2)", "3"},
		{"$INT(7%2)", "1"}, {"$INT(X,%5d)", "    2"}, {"$INT(X,%%%d)", "%2"}, {"$INT(X,%d%%)", "2%"}, {"$REAL(X,%.0f)", "2.0"},
		{"$REAL(X,%5.1f)", "  2.0"}, {"$REAL(X,%g)", "2.0"}, {"$REAL(fl)", "2.5"}, {"$REAL(fl,%e)", "2.500000e+00"}, {"$REAL(X)", "2"},
		{"$REAL(fl,%.3G)", "2.5"}, {"$REAL(1e20)", "1E+20"}, {"$REAL(0.1)", "0.1"}, {"$REAL(2.0/3)", "0.6666666666666666"}, {"$REAL(1e-5)", "1E-05"},
		{"$REAL(100000000)", "100000000"}, {"$REAL(X,v=%f)", "v=2.000000"}, {"$REAL(0.1+0.2)", "0.3"}, {"$STRING(LCFullHostname)", "host.domain"},
		{"$STRING(LCFullHostname,Name: %s)", "Name: host.domain"}, {"$STRING(str)", "q u"}, {"$STRING(X)", "2"}, {"$STRING(Name)", "abcdef"},
		{"$STRING(Name,%10s)", "    abcdef"}, {"$STRING(Name,%-10s|)", "abcdef    |"}, {"$STRING(Name,%.3s)", "abc"}, {"$STRING(XYArea)", "2 * 6"},
		{"$STRING(hello)", "hello"}, {"$STRING(empty)", ""}, {`$STRING("lit")`, "lit"}, {"$EVAL(slist)", "a,B,c"}, {"$EVAL(lcslist)", "a,b,c"},
		{"$EVAL(list)", `{ "a","B","c" }`}, {"$EVAL(clist)", "30"}, {"$EVAL(semilist)", "a;b;c"}, {"$EVAL(XYArea)", "12"}, {"$EVAL(X > 1)", "undefined"},
		{"$EVAL($(X) > 1)", "true"}, {"$EVAL(fl)", "2.5"}, {"$EVAL(7/2)", "3"}, {"$EVAL(1.0)", "1.0"}, {`$EVAL("a")`, "a"}, {"$EVAL({1,2})", "{ 1,2 }"},
		{"$EVAL([a=1])", "[ a = 1 ]"}, {"$EVAL(undefined)", "undefined"}, {"$CHOICE(0,nums)", "3"}, {"$CHOICE(1,nums)", "5"}, {"$CHOICE(2,nums)", ""},
		{"$CHOICE(3,nums)", "7"}, {"$CHOICE(idx,nums)", "5"}, {"$CHOICE(idx,a,b,c)", "b"}, {"$CHOICE(0,a,b)", "a"}, {"$CHOICE(2, a, b , c )", "c"},
		{"$CHOICE($(X)-1,a,b,c)", "b"}, {"$CHOICE(1,a,,c)", ""}, {"$CHOICE(0,one)", "only"}, {"$CHOICE(1,$(nums))", "5"}, {"$RANDOM_INTEGER(4,4)", "4"},
		{"$RANDOM_INTEGER(5,7,10)", "5"}, {"$RANDOM_INTEGER(-3,-3)", "-3"}, {"$RANDOM_INTEGER( 4 , 4 , 1 )", "4"}, {"$RANDOM_CHOICE(one)", "only"},
		{"$RANDOM_CHOICE(lone)", "lone"}, {"$RANDOM_CHOICE( a , a )", "a"}, {"$RANDOM_INTEGER($(X),2)", "2"}, {"$ENV(HOME)", "/home/alice"},
		{"$ENV(NONE:dflt)", "dflt"}, {"$ENV(HOME:dflt)", "/home/alice"}, {"$ENV(EMPTY:dflt)", "dflt"}, {"$ENV(NONE:$(X))", "2"}, {"$ENV(NONE)", ""},
		{"$ENV(NONE:)", ""}, {"$(Name)", "abcdef"}, {"$(NAME)", "abcdef"}, {"$(nope:def)", "def"}, {"$(empty:def)", "def"}, {"$(nope:$(X))", "2"},
		{"$(nope:a b)", "a b"}, {"$(nope:a:b)", "a:b"}, {"$(nope:)", ""}, {"$(nope:$(nope2:z))", "z"}, {"$(DOLLAR)", "$"}, {"$(DOLLAR)(X)", "$(X)"},
		{"$(DOLLAR)$(X)", "$2"}, {"$$(Arch)", "$$(Arch)"}, {"$$(Arch:x)", "$$(Arch:x)"}, {"$$([Memory*2])", "$$([Memory*2])"},
		{"$$(DOLLARDOLLAR)", "$$(DOLLARDOLLAR)"}, {"$", "$"}, {"$5", "$5"}, {"$(", "$("}, {"$X", "$X"}, {"$(Na me)", "$(Na me)"}, {"$$", "$$"},
		{"$ (X)", "$ (X)"}, {"$int(X)", "$int(X)"}, {"$FOO(X)", "$FOO(X)"}, {"a$(X)b$(Y)c", "a2b6c"}, {"$(X)$(X)", "22"}, {"$(nope:-)", "-"},
		{`$(nope:"q")`, `"q"`}, {"$(nope:(a))", "(a)"}, {"$(X:zzz)", "2"}, {"$BASENAME(F1)", "simulate.tar.exe"}, {"$BASENAME(F1,.exe)", "simulate.tar"},
		{"$BASENAME(F1,.no)", "simulate.tar.exe"}, {"$BASENAME(F2)", "simulate.exe"}, {"$BASENAME(/a/b.c)", "b.c"}, {"$BASENAME(F5)", ""},
		{"$DIRNAME(F1)", "/tmp/dir/"}, {"$DIRNAME(F2)", ""}, {"$DIRNAME(F6)", "/"}, {"$DIRNAME(/a/b)", "/a/"}, {"$BASENAME(F4)", "a b.txt"},
		{"$DIRNAME(F4)", "/tmp/my dir/"}, {"$F(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Ff(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Fp(F1)", "/tmp/dir/"},
		{"$Fpb(F1)", "/tmp/dir"}, {"$Fbp(F1)", "/tmp/dir"}, {"$Fd(F1)", "dir/"}, {"$Fdb(F1)", "dir"}, {"$Fdd(F1)", "tmp/dir/"}, {"$Fddb(F1)", "tmp/dir"},
		{"$Fddd(F1)", "/tmp/dir/"}, {"$Fn(F1)", "simulate.tar"}, {"$Fx(F1)", ".exe"}, {"$Fxb(F1)", "exe"}, {"$Fnx(F1)", "simulate.tar.exe"},
		{"$Fpn(F1)", "/tmp/dir/simulate.tar"}, {"$Fpnx(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Fpx(F1)", "/tmp/dir/simulate.tar.exe"},
		{"$Fdn(F1)", "dir/simulate.tar"}, {"$Fdnx(F1)", "dir/simulate.tar.exe"}, {"$Fdx(F1)", "dir/simulate.tar.exe"},
		{"$Fq(F1)", `"/tmp/dir/simulate.tar.exe"`}, {"$Fqa(F1)", "'/tmp/dir/simulate.tar.exe'"}, {"$Fpq(F1)", `"/tmp/dir/"`},
		{"$Fnq(F1)", `"simulate.tar"`}, {"$Fnqa(F1)", "'simulate.tar'"}, {"$Faqn(F1)", "'simulate.tar'"}, {"$Fxq(F1)", `".exe"`}, {"$Fdq(F1)", `"dir/"`},
		{"$Fdbq(F1)", `"dir"`}, {"$Fa(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Fw(F1)", `\tmp\dir\simulate.tar.exe`}, {"$Fpw(F1)", `\tmp\dir\`},
		{"$Fu(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Fb(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Fbn(F1)", "simulate.tar"}, {"$FNX(F1)", "simulate.tar.exe"},
		{"$Fdddd(F1)", "/tmp/dir/"}, {"$Fxnp(F1)", "/tmp/dir/simulate.tar.exe"}, {"$Ff(F2)", "/d/simulate.exe"}, {"$Ffp(F2)", "/d/"}, {"$Ffpb(F2)", "/d"},
		{"$Ffd(F2)", "d/"}, {"$Fp(F2)", ""}, {"$Fpb(F2)", ""}, {"$Fd(F2)", ""}, {"$Fpn(F2)", "simulate"}, {"$Fdn(F2)", "simulate"},
		{"$Fdnx(F2)", "simulate.exe"}, {"$Fpq(F2)", `""`}, {"$Fdq(F2)", `""`}, {"$Ffq(F2)", `"/d/simulate.exe"`}, {"$Fn(F3)", "noext"}, {"$Fx(F3)", ""},
		{"$Fxb(F3)", ""}, {"$Fxq(F3)", `""`}, {"$Fn(F4)", "a b"}, {"$F(F4)", "/tmp/my dir/a b.txt"}, {"$Fq(F4)", `"/tmp/my dir/a b.txt"`},
		{"$Fqa(F4)", "'/tmp/my dir/a b.txt'"}, {"$Fd(F4)", "my dir/"}, {"$Fn(F5)", ""}, {"$Fd(F5)", "dir/"}, {"$Fp(F5)", "dir/"}, {"$Fx(F5)", ""},
		{"$Fdb(F5)", "dir"}, {"$Fp(F6)", "/"}, {"$Fpb(F6)", ""}, {"$Fd(F6)", "/"}, {"$Fdb(F6)", ""}, {"$Fd(F7)", "c/"}, {"$Fdd(F7)", "b/c/"},
		{"$Fddd(F7)", "a/b/c/"}, {"$Fdddd(F7)", "a/b/c/"}, {"$Fdp(F7)", "c/"}, {"$Fn(F8)", ".hidden"}, {"$Fx(F8)", ""}, {"$Fx(F9)", ""},
		{"$Fn(F9)", "noext"}, {"$Fx(FC)", ""}, {"$Fn(FD)", "x"}, {"$Fx(FD)", "."}, {"$Fxb(FD)", ""}, {"$Fn(FA)", `C:\w\f`}, {"$Fu(FA)", "C:/w/f.txt"},
		{"$Fnx(FB)", "b.c"}, {"$Fd(FB)", "/"}, {"$Fp(FB)", "/a//"}, {"$Fq(empty)", `""`}, {"$Fn(empty)", ""}, {"$INT(padded)", "8"},
		{"$INT(padded,%03d)", "008"}, {"$REAL(padded)", "8"}, {"$INT(XYArea,%#x)", "0xc"}, {"$SUBSTR(Name,$(X)+1)", "def"},
		{`$EVAL(ifThenElse($(X) > 1,"a","b"))`, "a"}, {"$CHOICE(1,words)", "q"}, {"$CHOICE(1,$(words))", "q"}, {"$CHOICE(3,nums)", "7"}, {"$Fdb(F2)", ""},
		{"$Fxb(F2)", "exe"}, {"$Fpx(F2)", ".exe"}, {"$Fdx(F2)", ".exe"}, {"$Fxd(F1)", "dir/simulate.tar.exe"}, {"$FB(F1)", "/tmp/dir/simulate.tar.exe"},
		{"$FPB(F1)", "/tmp/dir"},
	} {
		text := manualNames + "show = [" + c[0] + "]\nqueue"
		if got := (&outside{}).worth(text); got != "["+c[1]+"]" {
			t.Errorf("%s = %s, want [%s]", c[0], got, c[1])
		}
	}
}

// TestManualRefusals holds what those functions refuse.
func TestManualRefusals(t *testing.T) {
	for _, c := range [][2]string{
		{"$INT(X*3)", "X*3: want a constant expression"},
		{"$SUBSTR(Name,X+1)", "X+1: want a whole number"},
		{"$CHOICE(X-1,a,b,c)", "X-1: want a whole number"},
		{"$CHOICE(4,nums)", "index 4: want 0 to 3"},
		{"$CHOICE(-1,nums)", "index -1: want 0 to 3"},
		{"$CHOICE(0,nolist)", "nolist: not defined: want the name of a list, or two items and more"},
		{"$CHOICE(0,empty)", "index 0: the list is empty"},
		{"$CHOICE(0)", "want an index and a list"},
		{"$CHOICE(a,b,c)", "a: want a whole number"},
		{"$RANDOM_CHOICE()", "want items to choose from"},
		{"$RANDOM_CHOICE(empty)", "want items to choose from"},
		{"$RANDOM_INTEGER(4,3)", "4 to 3: want the smaller number first"},
		{"$RANDOM_INTEGER(1,3,0)", "step 0: want 1 or more"},
		{"$RANDOM_INTEGER(a,b)", "a: want a whole number"},
		{"$EVAL(1/0)", "1/0: its value is error"},
	} {
		text := manualNames + "show = " + c[0] + "\nqueue"
		if got, want := (&outside{}).worth(text), "a.sub:35: "+c[0]+": "+c[1]; got != want {
			t.Errorf("%s = %s, want %s", c[0], got, want)
		}
	}
}
