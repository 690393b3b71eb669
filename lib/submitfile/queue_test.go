package submitfile

import (
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/internal/golden"
)

// queueWorld is what the queue lines of these tests ask for.
func queueWorld() *outside {
	return &outside{
		files: map[string]string{
			"/d/list":   "one\n\n  two  \r\n# three\nfour",
			"/d/pairs":  "a, 1 x y\r\nb 2\nc\n",
			"/d/us":     "a b\x1f 1,2 \x1fz\nc\x1f\n",
			"/d/empty":  "\n \n",
			"/d/lines":  "p$(Process) c$(ClusterId)\n",
			"/d/t.csv":  "name, size ,note\nx, 1 ,a b\ny,2\n",
			"/abs/list": "abs",
			"/d/x.dat":  "", "/d/y.dat": "", "/d/z.txt": "", "/d/run1/": "", "/d/run2/": "",
		},
		commands: map[string]string{"seq 7 9": "7\n8\n9\n", "blank": "a\n\n", "echo a b": "a b\n"},
		stdin:    "s1\ns2\n",
	}
}

// itemShown shows the item with its number and the step.
const itemShown = "show = $(Item)/$(ItemIndex)/$(Step)\n"

func TestQueueCounts(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{"show = $(Process)$(Step)$(Item)$(ItemIndex)$(Row)\nqueue", "0000"},
		{"show = $(ClusterId).$(ProcId)\nqueue 3", "5.0 | 5.1 | 5.2"},
		{"show = $(JobId)/$(Node)\nQueue 2", "5.0/ | 5.1/"},
		{"show = $(Process)\n  QUEUE\t2  ", "0 | 1"},
		{"show = $(Process)\nqueue 1 + 2", "0 | 1 | 2"},
		{"show = $(Process)\nqueue (1 + 1)", "0 | 1"},
		{"show = $(Process)\nqueue int(2.5)", "0 | 1"},
		{"n = 2\nshow = $(Process)\nqueue $(n)", "0 | 1"},
		{"n = 2\nshow = $(Process)\nqueue $(n) * $(n)", "0 | 1 | 2 | 3"},
		{"show = $(Process)\nqueue $(n:2)", "0 | 1"},
		{"show = $(Process)\nqueue $ENV(N:2)", "0 | 1"},
		{"show = $(Process)\nqueue $INT(1+1)", "0 | 1"},
		{"show = $(Process)\nqueue 0", ""},
		{"show = $(Process)\nqueue 0\nqueue", "0"},
		{"show = $(Process)/$(Step)\nqueue 2\nqueue\nqueue 2", "0/0 | 1/1 | 2/0 | 3/0 | 4/1"},
		{"show = a\nqueue\nshow = b\nqueue", "a | b"},
		{"show = a\nqueue\nshow = b", "a"},
		{"queue = 3\nshow = $(queue)\nqueue", "3"},
		{"show = a\nqueue -1", "a.sub:2: queue -1: a negative number of jobs"},
		{"show = a\nqueue x", "a.sub:2: queue x: want a number of jobs, or variables followed by in, from or matching"},
		{"show = a\nqueue 1.5", "a.sub:2: queue 1.5: want a number of jobs"},
		{"show = a\nqueue 2.0", "a | a"}, {"show = a\nqueue 0.02e2", "a | a"}, {"show = a\nqueue 02", "a | a"},
		{"show = a\nqueue -1.0", "a.sub:2: queue -1.0: a negative number of jobs"}, {"show = a\nqueue 1e9", "a.sub:2: queue 1e9: more than 10000000 jobs in one cluster"},
		{"show = a\nqueue 3 items", "a.sub:2: queue 3 items: want a number of jobs, or variables followed by in, from or matching"},
		{"show = a\nqueue 10000001", "a.sub:2: queue 10000001: more than 10000000 jobs in one cluster"},
		{"show = a\nqueue 99999999999999999999", "a.sub:2: queue 99999999999999999999: more than 10000000 jobs in one cluster"},
		{"show = a\nqueue -99999999999999999999", "a.sub:2: queue -99999999999999999999: a negative number of jobs"},
		{"show = a\nqueue 10000000\nqueue", "a.sub:3: queue: more than 10000000 jobs in one cluster"},
		{"show = a\nqueue 6000000 in (a b)", "a.sub:2: queue 6000000 in (a b): more than 10000000 jobs in one cluster"},
		{"show = a", "a.sub: no queue line, so no jobs: end it with the line queue, or queue N"},
		{"", "a.sub: no queue line, so no jobs: end it with the line queue, or queue N"},
	})
}

// TestQueueIn has the examples of HTCondor's manual first.
func TestQueueIn(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{itemShown + "queue 3 in (A, B)", "A/0/0 | A/0/1 | A/0/2 | B/1/0 | B/1/1 | B/1/2"},
		{"show = $(input)\nqueue 1 input in A, B, C", "A | B | C"},
		{itemShown + "queue in A B,C , D", "A/0/0 | B/1/0 | C/2/0 | D/3/0"},
		{itemShown + "queue IN(A,B)", "A/0/0 | B/1/0"},
		{itemShown + "queue in (\nA, B\n# no item\n\n  C\n)", "A/0/0 | B/1/0 | C/2/0"},
		{itemShown + "queue in (A\nB C\n) and the rest", "A/0/0 | B/1/0 | C/2/0"},
		{itemShown + "queue in (\r\nA\r\nB\r\n)\r\n", "A/0/0 | B/1/0"},
		{itemShown + "queue in (\nA \\\n B\n)", "A/0/0 | B/1/0"},
		{itemShown + "queue 2 in (\nA\n)\nshow = again\nqueue", "A/0/0 | A/0/1 | again"},
		{"l = A B\n" + itemShown + "queue in $(l)", "A/0/0 | B/1/0"},
		{"show = $(x)$(y)\nqueue x, y in (A B)", "A | B"},
		{"show = $(x)\nqueue 1+1 x in (A B)", "A | A | B | B"},
		{"show = $(x)\nqueue int(2.5) x in A", "A | A"},
		{"show = $(x)\nqueue (2)x in A", "A | A"},
		{"show = $(x)\nqueue 0 x in (A B)", ""},
		{"show = $(x1.y_)\nqueue 2 x1.y_ in A", "A | A"},
		{itemShown + "queue in ()", ""},
		{itemShown + "queue in (\n)", ""},
		{itemShown + "queue in", "a.sub:2: queue in: in: want items, or a list in parentheses"},
		{itemShown + "queue x in (A\nB", "a.sub:2: queue x in (A: no line that begins with ) ends the list"},
		{itemShown + "queue x in (A) B", "a.sub:2: queue x in (A) B: no line that begins with ) ends the list"},
		{itemShown + "queue a-b in A", "a.sub:2: queue a-b in A: want a number of jobs"},
		{itemShown + "queue 3 4 x in A", "a.sub:2: queue 3 4 x in A: want a number of jobs"},
		{itemShown + "queue Dollar in A", "a.sub:2: queue Dollar in A: Dollar: is always a dollar sign: want another name for the variable"},
		{itemShown + "queue in.dat", "a.sub:2: queue in.dat: want a number of jobs, or variables followed by in, from or matching"},
	})
}

// TestQueueFrom has the examples of HTCondor's manual first.
func TestQueueFrom(t *testing.T) {
	const pair = "show = <$(x)><$(y)>\n"
	queueWorld().check(t, [][2]string{
		{"show = <$(input)><$(arguments)>\nqueue input, arguments from (\n  file1, -a -b 26\n  file2, -c -d 92\n)", "<file1><-a -b 26> | <file2><-c -d 92>"},
		{itemShown + "queue from seq 7 9 |", "7/0/0 | 8/1/0 | 9/2/0"},
		{itemShown + "queue from list", "one/0/0 | two/1/0 | # three/2/0 | four/3/0"},
		{itemShown + "queue from /abs/list", "abs/0/0"},
		{"f = list\n" + itemShown + "queue from $(f)", "one/0/0 | two/1/0 | # three/2/0 | four/3/0"},
		{itemShown + "queue from -", "s1/0/0 | s2/1/0"},
		{itemShown + "queue from -\nqueue from -", "a.sub:3: queue from -: standard input is not there to be read for items"},
		{itemShown + "queue from echo a b|", "a b/0/0"},
		{itemShown + "queue from \"echo 'a b'\" |", "a b/0/0"},
		{itemShown + "queue from (a, b c)", "a, b c/0/0"},
		{itemShown + "queue from (a b\nc d\n)", "a b/0/0 | c d/1/0"},
		{itemShown + "queue from (\n# none\na # b\n)", "a # b/0/0"},
		{itemShown + "queue 2 from (\na\n)", "a/0/0 | a/0/1"},
		{pair + "queue x,y from pairs", "<a><1 x y> | <b><2> | <c><>"},
		{pair + "queue x y from pairs", "<a><1 x y> | <b><2> | <c><>"},
		{pair + "queue x, y from (\na , b, c\n d\te \n,f\n)", "<a><b, c> | <d><e> | <><f>"},
		{pair + "queue x, y from us", "<a b><1,2> | <c><>"},
		{"show = <$(x)><$(y)><$(z)><$(u)>\nqueue x, y, z, u from us", "<a b><1,2><z><> | <c><><><>"},
		{"show = $(x)\nqueue x from us", "a b | c"},
		{"show = $(_)$(x)\nqueue _, x, _ from (\na b c\n)", "cb"},
		{"show = $(x)\nqueue x from lines", "p0 c5"},
		{itemShown + "queue from empty", ""},
		{itemShown + "queue from nosuch", "a.sub:2: queue from nosuch: nosuch: open /d/nosuch: file does not exist"},
		{itemShown + "queue from", "a.sub:2: queue from: from: want a file, a command and |, or a list in parentheses"},
		{itemShown + "queue from false |", "a.sub:2: queue from false |: exit status 3"},
		{itemShown + "queue from |", "a.sub:2: queue from |: no command"},
		{itemShown + "queue from (\na", "a.sub:2: queue from (: no line that begins with ) ends the list"},
	})
}

func TestQueueFromTable(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{"show = $(name)/$(size)/$(note)/$(Row)\nqueue from table t.csv", "x/1/a b/0 | y/2//1"},
		{"show = $(name)/$(size)\nqueue 2 from TABLE(skip=1) t.csv", "y/2 | y/2"},
		{"show = $(a)/$(b)\nqueue a, b from table(header=0) t.csv", "x/1 | y/2"},
		{"show = $(a)/$(c)\nqueue a, b, c from table(csv) t.csv", "name/note | x/a b | y/"},
		{"show = $(Item)\nqueue from table(csv,skip=1,sep=;) t.csv", "x, 1 ,a b | y,2"},
		{"show = $(a)\nqueue from [1:] table (\na,b\nx,1\ny,2\n)", "y"},
		{"show = $(k)\nqueue from table(sep=tab) (\nk\tv\nx\t1\n)", "x"},
		{"show = $(x)\nqueue from table", "a.sub:2: queue from table: table: open /d/table: file does not exist"},
		{"show = $(x)\nqueue from table(quote=1) t.csv", "a.sub:2: queue from table(quote=1) t.csv: table(quote=1): quote=1: want csv, header=N, skip=N, trim=true or sep=C"},
		{"show = $(x)\nqueue from table(trim=false) t.csv", "a.sub:2: queue from table(trim=false) t.csv: table(trim=false): trim=false: blanks around a field never count here"},
		{"show = $(x)\nqueue from table(header=9) t.csv", "a.sub:2: queue from table(header=9) t.csv: table: no row 9 with the names, of 3"},
		{"show = $(x)\nqueue from table(csv t.csv", "a.sub:2: queue from table(csv t.csv: table(csv t.csv: its options are not closed by a parenthesis"},
		{"show = $(x)\nqueue from table (\na-b\n1\n)", `a.sub:2: queue from table (: "a-b": not a name for a variable`},
	})
}

// TestQueueMatching has the examples of HTCondor's manual first.
func TestQueueMatching(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{"show = $(filename)\nqueue filename matching files *.dat", "x.dat | y.dat"},
		{"show = $Fnx(FILE)\nqueue  FILE  MATCHING (\n     *.dat\n     )", "x.dat | y.dat"},
		{itemShown + "queue matching *", "empty/0/0 | lines/1/0 | list/2/0 | pairs/3/0 | run1//4/0 | run2//5/0 | t.csv/6/0 | us/7/0 | x.dat/8/0 | y.dat/9/0 | z.txt/10/0"},
		{itemShown + "queue matching dirs *", "run1//0/0 | run2//1/0"},
		{itemShown + "queue matching any run*, *.txt", "run1//0/0 | run2//1/0 | z.txt/2/0"},
		{itemShown + "queue matching files run* *.txt", "z.txt/0/0"},
		{itemShown + "queue matching files (*.txt\n*.dat)\n)", "z.txt/0/0"},
		{itemShown + "queue matching (*.txt\nx.* y.*\n)", "z.txt/0/0 | x.dat/1/0 | y.dat/2/0"},
		{itemShown + "queue matching [a-x]*.dat", "x.dat/0/0"},
		{itemShown + "queue 2 matching files [1:] *.dat", "y.dat/1/0 | y.dat/1/1"},
		{itemShown + "queue matching [1:] files (*.dat)", "y.dat/1/0"},
		{"e = dat\n" + itemShown + "queue matching (\n*.$(e)\n)", "x.dat/0/0 | y.dat/1/0"},
		{itemShown + "queue matching x.dat *.dat", "x.dat/0/0 | y.dat/1/0"},
		{"submit_allow_duplicate_matches = true\n" + itemShown + "queue matching x.dat *.dat", "x.dat/0/0 | x.dat/1/0 | y.dat/2/0"},
		{"submit_match_directories = no\n" + itemShown + "queue matching run* *.txt", "z.txt/0/0"},
		{"SubmitMatchDirectories = only\n" + itemShown + "queue matching run* *.txt", "run1//0/0 | run2//1/0"},
		{"submit_match_directories = only\n" + itemShown + "queue matching files run* *.txt", "z.txt/0/0"},
		{"submit_match_directories = some\n" + itemShown + "queue matching *", "a.sub:1: submit_match_directories: some: want yes, no or only"},
		{itemShown + "queue matching *.none", ""},
		{"submit_fail_empty_matches = true\n" + itemShown + "queue matching *.none", "a.sub:3: queue matching *.none: *.none: nothing matches"},
		{"submit_fail_empty_matches = maybe\n" + itemShown + "queue matching *.none", "a.sub:1: submit_fail_empty_matches: maybe: want true or false"},
		{itemShown + "queue matching", "a.sub:2: queue matching: matching: want patterns such as *.dat"},
		{itemShown + "queue matching files ()", "a.sub:2: queue matching files (): matching: want patterns such as *.dat"},
		{itemShown + "queue matching [", "a.sub:2: queue matching [: [: syntax error in pattern"},
	})
}

func TestQueueSlices(t *testing.T) {
	var cases [][2]string
	for slice, want := range map[string]string{
		"[:]": "a0 b1 c2 d3 e4", "[]": "a0 b1 c2 d3 e4", "[::]": "a0 b1 c2 d3 e4", "[::2]": "a0 c2 e4", "[1:3]": "b1 c2", "[ 1 : 3 ]": "b1 c2",
		"[-2:]": "d3 e4", "[:-2]": "a0 b1 c2", "[-4:-1:2]": "b1 d3", "[9:]": "", "[:9]": "a0 b1 c2 d3 e4", "[-9:1]": "a0", "[-9::2]": "a0 c2 e4",
		"[3:1]": "", "[3]": "d3 e4", "[-1]": "e4", "[::9]": "a0", "[1::9]": "b1",
		"[::0]":  "a.sub:2: queue in [::0] (a b c d e): [::0]: want a slice such as [2:10:2], of whole numbers, the last above 0",
		"[::-1]": "a.sub:2: queue in [::-1] (a b c d e): [::-1]: want a slice such as [2:10:2], of whole numbers, the last above 0",
		"[a:]":   "a.sub:2: queue in [a:] (a b c d e): [a:]: want a slice such as [2:10:2], of whole numbers, the last above 0",
		"[::::]": "a.sub:2: queue in [::::] (a b c d e): [::::] (a b c d e): want a slice such as [2:10:2]",
		"[1:2":   "a.sub:2: queue in [1:2 (a b c d e): [1:2 (a b c d e): want a slice such as [2:10:2]",
	} {
		cases = append(cases, [2]string{"show = $(Item)$(ItemIndex)\nqueue in " + slice + " (a b c d e)", want})
	}
	w := queueWorld()
	for _, c := range cases {
		if got := strings.ReplaceAll(w.worth(c[0]), " | ", " "); got != c[1] {
			t.Errorf("Parse(%q) = %s, want %s", c[0], got, c[1])
		}
	}
	w.check(t, [][2]string{
		{itemShown + "queue 2 from [1:2] list", "two/1/0 | two/1/1"},
		{itemShown + "queue from [-1:] (\na\nb\n)", "b/1/0"},
		{itemShown + "queue in [x] [y]", "[x]/0/0 | [y]/1/0"},
	})
}

// TestQueueVariables holds what variables do to other values.
func TestQueueVariables(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{"x = outer\nshow = $(x)\nqueue x in (a b)\nqueue", "a | b | outer"},
		{"show = $(x)-\nqueue x in (a b)\nqueue", "a- | b- | -"},
		{"queue show in (a b)", "a | b"},
		{"show = macro\nqueue show in (a b)\nqueue", "a | b | macro"},
		{"show = <$(Item)>\nqueue\nqueue in a\nqueue", "<> | <a> | <>"},
		{"Item = mine\nshow = $(Item)\nqueue\nqueue in a", "mine | a"},
		{"show = $(Step)$(Row)\nqueue Step in (a b)", "a0 | b1"},
		{"Step = 9\nshow = $(Step)\nqueue 2", "9 | 9"},
		{"show = $(Process)\nqueue ProcId, Process from (\n$(JobId) $(ProcId)\n)", "a.sub:3: ProcId: refers to itself through $(ProcId)"},
		{"Process = 9\nCluster = 9\nshow = $(Process)$(Cluster)\nqueue 2", "05 | 15"},
		{"y = <$(x)>\nshow = $(y)\nqueue x in (a b)", "<a> | <b>"},
		{"queue x, show from (\na, $(x)$(Process)\nb, $(y:$(x))\n)", "a0 | b"},
		{"show = $(x)\nqueue x in (\n$(x)\n)", "a.sub:2: x: refers to itself through $(x)"},
		{"show = $(X)\nqueue x in (a b)", "a | b"},
	})
}

// TestGoldenQueue holds how HTCondor 25.14 reads variables of queue lines with the names of
// built-in macros or of parts of the line, and what it has for Node. The lines are from
// descriptions of other people that were run through its condor_submit, with neighbors by the
// same rules.
func TestGoldenQueue(t *testing.T) {
	golden.Each(t, "condor", "queue.json", func(t *testing.T, _ string, cases *[][2]string) {
		queueWorld().check(t, *cases)
	})
}

// TestQueueReads holds that a queue line itself has no jobs yet.
func TestQueueReads(t *testing.T) {
	var cases [][2]string
	for _, name := range []string{"Cluster", "ClusterId", "Process", "ProcId", "JobId", "Step", "Item", "ItemIndex", "Row", "Node"} {
		msg := "$(" + name + "): has no value yet where conditions, includes and queue lines are read"
		cases = append(cases,
			[2]string{"show = a\nqueue $(" + name + ")", "a.sub:2: " + msg},
			[2]string{"show = a\nqueue in (a$(" + name + "))", "a.sub:2: " + msg},
			[2]string{"show = a\nif $(" + name + ")\nendif\nqueue", "a.sub:2: " + msg},
			[2]string{"show = a\ninclude : f$(" + name + ")\nqueue", "a.sub:2: " + msg},
			[2]string{"show = a\nx = $(" + name + ")\nqueue $(x)", "a.sub:2: " + msg},
		)
	}
	cases = append(cases, [2]string{"show = $(x)\nqueue x in (\na$(Process)\n)", "a0"}, [2]string{"Step = 2\nshow = a\nqueue $(Step)", "a | a"})
	queueWorld().check(t, cases)
}

// TestQueuePassedOver holds that what stands in a branch that is not taken has no
// effect, items with the look of statements included.
func TestQueuePassedOver(t *testing.T) {
	queueWorld().check(t, [][2]string{
		{"show = a\nif false\nqueue 5\nendif\nqueue", "a"},
		{"show = a\nif false\nqueue x in (\nelse\nendif\n)\nendif\nqueue", "a"},
		{"show = a\nif false\nqueue x from (if\nelse\n)\nendif\nqueue", "a"},
		{"show = a\nif false\nqueue x from [1:] (\nendif\n)\nelse\nqueue 2\nendif", "a | a"},
		{"show = a\nif false\nqueue x in (endif)\nendif\nqueue", "a"},
		{"show = a\nif false\nqueue = (\nendif\nqueue", "a"},
		{"show = a\nif false\nqueue x in (\n", "a.sub:3: queue x in (: no line that begins with ) ends the list"},
		{"show = a\nif true\nqueue 2\nendif", "a | a"},
	})
}

// TestQueueArguments has Options.Queue, and lines before the queue lines.
func TestQueueArguments(t *testing.T) {
	w := queueWorld()
	for _, c := range []struct {
		text, queue string
		appended    []string
		want        string
	}{
		{"show = $(x)\n", "x in (a b)", nil, "a | b"},
		{"show = a\n", "", nil, "a"},
		{"show = a\nif false\nqueue\nendif", "2", nil, "a | a"},
		{"show = a\nqueue", "2", nil, "a.sub: has a queue line of its own: leave -queue out"},
		{"show = a\n", "x in (a", nil, "command line: queue x in (a: no line that begins with ) ends the list"},
		{"show = a\n", "x", nil, "command line: queue x: want a number of jobs, or variables followed by in, from or matching"},
		{"show = a\n", "", []string{"show = b"}, "b"},
		{"show = a\n", "2", []string{"show = b", "show=$(show)c"}, "bc | bc"},
		{"show = a\n", "", []string{"show"}, "command line: show: want NAME = VALUE"},
		{"show = a\n", "", []string{"queue 3"}, "command line: queue 3: want NAME = VALUE"},
		{"show = a\n", "", []string{"include : x=y"}, "command line: include : x=y: want NAME = VALUE"},
	} {
		o := w.options()
		o.Queue, o.HasQueue, o.Append = c.queue, true, c.appended
		got := ""
		d, _, err := Parse(c.text, "a.sub", o)
		if err == nil {
			var list []string
			list, err = shown(d)
			got = strings.Join(list, " | ")
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Parse(%q) with -queue %q, -append %q = %s, want %s", c.text, c.queue, c.appended, got, c.want)
		}
	}
	o := w.options()
	o.Append = []string{"n = $(n)+", "+A = 1"}
	d, _, err := Parse("n = 0\nshow = $(n)$(MY.A)\nqueue\nqueue", "a.sub", o)
	testenv.OK(t, err)
	if got, err := shown(d); err != nil || strings.Join(got, " | ") != "0+1 | 0++1" {
		t.Errorf("with -append n = $(n)+: %q, %v, want it before every queue line", got, err)
	}
}

func TestQueueWarnings(t *testing.T) {
	const blank = "blank lines among the items are left out; HTCondor makes jobs of them"
	for _, c := range []struct{ text, want string }{
		{"queue in (a)", ""},
		{"queue in ()", "a.sub:1: queue in (): no items, so no jobs"},
		{"queue in [5:] (a)", "a.sub:1: queue in [5:] (a): no items, so no jobs"},
		{"queue from empty", "a.sub:1: queue from empty: no items, so no jobs; a.sub:1: queue from empty: " + blank},
		{"queue from list", "a.sub:1: queue from list: " + blank},
		{"queue from pairs", ""},
		{"queue from echo a b |", ""},
		{"queue from blank |", "a.sub:1: queue from blank |: " + blank},
		{"queue from -", ""},
		{"queue from [:1] (\na\n\nb\n)", "a.sub:1: queue from [:1] (: " + blank},
		{"queue from (\n# none\na \\\n\nb\n)", ""},
		{"queue from (\n\na\n)\n\nqueue from (\na\n  \t\n)", "a.sub:1: queue from (: " + blank + "; a.sub:6: queue from (: " + blank},
		{"\n\nqueue from (a)", ""},
		{"queue in (\na\n\nb\n\n)", ""},
		{"queue matching *.none", "a.sub:1: matching *.none: nothing matches"},
		{"queue matching *.none x.*", "a.sub:1: matching *.none: nothing matches"},
		{"submit_warn_empty_matches = no\nqueue matching *.none x.*", ""},
		{"queue matching x.* x.*", "a.sub:1: matching x.*: x.dat is there already, left out"},
		{"submit_warn_duplicate_matches = no\nqueue matching x.* x.*", ""},
		{"queue 1$(nosuch)", "a.sub:1: $(nosuch): not defined, taken as empty"},
		{"queue 0", ""},
	} {
		_, warnings, err := Parse(c.text, "a.sub", queueWorld().options())
		var list []string
		for _, w := range warnings {
			list = append(list, w.String())
		}
		if got := strings.Join(list, "; "); got != c.want || err != nil {
			t.Errorf("Parse(%q) warns %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

// TestQueueBounds holds that a queue line has so many variables and no more.
func TestQueueBounds(t *testing.T) {
	var names []string
	for i := range maxVars {
		names = append(names, "v"+strconv.Itoa(i))
	}
	head := "queue show, " + strings.Join(names[1:], ", ")
	if got := queueWorld().worth(head + " in a"); got != "a" {
		t.Errorf("a queue line of %d variables = %s, want a", maxVars, got)
	}
	if got, want := queueWorld().worth(head+", w in a"), "more than 1000 variables"; !strings.HasSuffix(got, want) {
		t.Errorf("a queue line of %d variables = %s, want %s", maxVars+1, got, want)
	}
}

func TestQueues(t *testing.T) {
	d, _, err := Parse("queue 2\nqueue 0\nqueue 3 in (a b)", "a.sub", queueWorld().options())
	testenv.OK(t, err)
	if lines, jobs := d.Queues(); lines != 3 || jobs != 8 {
		t.Errorf("Queues() = %d, %d, want 3, 8", lines, jobs)
	}
}
