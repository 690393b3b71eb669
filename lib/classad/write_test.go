package classad

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestParseForm(t *testing.T) {
	for _, f := range []Form{FormAuto, FormLong, FormNew, FormJSON, FormXML} {
		if got, err := ParseForm(f.String()); got != f || err != nil {
			t.Errorf("ParseForm(%v) = %v, %v, want %v", f, got, err, f)
		}
	}
	want := `form "jsn": want one of auto, long, new, json, xml`
	if _, err := ParseForm("jsn"); err == nil || err.Error() != want {
		t.Errorf("ParseForm(jsn) = %v, want %s", err, want)
	}
}

// written returns what a Writer makes of some ads.
func written(t *testing.T, f Form, ads ...*Ad) string {
	t.Helper()
	var b strings.Builder
	w := NewWriter(&b, f)
	for _, ad := range ads {
		testenv.OK(t, w.Write(ad))
	}
	testenv.OK(t, w.Close())
	return b.String()
}

func TestWriter(t *testing.T) {
	a, b := mustAd(t, `[ B = "x\\y"; a = TARGET.B is 1 ]`), mustAd(t, `[ C = 0.1; 'x y' = 3; 'true' = 'e f' ]`)
	b.Chain(mustAd(t, `[ d = { 1,undefined } ]`))
	for _, c := range []struct {
		form      Form
		two, none string
	}{
		// The long form has no quotes around names, and its readers no need of them.
		{FormLong, "a = TARGET.B =?= 1\nB = \"x\\y\"\n\nC = 0.1\nd = { 1,undefined }\ntrue = 'e f'\nx y = 3\n", ""},
		{FormNew, "[ a = TARGET.B =?= 1; B = \"x\\\\y\" ]\n[ C = 0.1; d = { 1,undefined }; 'true' = 'e f'; 'x y' = 3 ]\n", ""},
		{FormJSON, "[\n{\"a\":\"\\/Expr(TARGET.B =?= 1)\\/\",\"B\":\"x\\\\y\"},\n{\"C\":0.1,\"d\":[1,null],\"true\":\"\\/Expr('e f')\\/\",\"x y\":3}\n]\n", "[]\n"},
	} {
		got := written(t, c.form, a, b)
		if got != c.two {
			t.Errorf("Writer of %v = %q, want %q", c.form, got, c.two)
		}
		if ads, bad := readAll(t, NewReader(strings.NewReader(got), "")); len(ads) != 2 || len(bad) > 0 || !equalAds(b.Flat(), ads[1]) {
			t.Errorf("what the Writer of %v made reads as %v, %v, want the ads again", c.form, ads, bad)
		}
		if got := written(t, c.form); got != c.none {
			t.Errorf("Writer of no ads in %v = %q, want %q", c.form, got, c.none)
		}
	}
}

func TestWriterRefusesForms(t *testing.T) {
	for _, f := range []Form{FormAuto, FormXML} {
		w := NewWriter(io.Discard, f)
		if err := w.Write(New()); err == nil || !strings.Contains(err.Error(), "can be read and not written") {
			t.Errorf("Write of %v = %v, want a refusal", f, err)
		}
		if err := w.Close(); err == nil {
			t.Errorf("Close of %v = nil, want the refusal", f)
		}
	}
}

// What the long form cannot hold is refused, and the stream goes on.
func TestLongFormRefusesAds(t *testing.T) {
	for _, c := range []struct{ name, expr, want string }{
		{"", `1`, "is empty"}, {"a=b", `1`, "equals sign"}, {"a\nb", `1`, "line break"}, {" a", `1`, "blank"},
		{"#a", `1`, "begins like"}, {"***", `1`, "begins like"}, {"-- a", `1`, "begins like"}, {"[", `1`, "begins like"},
		{"A", `strcat("a\\", "b")`, `A: the long form has no way to write strcat("a\\","b")`},
	} {
		var b strings.Builder
		w := NewWriter(&b, FormLong)
		ad := New()
		ad.Set(c.name, mustExpr(t, c.expr))
		if err := w.Write(ad); !errors.Is(err, ErrUnwritable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Write(%q = %s) = %v, want it refused: %s", c.name, c.expr, err, c.want)
		}
		if err := w.Write(New()); !errors.Is(err, ErrUnwritable) {
			t.Errorf("Write of an empty ad = %v, want it refused", err)
		}
		if err := errors.Join(w.Write(mustAd(t, "[ B = 1 ]")), w.Close()); err != nil || b.String() != "B = 1\n" {
			t.Errorf("behind %q = %s: %q, %v, want B = 1", c.name, c.expr, b.String(), err)
		}
	}
}

func TestLongFormKeepsWhatTheOldStyleLoses(t *testing.T) {
	for _, text := range []string{`0.30000000000000004`, `a.'b c'`, `- 1`, `5 .x`, `"C:\\dir\\"`, `"a\"b\\\""`, `-1e999`} {
		ad := New()
		ad.Set("A", mustExpr(t, text))
		long := written(t, FormLong, ad)
		again, err := NewReader(strings.NewReader(long), "").Next()
		if err != nil || !equalAds(ad, again) {
			t.Errorf("%s is written %sand read as %v, %v", text, long, again.Format(StyleSpool), err)
		}
	}
}

// errWriter takes a number of bytes and fails then.
type errWriter int

func (e *errWriter) Write(p []byte) (int, error) {
	if *e -= errWriter(len(p)); *e < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriterKeepsItsError(t *testing.T) {
	to := errWriter(100_000)
	w := NewWriter(&to, FormNew)
	ad := New()
	ad.SetString("A", strings.Repeat("x", 1000))
	var first error
	for n := 0; first == nil && n < 1000; n++ {
		first = w.Write(ad)
	}
	if !errors.Is(first, io.ErrShortWrite) {
		t.Fatalf("Write = %v, want the error of the writer below", first)
	}
	to = 1 << 20
	if err := w.Write(ad); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("the next Write = %v, want the same error", err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close = %v, want the same error", err)
	}
	w = NewWriter(io.Discard, FormJSON)
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Errorf("Close twice = %v, want nothing wrong", err)
	}
	if err := w.Write(ad); err == nil {
		t.Error("Write behind Close = nil, want an error")
	}
}

// What is written is read back the same, whatever is in it.
func TestWrittenIsReadBack(t *testing.T) {
	anything := rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) })
	oneLine := rapid.Map(anything, strings.NewReplacer("\n", "", "\r", "").Replace)
	utf8 := rapid.Map(rapid.String(), strings.NewReplacer("\x00", "").Replace)
	word := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,5}`)
	for _, c := range []struct {
		form Form
		d    drawing
	}{
		{FormNew, drawing{name: rapid.OneOf(word, anything), text: anything}},
		{FormLong, drawing{name: rapid.OneOf(word, word, word, oneLine), text: oneLine}},
		{FormJSON, drawing{name: rapid.OneOf(word, utf8), text: rapid.OneOf(utf8, rapid.Just("/Expr(1)/"), rapid.Just(`\/Expr(1)\/`))}},
	} {
		t.Run(c.form.String(), rapid.MakeCheck(func(t *rapid.T) { readBack(t, c.form, c.d) }))
	}
}

// readBack writes ads that d draws and reads them.
func readBack(t *rapid.T, f Form, d drawing) {
	var b bytes.Buffer
	var kept []*Ad
	w := NewWriter(&b, f)
	for range rapid.IntRange(0, 4).Draw(t, "ads") {
		ad := New()
		for range rapid.IntRange(0, 4).Draw(t, "attributes") {
			ad.Set(d.name.Draw(t, "name"), newExpr(d.node(t, 3)))
		}
		switch err := w.Write(ad); {
		case err == nil:
			kept = append(kept, ad)
		case f != FormLong || !errors.Is(err, ErrUnwritable):
			t.Fatal(err)
		}
	}
	testenv.OK(t, w.Close())
	text := b.String()
	r := NewReader(&b, "f")
	r.SetForm(f)
	for i, want := range kept {
		got, err := r.Next()
		if err != nil {
			t.Fatalf("ad %d of %q: %v", i, text, err)
		}
		if !equalAds(got, want) {
			t.Errorf("ad %d of %q = %s, want %s", i, text, got.Format(StyleSpool), want.Format(StyleSpool))
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last ad of %q: %v, want the end", text, err)
	}
}

// Ads that are set value by value are written as if each value were an expression.
func TestMarshalJSON(t *testing.T) {
	direct, through := New(), New()
	direct.SetInt("I", -5)
	direct.SetReal("R", 2)
	direct.SetReal("Inf", math.Inf(1))
	direct.SetString("S\x00cut", "a\"b\n")
	direct.SetBool("B", true)
	direct.SetInt("i", 7) // again, spelled otherwise
	for name, v := range map[string]Value{"I": Int(7), "R": Real(2), "Inf": Real(math.Inf(1)), "S": String("a\"b\n"), "B": Bool(true)} {
		through.Set(name, Literal(v))
	}
	const want = `{"B":true,"I":7,"Inf":"\/Expr(1e999)\/","R":2.0,"S":"a\"b\n"}`
	for _, ad := range []*Ad{direct, through} {
		if got, err := ad.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("MarshalJSON = %s, %v, want %s", got, err, want)
		}
	}
}

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
				testenv.OK(t, err)
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
			testenv.OK(t, json.Indent(&want, appendJSONAd(nil, ad), "  ", "  "))
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
