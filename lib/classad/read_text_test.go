package classad

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

var allForms = []Form{FormLong, FormNew, FormJSON, FormXML}

// adAs is the text of an ad in a form.
func adAs(ad *Ad, form Form) string {
	switch form {
	case FormNew:
		return ad.Format(StyleSpool) + "\n"
	case FormJSON:
		text, _ := ad.MarshalJSON()
		return string(text) + "\n"
	case FormXML:
		var text strings.Builder
		writeXML(&text, ad)
		return text.String()
	}
	return string(ad.AppendLong(nil)) + "\n"
}

func TestEqualAdsShareWhateverTheirForm(t *testing.T) {
	names := ""
	for i := range frontSize {
		names += fmt.Sprintf("Attr%02d = %d; ", i, i)
	}
	ad := mustAd(t, "[ "+names+` Requirements = TARGET.Memory > 5; Zlist = { 1, a, "x" }; Znested = [ b = 1 ]; Ztext = "x" ]`)
	for _, form := range allForms {
		in := NewInterner()
		var first *Ad
		for range 2 {
			r := NewReader(strings.NewReader(adAs(ad, form)+adAs(ad, form)), "f")
			r.Intern(in)
			for range 2 {
				got, err := r.Next()
				testenv.OK(t, err)
				if want := ad.Format(StyleSpool); got.Format(StyleSpool) != want {
					t.Fatalf("%v = %v, want %s", form, got, want)
				}
				if first == nil {
					first = got
				}
				if got.shape != first.shape || got.front == nil {
					t.Errorf("%v: ads with the same names have them twice, or no front", form)
				}
				for _, name := range []string{"Requirements", "Zlist", "Znested"} {
					a, _ := first.Lookup(name)
					if b, _ := got.Lookup(name); a != b {
						t.Errorf("%v: the expressions of two equal %s are two", form, name)
					}
				}
			}
		}
	}
}

func TestAdsInEveryFormReadAsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(texts ...string) string { return rapid.SampledFrom(texts).Draw(t, "piece") }
		kind := func() []string {
			names := []string{"Name", "Memory", "Requirements", "Rank", "State"}[rapid.IntRange(0, 4).Draw(t, "less"):]
			if rapid.Bool().Draw(t, "many") {
				for i := range frontSize {
					names = append(names, fmt.Sprint("Attr", i))
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				names = append(names, pick("Extra", "MEMORY", "Rank", "MY", "attr3", "'odd name'"))
			}
			return rapid.Permutation(names).Draw(t, "order")
		}
		kinds := [][]string{kind(), kind(), {}}
		var want []*Ad
		texts := map[Form]*strings.Builder{FormNew: {}, FormJSON: {}, FormXML: {}}
		for range rapid.IntRange(1, 10).Draw(t, "ads") {
			text := "["
			for _, name := range rapid.SampledFrom(kinds).Draw(t, "kind") {
				text += name + " = " + pick("1", "2", `"a"`, `"b\n\\"`, "-1.5", "true", "undefined", "Memory + 1", "Memory+1 /* c */", "TARGET.Memory > 0 && Rank", "{ 1, 2 }", "{ a }", "[ x = Memory; y = { x } ]", "(a)", `{ relTime("1:05") }`, "{ 1.5, true }") + pick(";", " ; ", ";\n", "; // c\n")
			}
			text += " ]\n"
			ad, err := ParseAd(text)
			testenv.OK(t, err)
			want = append(want, ad)
			texts[FormNew].WriteString(text)
			texts[FormJSON].WriteString(adAs(ad, FormJSON))
			texts[FormXML].WriteString(adAs(ad, FormXML))
		}
		in := NewInterner()
		for range 2 {
			for _, form := range allForms[1:] {
				r := NewReader(strings.NewReader(texts[form].String()), "f")
				r.SetForm(form)
				r.Intern(in)
				for i, ad := range want {
					got, err := r.Next()
					if err != nil {
						t.Fatalf("%v: %v", form, err)
					}
					if got.Format(StyleSpool) != ad.Format(StyleSpool) || Match(noon, got, got) != Match(noon, ad, ad) || Match(noon, got, want[0]) != Match(noon, ad, want[0]) {
						t.Fatalf("ad %d in %v = %v, want %v", i, form, got, ad)
					}
				}
				if _, err := r.Next(); err != io.EOF {
					t.Fatalf("%v ends with %v, want %v", form, err, io.EOF)
				}
			}
		}
	})
}

// poolAs is the text of the first slots of the pool in another form.
func poolAs(tb testing.TB, form Form) []byte {
	tb.Helper()
	var text strings.Builder
	for _, slot := range readPool(tb, poolText(tb), NewInterner())[:2000] {
		text.WriteString(adAs(slot, form))
	}
	return []byte(text.String())
}

// BenchmarkPoolReadAs reads two thousand slots in every form.
func BenchmarkPoolReadAs(b *testing.B) {
	for _, form := range allForms {
		text := poolAs(b, form)
		b.Run(fmt.Sprint(form), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				readPool(b, text, nil)
			}
		})
	}
}

// BenchmarkPoolMatchReadAs matches slots that were read in every form.
func BenchmarkPoolMatchReadAs(b *testing.B) {
	for _, form := range allForms {
		slots, job := readPool(b, poolAs(b, form), nil), poolJob(b)
		b.Run(fmt.Sprint(form), func(b *testing.B) {
			for b.Loop() {
				matchPool(job, slots)
			}
			perSlot(b, slots)
		})
	}
}
