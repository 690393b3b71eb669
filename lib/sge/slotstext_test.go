package sge

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestSlotsText(t *testing.T) {
	for _, c := range []struct{ wanted, want string }{
		{"4", "4"}, {" 2 - 8 ", "2-8"}, {"8-2", "2-8"}, {"4-", "4-"}, {"-8", "1-8"}, {"9,2, 4", "2,4,9"},
		{"2-4,10", "2-4,10"}, {"2-4,3-6", "2-6"}, {"1,2", "1-2"}, {"3-3", "3"}, {"5-,2", "2,5-"}, {"5-,7", "5-"},
	} {
		if got, err := SlotsText(c.wanted); got != c.want || err != nil {
			t.Errorf("SlotsText(%q) = %q, %v, want %q", c.wanted, got, err, c.want)
		}
	}
	for _, wanted := range []string{"", "0", "0-4", "-", "a", "2-b", "2,,4", "1.5", "+4", "99999999", "2-4-6"} {
		if got, err := SlotsText(wanted); err == nil {
			t.Errorf("SlotsText(%q) = %q, want an error", wanted, got)
		}
	}
}

// TestSlotsTextIsWanted holds that every environment assumes the same of what is kept as of
// what was written, and that what is kept stays as it is.
func TestSlotsTextIsWanted(t *testing.T) {
	number := rapid.Int64Range(1, 30)
	rapid.Check(t, func(t *rapid.T) {
		wanted := ""
		for i := range rapid.IntRange(1, 4).Draw(t, "ranges") {
			if i > 0 {
				wanted += ","
			}
			a, b := number.Draw(t, "from"), number.Draw(t, "to")
			wanted += rapid.SampledFrom([]string{fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("%d-", a), fmt.Sprintf(" -%d", b)}).Draw(t, "range")
		}
		text, err := SlotsText(wanted)
		if err != nil {
			t.Fatalf("SlotsText(%q) = %v", wanted, err)
		}
		if again, err := SlotsText(text); again != text || err != nil {
			t.Fatalf("SlotsText(%q) = %q, %v, want the same", text, again, err)
		}
		kind := UrgencyKind(rapid.IntRange(0, 3).Draw(t, "kind"))
		c := &Config{PEs: []PE{{Name: "mpi", Slots: number.Draw(t, "slots"), UrgencySlots: UrgencySlots{kind, 5}}}}
		a1, l1, err1 := c.Slots("mpi", wanted)
		a2, l2, err2 := c.Slots("mpi", text)
		if a1 != a2 || l1 != l2 || err1 != nil || err2 != nil {
			t.Fatalf("of %q are assumed %d, %d, %v, of %q %d, %d, %v", wanted, a1, l1, err1, text, a2, l2, err2)
		}
	})
}
