package submitfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// pythonSlice is the slice as Python's manual defines it.
func pythonSlice(all int, start, end, step *int) []int {
	at := func(p *int, otherwise int) int {
		i := otherwise
		if p != nil {
			if i = *p; i < 0 {
				i += all
			}
		}
		return min(max(i, 0), all)
	}
	by := 1
	if step != nil {
		by = *step
	}
	var out []int
	for i := at(start, 0); i < at(end, all); i += by {
		out = append(out, i)
	}
	return out
}

func TestSliceIsPython(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.IntRange(0, 12).Draw(t, "all")
		bound := rapid.Ptr(rapid.IntRange(-15, 15), true)
		s := slice{bound.Draw(t, "start"), bound.Draw(t, "end"), rapid.Ptr(rapid.IntRange(1, 15), true).Draw(t, "step")}
		first, step, n := s.of(all)
		var got []int
		for i := range n {
			got = append(got, first+i*step)
		}
		if want := pythonSlice(all, s.start, s.end, s.step); !slices.Equal(got, want) {
			t.Fatalf("slice of %d = %v, want %v", all, got, want)
		}
	})
}

// drawQueue draws a queue line and returns it with the items that it goes
// through, by number, and its count.
func drawQueue(t *rapid.T) (text string, rows []int, count int) {
	count = rapid.IntRange(0, 3).Draw(t, "count")
	all := rapid.IntRange(0, 5).Draw(t, "items")
	var items []string
	for i := range all {
		items = append(items, fmt.Sprintf("i%d", i))
	}
	list := "(" + strings.Join(items, " ") + ")"
	if rapid.Bool().Draw(t, "below") {
		list = "(\n" + strings.Join(items, "\n") + "\n)"
	}
	cut, of := "", ""
	var start *int
	if rapid.Bool().Draw(t, "sliced") {
		start = rapid.Ptr(rapid.IntRange(-6, 6), true).Draw(t, "start")
		if start != nil {
			cut = fmt.Sprint(*start)
		}
		of = "[" + cut + ":]"
	}
	return fmt.Sprintf("queue %d x in %s %s\n", count, of, list), pythonSlice(all, start, nil, nil), count
}

// TestQueueLaws holds that jobs are the sum of the queue lines', in the order of
// items, steps and procs, that an item keeps its number, and that a second walk and
// skips find the same.
func TestQueueLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "show = $(x)/$(ItemIndex)/$(Row)/$(Step)/$(Process)/$RANDOM_INTEGER(1,1000000)\n"
		var want []string
		proc := 0
		for range rapid.IntRange(1, 4).Draw(t, "queues") {
			line, rows, count := drawQueue(t)
			text += line
			for _, row := range rows {
				for step := range count {
					want = append(want, fmt.Sprintf("i%d/%d/%d/%d/%d/", row, row, row, step, proc))
					proc++
				}
			}
		}
		d, _, err := Parse(text, "a.sub", Options{Seed: 3})
		if err != nil {
			t.Fatalf("Parse(%q) = %v", text, err)
		}
		if _, jobs := d.Queues(); jobs != len(want) {
			t.Fatalf("Parse(%q) has %d jobs, want %d", text, jobs, len(want))
		}
		got, err := shown(d)
		if err != nil || len(got) != len(want) {
			t.Fatalf("Parse(%q) shows %q, %v, want %d procs", text, got, err, len(want))
		}
		for i := range got {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Fatalf("Parse(%q): proc %d shows %s, want %s...", text, i, got[i], want[i])
			}
		}
		if again, err := shown(d); err != nil || !slices.Equal(got, again) {
			t.Fatalf("Parse(%q): a second walk shows %q, %v, want %q", text, again, err, got)
		}
		skips(t, d, got)
	})
}

// skips holds that procs looked at in any order show what they do in their own.
func skips(t *rapid.T, d *Description, want []string) {
	err := d.Walk(5, nil, func(j *Job) error {
		first := j.Proc()
		for range 5 {
			n := rapid.IntRange(0, j.Count()-1).Draw(t, "skip")
			j.Skip(n)
			v, _, err := j.Lookup("show")
			if err != nil || v.Text != want[first+n] {
				t.Fatalf("after Skip(%d) from proc %d: %s, %v, want %s", n, first, v.Text, err, want[first+n])
			}
		}
		return nil
	})
	testenv.OK(t, err)
}

// TestFieldsLaws holds that fields of words come back whatever parts them, and that
// there are as many as variables.
func TestFieldsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9=/]{1,4}`), 1, 5).Draw(t, "words")
		separator := rapid.SampledFrom([]string{" ", ",", ", ", " , ", "\t", " ,\t", unitSeparator, " " + unitSeparator + " "}).Draw(t, "separator")
		n := rapid.IntRange(1, 7).Draw(t, "n")
		got := fields(strings.Join(words, separator), n)
		want := make([]string, n)
		copy(want, words)
		if len(words) > n && !strings.Contains(separator, unitSeparator) {
			want[n-1] = strings.TrimSpace(strings.Join(words[n-1:], separator))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("fields(%q, %d) = %q, want %q", strings.Join(words, separator), n, got, want)
		}
	})
}

// TestValuesVary holds that Varies tells of a value whether procs differ in it: one
// that does not vary is the same for all.
func TestValuesVary(t *testing.T) {
	names := []string{"Process", "Step", "Item", "Row", "x", "y", "a", "b", "none", "ARCH", "Cluster"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names)
		text := fmt.Sprintf("a = <$(%s)>\nb = $(a)$(%s:d)\nshow = $(%s)$(b)\nqueue 2 x, y from (\np q\nr q\n)",
			name.Filter(func(n string) bool { return n != "a" && n != "b" }).Draw(t, "in a"),
			name.Filter(func(n string) bool { return n != "b" }).Draw(t, "in b"), name.Draw(t, "in show"))
		d, _, err := Parse(text, "a.sub", Options{Predefined: map[string]string{"ARCH": "X"}})
		testenv.OK(t, err)
		all, err := shown(d)
		testenv.OK(t, err)
		_ = d.Walk(5, nil, func(j *Job) error {
			if _, _, err := j.Lookup("show"); err != nil || !j.Varies() && len(slices.Compact(slices.Clone(all))) > 1 {
				t.Fatalf("Parse(%q) shows %q, but Varies() = false, %v", text, all, err)
			}
			return nil
		})
	})
}
