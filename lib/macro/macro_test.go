package macro

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// shown returns parts in short: literal text as it is, references as function<body>.
func shown(parts []Part) string {
	var list []string
	for _, p := range parts {
		if p.Ref {
			list = append(list, p.Function+"<"+p.Body+">")
		} else {
			list = append(list, p.Text)
		}
	}
	return strings.Join(list, "|")
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"$(A)", "<A>"},
		{"a$(A)b$(B)", "a|<A>|b|<B>"},
		{"$(A)$(B)", "<A>|<B>"},
		{"$(A:1 + (2))x", "<A:1 + (2)>|x"},
		{"$(A:$(B:$(C)))", "<A:$(B:$(C))>"},
		{"$(seed$(Process)):", "<seed$(Process)>|:"},
		{"$($(N))", "<$(N)>"},
		{"$(MY.Attr) $(a/b) $(1)", "<MY.Attr>| |<a/b>| |<1>"},
		{"$ENV(HOME:/tmp)/x", "ENV<HOME:/tmp>|/x"},
		{"$$(Memory) $$(Arch:X86_64)", "$<Memory>| |$<Arch:X86_64>"},
		{"$$([Memory > 1])", "$<[Memory > 1]>"},
		{`$$([ strcat("(", A) ]).out`, `$<[ strcat("(", A) ]>|.out`},
		{`$$([ strcat(")", A) ]).out`, `$<[ strcat(")", A) ]>|.out`},
		{"$$([ size(L[1]) ])", "$<[ size(L[1]) ]>"},
		{"$$([ 1 $(A)", "$$([ 1 |<A>"},
		{"$$$(A)", "$$|<A>"},
		{"$$ $(A)", "$$ |<A>"},
		{"$RANDOM_CHOICE(1,2) $Fpnx(f)", "RANDOM_CHOICE<1,2>| |Fpnx<f>"},
		{"$F(f) $INT(A,%04d)", "F<f>| |INT<A,%04d>"},
		{"$int(A) $Fz(A) $NOSUCH($(A))", "$int(A) $Fz(A) $NOSUCH(|<A>|)"},
		{"$(a b) $( A ) $() $(:x)", "$(a b) $( A ) $() $(:x)"},
		{"$(a $(B))", "$(a |<B>|)"},
		{"$ENV(a b)", "$ENV(a b)"},
		{"$(A", "$(A"},
		{"$( $(A)", "$( |<A>"},
		{"$(A$", "$(A$"},
		{"$5 (a) $", "$5 (a) $"},
		{"$(A$NOSUCH(1))", "<A$NOSUCH(1)>"},
		{"$(A$B)", "$(A$B)"},
	} {
		if got := shown(Split(c.text)); got != c.want {
			t.Errorf("Split(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

func TestReplace(t *testing.T) {
	worth := func(p Part) (string, bool) { return "$(B)", p.Function == "" && p.Body == "A" }
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"x", "x"}, {"$", "$"}, {"$(A", "$(A"},
		{"a$(A)b", "a$(B)b"},
		{"$(A)$(C)$(A)$$(A)", "$(B)$(C)$(B)$$(A)"},
		{"$(C:$(A)) $INT($(A)) $(D$(A))", "$(C:$(B)) $INT($(B)) $(D$(B))"},
		{"$$([ $(A) ]) $$$(A)", "$$([ $(B) ]) $$$(B)"},
	} {
		if got, ok := Replace(c.text, 100, worth); got != c.want || !ok {
			t.Errorf("Replace(%q) = %q, %v, want %q", c.text, got, ok, c.want)
		}
	}
	long := strings.Repeat("$(A)", 1000)
	if got, ok := Replace(long, 100, worth); ok || len(got) > 104 {
		t.Errorf("Replace of a long text = %d bytes, %v, want it cut short", len(got), ok)
	}
	if _, ok := Replace("abc", 2, worth); ok {
		t.Errorf("Replace(abc) with 2 bytes allowed = true, want false")
	}
}

// hostile are texts whose parentheses and dollar signs could cost more than their length.
func hostile(n int) map[string]string {
	return map[string]string{
		"open":     strings.Repeat("$(", n),
		"double":   strings.Repeat("$$([", n),
		"ended":    strings.Repeat("$$([", n) + "])",
		"names":    strings.Repeat("$(x", n) + strings.Repeat(")", n),
		"defaults": strings.Repeat("$(x:", n) + strings.Repeat(")", n),
		"literal":  strings.Repeat("$(x ", n) + strings.Repeat(")", n),
		"late":     strings.Repeat("$(x", n) + strings.Repeat(" )", n),
		"unknown":  strings.Repeat("$A(", n) + strings.Repeat(")", n),
		"function": strings.Repeat("$INT(", n) + strings.Repeat(")", n),
		"dollars":  strings.Repeat("$", n),
		"letters":  "$" + strings.Repeat("A", n),
		"env":      strings.Repeat("$ENV(", n) + strings.Repeat("a)", n),
	}
}

// TestHostile holds that texts of some megabytes are split and replaced at once: with
// work that grows faster than the text the test would not end.
func TestHostile(t *testing.T) {
	const n = 1 << 19
	for name, text := range hostile(n) {
		joined := 0
		for _, p := range Split(text) {
			joined += len(p.Text)
		}
		asked := 0
		got, ok := Replace(text, len(text), func(Part) (string, bool) { asked++; return "", false })
		if joined != len(text) || got != text || !ok || asked > n {
			t.Errorf("%s: Split has %d bytes, Replace %d with %d questions, want %d bytes", name, joined, len(got), asked, len(text))
		}
	}
}

func TestIsFunction(t *testing.T) {
	for name, want := range map[string]bool{
		"ENV": true, "RANDOM_CHOICE": true, "RANDOM_INTEGER": true, "CHOICE": true, "SUBSTR": true, "INT": true, "REAL": true,
		"STRING": true, "EVAL": true, "DIRNAME": true, "BASENAME": true, "F": true, "Ff": true, "Fpduwnxbqa": true, "Fdd": true,
		"": false, "$": false, "f": false, "Fpz": false, "FP": true, "FNX": true, "Int": false, "env": false, "QUOTE": false,
	} {
		if got := IsFunction(name); got != want {
			t.Errorf("IsFunction(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"A": true, "a_b.c": true, "7": true, "MY.x": true, "a/b": true,
		"": false, "a b": false, "a-b": false, "a:b": false, "ä": false, "$(A)": false, "a\n": false,
	} {
		if got := IsName(name); got != want {
			t.Errorf("IsName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"", `[""]`},
		{"a", `["a"]`},
		{" a , b,c ", `["a" "b" "c"]`},
		{"a,,", `["a" "" ""]`},
		{"pow(2,3), $(x:1,2)", `["pow(2,3)" "$(x:1,2)"]`},
		{"a), b", `["a)" "b"]`},
		{"(a, b", `["(a, b"]`},
	} {
		if got := fmt.Sprintf("%q", Arguments(c.body)); got != c.want {
			t.Errorf("Arguments(%q) = %s, want %s", c.body, got, c.want)
		}
	}
}

func TestCutDefault(t *testing.T) {
	for _, c := range []struct {
		body, name, fallback string
		ok                   bool
	}{
		{"A", "A", "", false},
		{"A:", "A", "", true},
		{"A:b:c", "A", "b:c", true},
		{"A$(B:1):2", "A$(B:1)", "2", true},
		{"A:$(B:1)", "A", "$(B:1)", true},
		{"A$(B:1)", "A$(B:1)", "", false},
	} {
		if name, fallback, ok := CutDefault(c.body); name != c.name || fallback != c.fallback || ok != c.ok {
			t.Errorf("CutDefault(%q) = %q, %q, %v, want %q, %q, %v", c.body, name, fallback, ok, c.name, c.fallback, c.ok)
		}
	}
}

func TestCutFormat(t *testing.T) {
	for _, c := range []struct {
		body, item, format string
		ok                 bool
	}{
		{" A ", "A", "", false},
		{"A,%04d", "A", "%04d", true},
		{"A , x, %d ", "A", " x, %d ", true},
		{"pow(2,3), %d", "pow(2,3)", " %d", true},
	} {
		if item, format, ok := CutFormat(c.body); item != c.item || format != c.format || ok != c.ok {
			t.Errorf("CutFormat(%q) = %q, %q, %v, want %q, %q, %v", c.body, item, format, ok, c.item, c.format, c.ok)
		}
	}
}

func TestList(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, " ,, ": {}, "a": {"a"}, "a, b c\td\ne": {"a", "b", "c", "d", "e"}, "a;b": {"a;b"},
	} {
		if got := List(text); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("List(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestMistaken(t *testing.T) {
	for _, c := range []struct{ text, found, function string }{
		{"plain $ $5 $x", "", ""},
		{"a $int(A)", "$int(", "INT"},
		{"$NF(x) $RANDOM_INTGER(1,2)", "$RANDOM_INTGER(", "RANDOM_INTEGER"},
		{"$Basename(a)", "$Basename(", "BASENAME"},
		{"$NOSUCH(1) $print(1) $$int(A)", "", ""},
		{"x$(A", "$(A", ""},
		{"$INT(A", "$INT(A", ""},
		{"$(A b", "", ""},
		{"$(ls)$(", "", ""},
	} {
		found, function := Mistaken(c.text)
		if found != c.found || function != c.function {
			t.Errorf("Mistaken(%q) = %q, %q, want %q, %q", c.text, found, function, c.found, c.function)
		}
	}
}
