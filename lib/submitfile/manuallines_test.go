package submitfile

import (
	"strings"
	"testing"
)

// manualWorld has the files and commands of these tests.
func manualWorld() *outside {
	return &outside{
		files: map[string]string{
			"/d/inc.sub":   "x = inc\n",
			"/d/inc2.sub":  "if defined nope\nx = no\nelse\n include : inc.sub\nendif\ny = 2\n",
			"/d/badif.sub": "if true\nx = 1\n",
			"/d/list":      "one\ntwo\n\n# three\nfour five, six\n",
			"/d/us":        "a b\x1fc, d\x1f e \nf\n",
			"/d/crlf":      "one\r\ntwo\r\n",
			"/d/tab":       "a\tb\tc d\n",
			"/d/a.dat":     "", "/d/b.dat": "", "/d/c.txt": "", "/d/old.dat/": "",
		},
		commands: map[string]string{"echo x = 5": "x = 5\n", "seq 2": "1\n2\n"},
	}
}

// TestManualLines holds what conditions, includes, continuations, references to
// themselves and names of the language give, after HTCondor's manual and program.
func TestManualLines(t *testing.T) {
	for _, c := range [][2]string{
		{"if true\nx=1\nendif\n", "1"}, {"if false\nx=1\nelse\nx=2\nendif\n", "2"}, {"IF True\nx=1\nENDIF\n", "1"}, {"if yes\nx=1\nendif\n", "1"},
		{"if no\nx=1\nendif\n", ""}, {"if 1\nx=1\nendif\n", "1"}, {"if 0\nx=1\nendif\n", ""}, {"if 2.5\nx=1\nendif\n", "1"}, {"if -1\nx=1\nendif\n", "1"},
		{"if\nx=1\nendif\n", ""}, {"if $(nope)\nx=1\nelse\nx=2\nendif\n", "2"}, {"if ! true\nx=1\nelse\nx=2\nendif\n", "2"},
		{"if !true\nx=1\nelse\nx=2\nendif\n", "2"}, {"if !false\nx=1\nendif\n", "1"}, {"a=1\nif defined a\nx=1\nendif\n", "1"},
		{"if defined a\nx=1\nelse\nx=2\nendif\n", "2"}, {"a=\nif defined a\nx=1\nelse\nx=2\nendif\n", "2"},
		{"a=1\nif !defined a\nx=1\nelse\nx=2\nendif\n", "2"}, {"a=1\nif ! defined A\nx=1\nelse\nx=2\nendif\n", "2"},
		{"executable=/bin/true\nif defined executable\nx=1\nendif\n", "1"}, {"if defined ARCH\nx=1\nendif\n", "1"}, {"if defined Item\nx=1\nelse\nx=2\nendif\n", "2"},
		{"a=b\nb=1\nif defined $(a)\nx=1\nendif\n", "1"}, {"if defined $(a)\nx=1\nelse\nx=2\nendif\n", "2"}, {"if defined 1\nx=1\nelse\nx=2\nendif\n", "1"},
		{"if defined true\nx=1\nelse\nx=2\nendif\n", "1"}, {"+A=1\nif defined MY.A\nx=1\nelse\nx=2\nendif\n", "1"},
		{"if version >= 8.1.6\nx=1\nendif\n", "1"}, {"if version >= 99\nx=1\nelse\nx=2\nendif\n", "2"}, {"if version<=8.9\nx=1\nelse\nx=2\nendif\n", "2"},
		{"if version == 25.14.0\nx=1\nendif\n", "1"}, {"if version == 25.14\nx=1\nendif\n", "1"}, {"if version == 25\nx=1\nendif\n", "1"},
		{"if version > 8.0\nx=1\nendif\n", "1"}, {"if ! version < 8.0\nx=1\nendif\n", "1"}, {"if version != 8.0\nx=1\nendif\n", "1"},
		{"if false\nx=1\nelif true\nx=2\nelse\nx=3\nendif\n", "2"}, {"if true\nx=1\nelif abc\nx=2\nendif\n", "1"},
		{"if false\nx=1\nelif false\nx=2\nelif 1\nx=3\nelif 1\nx=4\nendif\n", "3"}, {"if true\nif false\nx=1\nelse\nx=2\nendif\nelse\nx=3\nendif\n", "2"},
		{"if false\nif abc\nx=1\nendif\nendif\n", ""}, {"if $(IsLinux)\nx=1\nendif\n", "1"}, {"if $(IsWindows)\nx=1\nelse\nx=2\nendif\n", "2"},
		{"a = true\nif $(a)\nx=1\nendif\n", "1"}, {"ifx = 1\nx=$(ifx)\n", "1"}, {"if = 1\nx=$(if)\n", "1"}, {"else = 1\nx=$(else)\n", "1"},
		{"include : inc.sub\n", "inc"}, {"include:inc.sub\n", "inc"}, {"@include : inc.sub\n", "inc"}, {"INCLUDE : inc.sub\n", "inc"},
		{"include : inc2.sub\n", "inc"}, {"include ifexist : nofile\nx=1\n", "1"}, {"include ifexist : inc.sub\n", "inc"}, {"include : echo x = 5 |\n", "5"},
		{"include command : echo x = 5\n", "5"}, {"f=inc.sub\ninclude : $(f)\n", "inc"}, {"include = 1\nx=$(include)\n", "1"}, {"x = a b \n", "a b"},
		{"x=a\n", "a"}, {"   x   =   a   \n", "a"}, {"x = a # b\n", "a # b"}, {"x = a \\\n b\n", "a b"}, {"x = a\\\nb\n", "ab"}, {"x = a\\\n   b\n", "ab"},
		{"x = a\\\n# c\nb\n", "ab"}, {"x = a \\\n# c \\\nb\n", "a b"}, {"x = a\\\n\nb=1\n", "a"}, {"# c \\\nx = 1\n", "1"}, {"x = 1\nX = 2\n", "2"},
		{"x = \"a b\"\n", `"a b"`}, {"x == 1\n", "= 1"}, {"x = a=b\n", "a=b"}, {"x =\n", ""}, {"x = 1;\n", "1;"}, {"x = 'a'\n", "'a'"},
		{"x @=end\na\nb\n@end\n", "a\nb"}, {"x @= end\na\n@end\n", "a"}, {"x @=end\n  a\n@end\n", "a"}, {"x @=end\n# c\na\n@end\n", "# c\na"},
		{"x @=end\n$(y)\n@end\ny=2\n", "2"}, {"x @=END\na\n@end\n@END\n", "a\n@end"}, {"x @=e\n@e\n", ""}, {"x@=e\na\n@e\n", "a"},
		{"x=a\nx=$(x) b\n", "a b"}, {"x=a\nx=$(X) b\nx=$(x) c\n", "a b c"}, {"x=$(x) b\n", " b"}, {"x = $(x:d)\n", "d"}, {"x=a\nx=$(x:d)$(x)\n", "aa"},
		{"y=1\nx=$(y)\ny=2\n", "2"}, {"y=1\nx=$(y)\nx=$(x)0\ny=2\n", "20"}, {"a=f.txt\na=$Fn(a)\nx=$(a)\n", "f"}, {"a1=one\ni=1\nx=$(a$(i))\n", "one"},
		{"n=a1\na1=z\nx=$($(n))\n", "z"}, {"x=$(a:$(b:$(c:d)))\n", "d"}, {"x=$ENV(HOME)/$(y)\ny=k\n", "/home/alice/k"},
		{"+Foo = \"bar\"\nx=$(My.Foo)\n", `"bar"`}, {"My.Foo = 1\nx=$(MY.foo)\n", "1"}, {"x=$(SUBMIT_FILE)\n", "a.sub"}, {"x=$(DOLLAR)(y)\n", "$(y)"},
		{"x=$(YEAR)\n", "2023"}, {"x=$(Item)\n", ""}, {"Process = 7\nx=$(Process)\n", "0"}, {"Cluster=9\nx=$(Cluster)\n", "5"}, {"Item=9\nx=$(Item)\n", "9"},
		{"Step=9\nx=$(Step)\n", "9"}, {"Node=9\nx=$(Node)\n", "9"}, {"ARCH=q\nx=$(ARCH)\n", "q"}, {"if false\nerror : stop\nendif\nx=1\n", "1"},
		{"warning : careful\nx=1\n", "1"},
	} {
		if got := manualWorld().worth(c[0] + "show = <$(x)>\nqueue"); got != "<"+c[1]+">" {
			t.Errorf("x of %q = %s, want <%s>", c[0], got, c[1])
		}
	}
	for _, text := range []string{
		"if abc\nx=1\nendif\n", "if true && true\nx=1\nendif\n", "if 1 == 1\nx=1\nendif\n", "if version\nx=1\nendif\n", "if version 8\nx=1\nendif\n",
		"if version >= a\nx=1\nendif\n", "else\nx=1\nendif\n", "endif\n", "elif true\n", "if true\nx=1\n", "if true\nelse\nelse\nendif\n",
		"if true\nelse\nelif 1\nendif\n", "if true # c\nx=1\nendif\n", "if defined a ||defined b\nx=1\nendif\n", "if $(Process)\nx=1\nelse\nx=2\nendif\n",
		"x=$(Node)\nuniverse = $(Node)\n",
		"include : nofile\n", "include : badif.sub\n", "include : false |\n", "include\n", "include : \"inc.sub\"\n", "x : 1\n", "novalue\n", "= 1\n",
		"x y = 1\n", "x @=end\na\n", "x=$(y)\ny=$(x)\n", "error : stop here\n", "use feature : gpus\n",
	} {
		if got := manualWorld().worth(text + "show = <$(x)>\nqueue"); !strings.HasPrefix(got, "a.sub:") && !strings.HasPrefix(got, "badif.sub:") {
			t.Errorf("x of %q = %s, want an error with a place", text, got)
		}
	}
}

// TestManualQueueLines holds which jobs queue lines give: item, its number, step and proc; and
// below the variables a, b and c.
func TestManualQueueLines(t *testing.T) {
	for show, cases := range map[string][][2]string{
		"$(Item)|$(ItemIndex)|$(Step)|$(Process)": {
			{"queue", "|0|0|0"}, {"queue 2", "|0|0|0 |0|1|1"}, {"Queue 0", ""}, {"QUEUE 1+1", "|0|0|0 |0|1|1"}, {"queue 2*1 in (x)", "x|0|0|0 x|0|1|1"},
			{"queue $(n)", "|0|0|0 |0|1|1"}, {"queue $(nope)", "|0|0|0"}, {"queue in (A B)", "A|0|0|0 B|1|0|1"}, {"queue in (A, B)", "A|0|0|0 B|1|0|1"},
			{"queue in A B", "A|0|0|0 B|1|0|1"}, {"queue in A,,B", "A|0|0|0 B|1|0|1"}, {"queue 2 in (A,B)", "A|0|0|0 A|0|1|1 B|1|0|2 B|1|1|3"},
			{"queue in ()", ""}, {"queue IN (A)", "A|0|0|0"}, {"queue Item in (A)", "A|0|0|0"}, {"queue from [1:2] list", "two|1|0|0"},
		},
		"$(a),$(b),$(c)": {
			{"queue a in (x y)", "x,, y,,"}, {"queue a,b in (x y)", "x,, y,,"}, {"queue 1 a in (x)", "x,,"}, {"queue a in (\n x, y\n z\n)", "x,, y,, z,,"},
			{"queue a in (\n# no\n z\n)", "z,,"}, {"queue a in (w\n z\n)", "w,, z,,"}, {"queue a,b from (\n x y z\n u\n)", "x,y z, u,,"},
			{"queue a b from (\n x, y, z\n)", "x,y, z,"}, {"queue a,b,c from (\n x,,z\n)", "x,,z"}, {"queue a,b,c from (\n x , y , z\n)", "x,y,z"},
			{"queue a,b from (\n # comment\n x y\n\n)", "x,y,"}, {"queue a,b from (x y)", "x,y,"}, {"queue a from (\n x y\n)", "x y,,"},
			{"queue a from list", "one,, two,, # three,, four five, six,,"}, {"queue a,b from list", "one,, two,, #,three, four,five, six,"},
			{"queue a from [1:3] list", "two,, # three,,"}, {"queue a from [-1:] list", "four five, six,,"}, {"queue a from [::2] list", "one,, # three,,"},
			{"queue a from [:-1] list", "one,, two,, # three,,"}, {"queue a from [1:2:1] list", "two,,"}, {"queue a from [:1]list", "one,,"},
			{"queue a from [5:] list", ""}, {"queue a in [1:] (p,q,r)", "q,, r,,"}, {"queue a in [:2] p q r", "p,, q,,"},
			{"queue a,b,c from us", "a b,c, d,e f,,"}, {"queue a,b from us", "a b,c, d, f,,"}, {"queue a from crlf", "one,, two,,"},
			{"queue a,b from tab", "a,b\tc d,"}, {"queue a from seq 2 |", "1,, 2,,"}, {"queue a matching *.dat", "a.dat,, b.dat,, old.dat/,,"},
			{"queue a matching files *.dat", "a.dat,, b.dat,,"}, {"queue a matching dirs *.dat", "old.dat/,,"},
			{"queue a matching files (a.* *.dat)", "a.dat,, b.dat,,"}, {"queue a matching no*", ""}, {"queue a matching [:1] files *.dat", "a.dat,,"},
			{"queue a matching files [1:] *.dat", "b.dat,,"}, {"queue 2 a matching files (a.dat)", "a.dat,, a.dat,,"},
			{"queue a matching files *.dat, c.txt", "a.dat,, b.dat,, c.txt,,"}, {"queue a matching files ?.dat", "a.dat,, b.dat,,"},
			{"queue a matching files [ab].dat", "a.dat,, b.dat,,"}, {"queue a MATCHING FILES (\n a.dat\n b.dat\n)", "a.dat,, b.dat,,"},
			{"a=1\nqueue\na=2\nqueue 2", "1,, 2,, 2,,"}, {"a=g\nqueue a in (x)\nqueue", "x,, g,,"}, {"queue 1 a,b in (x)", "x,,"},
			{"queue 2 a from (\nx\n)", "x,, x,,"}, {"queue $(n) a in (x)", "x,, x,,"}, {"queue a in ($(items))", "p,, q,,"},
			{"queue a from $(file)", "one,, two,, # three,, four five, six,,"}, {"queue a from (\nx\n) junk", "x,,"}, {"queue a in (x # y)", "x,, #,, y,,"},
		},
	} {
		for _, c := range cases {
			got := manualWorld().worth("n = 2\nitems = p q\nfile = list\nshow = " + show + "\n" + c[0] + "\n")
			if got = strings.ReplaceAll(got, " | ", " "); got != c[1] {
				t.Errorf("%q = %s, want %s", c[0], got, c[1])
			}
		}
	}
	for _, line := range []string{
		"queue -1", "queue abc", "queue 2 3", "queue in", `queue a from echo "p q" |`, "queue a from false |", "queue a from nofile", "queue a from (\nx",
		"queue a in (\nx", "queue a in (x)y", "queue DOLLAR in (x)",
	} {
		if got := manualWorld().worth("show = x\n" + line); !strings.HasPrefix(got, "a.sub:") {
			t.Errorf("%q = %s, want an error with a place", line, got)
		}
	}
}
