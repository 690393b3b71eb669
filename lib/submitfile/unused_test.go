package submitfile

import (
	"slices"
	"testing"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		if got := d.AfterLast(); !slices.Equal(got, c.want) {
			t.Errorf("AfterLast of %q = %v, want %v", c.text, got, c.want)
		}
	}
}

// TestNames holds that names come once each, and none of a queue line that is
// done with.
func TestNames(t *testing.T) {
	d, _, err := Parse("A = 1\nx = 2\nqueue x, _, b, _ in c\nB2 = 1\nqueue", "a.sub", Options{})
	if err != nil {
		t.Fatal(err)
	}
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
