package qconf

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// written returns records and notes in one line, as the tables of tests have them.
func written(records []Record, notes []Note) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d:%s{%s} ", r.Line, r.Name, attributes(r.Attributes))
	}
	return strings.TrimSpace(b.String() + noted(notes))
}

func attributes(list []Attribute) string {
	var words []string
	for _, a := range list {
		words = append(words, fmt.Sprintf("%d:%s=%s", a.Line, a.Name, a.Value))
	}
	return strings.Join(words, " ")
}

func noted(notes []Note) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "note %d %s; ", n.Line, n.Text)
	}
	return b.String()
}

func TestReadRecords(t *testing.T) {
	k := Kind{"name", []string{"a", "b"}}
	for text, want := range map[string]string{
		"name x\na 1\nb 2\n":                          "1:x{2:a=1 3:b=2}",
		"name x\na 1\nb 2\nname y\na 3\nb 4\n":        "1:x{2:a=1 3:b=2} 4:y{5:a=3 6:b=4}",
		"\uFEFFname\tx  \r\n a   1 2 \t\r\nb 2\r\n":   "1:x{2:a=1 2 3:b=2}",
		"# name w\n\nname x\n  # b 9\na 1#2\nb ##\n":  "3:x{5:a=1#2 6:b=##}",
		"name x\na 1, \\\n   2,\\\n\t3\nb 2\n":        "1:x{2:a=1, 2, 3 5:b=2}",
		"name x\na \\\n\\\n 1\\\n\nb 2\n":             "1:x{2:a=1 6:b=2}",
		"name x\na 1\nb 2\nc\n":                       "1:x{2:a=1 3:b=2 4:c=}",
		"name x\na 1\na 2\nb 2\n":                     "1:x{3:a=2 4:b=2} note 3 a: stands in line 2, too; this one counts;",
		"name x\na 1\nb 2\nname x\na 3\nb 4\n":        "1:x{2:a=1 3:b=2} 4:x{5:a=3 6:b=4}",
		"a 1\nname x\na 1\nb 2\n":                     "2:x{3:a=1 4:b=2} note 1 a: stands before the first name;",
		"name\na 1\nb 2\nname x\na 1\nb 2\n":          "4:x{5:a=1 6:b=2} note 1 name: want one word behind name;",
		"name x y\na 1\nb 2\n":                        "note 1 name x y: want one word behind name;",
		"name x\na 1\nb 2":                            "1:x{2:a=1 3:b=2} note 3 the last line has no end: is the file cut off?;",
		"name x\na 1\nname y\na 1\nb 2\n":             "1:x{2:a=1} 3:y{4:a=1 5:b=2} note 2 x: without b, which qconf prints: is the file cut off?;",
		"name x\n":                                    "1:x{} note 1 x: without a and 1 more, which qconf prints: is the file cut off?;",
		"name x\na 1\nb 2\\\n":                        `1:x{2:a=1 3:b=2} note 3 ends with "\", and no line comes after it: is the file cut off?;`,
		"name x\na 1\nb 2\\":                          `1:x{2:a=1 3:b=2} note 3 ends with "\", and no line comes after it: is the file cut off?;`,
		"":                                            "note 1 the file is empty: did qconf fail?;",
		"\n# a\n\n":                                   "note 3 the file is empty: did qconf fail?;",
		"no user defined\n":                           "note 1 no: stands before the first name;",
		"name x\na \x00\x1b[31m\xff1\u2028\nb 2\n   ": "1:x{2:a=[31m 1 3:b=2} note 2 not UTF-8: what cannot be read counts as blanks, also in names;",
		"name jos\xe9\n# caf\xe9\na 1\nb 2\n":         "1:jos{3:a=1 4:b=2} note 1 not UTF-8: what cannot be read counts as blanks, also in names;",
	} {
		records, notes := ReadRecords(text, k)
		if got := written(records, notes); got != want {
			t.Errorf("ReadRecords(%q):\n%s, want\n%s", text, got, want)
		}
	}
}

func TestReadParameters(t *testing.T) {
	text, err := os.ReadFile("testdata/ssconf.txt")
	testenv.OK(t, err)
	list, notes := ReadParameters(string(text))
	if len(list) != 35 || len(notes) > 0 {
		t.Errorf("%d parameters and notes %v, want 35 and none", len(list), notes)
	}
	for i, want := range map[int]string{0: "1:algorithm=default", 4: "5:job_load_adjustments=np_load_avg=0.50", 13: "14:usage_weight_list=cpu=1.000000,mem=0.000000,io=0.000000", 34: "35:default_duration=INFINITY"} {
		if got := attributes(list[i : i+1]); got != want {
			t.Errorf("parameter %d is %s, want %s", i, got, want)
		}
	}
	for _, x := range []struct{ text, want, note string }{
		{"halftime 1\nhalftime 2\n", "2:halftime=2", "note 2 halftime: stands in line 1, too; this one counts; note 2 without algorithm and 33 more, which qconf prints: is the file cut off?; "},
		{string(text[:len(text)-5]), "", "note 35 the last line has no end: is the file cut off?; "},
		{string(text[:strings.Index(string(text), "weight_priority")]), "", "note 32 without weight_priority and 2 more, which qconf prints: is the file cut off?; "},
	} {
		list, notes := ReadParameters(x.text)
		if x.want != "" && attributes(list) != x.want || noted(notes) != x.note {
			t.Errorf("ReadParameters(%q): %s %s, want %s %s", x.text, attributes(list), noted(notes), x.want, x.note)
		}
	}
}

func TestReadComplexes(t *testing.T) {
	text, err := os.ReadFile("testdata/sc.txt")
	testenv.OK(t, err)
	list, notes := ReadComplexes(string(text))
	if len(list) != strings.Count(string(text), "\n")-3 || len(notes) > 0 {
		t.Errorf("%d complexes and notes %v, want one of each line between heading and end, and none", len(list), notes)
	}
	if got, want := written(list[:1], nil), "3:arch{3:shortcut=a 3:type=RESTRING 3:relop=## 3:requestable=YES 3:consumable=NO 3:default=NONE 3:urgency=0}"; got != want {
		t.Errorf("the first is %s, want %s", got, want)
	}
	const heading = "#name shortcut type relop requestable consumable default urgency\n#-------\n"
	const row, read = "lic\tl INT <= YES YES 0 500 \r\n", "%d:lic{%[1]d:shortcut=l %[1]d:type=INT %[1]d:relop=<= %[1]d:requestable=YES %[1]d:consumable=YES %[1]d:default=0 %[1]d:urgency=500}"
	for text, want := range map[string]string{
		row:                           fmt.Sprintf(read, 1),
		heading + row:                 fmt.Sprintf(read, 3) + ` note 3 the table's last line "# >#< ..." is missing: is the file cut off?;`,
		heading + row + "# >#< end\n": fmt.Sprintf(read, 3),
		"lic l INT\n" + row:           fmt.Sprintf(read, 2) + " note 1 lic: want 8 columns, not 3: name, shortcut, type, relop, requestable, consumable, default, urgency;",
		"":                            "note 1 the file is empty: did qconf fail?;",
		"lic l INT <= YES YES 0 5":    strings.Replace(fmt.Sprintf(read, 1), "500", "5", 1) + " note 1 the last line has no end: is the file cut off?;",
	} {
		if got := written(ReadComplexes(text)); got != want {
			t.Errorf("ReadComplexes(%q):\n%s, want\n%s", text, got, want)
		}
	}
}

// Every attribute that is said once is there, however many there are.
func TestManyAttributes(t *testing.T) { readManyAttributes(t, 20_000) }

// TestSoakManyAttributes takes minutes where each attribute costs a look at all others.
func TestSoakManyAttributes(t *testing.T) {
	testenv.Soak(t)
	readManyAttributes(t, 200_000)
}

func readManyAttributes(t *testing.T, n int) {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d %d\n", i, i)
	}
	list, notes := ReadParameters(b.String() + "a7 8\n")
	if len(list) != n || list[7].Value != "8" || len(notes) != 2 || notes[1].Text != "a7: stands in line 8, too; this one counts" {
		t.Errorf("%d attributes, notes %v", len(list), notes)
	}
	if list, notes := ReadParameters("a " + strings.Repeat("\\\n", n) + "1\n"); list[0].Value != "1" || len(notes) != 1 {
		t.Errorf("%d attributes, notes %v", len(list), notes)
	}
	_, notes = ReadComplexes(strings.Repeat("x\n", n))
	if len(notes) != mostNotes+1 || notes[mostNotes].Text != fmt.Sprintf("%d more notes", n-mostNotes) {
		t.Errorf("%d notes, the last %v", len(notes), notes[len(notes)-1])
	}
}

func TestList(t *testing.T) {
	for value, want := range map[string]string{"": "", "NONE": "", "none": "", "a": "a", "a,b": "a|b", "a, b,": "a|b", "@g a": "@g|a", " , ": ""} {
		if got := strings.Join(List(value), "|"); got != want {
			t.Errorf("List(%q) = %s, want %s", value, got, want)
		}
	}
}
