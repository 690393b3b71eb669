package windowtext

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "1", "1 2 3", "1 2 3 4 5", "1 2 3 4,", "1 2 3 4, ", "1 2 3 4,5 6 7 8", "1 2 3 x", "1 2  3", "9223372036854775808 0 0 0"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		}
	}
}
