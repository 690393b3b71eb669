package pool

import (
	"fairspool/lib/caseless"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestResources(t *testing.T) {
	for _, c := range []struct {
		what    string
		amounts []Amount
		want    Resources
	}{
		{"nothing", nil, ""},
		{"one", []Amount{{"Cpus", 2}}, "Cpus=2"},
		{"by name without regard to case", []Amount{{"memory", 128}, {"GPUs", 1}, {"Cpus", 1}}, "Cpus=1 GPUs=1 memory=128"},
		{"the first of one name", []Amount{{"cpus", 2}, {"Cpus", 3}}, "cpus=2"},
		{"a part", []Amount{{"GPUs", 0.25}}, "GPUs=0.25"},
		{"much", []Amount{{"Disk", 1e21}}, "Disk=1000000000000000000000"},
		{"no amounts", []Amount{{"a", 0}, {"b", -1}, {"c", math.NaN()}, {"d", math.Inf(1)}, {"e", 1}}, "e=1"},
		{"no names", []Amount{{"", 1}, {"a b", 1}, {"a=b", 1}, {"1a", 1}, {"ä", 1}, {"_a1", 1}}, "_a1=1"},
	} {
		got := ResourcesOf(c.amounts)
		if got != c.want {
			t.Errorf("%s: ResourcesOf(%v) = %q, want %q", c.what, c.amounts, got, c.want)
		}
		again, err := got.Amounts()
		if err != nil || ResourcesOf(again) != got {
			t.Errorf("%s: (%q).Amounts() = %v, %v", c.what, got, again, err)
		}
	}
}

func TestAmountsRefused(t *testing.T) {
	for text, want := range map[Resources]string{
		"Cpus":             `"Cpus": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
		"=1":               `"=1": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
		" Cpus=1":          `"": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
		"Cpus=0":           `"Cpus=0": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
		"Cpus=Inf":         `"Cpus=Inf": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
		"Cpus=2.0":         `"Cpus=2.0": want the number written 2`,
		"Cpus=1e3":         `"Cpus=1e3": want the number written 1000`,
		"Memory=1 Cpus=1":  `"Cpus=1": resources are not in order, or twice`,
		"Cpus=1 cpus=1":    `"cpus=1": resources are not in order, or twice`,
		"Cpus=1  Memory=1": `"": not an amount of a resource: want NAME=NUMBER, like Cpus=2`,
	} {
		if got, err := text.Amounts(); err == nil || err.Error() != want {
			t.Errorf("(%q).Amounts() = %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestResourcesOfName(t *testing.T) {
	const r = Resources("Cpus=2 GPUs=0.5")
	for name, want := range map[string]float64{"Cpus": 2, "gpus": 0.5, "Memory": 0} {
		if got := r.Of(name); got != want {
			t.Errorf("(%q).Of(%q) = %v, want %v", r, name, got, want)
		}
	}
}

// TestResourcesLaw holds that amounts survive being written down, in whatever
// order they are given.
func TestResourcesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Amount {
			return Amount{rapid.StringMatching(`[a-dA-D_][a-d0-9]{0,2}`).Draw(t, "name"), rapid.Float64Range(math.SmallestNonzeroFloat64, math.MaxFloat64).Draw(t, "of")}
		}), 0, 6, func(a Amount) string { return string(ResourcesOf([]Amount{{a.Name, 1}})) }).Draw(t, "amounts")
		amounts = slices.CompactFunc(sorted(amounts), func(a, b Amount) bool { return caseless.Compare(a.Name, b.Name) == 0 })
		shuffled := rapid.Permutation(amounts).Draw(t, "order")
		got, err := ResourcesOf(shuffled).Amounts()
		if err != nil || !slices.Equal(got, amounts) {
			t.Fatalf("(%q).Amounts() = %v, %v, want %v", ResourcesOf(shuffled), got, err, amounts)
		}
	})
}

func sorted(amounts []Amount) []Amount {
	return slices.SortedStableFunc(slices.Values(amounts), func(a, b Amount) int { return caseless.Compare(a.Name, b.Name) })
}

// FuzzAmounts holds that a text is read only if it is what its amounts are written as.
func FuzzAmounts(f *testing.F) {
	for _, text := range []string{"", "Cpus=2 Disk=1024 GPUs=1 Memory=2048", "Cpus=0.5", "cpus=1 Cpus=1", "a=0x1p4", "a=1_0", "a==1", "a=1 ", "Cpus=+1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		amounts, err := Resources(text).Amounts()
		if again := ResourcesOf(amounts); err == nil && string(again) != text {
			t.Errorf("ResourcesOf(%v) = %q, want %q", amounts, again, text)
		}
	})
}
