package classad

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func xmlText(text string) string { return streamText(newXMLStream(strings.NewReader(text), "f")) }

func TestReadXMLValues(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`<i>1</i>`, `1`}, {`<i> -9223372036854775808 </i>`, `-9223372036854775808`}, {`<r>1.500000000000000E+00</r>`, `1.5`}, {`<r>0.0</r>`, `0.0`}, {`<r>-0.0</r>`, `-0.0`},
		{`<r>INF</r>`, `1e999`}, {`<r>-INF</r>`, `-1e999`}, {`<r>NaN</r>`, `real("NaN")`}, {`<r>1e400</r>`, `1e999`},
		{`<b v="t"/>`, `true`}, {`<b v="f"/>`, `false`}, {`<b v="true"></b>`, `true`}, {`<b v="False"/>`, `false`}, {`<b v="1"/>`, `true`}, {`<b v="0"/>`, `false`},
		{`<un/>`, `undefined`}, {`<er></er>`, `error`}, {`<s></s>`, `""`}, {`<s/>`, `""`}, {"<s>  a\n b </s>", `"  a\n b "`},
		{`<s>&lt;a&amp;b&gt;&quot;&apos;&#233;&#x1F600;</s>`, `"<a&b>\"'é😀"`}, {`<s>a<!-- b -->c<![CDATA[<d>]]></s>`, `"ac<d>"`},
		{`<s>C:\\dir\"\n\t\303\251\7x\x\</s>`, `"C:\\dir\"\n\té\axx\\"`}, {`<s>\47777\\</s>`, `"'777\\"`},
		{`<e>a isnt undefined &amp;&amp; b &lt; "x\n"</e>`, `a =!= undefined && b < "x\n"`}, {`<e>( 1 )</e>`, `(1)`},
		{`<at>2024-02-29T12:34:56+01:00</at>`, `absTime("2024-02-29T12:34:56+01:00")`}, {`<rt> 1+02:03:04 </rt>`, `relTime("1+02:03:04")`},
		{`<l></l>`, `{  }`}, {`<l/>`, `{  }`}, {"<l>\n<i>1</i> <l><un/></l><c><a n=\"x\"><e>y</e></a></c></l>", `{ 1,{ undefined },[ x = y ] }`},
		{`<c/>`, `[  ]`}, {`<c> <!-- none --> </c>`, `[  ]`}, {` <!-- a --> <i>1</i> `, `1`},
	} {
		if got, want := xmlText(`<c><a n="v">`+c.value+`</a></c>`), "[ v = "+c.want+" ]"; got != want {
			t.Errorf("reading %s = %s, want %s", c.value, got, want)
		}
	}
}

func TestReadXMLStreams(t *testing.T) {
	const head = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \n", ""},
		{"no ads", head + "</classads>\n", ""},
		{"a document", head + "<c>\n    <a n=\"A\"><i>1</i></a>\n</c>\n<c/></classads>\n", "[ A = 1 ] | [  ]"},
		{"documents in a row", head + "<c/></classads>\n" + head + "<c><a n='B'><i>2</i></a></c></classads>\n", "[  ] | [ B = 2 ]"},
		{"bare ads", `<c/><c><a n="A"><i>1</i></a></c>`, "[  ] | [ A = 1 ]"},
		{"a name twice", `<c><a n="Aa"><i>1</i></a><a n="aA"><i>2</i></a></c>`, "[ Aa = 2 ]"},
		{"a bad expression", head + "<c><a n=\"A\"><i>1</i></a>\n <a n=\"B\"><e>&lt;&#xe9;</e></a></c><c/></classads>", `f:5:14: expected a value, a name or (, found "<" | [  ]`},
		{"where an expression is bad", "<c>\n<a n='A'><e>a &amp;&amp;\r\n \"&#233;\" + + )</e></a></c>", `f:3:15: expected a value, a name or (, found ")"`},
		{"an element that means nothing", "<c><x><c><a/></c></x></c> <y>z</y> <c><a n='A'><i>1</i></a></c>", `f:1:4: expected <a n="..."> or </c>, found <x> | f:1:27: expected <classads> or <c>, found <y> | [ A = 1 ]`},
		{"an attribute without a name", "<c><a><i>1</i></a></c><c/>", `f:1:4: expected <a n="..."> or </c>, found <a> | [  ]`},
		{"an attribute without a value", "<c><a n='A'> </a></c><c><a n='A'/></c><c/>", `f:1:14: expected a value, found </a> | f:1:35: expected a value, found </a> | [  ]`},
		{"two values", "<c><a n='A'><un/><un/></a></c><c/>", `f:1:18: expected </a>, found <un> | [  ]`},
		{"text in an ad", "<c>x</c><c><a n='A'>1</a></c><c><a n='A'><un>x</un></a></c><c/>", `f:1:4: expected <a n="..."> or </c>, found text | f:1:21: expected a value, found text | f:1:46: expected </un>, found text | [  ]`},
		{"text between ads", "<classads>x<c/>y</classads>z", `f:1:11: expected <classads> or <c>, found text | [  ] | f:1:16: expected <classads> or <c>, found text | f:1:28: expected <classads> or <c>, found text`},
		{"bad integers", "<c><a n='A'><i>1.5</i></a></c><c><a n='A'><i>9223372036854775808</i></a></c><c/>", `f:1:16: expected an integer of 64 bits in <i>, found "1.5" | f:1:46: expected an integer of 64 bits in <i>, found "9223372036854775808" | [  ]`},
		{"bad reals", "<c><a n='A'><r>0x1p3</r></a></c><c><a n='A'><r>1_0</r></a></c><c><a n='A'><r/></a></c><c/>", `f:1:16: expected a real number in <r>, found "0x1p3" | f:1:48: expected a real number in <r>, found "1_0" | f:1:79: expected a real number in <r>, found "" | [  ]`},
		{"bad times", "<c><a n='A'><at>x</at></a></c><c><a n='A'><rt>\") + (\"</rt></a></c><c/>", `f:1:17: expected a time in <at>, found "x" | f:1:47: expected a time in <rt>, found "\") + (\"" | [  ]`},
		{"a bad boolean", "<c><a n='A'><b v='yes'/></a></c><c><a n='A'><b/></a></c><c/>", `f:1:13: expected v to be t or f in <b>, found "yes" | f:1:45: expected v to be t or f in <b>, found "" | [  ]`},
		{"a bad value in a list", "<c><a n='A'><l><i>1</i><z/></l></a></c><c><a n='A'><l>1</l></a></c><c/>", `f:1:24: expected a value, found <z> | f:1:55: expected a value or </l>, found text | [  ]`},
		{"an element in a text", "<c><a n='A'><s>x<i>1</i></s></a></c><c/>", `f:1:17: expected text and </s>, found <i> | [  ]`},
		{"an escaped NUL", `<c><a n="A"><s>x\0</s></a></c><c/>`, `f:1:16: an escaped NUL byte: strings have none | [  ]`},
		{"a wrong end", "<c></c><c><a n='A'><i>1</a></c><c/>", `[  ] | f:1:28: malformed XML: element <i> closed by </a>`},
		{"cut off", "<c></c><c><a n='A'><i>1", `[  ] | f:1:24: malformed XML: unexpected EOF`},
		{"cut off behind a bad value", "<c><a n='A'><i>x</i></a>", `f:1:16: expected an integer of 64 bits in <i>, found "x" | f:1:25: malformed XML: unexpected EOF`},
		{"a NUL byte", "<c/><c><a n='A'><s>x\x00</s></a></c>", `[  ] | f:1:22: malformed XML: illegal character code U+0000`},
		{"an entity of its own", "<!DOCTYPE c [<!ENTITY a \"b\">]>\n<c><a n='A'><s>&a;</s></a></c>", `f:2:19: malformed XML: invalid character entity &a;`},
		{"an ampersand at the end of the line", "<c>\n<a n='A'><s>x&\n</s></a></c>", `f:2:13: malformed XML: invalid character entity & (no semicolon)`},
		{"an element with a long name", "<" + strings.Repeat("x", 1000) + "/><c/>", "f:1:1: expected <classads> or <c>, found <" + strings.Repeat("x", 165) + "... | [  ]"},
		{"another encoding", "<?xml version='1.0' encoding='latin1'?><c/>", `f:1:40: malformed XML: opening charset "latin1": expected UTF-8`},
		{"no XML", "A = 1\n", "f:1:1: expected <classads> or <c>, found text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := xmlText(c.text); got != c.want {
				t.Errorf("reading %q =\n%s, want\n%s", c.text, got, c.want)
			}
			checkBytewise(t, newXMLStream(iotest.OneByteReader(strings.NewReader(c.text)), "f"), c.text, c.want)
		})
	}
}

func TestReadXMLKnowsLines(t *testing.T) {
	s := newXMLStream(strings.NewReader("\n<classads>\n<c>\n</c> \n\n<c><a n='A'>\n</a></c><c/>\n<c"), "f")
	if got, want := fmt.Sprint(streamLines(s)), "[3 6 7 8]"; got != want {
		t.Errorf("lines = %s, want %s", got, want)
	}
}

func TestReadXMLEntitiesDoNotGrow(t *testing.T) {
	const bomb = `<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><c><a n="A"><s>&c;</s></a></c>`
	if got := xmlText(bomb); !strings.Contains(got, "invalid character entity &c;") {
		t.Errorf("reading an entity of entities = %s, want an error", got)
	}
}

func TestReadXMLRealFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{{"slots/009-glidein-machines.xml", 7}, {"jobs/010-glidein-queue.xml", 13}} {
		in, err := os.Open(filepath.Join(realFolder(t), filepath.FromSlash(c.name)))
		testenv.OK(t, err)
		defer in.Close()
		s, ads, attributes := newXMLStream(in, c.name), 0, 0
		for {
			ad, err := s.next()
			if err == io.EOF {
				break
			}
			testenv.OK(t, err)
			ads++
			attributes += ad.Len()
			spool := ad.Format(StyleSpool)
			again, err := ParseAd(spool)
			if err != nil {
				t.Fatalf("%s: ParseAd(%s): %v", c.name, spool, err)
			}
			if got := again.Format(StyleSpool); got != spool {
				t.Errorf("%s: read back = %s, want %s", c.name, got, spool)
			}
			written, _ := ad.MarshalJSON()
			if got := jsonText(string(written)); got != spool {
				t.Errorf("%s: read back from JSON = %s, want %s", c.name, got, spool)
			}
		}
		if ads != c.want {
			t.Errorf("%s = %d ads, want %d", c.name, ads, c.want)
		}
		t.Logf("%s: %d ads with %d attributes", c.name, ads, attributes)
	}
}

// writeXML writes an ad as HTCondor's tools do, its nested lists and ads as
// expressions.
func writeXML(b *strings.Builder, ad *Ad) {
	b.WriteString("<c>\n")
	for _, name := range ad.Names() {
		b.WriteString("    <a n=\"")
		xml.EscapeText(b, []byte(name))
		b.WriteString("\">")
		e, _ := ad.Lookup(name)
		v, constant := e.Constant()
		text := e.Format(StyleNew)
		tag := "e"
		switch {
		case constant && v.Kind() == KindInteger:
			tag = "i"
		case constant && v.Kind() == KindReal:
			tag = "r"
		case constant && v.Kind() == KindString:
			tag = "s"
			text = text[1 : len(text)-1]
		}
		if constant && v.Kind() == KindBoolean {
			fmt.Fprintf(b, "<b v=\"%.1s\"/></a>\n", text)
			continue
		}
		b.WriteString("<" + tag + ">")
		xml.EscapeText(b, []byte(text))
		b.WriteString("</" + tag + "></a>\n")
	}
	b.WriteString("</c>\n")
}

func TestReadXMLReadsWhatHTCondorWrites(t *testing.T) {
	word := rapid.StringMatching(`[a-zA-Z<>&"'\\/.:; é\n\x01\t-]*`)
	rapid.Check(t, func(t *rapid.T) {
		ad := New()
		for i := range rapid.IntRange(0, 5).Draw(t, "attributes") {
			name := fmt.Sprintf("A<%d", i)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				ad.SetInt(name, rapid.Int64().Draw(t, "int"))
			case 1:
				ad.SetBool(name, rapid.Bool().Draw(t, "bool"))
			case 2:
				ad.SetReal(name, float64(rapid.Int32().Draw(t, "real"))/4)
			case 3:
				ad.SetString(name, word.Draw(t, "text"))
			case 4:
				e, err := ParseExpr("x < " + Literal(String(word.Draw(t, "text"))).Format(StyleSpool) + " && y")
				testenv.OK(t, err)
				ad.Set(name, e)
			}
		}
		var b strings.Builder
		writeXML(&b, ad)
		if got, want := xmlText(b.String()), ad.Format(StyleSpool); got != want {
			t.Errorf("reading %s =\n%s, want\n%s", b.String(), got, want)
		}
	})
}

func FuzzXML(f *testing.F) {
	for _, seed := range []string{
		"<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n<c>\n<a n=\"A\"><i>1</i></a><a n=\"b\"><r>-INF</r></a></c></classads>\n<?xml version=\"1.0\"?>\n<classads><c/></classads>",
		"<c><a n='A'><s> \\303\\251&lt;\\</s></a><a n=''><b v='t'/></a></c>", "<c><a n='A'><l><un/><er/><c><a n='x'><e>a &amp;&amp; \"b\\n\"</e></a></c></l></a></c>",
		"<c><a n='A'><at>2024-02-29T12:34:56Z</at></a><a n='B'><rt>1:05</rt></a></c>", "<c><x/></c>y<c><a n='A'><e>1 +\r\n&#233;</e></a></c><c>", "<c><a n='A'><s><![CDATA[x]]><!-- y --></s></a></c>",
		"<!DOCTYPE c [<!ENTITY a \"b\">]><c><a n='A'><s>&a;</s></a></c>", "<c><a n='A'><e/></a></c><c><a n='A'><i>\x00</i></a></c>", "<c>\n<a n='A'><s>x&\n</s></a></c>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkStream(t, newXMLStream(strings.NewReader(text), "f"), len(text))
	})
}

func BenchmarkReadXML(b *testing.B) {
	var text strings.Builder
	text.WriteString("<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n")
	for _, ad := range poolAds(b, 100) {
		writeXML(&text, ad)
	}
	text.WriteString("</classads>\n")
	benchmarkStream(b, text.String(), func(r io.Reader) adStream { return newXMLStream(r, "f") })
}
