package mauicfg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, x := range []struct{ text, ours, theirs string }{
		{"", "", ""},
		{"A 1\nB 2", "1 A = 1|2 B = 2", "="},
		{"A[0]\t1 # one", "1 A[0] = 1", "="},
		{"A = 1\nB=2\nC == 3", "1 A = 1|2 B = 2|3 C = = 3", "="},
		{"A[ u 4 ]  X=5", "1 A[u 4] = X=5", "="},
		{"A[u]=X=5", "1 A[u] = X=5", "="},
		{"A[]\nB", "1 A[] = |2 B = ", "="},
		{"A[u]X=5\nB[u X=5\n[u] 3", `note 1 A[u]: not read: want a blank behind "]"|note 2 B: want "]" behind the index|note 3 want a parameter's name`, "="},
		{"  A 1\nb[Cd] 2", "1 A = 1|2 B[Cd] = 2", "note 1 begins with a blank: Maui 3.3.1 does not read it|2 b[Cd] = 2"},
		{"A 1 \\\n  2\\\n3\nB 4", "1 A = 1    2 3|4 B = 4", "="},
		{"A 1 # \\\nB 2", "1 A = 1|2 B = 2", "="},
		{"A 1 \\  # c\nB 2", "1 A = 1  B 2", "="},
		{"A 1\\", "1 A = 1", "="},
		{"\uFEFFA\u00a01\r\n\x00B\xff2", "1 A = 1|2 B = 2", "1 A = 1|note 2 begins with a blank: Maui 3.3.1 does not read it"},
		{"USERCFG[jürgen] X=ö", "1 USERCFG[jürgen] = X=ö", "="},
		{"#INCLUDE /etc/b.cfg\nA 1 #INCLUDEd", "note 1 #INCLUDE /etc/b.cfg: not followed; copy its lines to here|2 A = 1", "="},
	} {
		if x.theirs == "=" {
			x.theirs = x.ours
		}
		for compatible, want := range map[bool]string{false: x.ours, true: x.theirs} {
			lines, notes := Read(x.text, Options{Compatible: compatible})
			var got []string
			for _, n := range notes {
				got = append(got, fmt.Sprintf("note %d %s", n.Line, n.Text))
			}
			for _, l := range lines {
				index := ""
				if l.HasIndex {
					index = "[" + l.Index + "]"
				}
				got = append(got, fmt.Sprintf("%d %s%s = %s", l.Number, l.Name, index, l.Value))
			}
			slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(firstDigit(a), firstDigit(b)) })
			if s := strings.Join(got, "|"); s != want {
				t.Errorf("Read(%q), compatible %v: %s, want %s", x.text, compatible, s, want)
			}
		}
	}
}

// firstDigit returns what a line of TestRead begins with, without its word.
func firstDigit(s string) string { return strings.TrimPrefix(s, "note ")[:1] }

func TestAttributes(t *testing.T) {
	for value, want := range map[string]string{
		"":                 "",
		"A=1 B=2,3":        "A:1 B:2,3",
		"A==1":             "A:=1",
		"A=":               "note A=: no value",
		"A= B=2":           "note A=: no value B:2",
		"A = 1 B=2":        "note A = 1: not read: want ATTRIBUTE=VALUE without blanks B:2",
		"A= 1 B=2":         "note A= 1: not read: want ATTRIBUTE=VALUE without blanks B:2",
		"A =1":             "note A =1: not read: want ATTRIBUTE=VALUE without blanks",
		"=1":               "note =1: not read: want ATTRIBUTE=VALUE without blanks",
		"MAX":              "note MAX: not read: want ATTRIBUTE=VALUE without blanks",
		"A.B=1:0:0 LOW C=": "note LOW: not read: want ATTRIBUTE=VALUE without blanks note C=: no value A.B:1:0:0",
	} {
		list, notes := Attributes(value)
		var got []string
		for _, n := range notes {
			got = append(got, "note "+n)
		}
		for _, a := range list {
			got = append(got, a.Name+":"+a.Value)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Attributes(%q): %s, want %s", value, s, want)
		}
	}
}

// Whatever the text, what is read has a name and lies within the text, in order.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"A[ b ] C=1", "A\\\n\\\n#\nB", "[]]=", "\xff\x00#INCLUDE \n", " = \\"} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, compatible bool) {
		lines, notes := Read(text, Options{Compatible: compatible})
		most, last := strings.Count(text, "\n")+1, 0
		for _, l := range lines {
			if l.Name == "" || l.Number <= last || l.Number > most || strings.ContainsAny(l.Name+l.Index+l.Value, "\n#") || l.Value != strings.TrimSpace(l.Value) || !l.HasIndex && l.Index != "" {
				t.Errorf("Read(%q): %+v", text, l)
			}
			last = l.Number
			Int(l.Value)
			Real(l.Value)
			Bool(l.Value)
			List(l.Value)
			if d, _, ok := Time(l.Value); d < 0 || d > Endless || !ok && d != 0 {
				t.Errorf("Time(%q) = %v, %v", l.Value, d, ok)
			}
			attributes, _ := Attributes(l.Value)
			for _, a := range attributes {
				if a.Name == "" || a.Value == "" || !strings.Contains(l.Value, a.Name+"="+a.Value) {
					t.Errorf("Attributes(%q): %+v", l.Value, a)
				}
			}
		}
		for _, n := range notes {
			if n.Line < 1 || n.Line > most || n.Text == "" || strings.Contains(n.Text, "\n") {
				t.Errorf("Read(%q): note %+v", text, n)
			}
		}
	})
}
