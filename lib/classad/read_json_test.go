package classad

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// adStream is what the readers of JSON and XML have in common.
type adStream interface {
	next() (*Ad, error)
	start() int
}

// streamText reads everything: ads in the spool style and errors.
func streamText(s adStream) string {
	var out []string
	for {
		ad, err := s.next()
		switch {
		case err == io.EOF:
			return strings.Join(out, " | ")
		case err != nil:
			out = append(out, err.Error())
			var se *SyntaxError
			if !errors.As(err, &se) {
				return strings.Join(out, " | ")
			}
		default:
			out = append(out, ad.Format(StyleSpool))
		}
	}
}

func jsonText(text string) string { return streamText(newJSONStream(strings.NewReader(text), "f")) }

func TestReadJSONValues(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`true`, `true`}, {`false`, `false`}, {`null`, `undefined`},
		{`0`, `0`}, {`-0`, `0`}, {`-12`, `-12`}, {`9223372036854775807`, `9223372036854775807`}, {`-9223372036854775808`, `-9223372036854775808`},
		{`9223372036854775808`, `9.223372036854776e+18`}, {`1.0`, `1.0`}, {`-0.0`, `-0.0`}, {`1e3`, `1000.0`}, {`2.5E-1`, `0.25`}, {`1e999`, `1e999`}, {`-1E+999`, `-1e999`},
		{`""`, `""`}, {`"a b"`, `"a b"`}, {`"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`}, {`"\u00e9\u20AC\ud83d\ude00"`, `"é€😀"`},
		{`"\ud83dx\ude00"`, "\"\ufffdx\ufffd\""}, {"\"\xff\x7f\"", `"\377\177"`},
		{`[]`, `{  }`}, {`[ 1 , "x",[null] ]`, `{ 1,"x",{ undefined } }`}, {`{}`, `[  ]`}, {`{"b":1,"a":{"c":[{}]}}`, `[ a = [ c = { [  ] } ]; b = 1 ]`},
		{`"\/Expr(x + \"q\\n\")\/"`, `x + "q\n"`}, {`"\/expr( 1 )\/"`, `1`}, {`["\/Expr(a is b)\/"]`, `{ a =?= b }`},
		// Strings, since one of the marks is missing.
		{`"/Expr(x)/"`, `"/Expr(x)/"`}, {`"\/Expr(x)/"`, `"/Expr(x)/"`}, {`"\u002fExpr(x)\/"`, `"/Expr(x)/"`},
		{`"\/Expr(x\/"`, `"/Expr(x/"`}, {`"\/Expr)\/"`, `"/Expr)/"`}, {`"\/"`, `"/"`}, {`"\/ )\/"`, `"/ )/"`},
	} {
		if got, want := jsonText(`{"v":`+c.value+`}`), "[ v = "+c.want+" ]"; got != want {
			t.Errorf("reading %s = %s, want %s", c.value, got, want)
		}
	}
}

func TestReadJSONStreams(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \n\t\r\n", ""},
		{"one object", `{"A":1}`, "[ A = 1 ]"},
		{"objects in a row", "{}{\"A\":1}\n\n {\"B\":2}", "[  ] | [ A = 1 ] | [ B = 2 ]"},
		{"an array", `[{"A":1},{"B":2} , {"C":3}]`, "[ A = 1 ] | [ B = 2 ] | [ C = 3 ]"},
		{"an empty array", "[\n]\n", ""},
		{"as HTCondor's tools print it", "[\n{\n  \"A\": 1,\n  \"B\": \"x\"\n}\n,\n{\n  \"A\": 2\n}\n]\n", `[ A = 1; B = "x" ] | [ A = 2 ]`},
		{"arrays in a row", "[{\"A\":1}]\n[]\n[{\"A\":2}]{\"A\":3}", "[ A = 1 ] | [ A = 2 ] | [ A = 3 ]"},
		{"a name twice", `{"Aa":1,"b":2,"aA":3}`, "[ Aa = 3; b = 2 ]"},
		{"names of every kind", `{"":1,"a b":2,"true":3,"\u0041":4}`, "[ '' = 1; A = 4; 'a b' = 2; 'true' = 3 ]"},
		{"a bad expression", "[\n{\"A\":1,\"B\":\"\\/Expr(\\\"\\u00e9\\\" + + )\\/\",\"C\":2}\n,\n{\"A\":2}\n]", `f:2:35: expected a value, a name or (, found the end of the text | [ A = 2 ]`},
		{"the first of two bad expressions", `{"A":["\/Expr(1 2)\/"],"B":"\/Expr()\/"}{"A":1}`, `f:1:17: expected an operator or the end of the expression, found "2" | [ A = 1 ]`},
		{"an escaped NUL", `{"A":"x\u0000"} {"A\u0000":1} {"A":1}`, `f:1:8: an escaped NUL byte: strings have none | f:1:20: an escaped NUL byte: strings have none | [ A = 1 ]`},
		{"an unknown escape", `{"A":"\q"} {"A":"\u12g4"} {"A":1}`, `f:1:7: an escape that JSON does not have: "\\q" | f:1:18: expected four hexadecimal digits behind \u | [ A = 1 ]`},
		{"a NUL byte", "{\"A\":\"x\x00\"}\n{\"A\":\x001}\n\x00\n{\"A\":1}", "f:1:8: expected the closing quote of the string, found a NUL byte | f:2:6: expected a value, found a NUL byte | [ A = 1 ]"},
		{"a string over the end of the line", "{\"A\":\"x\n{\"B\":1}", "f:1:8: expected the closing quote of the string, found the end of the line | [ B = 1 ]"},
		{"a tab in a string", "{\"A\":\"x\t\\\x01\"}", `f:1:8: expected the closing quote of the string, found the control character "\t"`},
		{"an escaped control character", "{\"A\":\"\\\x01\"}", `f:1:8: expected the closing quote of the string, found the control character "\x01"`},
		{"cut off", `[{"A":1},{"B"`, `[ A = 1 ] | f:1:14: expected : behind the attribute name, found the end of the text`},
		{"cut off in a string", `{"B`, `f:1:4: expected the closing quote of the string, found the end of the text`},
		{"cut off behind a backslash", `{"B\`, `f:1:5: expected the closing quote of the string, found the end of the text`},
		{"an array without its end", "[{\"A\":1}\n", "[ A = 1 ] | f:2:1: expected a comma or ], found the end of the text"},
		{"no comma in an object", "{\"A\":1 \"B\":2}\n{\"C\":3}", `f:1:8: expected a comma or }, found "\"" | [ C = 3 ]`},
		{"a comma too many", "{\"A\":1,}\n{\"A\":[1,]}\n{,}\n", `f:1:8: expected an attribute name in quotes, found "}" | f:2:9: expected a value, found "]" | f:3:2: expected an attribute name in quotes or }, found ","`},
		{"no comma between ads", "[{\"A\":1}\n{\"B\":2}\n]", `[ A = 1 ] | f:2:1: expected a comma or ], found "{" | [ B = 2 ]`},
		{"an ad that is not closed", "{\"A\":1\n{\"B\":2}\n", `f:2:1: expected a comma or }, found "{" | [ B = 2 ]`},
		{"malformed among ads of HTCondor's tools", "[\n{\n \"A\": 1\n}\n,\n{\n \"A\": x,\n \"C\": {\n}\n}\n,\n{\n \"A\": 3\n}\n]\n[\n{ }\n]", `[ A = 1 ] | f:7:7: expected a value, found "x" | [ A = 3 ] | [  ]`},
		{"malformed among indented ads", "[\n  {\n    \"A\": 01\n  },\n  {\n    \"A\": [\n      {\n      }\n    ]\n  }\n]", `f:3:11: expected a comma or }, found "1" | [ A = { [  ] } ]`},
		{"a comma at the beginning of the line", "[{\"A\":.5}\n , {\"A\":6}\n,{\"A\":7}]", `f:1:7: expected a value, found ".5" | [ A = 7 ]`},
		{"numbers that are none", "{\"A\":-}\n{\"A\":1.}\n{\"A\":1e+}\n{\"A\":1K}", `f:1:7: expected a digit, found "}" | f:2:8: expected a digit behind the point, found "}" | f:3:9: expected a digit of the exponent, found "}" | f:4:7: expected a comma or }, found "K"`},
		{"words that are none", "{\"A\":nul}\n{\"A\":True}\n{\"A\":falsehood}", `f:1:6: expected a value, found "nul" | f:2:6: expected a value, found "True" | f:3:11: expected a comma or }, found "hood"`},
		{"an array with a number in it", "[1]\n{\"A\":1}", `f:1:2: expected { or ], found "1" | [ A = 1 ]`},
		{"no ad", "hello\n[1]\n{\"A\":1}", `f:1:1: expected { or [, found "hello" | [ A = 1 ]`},
		{"a bracket too many", "[{}]]\n[{}]", `[  ] | f:1:5: expected { or [, found "]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := jsonText(c.text); got != c.want {
				t.Errorf("reading %q =\n%s, want\n%s", c.text, got, c.want)
			}
			checkBytewise(t, newJSONStream(iotest.OneByteReader(strings.NewReader(c.text)), "f"), c.text, c.want)
		})
	}
}

// checkBytewise checks a stream that gets its text a byte at a time.
func checkBytewise(t *testing.T, s stream, text, want string) {
	t.Helper()
	if got := streamText(s); got != want {
		t.Errorf("reading %q a byte at a time =\n%s, want\n%s", text, got, want)
	}
}

// streamLines returns the line on which each ad of a stream begins, bad ones
// too.
func streamLines(s stream) (lines []int) {
	for {
		if _, err := s.next(); err == io.EOF {
			return lines
		}
		lines = append(lines, s.start())
	}
}

func TestReadJSONKnowsLines(t *testing.T) {
	s := newJSONStream(strings.NewReader("\n\n[ {\"A\":\n1},\n\n{\n\"A\":\"\\/Expr()\\/\"}\n,{}]"), "f")
	if got, want := fmt.Sprint(streamLines(s)), "[3 6 8]"; got != want {
		t.Errorf("lines = %s, want %s", got, want)
	}
}

var errDisk = errors.New("the disk is gone")

func TestReadersPassErrorsOn(t *testing.T) {
	for _, text := range []string{"", "{", `{"A`, `{"A":1`, `{"A":tru`, `{"A":1}`, "[", `{"A":"\`, "{\"A\":1\nx"} {
		in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(errDisk))
		if got := streamText(newJSONStream(in, "f")); !strings.HasSuffix(got, errDisk.Error()) || strings.Contains(got, "the end of the text") {
			t.Errorf("reading %q from a failing disk as JSON = %s, want it to end with the disk's error", text, got)
		}
	}
	for _, text := range []string{"", "<", "<c", "<c><a n='A'><s>x", "<c><a n='A'><i>1</i></a></c>", "<c><x/>"} {
		in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(errDisk))
		if got := streamText(newXMLStream(in, "f")); !strings.HasSuffix(got, errDisk.Error()) || strings.Contains(got, "malformed") {
			t.Errorf("reading %q from a failing disk as XML = %s, want it to end with the disk's error", text, got)
		}
	}
	stuck := newJSONStream(neverReader{}, "f")
	if _, err := stuck.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error of a reader that gives nothing = %v, want %v", err, io.ErrNoProgress)
	}
}

type neverReader struct{}

func (neverReader) Read([]byte) (int, error) { return 0, nil }

// nested returns text with open and shut n times around the middle.
func nested(n int, open, middle, shut string) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
}

func TestReadersLimitNesting(t *testing.T) {
	for _, c := range []struct {
		name string
		s    func(n int) adStream
		most int
	}{
		{"JSON objects", func(n int) adStream {
			return newJSONStream(strings.NewReader(`{"A":`+nested(n, `{"A":`, "1", "}")+"}"), "f")
		}, 124},
		{"JSON arrays", func(n int) adStream {
			return newJSONStream(strings.NewReader(`{"A":`+nested(n, "[", "1", "]")+"}"), "f")
		}, 165},
		{"XML ads", func(n int) adStream {
			return newXMLStream(strings.NewReader(`<c><a n="A">`+nested(n, `<c><a n="A">`, "<un/>", "</a></c>")+"</a></c>"), "f")
		}, 124},
		{"XML lists", func(n int) adStream {
			return newXMLStream(strings.NewReader(`<c><a n="A">`+nested(n, "<l>", "<un/>", "</l>")+"</a></c>"), "f")
		}, 165},
	} {
		t.Run(c.name, func(t *testing.T) {
			ad, err := c.s(c.most).next()
			if err != nil {
				t.Fatalf("%d of them: %v, want an ad", c.most, err)
			}
			if _, err := ParseAd(ad.Format(StyleSpool)); err != nil {
				t.Errorf("%d of them, printed and parsed: %v", c.most, err)
			}
			for _, n := range []int{c.most + 1, 5000, 200000} {
				got := streamText(c.s(n))
				if !strings.Contains(got, "too deeply") || len(got) > 200 {
					t.Errorf("%d of them = %.200s, want it to be nested too deeply", n, got)
				}
			}
		})
	}
}

// repeated gives the same text again and again, n times.
func repeated(n int, text string) io.Reader {
	readers := make([]io.Reader, n)
	for i := range readers {
		readers[i] = strings.NewReader(text)
	}
	return io.MultiReader(readers...)
}

func TestReadersHoldLittle(t *testing.T) {
	const n = 300
	blank := strings.Repeat(" \n", 5000)
	j := newJSONStream(repeated(n, blank+`{"A":"`+strings.Repeat("x", 1000)+`"}`+blank), "f")
	x := newXMLStream(repeated(n, blank+`<c><a n="A"><s>`+strings.Repeat("x", 1000)+`</s></a></c>`+blank), "f")
	for _, s := range []adStream{j, x} {
		ads := 0
		for ; ; ads++ {
			if _, err := s.next(); err != nil {
				break
			}
		}
		if ads != n {
			t.Errorf("%T = %d ads, want %d", s, ads, n)
		}
	}
	if got, most := cap(j.buf), 4*readSize; got > most {
		t.Errorf("the window on JSON = %d bytes, want at most %d", got, most)
	}
	if got, most := cap(x.window.buf), 4*readSize; got > most {
		t.Errorf("the window on XML = %d bytes, want at most %d", got, most)
	}
}

func TestReadersLimitTheSizeOfAds(t *testing.T) {
	long := limitAds(t)
	j := streamText(newJSONStream(io.MultiReader(strings.NewReader(`{"A":"`), repeated(65, long), strings.NewReader("\"}\n{\"B\":1}")), "f"))
	if !strings.HasSuffix(j, "an ad of more than 64 MB | [ B = 1 ]") {
		t.Errorf("a JSON ad of 65 MB = %.200s, want the error that it is too long and the ad behind it", j)
	}
	x := streamText(newXMLStream(io.MultiReader(strings.NewReader(`<c><a n="A"><s>`), repeated(65, long), strings.NewReader("</s></a></c>")), "f"))
	if !strings.HasSuffix(x, "an ad of more than 64 MB") {
		t.Errorf("an XML ad of 65 MB = %.200s, want the error that it is too long", x)
	}
}

// drawnValue draws a value in the spool style.
func drawnValue(t *rapid.T, depth int) string {
	kinds := 12
	if depth <= 0 {
		kinds = 7
	}
	name := rapid.StringMatching(`x[A-Za-z0-9_]{0,5}`) // no reserved word
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return formatted(Int(rapid.Int64().Draw(t, "int")))
	case 1:
		return formatted(Real(rapid.Float64().Draw(t, "real")))
	case 2, 3:
		return formatted(String(drawnString(t)))
	case 4:
		return rapid.SampledFrom([]string{"true", "false", "undefined", "error", "-1", "- 1", "(2)", `("x")`, "1e999", "-1e999", `real("NaN")`}).Draw(t, "word")
	case 5:
		return rapid.SampledFrom([]string{`absTime("2024-02-29T12:34:56+01:00")`, `absTime("2024-02-29")`, `relTime("1+02:03:04")`, "relTime(65.5)"}).Draw(t, "time")
	case 6, 7:
		return name.Draw(t, "name")
	case 8:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			items = append(items, drawnValue(t, depth-1))
		}
		return "{ " + strings.Join(items, ",") + " }"
	case 9:
		return drawnAd(t, depth-1)
	case 10:
		return name.Draw(t, "function") + "(" + drawnValue(t, depth-1) + "," + drawnValue(t, depth-1) + ")"
	}
	op := rapid.SampledFrom([]string{" + ", " =?= ", " && ", " ?: ", " / ", ">>>"}).Draw(t, "op")
	return "(" + drawnValue(t, depth-1) + ")" + op + "(" + drawnValue(t, depth-1) + ")"
}

// formatted returns a value in the spool style.
func formatted(v Value) string { return Literal(v).Format(StyleSpool) }

func drawnString(t *rapid.T) string {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`/[Ee]xpr\([a-z"]*\)/`), rapid.SampledFrom([]string{`/Expr(x)/`, `\/Expr(x)\/`, `C:\dir\`, "\u2028</s>&amp;"})).Draw(t, "text")
	return strings.ReplaceAll(text, "\x00", "")
}

func drawnAd(t *rapid.T, depth int) string {
	var attributes []string
	for range rapid.IntRange(0, 4).Draw(t, "attributes") {
		name := drawnString(t)
		quoted := formatted(String(name))
		quoted = "'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
		attributes = append(attributes, quoted+" = "+drawnValue(t, depth))
	}
	return "[ " + strings.Join(attributes, "; ") + " ]"
}

func TestReadJSONReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawnAd(t, 4)
		ad, err := ParseAd(text)
		if err != nil {
			t.Fatalf("ParseAd(%s): %v", text, err)
		}
		written, err := ad.MarshalJSON()
		testenv.OK(t, err)
		if got, want := jsonText(string(written)), ad.Format(StyleSpool); got != want {
			t.Errorf("reading %s =\n%s, want\n%s", written, got, want)
		}
	})
}

func TestReadJSONReadsNumbersThatAreNone(t *testing.T) {
	ad := New()
	ad.SetReal("nan", math.NaN())
	ad.SetReal("inf", math.Inf(1))
	ad.SetReal("ninf", math.Inf(-1))
	written, _ := ad.MarshalJSON()
	if got, want := jsonText(string(written)), ad.Format(StyleSpool); got != want {
		t.Errorf("reading %s = %s, want %s", written, got, want)
	}
}

// checkStream is the law that holds for every text: what is read can be
// printed and read again, errors say where, and the stream ends.
func checkStream(t *testing.T, s adStream, size int) {
	t.Helper()
	for range size + 2 {
		ad, err := s.next()
		if err == io.EOF {
			return
		}
		var se *SyntaxError
		if errors.As(err, &se) {
			if se.File != "f" || se.Line < 1 || se.Col < 1 || strings.ContainsAny(se.Msg, "\n\r") {
				t.Errorf("error = %q, want one line with file, line and column", err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("error = %v, want a *SyntaxError", err)
		}
		if s.start() < 1 {
			t.Errorf("start = %d, want at least 1", s.start())
		}
		spool := ad.Format(StyleSpool)
		again, err := ParseAd(spool)
		if err != nil {
			// An expression may be as deep as the parser goes, and stand in an ad.
			if errors.As(err, &se) && strings.Contains(se.Msg, "too deep") {
				continue
			}
			t.Fatalf("ParseAd(%q): %v", spool, err)
		}
		if got := again.Format(StyleSpool); got != spool {
			t.Errorf("read back = %q, want %q", got, spool)
		}
	}
	t.Error("the stream has more ads and errors than bytes")
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"A":1,"b":-2.5e3,"C":[true,null,"x\u00e9\ud83d\ude00"],"D":{"E":"\/Expr(a + \"b\")\/"}}`, "[\n{\"A\":1}\n,\n{\"A\":2}\n]\n", "{}\n{\"A\":\"\\/Expr(\\/\"}\n,\n{",
		`{"A":"\/Expr((((1))))\/"`, "[{\"A\":x}\n,{\"A\":1}]", `{"A":1}[]{"a":2,"":3}`, "{\"A\":\"\xff\\u0000\"}", `{"A":99999999999999999999,"B":-0}`, "\x00{\"\":\"\\", `{"A":"\/expr(')\/"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkStream(t, newJSONStream(strings.NewReader(text), "f"), len(text))
	})
}

// poolAds makes ads like those of slots: 70 attributes of every kind.
func poolAds(tb testing.TB, n int) []*Ad {
	tb.Helper()
	requirements, err := ParseExpr(`(TARGET.RequestMemory <= MY.Memory) && (TARGET.Owner != "root") && (time() - EnteredCurrentState > 60 || State =?= "Unclaimed")`)
	testenv.OK(tb, err)
	ads := make([]*Ad, n)
	for i := range ads {
		ad := New()
		for k := range 10 {
			ad.SetInt(fmt.Sprintf("TotalSlotMemory%d", k), int64(2048*i+k))
			ad.SetReal(fmt.Sprintf("TotalLoadAverage%d", k), float64(i)/7+float64(k))
			ad.SetString(fmt.Sprintf("Machine%d", k), fmt.Sprintf("slot%d@node%03d.cluster.example.org", k, i))
			ad.SetString(fmt.Sprintf("CondorVersion%d", k), "$CondorVersion: 23.0.4 2024-02-08 BuildID: 712251 $")
			ad.SetBool(fmt.Sprintf("HasFileTransfer%d", k), k%2 == 0)
			ad.SetInt(fmt.Sprintf("DaemonStartTime%d", k), 1700000000+int64(i))
		}
		for k := range 5 {
			ad.Set(fmt.Sprintf("Requirements%d", k), requirements)
			ad.SetString(fmt.Sprintf("Path%d", k), `C:\condor\"execute"\dir`)
		}
		ads[i] = ad
	}
	return ads
}

func benchmarkStream(b *testing.B, text string, open func(io.Reader) adStream) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s, ads := open(strings.NewReader(text)), 0
		for {
			_, err := s.next()
			if err == io.EOF {
				break
			}
			testenv.OK(b, err)
			ads++
		}
		if ads != 100 {
			b.Fatalf("%d ads, want 100", ads)
		}
	}
}

func poolJSON(tb testing.TB) string {
	var text strings.Builder
	for _, ad := range poolAds(tb, 100) {
		written, _ := ad.MarshalJSON()
		text.Write(append(written, '\n'))
	}
	return text.String()
}

func BenchmarkReadJSON(b *testing.B) {
	benchmarkStream(b, poolJSON(b), func(r io.Reader) adStream { return newJSONStream(r, "f") })
}

func BenchmarkReadJSONInterned(b *testing.B) {
	in := NewInterner()
	benchmarkStream(b, poolJSON(b), func(r io.Reader) adStream {
		s := newJSONStream(r, "f")
		s.share(in)
		return s
	})
}
