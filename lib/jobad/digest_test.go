package jobad

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// FuzzMaterialize reads digests as somebody's editor, or a crafted dump, may have left
// them: a negotiation cycle makes jobs of them, and has to live.
func FuzzMaterialize(f *testing.F) {
	for _, text := range []string{
		"max_idle = 1\nqueue 3", "arguments = $(a) $(b) $ENV(HOME)\ngetenv = LANG\nmax_idle = 2\nqueue 2 a, b from [1::2] (\nx y\nz\n w\nv u\n)",
	} {
		jobs, _, err := read(sleep+text, testOptions())
		if err != nil {
			f.Fatal(err)
		}
		digest, first, err := jobs.Digest(false)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(digest, 0, 2, first)
		f.Add(digest, 1, 1, first)
	}
	f.Fuzz(func(t *testing.T, digest []byte, first, n int, offset int64) {
		n = min(n, 1000)
		c, _, err := Materialize(bytes.NewReader(digest), "example.org", 7, first, n, offset, time.Unix(1700000600, 0))
		if err == nil && (c.Jobs() > n || c.First != first) {
			t.Errorf("Materialize of %d procs from %d on = %d from %d on", n, first, c.Jobs(), c.First)
		}
	})
}

// TestMaterializeOddNumbers puts numbers into a digest that no description has.
func TestMaterializeOddNumbers(t *testing.T) {
	jobs, _, err := read(sleep+"arguments = $(a) $(Row) $(Step)\nmax_idle = 1\nqueue 2 a in (x y z)\n", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	digest, _, err := jobs.Digest(false)
	if err != nil {
		t.Fatal(err)
	}
	line, items, _ := bytes.Cut(digest, []byte("\n"))
	rapid.Check(t, func(t *rapid.T) {
		var head map[string]any
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		queue := head["Description"].(map[string]any)["Queues"].([]any)[0].(map[string]any)
		number := rapid.SampledFrom([]int{math.MinInt, -1, 0, 1, 2, 3, 5, 1 << 31, 1 << 32, 1 << 62, math.MaxInt})
		for _, name := range []string{"Count", "N", "First", "Step"} {
			if rapid.Bool().Draw(t, name+" odd") {
				queue[name] = number.Draw(t, name)
			}
		}
		queue["Given"] = rapid.Bool().Draw(t, "Given")
		queue["Vars"] = rapid.SampledFrom([][]string{nil, {"a"}, {"a", "a"}, {"", "Item", "Process"}}).Draw(t, "Vars")
		odd, err := json.Marshal(head)
		if err != nil {
			t.Fatal(err)
		}
		text := append(append(odd, '\n'), items...)
		first, n := number.Draw(t, "first"), min(number.Draw(t, "n"), 1000)
		c, _, err := Materialize(bytes.NewReader(text), "example.org", 7, first, n, int64(len(odd)+1), time.Unix(1700000600, 0))
		if err == nil && c.Jobs() > n {
			t.Fatalf("Materialize of %d procs = %d", n, c.Jobs())
		}
	})
}
