package whatif

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

func ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	a, err := classad.ParseAd(text)
	testenv.OK(t, err)
	return a
}

// TestUnclaimed holds that a slot that is added like another one has nothing of what became of that.
func TestUnclaimed(t *testing.T) {
	slot := unclaimed(ad(t, `[Name = "a"; State = "Claimed"; Activity = "Busy"; LastHeardFrom = 1; RemoteUser = "bob@y"; RemoteOwner = "bob@y";
		AccountingGroup = "g.bob@y"; JobId = "7.0"; ConcurrencyLimits = "x"; PreemptingUser = "c@y"; Cpus = 2]`), 7)
	if got, want := slot.Format(classad.StyleNew), ad(t, fmt.Sprintf(`[Name = "a"; State = "Unclaimed"; Activity = "Idle"; LastHeardFrom = %d; Cpus = 2]`, 7)).Format(classad.StyleNew); got != want {
		t.Errorf("unclaimed = %s, want %s", got, want)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `[]`}, {" a  b\t", `["a" "b"]`}, {`'a b' c`, `["a b" "c"]`}, {`a"b c"'d e'f`, `["ab cd ef"]`},
		{`''`, `[""]`}, {`"" x`, `["" "x"]`}, {`a\ b`, `["a b"]`}, {`"a\"b\\c\d"`, `["a\"b\\c\\d"]`}, {`'a\'`, `["a\\"]`}, {`\`, `["\\"]`},
	} {
		got, err := Split(c.text)
		if err != nil || fmt.Sprintf("%q", got) != c.want {
			t.Errorf("Split(%q) = %q, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{`'`, `a "b`, `"\"`} {
		if got, err := Split(text); err == nil {
			t.Errorf("Split(%q) = %q, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		var text []string
		for _, w := range words {
			text = append(text, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if got, err := Split(strings.Join(text, " ")); err != nil || !slices.Equal(got, words) {
			t.Fatalf("Split(%q) = %q, %v, want %q", text, got, err, words)
		}
	})
}
