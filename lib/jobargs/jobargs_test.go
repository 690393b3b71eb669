package jobargs

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

var v2Table = []struct {
	text  string
	words []string
}{
	{``, nil},
	{"  \t ", nil},
	{`one two`, []string{"one", "two"}},
	{`'two words'`, []string{"two words"}},
	{`a' 'b' 'c`, []string{"a b c"}},
	{`'' x ''`, []string{"", "x", ""}},
	{`'it''s'`, []string{"it's"}},
	{`''''`, []string{"'"}},
	{`a''b`, []string{"ab"}},
	{`x"y"`, []string{`x"y"`}},
	{`-n 'a  b' 'c'd`, []string{"-n", "a  b", "cd"}},
	{"tab\there", []string{"tab", "here"}},
	{`é 'ü ö'`, []string{"é", "ü ö"}},
}

func TestParseV2(t *testing.T) {
	for _, c := range v2Table {
		got, err := ParseV2(c.text)
		if err != nil || !slices.Equal(got, c.words) {
			t.Errorf("ParseV2(%q) = %q, %v, want %q", c.text, got, err, c.words)
		}
	}
	for _, bad := range []string{`'`, `a 'b`, `a''b'''`} {
		if got, err := ParseV2(bad); err == nil {
			t.Errorf("ParseV2(%q) = %q, want an error", bad, got)
		}
	}
}

func TestFormatV2(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, ``},
		{[]string{""}, `''`},
		{[]string{"output.txt", "hello world"}, `output.txt hello' 'world`},
		{[]string{"python /x 0"}, `python' '/x' '0`},
		{[]string{"it's"}, `it''''s`},
		{[]string{" a", "b "}, `' 'a b' '`},
		{[]string{"a  b"}, `a'  'b`},
	} {
		if got := FormatV2(c.words); got != c.want {
			t.Errorf("FormatV2(%q) = %s, want %s", c.words, got, c.want)
		}
	}
}

func TestV1(t *testing.T) {
	if got, want := ParseV1(" a 'b c'\t\"d\" "), []string{"a", "'b", "c'", `"d"`}; !slices.Equal(got, want) {
		t.Errorf("ParseV1 = %q, want %q", got, want)
	}
}

// TestFormatLiteral is a law: whatever the words are, they are read again, and no reference
// to the slot is among them.
func TestFormatLiteral(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"$", "(", "$$(", "$$(Name)", "'", " ", "\n", "\"", "\\", "\xff", ""}), rapid.String())
		word := rapid.Map(rapid.SliceOfN(piece, 0, 6), func(list []string) string { return strings.Join(list, "") })
		words := rapid.SliceOf(word).Draw(r, "words")
		text := FormatLiteral(words)
		if got, err := ParseV2(text); err != nil || !slices.Equal(got, words) {
			r.Errorf("ParseV2(%q) = %q, %v, want %q", text, got, err, words)
		}
		if strings.Contains(text, "$$(") {
			r.Errorf("FormatLiteral(%q) = %q, which has a reference", words, text)
		}
	})
}

// FuzzV2 checks that whatever parses is said again by FormatV2.
func FuzzV2(f *testing.F) {
	for _, c := range v2Table {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := ParseV2(text)
		if err != nil {
			return
		}
		again, err := ParseV2(FormatV2(words))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("ParseV2(FormatV2(%q)) = %q, %v", words, again, err)
		}
	})
}

func TestParseEnv(t *testing.T) {
	for _, c := range []struct {
		name  string
		parse func(string) ([]string, error)
		text  string
		want  []string
	}{
		{"V1", ParseEnvV1, ``, nil},
		{"V1", ParseEnvV1, `a=1;b=2`, []string{"a=1", "b=2"}},
		{"V1", ParseEnvV1, `foo = bar; zot = qux;`, []string{"foo = bar", "zot = qux"}},
		{"V1", ParseEnvV1, `ID= 12`, []string{"ID= 12"}},
		{"V1", ParseEnvV1, `A='x y';B=`, []string{"A='x y'", "B="}},
		{"V1", ParseEnvV1, `A=1;B=2;A=3`, []string{"A=3", "B=2"}},
		{"V2", ParseEnvV2, ``, nil},
		{"V2", ParseEnvV2, `a=1 b='x y' 'c=z=;'`, []string{"a=1", "b=x y", "c=z=;"}},
		{"V2", ParseEnvV2, `A=1 B=2 A=3`, []string{"A=3", "B=2"}},
	} {
		got, err := c.parse(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("ParseEnv%s(%q) = %q, %v, want %q", c.name, c.text, got, err, c.want)
		}
	}
}

func TestParseEnvErrors(t *testing.T) {
	for _, text := range []string{"A", "=1", "A=1;B"} {
		if got, err := ParseEnvV1(text); err == nil {
			t.Errorf("ParseEnvV1(%q) = %q, want an error", text, got)
		}
	}
	for _, text := range []string{"A", "=1", "A=1 B", "A='"} {
		if got, err := ParseEnvV2(text); err == nil {
			t.Errorf("ParseEnvV2(%q) = %q, want an error", text, got)
		}
	}
}

func TestFormatEnv(t *testing.T) {
	env := []string{"A=1", "B=x y", "C=it's"}
	if got, want := FormatEnvV2(env), `A=1 B=x' 'y C=it''''s`; got != want {
		t.Errorf("FormatEnvV2(%q) = %s, want %s", env, got, want)
	}
}

func TestMergeEnv(t *testing.T) {
	got := MergeEnv([]string{"HOME=/", "A=1"}, []string{"B=2", "A=3"})
	if want := []string{"HOME=/", "A=3", "B=2"}; !slices.Equal(got, want) {
		t.Errorf("MergeEnv = %q, want %q", got, want)
	}
}

// FuzzEnv checks that whatever either syntax says of an environment is said
// again by FormatEnvV2, with each name once.
func FuzzEnv(f *testing.F) {
	for _, text := range []string{"", "a=1;b=2", "foo = bar; zot = qux;", "a=1 b='x y' 'c=z=;'", "A=1 A=2", "=;'", "A='"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) ([]string, error){ParseEnvV1, ParseEnvV2} {
			env, err := parse(text)
			if err != nil {
				continue
			}
			if again, err := ParseEnvV2(FormatEnvV2(env)); err != nil || !slices.Equal(again, env) {
				t.Errorf("ParseEnvV2(FormatEnvV2(%q)) = %q, %v", env, again, err)
			}
		}
	})
}

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
		testenv.OK(t, err)
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
		testenv.OK(t, err)
		if _, err := FromAd(ad); err == nil || err.Error() != c.want {
			t.Errorf("FromAd(%s) = %v, want %s", c.ad, err, c.want)
		}
	}
}
