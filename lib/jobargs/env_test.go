package jobargs

import (
	"slices"
	"testing"
)

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
