package jobargs

import (
	"slices"
	"testing"

	"fairspool/lib/classad"
)

func TestFromAd(t *testing.T) {
	for _, c := range []struct {
		name string
		from func(*classad.Ad) ([]string, error)
		ad   string
		want []string
	}{
		{"none", FromAd, `[]`, nil},
		{"old", FromAd, `[Args = "a 'b"]`, []string{"a", "'b"}},
		{"new", FromAd, `[Arguments = "a 'b c'"]`, []string{"a", "b c"}},
		{"new before old", FromAd, `[Args = "old"; Arguments = "new"]`, []string{"new"}},
		{"empty new before old", FromAd, `[Args = "old"; Arguments = ""]`, nil},
		{"none", EnvFromAd, `[]`, nil},
		{"old", EnvFromAd, `[Env = "A=1;B=x y"]`, []string{"A=1", "B=x y"}},
		{"new", EnvFromAd, `[Env = "A=2"; Environment = "A=1 B='x y'"]`, []string{"A=1", "B=x y"}},
	} {
		ad, err := classad.ParseAd(c.ad)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.from(ad); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: of %s = %q, %v, want %q", c.name, c.ad, got, err, c.want)
		}
	}
}

func TestFromAdErrors(t *testing.T) {
	for _, c := range []struct{ ad, want string }{
		{`[Arguments = 3]`, "Arguments: want a string"},
		{`[Arguments = "'"]`, "Arguments: a single quote is not closed"},
	} {
		ad, err := classad.ParseAd(c.ad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromAd(ad); err == nil || err.Error() != c.want {
			t.Errorf("FromAd(%s) = %v, want %s", c.ad, err, c.want)
		}
	}
}
