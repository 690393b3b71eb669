package adprint

import (
	"strings"
	"testing"

	"fairspool/lib/classad"
)

func ads(t *testing.T, texts ...string) []*classad.Ad {
	t.Helper()
	var list []*classad.Ad
	for _, text := range texts {
		ad, err := classad.ParseAd(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ad)
	}
	return list
}

func TestAuto(t *testing.T) {
	two := ads(t, `[Owner = "alice"; JobPrio = 2 + 3]`, `[Owner = "bob"]`)
	for _, c := range []struct {
		letters string
		names   []string
		want    string
	}{
		{"", []string{"Owner", "JobPrio"}, "alice 5\nbob undefined\n"},
		{"V,", []string{"Owner", "JobPrio"}, "\"alice\", 5\n\"bob\", undefined\n"},
		{"ht", []string{"Owner", "JobPrio"}, "Owner\tJobPrio\nalice\t5\nbob\tundefined\n"},
		{"lng", []string{"Owner", "JobPrio"}, "Owner = alice\nJobPrio = 5\n\nOwner = bob\nJobPrio = undefined\n\n"},
		{"r", []string{"owner", "JobPrio"}, "\"alice\" 2 + 3\n\"bob\" JobPrio\n"},
		{"", []string{"JobPrio * 2"}, "10\nundefined\n"},
	} {
		var b strings.Builder
		if err := Auto(&b, &classad.Context{}, c.letters, c.names, two); err != nil || b.String() != c.want {
			t.Errorf("-af:%s %q = %q, %v, want %q", c.letters, c.names, b.String(), err, c.want)
		}
	}
	if err := Auto(&strings.Builder{}, &classad.Context{}, "", []string{"a +"}, two); err == nil {
		t.Errorf("Auto of a broken expression = nil, want an error")
	}
}

func TestLong(t *testing.T) {
	var b strings.Builder
	if err := Long(&b, ads(t, `[b = 1; a = "x"]`, `[c = true]`)); err != nil {
		t.Fatal(err)
	}
	if want := "a = \"x\"\nb = 1\n\nc = true\n\n"; b.String() != want {
		t.Errorf("Long = %q, want %q", b.String(), want)
	}
}
