package classad

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestUnmarshalJSONMakesTheAdThatWasMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ad, err := ParseAd(drawnAd(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(ad)
		if err != nil {
			t.Fatal(err)
		}
		got := New().Chain(mustParse(t, "[ Inherited = 1 ]"))
		got.SetInt("Before", 1)
		if err := json.Unmarshal(text, got); err != nil {
			t.Fatalf("Unmarshal(%s): %v", text, err)
		}
		if got, want := got.Format(StyleSpool), ad.Format(StyleSpool); got != want {
			t.Errorf("Unmarshal(%s) = %s, want %s", text, got, want)
		}
	})
}

func mustParse(t *rapid.T, text string) *Ad {
	ad, err := ParseAd(text)
	if err != nil {
		t.Fatal(err)
	}
	return ad
}

func TestUnmarshalJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, "[  ]"},
		{" \n{\"A\": 1, \"a\": \"\\/Expr(b + 1)\\/\"}\n", "[ A = b + 1 ]"},
		{"null", "[ Before = 1 ]"},
		{" null ", "[ Before = 1 ]"},
		{`[{"A": 1}]`, `1:1: expected {, found "["`},
		{`{"A": 1} {}`, `1:10: expected the end of the text behind }, found "{"`},
		{`{"A": 1}]`, `1:9: expected the end of the text behind }, found "]"`},
		{"", "1:1: expected {, found the end of the text"},
		{`"A"`, `1:1: expected {, found "\""`},
		{`{"A": `, "1:7: expected a value, found the end of the text"},
		{`{"A": "\/Expr(b +)\/"}`, `1:18: expected a value, a name or (, found the end of the text`},
	} {
		ad := mustAd(t, "[ Before = 1 ]")
		err := ad.UnmarshalJSON([]byte(c.text))
		got := ad.Format(StyleSpool)
		if err != nil {
			var bad *SyntaxError
			if !errors.As(err, &bad) || got != "[ Before = 1 ]" {
				t.Errorf("UnmarshalJSON(%s) = %T and the ad %s, want a *SyntaxError and the ad unchanged", c.text, err, got)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("UnmarshalJSON(%s) = %s, want %s", c.text, got, c.want)
		}
	}
	var job struct{ Ads []*Ad }
	if err := json.Unmarshal([]byte(`{"Ads": [{"A": 1}, null, {"B": [true]}]}`), &job); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(job.Ads), "[[ A = 1 ] [  ] [ B = { true } ]]"; got != want {
		t.Errorf("Unmarshal = %s, want %s", got, want)
	}
}

func TestAdsPrint(t *testing.T) {
	for want, ad := range map[string]*Ad{"[  ]": nil, `[ B = 1; Aa = "x\y" ]`: mustAd(t, `[ Aa = "x\\y"; B = 1 ]`)} {
		if got := fmt.Sprint(ad); got != want {
			t.Errorf("Sprint = %s, want %s", got, want)
		}
	}
}
