package spool

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// asAd reads a row without the short way.
func asAd(kind byte, text string) (record, error) {
	r := record{Kind: kind}
	ad, err := classad.ParseAd(text)
	if err != nil {
		return r, err
	}
	return r, r.take(rowOf(ad))
}

// What is read the short way is what the ad says, and what is not plain is told
// from what is.
func TestPlainRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{`[ Name = "alice@x"; Priority = 10.5; At = 5; HalfLife = 7; ResourcesUsed = -3; SlotMillis = 9 ]`, true},
		{`[ Name = "alice@x"; Priority = -0.0 ]`, true},
		{`[ Name = "" ]`, true},
		{`[ Name = "alice@x"; priority = 10.5 ]`, false},
		{`[ Name = "alice@x"; Priority = 10.5; Priority = 11.5 ]`, false},
		{`[ Name = "alice@x"; Zebra = 1 ]`, false},
		{`[ Name = "alice@x"; Priority = 1.0E+20 ]`, false},
		{`[ Name = "alice@x"; Priority = real("INF") ]`, false},
		{`[ Name = "alice@x"; Priority = 1 + 2 ]`, false},
		{`[ Name = "alice@x"; InUse = 1.5 ]`, false},
		{`[ Name = "alice@x"; InUse = "1" ]`, false},
		{`[ Name = "alice@x"; InUse = 01 ]`, false},
		{`[ Name = "alice@x"; Priority = -00.5 ]`, false},
		{`[ Name = "alice@x"; InUse = 9999999999999999999 ]`, false},
		{`[ Name = "al\"ice" ]`, false},
		{`[ Name = "é" ]`, false},
		{`[ Name = 5 ]`, false},
		{`[ Priority = 0.5 ]`, false},
		{`[ Name = "a"; ]`, false},
		{`[ Name = "a" ] `, false},
		{`[Name = "a"]`, false},
		{`[ ]`, false}, {`[ Name = `, false}, {``, false},
	} {
		short := record{Kind: 'U'}
		r := new(row)
		plain := r.readPlain(c.text) && short.take(r) == nil && !r.odd()
		if plain != c.plain {
			t.Errorf("%s: plain %v, want %v", c.text, plain, c.plain)
		}
		want, err := asAd('U', c.text)
		got := record{Kind: 'U'}
		if e := got.row(c.text); (e == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads as %+v, %v, want %+v, %v", c.text, got, e, want, err)
		}
	}
}

func TestPlainIsWhatTheAdSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"1", "-1", "0.5", "-0.0", "12345678901234567", "1.0E-7", `"a"`, `"a; B = 1"`, `"\\"`, "true", "1.", ".5", "0x1F", "01", "--1", "- 1", "1 "})
		name := rapid.SampledFrom([]string{"Name", "At", "InUse", "Priority", "Floor", "name", "X", "Kind", "Windows", "Cpus"})
		text := `[ Name = "n"`
		for range rapid.IntRange(0, 4).Draw(t, "attributes") {
			text += "; " + name.Draw(t, "name") + " = " + value.Draw(t, "value")
		}
		text += " ]"
		kind := rapid.SampledFrom([]byte("UKBW")).Draw(t, "kind")
		want, err := asAd(kind, text)
		got := record{Kind: kind}
		if e := got.row(text); (e == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s reads as %+v, %v, want %+v, %v", text, got, e, want, err)
		}
	})
}

func BenchmarkRow(b *testing.B) {
	r := accountant.Record{Name: "alice@example.org", Priority: 12.3456789, HalfLife: 1, Factor: 1000, ResourcesUsed: 7, InUse: 7000,
		Slots: accountant.Usage{Millis: 123456789}, Weighted: accountant.Usage{Millis: 123456789}}
	r.At = accountant.Clock{Boot: "x"}.Booted()
	text := SubmitterRow(r)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseSubmitterRow(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ad", func(b *testing.B) {
		for b.Loop() {
			if _, err := asAd('U', text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
