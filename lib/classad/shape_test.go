package classad

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestBuilderLines(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"", New().Format(StyleSpool)},
		{"A = 1", "[ A = 1 ]"},
		{"A = 1|B = A + 1", "[ A = 1; B = A + 1 ]"},
		{`S = "a = b"|T = S == "x = y"`, `[ S = "a = b"; T = S == "x = y" ]`},
		{`S = "back\\slash\n"`, `[ S = "back\\slash\n" ]`},
		{"Memory = 1|MEMORY = 2", "[ Memory = 2 ]"},
		{"A =  1 ", "[ A = 1 ]"},
		{"A = 1|A = (|B = 2", "[ A = 1; B = 2 ]"},
		{"true = 1|_a9 = 2", "[ _a9 = 2; 'true' = 1 ]"},
		{"L = { 1, [ a = 2 ] }|T = TARGET.x = 5", "[ L = { 1,[ a = 2 ] } ]"},
	} {
		b := NewBuilder(nil)
		for range 3 { // the second time the names are known, the third time they are expected
			b.Begin()
			for line := range strings.SplitSeq(c.lines, "|") {
				_ = b.Line([]byte(line)) // TestBuilderErrors is about these
			}
			if got := b.Finish().Format(StyleSpool); got != c.want {
				t.Errorf("an ad of %q = %s, want %s", c.lines, got, c.want)
			}
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	b := NewBuilder(nil)
	for range 3 {
		for _, line := range []string{"", "A", "A=1", "A =1", "A= 1", "A  = 1", " A = 1", "A\t= 1", " = 1", "= 1", "9a = 1", "a b = 1", "a.b = 1", "'a' = 1", "\xff = 1", "A\x00 = 1"} {
			err := b.Line([]byte(line))
			if err == nil || !strings.Contains(err.Error(), "not an attribute") {
				t.Errorf("Line(%q) = %v, want an error: not an attribute", line, err)
			}
		}
		for _, text := range []string{"", "(", "1 +", `"open`, "1 2", "a = 1", "\"nul\x00\""} {
			_, want := NewInterner().ExprBytes([]byte(text))
			for name, err := range map[string]error{"Line": b.Line([]byte("A = " + text)), "Set": b.Set("A", []byte(text))} {
				var bad *SyntaxError
				if !errors.As(err, &bad) || err.Error() != want.Error() {
					t.Errorf("%s of %q = %v, want %v", name, text, err, want)
				}
			}
		}
		for _, name := range []string{"A", "a b", "a.b", "9", "", "x y = z"} { // expected the next time
			if name != "A" {
				if err := b.Line([]byte(name + " = 1")); err == nil {
					t.Errorf("Line with the name %q = no error, want one", name)
				}
			}
			if err := b.Set(name, []byte("1")); err != nil {
				t.Errorf("Set(%q) = %v, want no error", name, err)
			}
		}
		if got, want := b.Finish().OwnNames(), []string{"", "9", "A", "a b", "a.b", "x y = z"}; !slices.Equal(got, want) {
			t.Errorf("names = %q, want %q", got, want)
		}
	}
	if err := b.Line(bytes.Repeat([]byte("x"), 1<<20)); err == nil || len(err.Error()) > 200 {
		t.Error("the error about a long line is none or as long")
	}
}

func TestBuilderBeginsAndDrops(t *testing.T) {
	var b Builder // the zero one
	set := func(name, text string) {
		t.Helper()
		testenv.OK(t, b.Set(name, []byte(text)))
	}
	if ad := b.Finish(); ad.Len() != 0 {
		t.Errorf("an ad without a beginning = %v, want an empty one", ad)
	}
	for range 3 {
		set("A", "1")
		set("B", "2")
		first := b.Finish()
		set("A", "3")
		b.Begin()
		set("B", "4")
		if got, want := b.Finish().String()+first.String(), mustAd(t, "[ B = 4 ]").String()+mustAd(t, "[ A = 1; B = 2 ]").String(); got != want {
			t.Errorf("ads = %s, want %s", got, want)
		}
	}
}

// TestBuilderStreams is about ads whose names begin like those of others.
func TestBuilderStreams(t *testing.T) {
	for _, stream := range []string{
		"A B C|A B C|A B|A B|A B C|A B",
		"A B C|A D X|A D X|A B C|A X D X",
		"A B C|A B C X|A B C X Y|A B C|A B C Y X",
		"A B C|B C A|C A B|B C A|C A B|A B C",
		"A B C|a B C|A b C|a B C|A B c|A b C C|A B C",
		"A B C|A|A|X Y Z A B C|X Y Z A B C|A B C",
		"A A A|A|A B A|A B A|A B",
		"A B C||A B||A B C",
	} {
		b, number := NewBuilder(nil), 0
		for round := range 3 {
			for names := range strings.SplitSeq(stream, "|") {
				want := New()
				b.Begin()
				for name := range strings.FieldsSeq(names) {
					number++
					want.SetInt(name, int64(number))
					testenv.OK(t, b.Line(fmt.Appendf(nil, "%s = %d", name, number)))
				}
				if got := b.Finish(); got.Format(StyleSpool) != want.Format(StyleSpool) || got.Len() != want.Len() {
					t.Errorf("%q, round %d: the ad of %q = %v, want %v", stream, round, names, got, want)
				}
			}
		}
	}
}

// given is an attribute for a Builder.
type given struct {
	name, text string
	line       bool // by Line
}

func (a given) to(b *Builder, buf []byte) ([]byte, error) {
	if !a.line {
		buf = append(buf[:0], a.text...)
		return buf, b.Set(a.name, buf)
	}
	buf = append(append(append(buf[:0], a.name...), " = "...), a.text...)
	return buf, b.Line(buf)
}

// givenAd draws the attributes of an ad, good and bad.
func givenAd(t *rapid.T) []given {
	of := func(texts ...string) string { return rapid.SampledFrom(texts).Draw(t, "piece") }
	g := gen{T: t}
	var out []given
	names := []string{"A", "B", "C", "D", "N", "L", "Requirements"}
	if g.n(3) == 0 { // enough for a front
		for i := range frontSize {
			names = append(names, fmt.Sprint("Attr", i))
		}
	}
	names = names[g.n(3) : len(names)-g.n(3)]
	for range g.n(4) {
		names = slices.Insert(names, g.n(len(names)+1), of("a", "b", "Rank", "MY", "target", "true", "Memory", "attr3", "x y", "x = y", "", "nul\x00a", "\xff", "Zoë"))
	}
	for _, name := range names {
		out = append(out, given{name: name, line: usualName(name) && g.n(2) == 0})
	}
	return out
}

// likeAd draws an ad that is much like another.
func likeAd(t *rapid.T, ad []given) []given {
	g := gen{T: t}
	out := slices.Clone(ad)
	for range 1 + g.n(2) {
		i := g.n(len(out))
		switch g.n(5) {
		case 0:
			return out[:i+1]
		case 1:
			out = slices.Insert(out, i, given{name: g.of("X", "Y", "Z", "rank", "x y")})
		case 2:
			out[i].name = respelled(t, out[i].name)
		case 3:
			out[i] = given{name: g.of("X", "Y", "Z", "rank", "x y")}
		case 4:
			out = append(out, given{name: g.of("X", "Y", "Z", "rank", "x y")})
		}
	}
	return out
}

// valuedAlike gives the attributes of an ad values that all ads of a number have.
func valuedAlike(ad []given, number int) []given {
	out := slices.Clone(ad)
	for i := range out {
		out[i].text = []string{fmt.Sprint(number), "A + B", fmt.Sprint("B + ", number)}[i%3]
	}
	return out
}

// valued gives the attributes of an ad values, also bad ones if there may be
// errors.
func valued(t *rapid.T, ad []given, errors bool) []given {
	g := gen{T: t, calm: true}
	out := slices.Clone(ad)
	for i := range out {
		switch kind := g.n(6); {
		case kind == 0:
			out[i].text = g.expr(g.n(3))
		case kind == 1 && errors:
			out[i].text = g.of("", "(", "1 +", "\"open", "\x00", "'", "1 2")
		case kind == 2:
			out[i].text = g.of("01", "1K", `"a\\b"`, `"a\"b"`, "1 ", " 1", "true", "TRUE", "undefined", "1.50", "9223372036854775808", "Memory", `"`+strings.Repeat("long ", 500)+`"`)
		default:
			out[i].text = g.of("1", "2", `"a"`, "A + B", "TARGET.A > 5 && MY.B")
		}
	}
	return out
}

// TestBuilderMakesWhatSetMakes compares the ads of a stream with those made by
// Set, before and behind changes to them.
func TestBuilderMakesWhatSetMakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := gen{T: t, calm: true}
		in := NewInterner()
		builders := []*Builder{NewBuilder(in), NewBuilder(in), NewBuilder(nil)}
		var kinds [][]given
		for i := range 1 + g.n(6) {
			if i > 0 && g.n(4) > 0 {
				kinds = append(kinds, likeAd(t, kinds[g.n(i)]))
			} else {
				kinds = append(kinds, givenAd(t))
			}
		}
		var built, set []*Ad
		var buf []byte
		for range 1 + g.n(15) {
			b := builders[g.n(len(builders))]
			ad := kinds[g.n(len(kinds))]
			if errors := g.n(3) == 0; errors || g.n(2) == 0 {
				ad = valued(t, ad, errors)
			} else { // the kinds and the values are those of the ads before
				ad = valuedAlike(ad, g.n(3))
			}
			b.Begin()
			if g.n(8) == 0 { // dropped
				for _, a := range ad[:g.n(len(ad)+1)] {
					buf, _ = a.to(b, buf)
				}
				b.Begin()
			}
			want := New()
			for _, a := range ad {
				e, bad := in.ExprBytes([]byte(a.text))
				if bad == nil {
					want.Set(a.name, e)
				}
				var err error
				if buf, err = a.to(b, buf); fmt.Sprint(err) != fmt.Sprint(bad) {
					t.Fatalf("%+v: %v, want %v", a, err, bad)
				}
				for i := range buf { // it belongs to the caller
					buf[i] = '#'
				}
			}
			built, set = append(built, b.Finish()), append(set, want)
		}
		sameAds(t, built, set)
		for range g.n(10) {
			i, j, name := g.n(len(built)), g.n(len(built)), g.of("A", "a", "B", "Attr3", "MY", "x y", "New1", "New2", "L")
			e := g.parse(g.leaf())
			how := g.n(5)
			for _, ads := range []*[]*Ad{&built, &set} {
				switch ad := (*ads)[i]; how {
				case 0:
					ad.Set(name, e)
				case 1:
					ad.Delete(name)
				case 2:
					ad.Chain((*ads)[j])
				case 3:
					*ads = append(*ads, ad.Clone())
				case 4:
					(*ads)[i] = ad.Flat()
				}
			}
		}
		sameAds(t, built, set)
	})
}

// sameAds fails unless the ads are equal in all that can be seen.
func sameAds(t *rapid.T, got, want []*Ad) {
	for i := range got {
		if g, w := seen(got[i], got), seen(want[i], want); g != w {
			t.Fatalf("ad %d = %s\nwant %s", i, g, w)
		}
	}
}

// seen tells all that can be seen of an ad among others.
func seen(ad *Ad, others []*Ad) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %d\n", ad.OwnNames(), ad.Names(), ad.Len())
	for _, s := range []Style{StyleOld, StyleNew, StyleSpool} {
		b.WriteString(ad.Format(s) + "\n")
	}
	json, err := ad.MarshalJSON()
	fmt.Fprintf(&b, "%s %v\n%s\n", json, err, ad.AppendLong(nil))
	for _, name := range append(ad.Names(), "nowhere", "attr3", "MY", "TARGET") {
		e, ok := ad.Lookup(name)
		other := others[len(name)%len(others)]
		fmt.Fprintln(&b, name, ok, ad.Has(name), e != nil && e.constant(), ad.Eval(noon, name, other), Match(noon, ad, other))
		if ok {
			b.WriteString(e.Format(StyleSpool) + "\n")
		}
	}
	return b.String()
}

func TestBuiltAdsShare(t *testing.T) {
	in := NewInterner()
	b := NewBuilder(in)
	var ads []*Ad
	for i := range 4 {
		b.Begin()
		for _, line := range []string{"A = B + 1", fmt.Sprintf("B = C + %d", i), "C = 1"} {
			testenv.OK(t, b.Line([]byte(line)))
		}
		ads = append(ads, b.Finish())
	}
	first, _ := ads[0].Lookup("A")
	known, err := in.Expr("B + 1")
	if last, _ := ads[3].Lookup("A"); err != nil || first != last || first != known {
		t.Errorf("the expressions of equal texts are %p, %p and %p, want one", first, last, known)
	}
	if ads[1].shape != ads[3].shape {
		t.Error("ads with the same names do not share them")
	}
	ads[3].Set("D", first)
	ads[3].Set("A", known)
	ads[3].Delete("C")
	if got, want := ads[1].Format(StyleSpool), "[ A = B + 1; B = C + 1; C = 1 ]"; got != want {
		t.Errorf("ad = %s behind changes to another, want %s", got, want)
	}
}

// TestBuilderTellsKindsApart holds that ads of a few kinds by turns are as
// quick to build as ads of one: nothing of them is looked up.
func TestBuilderTellsKindsApart(t *testing.T) {
	b := NewBuilder(nil)
	kinds := [][]string{{"A = 1", "B = A + 1", "C = 3", "D = 4"}, {"A = 1", "B = A + 1"}, {"A = 1", "X = 2", "C = A"}, {"Z = A"}, {"A = 1", "B = A + 1", "C = 3"}}
	build := func(lines []string) *Ad {
		b.Begin()
		for _, line := range lines {
			testenv.OK(t, b.Line([]byte(line)))
		}
		return b.Finish()
	}
	shapes := map[*shape]bool{}
	for round := range 5 {
		for _, lines := range kinds {
			ad := build(lines)
			if round < 2 {
				continue
			}
			shapes[ad.shape] = true
			if !b.ads.follows || b.ads.building != nil || b.ads.line != len(lines) {
				t.Errorf("round %d: an ad of the lines %q is not as expected", round, lines)
			}
		}
	}
	if len(shapes) != len(kinds) {
		t.Errorf("lists of names = %d, want %d", len(shapes), len(kinds))
	}
}

func TestBuilderKeepsLittle(t *testing.T) {
	b := NewBuilder(nil)
	long := []byte(`"` + strings.Repeat("x", maxKindTexts/4) + `"`)
	for kind := range 3 * maxKinds {
		for range 3 {
			for i := range 16 {
				testenv.OK(t, b.Set(fmt.Sprint("A", kind, "_", i), long))
			}
			b.Finish()
		}
	}
	if got := len(b.ads.kinds); got != maxKinds {
		t.Errorf("kinds kept = %d, want %d", got, maxKinds)
	}
	for _, k := range b.ads.kinds {
		size := 0
		for _, s := range k.before {
			size += cap(s.text)
		}
		if size > 2*maxKindTexts || size == 0 {
			t.Errorf("bytes of texts kept = %d, want some and at most %d", size, 2*maxKindTexts)
		}
	}
	for range 3 {
		for i := range maxKindNames + 1 {
			testenv.OK(t, b.Set(fmt.Sprint("B", i), []byte("1")))
		}
		if ad := b.Finish(); ad.Len() != maxKindNames+1 {
			t.Errorf("attributes of a large ad = %d, want %d", ad.Len(), maxKindNames+1)
		}
	}
	if n := len(b.ads.kinds[0].names); n > maxKindNames {
		t.Errorf("names of a kind = %d, want at most %d", n, maxKindNames)
	}
}

// builtAds are the lines of ads of 60 attributes and some 3 KB: most values are
// the same in all, some count, some are texts of their own. The ads are of so
// many kinds by turns, some names of which are their own.
func builtAds(ads, kinds int) (lines [][][]byte, size int64) {
	for i := range ads {
		ad := []string{
			fmt.Sprintf("ClusterId = %d", 1000+i/100), fmt.Sprintf("ProcId = %d", i%100), fmt.Sprintf("QDate = %d", 1_700_000_000+i/7),
			fmt.Sprintf(`GlobalJobId = "schedd.example.org#%d.%d#%d"`, 1000+i/100, i%100, 1_700_000_000+i/7),
			fmt.Sprintf(`Args = "--seed %d --in /home/alice/data/part.%05d.root --out result.%05d"`, i*7919%100_003, i, i),
			fmt.Sprintf(`Out = "out/%d.%d.out"`, 1000+i/100, i%100), fmt.Sprintf(`Err = "out/%d.%d.err"`, 1000+i/100, i%100),
			fmt.Sprintf("JobStatus = %d", 1+i%11/7), fmt.Sprintf("RemoteUserCpu = %d.%d", i%977, i%10), fmt.Sprintf("NumShadowStarts = %d", i%5),
			`Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) && ` +
				`(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && (TARGET.HasFileTransfer)`,
			"RequestMemory = ifThenElse(MemoryUsage =!= undefined, MemoryUsage, (ImageSize + 1023) / 1024)", "RequestDisk = DiskUsage * 2",
			"Rank = TARGET.KFlops / 1000.0", "PeriodicHold = JobStatus == 2 && time() - EnteredCurrentStatus > 86400",
		}
		for n := len(ad); n < 60; n++ {
			name := fmt.Sprintf("Attribute%02d", n)
			if n%8 == 5 && kinds > 1 {
				name = fmt.Sprintf("Kind%dAttribute%02d", i%kinds, n)
			}
			value := fmt.Sprint(n * 1000)
			if n%2 == 0 {
				value = fmt.Sprintf(`"/home/alice/analysis/of/the/year/input.%02d.cfg"`, n)
			}
			ad = append(ad, name+" = "+value)
		}
		out := make([][]byte, len(ad))
		for j, line := range ad {
			out[j] = []byte(line)
			size += int64(len(line)) + 1
		}
		lines = append(lines, out)
	}
	return lines, size
}

func BenchmarkBuilder(b *testing.B) {
	const ads = 30_000
	for _, kinds := range []int{1, 3, 20, 100} {
		b.Run(fmt.Sprintf("kinds=%d", kinds), func(b *testing.B) {
			lines, size := builtAds(ads, kinds)
			out := make([]*Ad, ads)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				build := NewBuilder(nil)
				for i, ad := range lines {
					build.Begin()
					for _, line := range ad {
						testenv.OK(b, build.Line(line))
					}
					out[i] = build.Finish()
				}
			}
		})
	}
}

func TestMask(t *testing.T) {
	m := NewMask([]string{"Env", "IWD"})
	parent, err := ParseAd(`[Owner = "alice"; Iwd = "/home/alice"; A = Iwd]`)
	testenv.OK(t, err)
	for range 2 {
		shared := m.Of(parent, nil)
		for _, c := range []struct{ text, want string }{
			{`[B = 1; env = "x"; C = 2]`, `[ A = Iwd; B = 1; C = 2; Owner = "alice" ]`},
			{`[B = 1]`, `[ A = Iwd; B = 1; Owner = "alice" ]`},
			{`[Env = 1]`, `[ A = Iwd; Owner = "alice" ]`},
			{`[]`, `[ A = Iwd; Owner = "alice" ]`},
		} {
			ad, err := ParseAd(c.text)
			testenv.OK(t, err)
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

// Ads that share their names stay what they are, also when one of them gets more.
func TestShare(t *testing.T) {
	in := NewInterner()
	var ads [3]*Ad
	for i, names := range [][]string{{"Cpus", "Memory"}, {"Cpus", "Memory"}, {"Memory", "cpus"}} {
		ads[i] = New()
		for k, name := range names {
			ads[i].SetInt(name, int64(10*i+k))
		}
		in.Share(ads[i])
		in.Share(ads[i])
	}
	if ads[0].shape != ads[1].shape || ads[0].shape == ads[2].shape {
		t.Error("want the names of the first two shared, and not those of the third, which have another order")
	}
	ads[1].SetInt("Disk", 7)
	ads[0].Delete("Memory")
	for i, want := range []string{"[ Cpus = 0 ]", "[ Cpus = 10; Disk = 7; Memory = 11 ]", "[ cpus = 21; Memory = 20 ]"} {
		if got := ads[i].String(); got != want {
			t.Errorf("ad %d is %q, want %q", i, got, want)
		}
	}
}

// An ad that an Interner changes says what it would say changed by itself.
func TestInternerChangesLaw(t *testing.T) {
	name := rapid.StringMatching(`[A-Ca-c_]{1,2}`)
	rapid.Check(t, func(t *rapid.T) {
		in := NewInterner()
		var through, alone [3]*Ad
		for i := range through {
			through[i], alone[i] = New(), New()
		}
		for n := range int64(rapid.IntRange(0, 60).Draw(t, "changes")) {
			at, name := rapid.IntRange(0, 2).Draw(t, "ad"), name.Draw(t, "name")
			switch rapid.IntRange(0, 9).Draw(t, "change") {
			case 0: // one ad begins as another
				from := rapid.IntRange(0, 2).Draw(t, "from")
				through[at], alone[at] = through[from].Clone(), alone[from].Clone()
			case 1: // with names that it does not share
				through[at].SetInt(name, n)
				alone[at].SetInt(name, n)
			case 2, 3, 4:
				in.Delete(through[at], name)
				alone[at].Delete(name)
			default:
				e := Literal(Int(100 * n))
				in.Set(through[at], name, e)
				alone[at].Set(name, e)
			}
			for i := range through {
				if got, want := through[i].Format(StyleSpool), alone[i].Format(StyleSpool); got != want {
					t.Fatalf("ad %d is %s, want %s", i, got, want)
				}
			}
		}
	})
}

// Ads that get the same attributes one after the other have one list of names, with and without one that is gone again.
func TestInternerChanges(t *testing.T) {
	in := NewInterner()
	var ads [2]*Ad
	for i := range ads {
		ads[i] = New()
		for n, name := range []string{"JobStatus", "RemoteHost", "CurrentHosts"} {
			in.Set(ads[i], name, Literal(Int(int64(n))))
		}
		in.Delete(ads[i], "remotehost")
		in.Set(ads[i], "RemoteHost", Literal(String("node")))
	}
	if ads[0].shape != ads[1].shape || !ads[0].SameNames(ads[1]) {
		t.Error("ads that were changed alike do not share their names")
	}
	if got := testing.AllocsPerRun(100, func() {
		in.Delete(ads[0], "RemoteHost")
		in.Set(ads[0], "RemoteHost", small[1])
	}); got > 0 {
		t.Errorf("an attribute that comes and goes takes %v allocations, want none", got)
	}
}
