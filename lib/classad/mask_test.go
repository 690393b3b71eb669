package classad

import "testing"

func TestMask(t *testing.T) {
	m := NewMask([]string{"Env", "IWD"})
	parent, err := ParseAd(`[Owner = "alice"; Iwd = "/home/alice"; A = Iwd]`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		shared := m.Of(parent, nil)
		for _, c := range []struct{ text, want string }{
			{`[B = 1; env = "x"; C = 2]`, `[ A = Iwd; B = 1; C = 2; Owner = "alice" ]`},
			{`[B = 1]`, `[ A = Iwd; B = 1; Owner = "alice" ]`},
			{`[Env = 1]`, `[ A = Iwd; Owner = "alice" ]`},
			{`[]`, `[ A = Iwd; Owner = "alice" ]`},
		} {
			ad, err := ParseAd(c.text)
			if err != nil {
				t.Fatal(err)
			}
			masked := m.Of(ad.Chain(parent), shared)
			if got := masked.String(); got != c.want {
				t.Errorf("mask of %s = %q, want %q", c.text, got, c.want)
			}
			if v := masked.Eval(&Context{}, "A", nil); v.Kind() != KindUndefined {
				t.Errorf("A of %s is %v behind the mask, want undefined", c.text, v)
			}
			if ad.Parent() != parent || !ad.Has("Iwd") {
				t.Errorf("the mask changes the ad %s", ad)
			}
		}
	}
	plain, _ := ParseAd(`[B = 1]`)
	if m.Of(plain, nil) != plain {
		t.Errorf("an ad with nothing to hide is copied")
	}
}
