package submitfile

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// TestExact writes any bytes as JSON and reads them back.
func TestExact(t *testing.T) {
	same := func(text string) bool {
		b, err := json.Marshal(map[string]Exact{"a": Exact(text)})
		var back map[string]Exact
		return err == nil && json.Unmarshal(b, &back) == nil && string(back["a"]) == text
	}
	for _, text := range []string{"", "plain", "caf\xe9", "\xff\x00<\">", "\uFFFD\U0010FF00\U0010FFFF\U0010FEFF", "\xed\xa0\x80\xf4"} {
		if !same(text) {
			t.Errorf("JSON of Exact(%q) does not read back", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")); !same(text) {
			t.Fatalf("JSON of Exact(%q) does not read back", text)
		}
	})
	if b, _ := json.Marshal(Exact("grün")); string(b) != `"grün"` {
		t.Errorf("JSON of Exact(grün) = %s, want it as it is", b)
	}
}

// What Literal returns is the text again, for whoever reads the description and expands
// what is left to the start of the job.
func TestLiteral(t *testing.T) {
	for text, want := range map[string]string{
		"plain":          "plain",
		"$":              "$",
		"$HOME $(x) $$x": "$HOME $(x) $$x",
		"a$$(x)":         "a$$(DOLLARDOLLAR)(x)",
		"$$$(x)":         "$$$(DOLLARDOLLAR)(x)",
		"$$$$(x)":        "$$$$(DOLLARDOLLAR)(x)",
		"$ENV(HOME)":     "$ENV(HOME)",
		"$(DOLLAR)":      "$(DOLLAR)",
		"$$([1+1])":      "$$(DOLLARDOLLAR)([1+1])",
	} {
		d, _, err := Make("", "a.sh", []Line{{Name: "x", Text: Literal(text)}}, "", Options{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		err = d.Walk(1, nil, func(j *Job) error {
			v, _, err := j.Lookup("x")
			if v.Text != want {
				t.Errorf("Literal(%q) = %s is worth %q, want %q", text, Literal(text), v.Text, want)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
}

// TestPlacesOfItems looks for what is wrong with items: it is told where they
// stand, in the list or in the file.
func TestPlacesOfItems(t *testing.T) {
	for _, c := range []struct {
		text, want, excerpt string
	}{
		{"queue a, b from (\n1 x\n# no\n  2,  $INT(q)\n)", "a.sub:4: ", "      2,  $INT(q)\n          ^"},
		{"queue b from (1\n  $INT(q))\n)", "a.sub:2: ", "      $INT(q))\n      ^"},
		{"queue a, b from list", "list:4: ", "    2 $INT(q)\n      ^"},
		{"queue a, b from [1:] list", "list:4: ", "    2 $INT(q)\n      ^"},
		{"queue a, b from command |", "a.sub:1: ", "    queue a, b from command |\n    ^"},
	} {
		d, _, err := Parse(c.text, "a.sub", Options{
			Read: func(string) (string, error) { return "1 x\r\n\n \n2 $INT(q)\r\n", nil },
			Run:  func([]string) (string, error) { return "1 x\n2 $INT(q)\n", nil },
		})
		if err != nil {
			t.Errorf("Parse(%q) = %v", c.text, err)
			continue
		}
		err = d.Walk(1, nil, func(j *Job) error {
			for {
				if _, _, err := j.Lookup("b"); err != nil {
					return err
				}
				if !j.Next() {
					return nil
				}
			}
		})
		e, ok := err.(*Error)
		if !ok || e.prefix() != c.want || e.Excerpt() != c.excerpt {
			t.Errorf("Walk of %q = %v\n%s\nwant %s\n%s", c.text, err, e.Excerpt(), c.want, c.excerpt)
		}
	}
}

func TestUses(t *testing.T) {
	const text = `a = $(b) $(C:$(d)) $Fn(e) $INT($(f)+1,%d) $ENV($(g)) $CHOICE(i,list)
if $(h)
endif
if defined k
endif
include ifexist : $(l)
j = $(begin$(m)) $($(n)end) $$(slot) $$([$(o)])
queue $(p) x in (
$(q)
)`
	d, _, err := Parse("p = 1\n"+text, "a.sub", (&outside{}).options())
	testenv.OK(t, err)
	u := d.Uses()
	for _, name := range []string{"b", "B", "c", "d", "e", "f", "g", "h", "i", "k", "l", "list", "m", "n", "o", "p", "q", "beginning", "theend"} {
		if !u.Refer(name) || !u.Certainly(name) {
			t.Errorf("Refer(%s), Certainly(%[1]s) = %v, %v, want true", name, u.Refer(name), u.Certainly(name))
		}
	}
	for _, name := range []string{"a", "j", "x", "slot", "begi", "ending"} {
		if u.Refer(name) || u.Certainly(name) {
			t.Errorf("Refer(%s), Certainly(%[1]s) = %v, %v, want false", name, u.Refer(name), u.Certainly(name))
		}
	}
	d, _, err = Parse("a = $($(b))\nqueue", "a.sub", Options{})
	testenv.OK(t, err)
	if u := d.Uses(); !u.Refer("z") || u.Certainly("z") {
		t.Errorf("with $($(b)) Refer(z), Certainly(z) = %v, %v, want true, false", u.Refer("z"), u.Certainly("z"))
	}
}

func TestAfterLast(t *testing.T) {
	for _, c := range []struct {
		text string
		want []bool
	}{
		{"a=1\nqueue", []bool{false}},
		{"a=1\nqueue\nb=1\nqueue\nc=1", []bool{false, false, true}},
		{"queue\na=1\nb=2", []bool{true, true}},
		{"queue", nil},
	} {
		d, _, err := Parse(c.text, "a.sub", Options{})
		testenv.OK(t, err)
		if got := d.AfterLast(); !slices.Equal(got, c.want) {
			t.Errorf("AfterLast of %q = %v, want %v", c.text, got, c.want)
		}
	}
}

// TestNames holds that names come once each, and none of a queue line that is
// done with.
func TestNames(t *testing.T) {
	d, _, err := Parse("A = 1\nx = 2\nqueue x, _, b, _ in c\nB2 = 1\nqueue", "a.sub", Options{})
	testenv.OK(t, err)
	want := [][]string{{"_", "a", "b", "x"}, {"a", "b2", "x"}}
	i := 0
	_ = d.Walk(1, nil, func(j *Job) error {
		got := j.Names()
		if slices.Sort(got); !slices.Equal(got, want[i]) {
			t.Errorf("Names at queue line %d = %q, want %q", i+1, got, want[i])
		}
		i++
		return nil
	})
}
