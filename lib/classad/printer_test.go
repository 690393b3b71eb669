package classad

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// What a Printer writes of an ad is what that ad alone gives, whatever came before and
// however ads share and change their attributes.
func TestPrinterForgets(t *testing.T) {
	values := []string{"1", "2", `"two\nlines é"`, "TARGET.A + 1", "{1, {}, [x = 2; y = {}]}", "[z = a]", "undefined", "1.5", "-0.0", `real("NaN")`}
	rapid.Check(t, func(t *rapid.T) {
		long, object := NewLongPrinter(), NewJSONPrinter("  ")
		in := NewInterner()
		change := func(ad *Ad) {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				name := rapid.SampledFrom([]string{"A", "a", "B", "C", "line\nbreak"}).Draw(t, "name")
				if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
					ad.Delete(name)
					continue
				}
				e, err := in.Expr(rapid.SampledFrom(values).Draw(t, "value"))
				if err != nil {
					t.Fatal(err)
				}
				ad.Set(name, e)
			}
		}
		ads := []*Ad{New(), nil}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			ad := ads[rapid.IntRange(0, len(ads)-1).Draw(t, "ad")]
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				if ad = ad.Clone(); rapid.Bool().Draw(t, "chained") {
					ad = New().Chain(ad)
				}
				ads = append(ads, ad)
			case 1:
				if ad != nil {
					change(ad)
				}
			}
			if got, want := long.Append(nil, ad), ad.AppendLong(nil); !bytes.Equal(got, want) {
				t.Fatalf("in long form %q, want %q", got, want)
			}
			var want bytes.Buffer
			if err := json.Indent(&want, ad.AppendJSON(nil), "  ", "  "); err != nil {
				t.Fatal(err)
			}
			got := object.Append([]byte("{\n"), ad)
			if got = append(got, "\n  }"...); ad.Len() == 0 {
				got = []byte("{}")
			}
			if string(got) != want.String() {
				t.Fatalf("in JSON %s, want %s", got, want.String())
			}
		}
	})
}
