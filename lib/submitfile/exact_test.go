package submitfile

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestExact writes any bytes as JSON and reads them back.
func TestExact(t *testing.T) {
	same := func(text string) bool {
		b, err := json.Marshal(map[string]Exact{"a": Exact(text)})
		var back map[string]Exact
		return err == nil && json.Unmarshal(b, &back) == nil && string(back["a"]) == text
	}
	for _, text := range []string{"", "plain", "caf\xe9", "\xff\x00<\">", "\uFFFD\U0010FF00\U0010FFFF\U0010FEFF", "\xed\xa0\x80\xf4"} {
		if !same(text) {
			t.Errorf("JSON of Exact(%q) does not read back", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")); !same(text) {
			t.Fatalf("JSON of Exact(%q) does not read back", text)
		}
	})
	if b, _ := json.Marshal(Exact("grün")); string(b) != `"grün"` {
		t.Errorf("JSON of Exact(grün) = %s, want it as it is", b)
	}
}
