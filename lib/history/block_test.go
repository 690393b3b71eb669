package history

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
)

var begin = time.Date(2026, 11, 21, 8, 0, 0, 12e6, time.UTC)

const written = `@ 2026-11-21T08:00:00.012Z 86400 1000 5407c828 77c9e3f0 all 101 22679eae
12 3.25 4 123456.789 10 2000
13 0.5 0 99.5
14 1234567890.12 0.25 0.000001 0 1
15 2e+20 1000000 0 2.5
= 2026-11-21T08:00:00.012Z 174 493882ed
`

func sampleBlock() Block {
	return Block{
		Time: begin, HalfLife: 24 * time.Hour, Factor: 1000, Settings: 0x5407c828, Names: 0x77c9e3f0, All: true,
		Samples: []Sample{
			{12, 3.25, 4000, accountant.Usage{Millis: 123456789}, 10, 2000},
			{13, 0.5, 0, accountant.Usage{Millis: 99500}, 0, 1000},
			{14, 1234567890.12, 250, accountant.Usage{Rest: 1}, 0, 1},
			{15, 2e20, 1000000000, accountant.Usage{}, 2.5, 1000},
		},
	}
}

// TestFormat holds the bytes of a block to what spool(5) says.
func TestFormat(t *testing.T) {
	b := sampleBlock()
	if got := string(b.Append(nil)); got != written {
		t.Errorf("Append = %s, want %s", got, written)
	}
	got, damage := scan(t, written)
	if len(damage.Damaged) > 0 || len(got) != 1 || !reflect.DeepEqual(got[0], b) {
		t.Errorf("Scan = %+v, %v, want %+v", got, damage, b)
	}
}

// TestExamples holds that the examples in spool(5) are true.
func TestExamples(t *testing.T) {
	const samples = `@ 2026-11-21T08:00:00.012Z 86400 1 5407c828 77c9e3f0 all 43 1ea202c9
12 3.25 4 123456.789 10 1000
13 0.5 0 99.5
= 2026-11-21T08:00:00.012Z 112 0cd8469a
`
	got, s := scan(t, samples)
	if len(got) != 1 || s.End != int64(len(samples)) || string(got[0].Append(nil)) != samples {
		t.Errorf("Scan(%s) = %+v, %+v", samples, got, s)
	}
	const line = `1 "alice@example.org" 77c9e3f0 9623d623` + "\n"
	n, whole, bad := ParseNames([]byte(line))
	if n == nil || whole != len(line) || len(bad) > 0 || n.ID != 0x77c9e3f0 || n.list[1] != "alice@example.org" {
		t.Errorf("ParseNames(%s) = %+v, %d, %v", line, n, whole, bad)
	}
}

func scan(t *testing.T, text string) (list []Block, s Scanned) {
	t.Helper()
	s, err := Scan(strings.NewReader(text), func(b *Block) error {
		c := *b
		c.Samples = append([]Sample(nil), b.Samples...)
		list = append(list, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, s
}

func drawBlock(t *rapid.T) Block {
	b := Block{
		Time:     time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "time")).UTC(),
		HalfLife: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "half-life")) * time.Millisecond,
		Factor:   rapid.Float64Range(1, 1e9).Draw(t, "factor"),
		Settings: rapid.Uint32().Draw(t, "settings"), Names: rapid.Uint32().Draw(t, "names"), All: rapid.Bool().Draw(t, "all"),
	}
	for range rapid.IntRange(0, 5).Draw(t, "samples") {
		s := Sample{
			ID:       rapid.IntRange(1, maxID).Draw(t, "id"),
			Priority: float64(rapid.Int64Range(0, 1e12-1).Draw(t, "digits")) / rapid.SampledFrom([]float64{1, 10, 1e6, 1e11}).Draw(t, "tens"),
			InUse:    accountant.Weight(rapid.Int64Range(0, 1e15).Draw(t, "use")),
			Usage:    accountant.Usage{Millis: rapid.Int64Range(0, 1<<60).Draw(t, "millis"), Rest: rapid.Int64Range(0, 999).Draw(t, "rest")},
			Demand:   float64(rapid.IntRange(0, 1e6).Draw(t, "demand")), Factor: b.Factor,
		}
		if rapid.Bool().Draw(t, "own factor") {
			s.Factor = rapid.Float64Range(0.001, 1e300).Draw(t, "factor")
		}
		b.Samples = append(b.Samples, s)
	}
	return b
}

// TestRoundTrip holds that blocks read as they were written, one by one and many
// behind each other, and that the last is found from the end.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var want []Block
		var text []byte
		for range rapid.IntRange(1, 4).Draw(r, "blocks") {
			b := drawBlock(r)
			want = append(want, b)
			text = b.Append(text)
		}
		got, s := scan(t, string(text))
		if !reflect.DeepEqual(got, want) || len(s.Damaged) > 0 || s.End != int64(len(text)) {
			r.Fatalf("Scan(%s) = %+v, %+v, want %+v", text, got, s, want)
		}
		last := want[len(want)-1]
		own := last.Append(nil)
		if b, need, ok := LastBlock(text[len(text)-len(own):]); !ok || need != len(own) || !b.Time.Equal(last.Time) {
			r.Fatalf("LastBlock(%s) = %v, %d, %v", text, b, need, ok)
		}
		if cut := text[len(text)-len(own)+1:]; len(cut) > 0 {
			if _, _, ok := LastBlock(cut); ok {
				r.Fatalf("LastBlock(%s) is one, though its first byte is missing", cut)
			}
		}
	})
}

// TestTorn holds that of a file that ends anywhere the whole blocks count, that
// the rest is no damage, and that both are told from each other.
func TestTorn(t *testing.T) {
	b := sampleBlock()
	one := len(b.Append(nil))
	text := string(b.Append(b.Append(nil)))
	for n := range len(text) + 1 {
		got, s := scan(t, text[:n])
		if len(got) != n/one || len(s.Damaged) > 0 || s.End != int64(n/one*one) {
			t.Fatalf("Scan of the first %d bytes = %d blocks, %+v, want %d, and no damage", n, len(got), s, n/one)
		}
	}
}

// TestDamageAtEnd flips every bit of the last block: none is taken for a block that was
// never written to its end, and what follows later counts.
func TestDamageAtEnd(t *testing.T) {
	b := sampleBlock()
	empty := b
	empty.Samples = nil
	for _, b := range []Block{b, empty} {
		one := b.Append(nil)
		for i := range one {
			for bit := range 8 {
				text := append(bytes.Clone(one), one...)
				text[len(one)+i] ^= 1 << bit
				got, s := scan(t, string(text))
				if len(got) != 1 || len(s.Damaged) != 1 || s.Damaged[0].Line != 1+bytes.Count(one, newline) || s.End != int64(len(text)) {
					t.Fatalf("bit %d of byte %d: %d blocks, %+v, want one, and damage behind it", bit, i, len(got), s)
				}
				if text[len(text)-1] != '\n' {
					text = append(text, '\n')
				}
				if got, s := scan(t, string(append(text, one...))); len(got) != 2 || len(s.Damaged) == 0 {
					t.Fatalf("bit %d of byte %d, and a block behind it: %d blocks, %+v", bit, i, len(got), s)
				}
			}
		}
	}
}

// TestDamage flips every bit of the second of four blocks: the others count, but
// for the third when the two can no longer be told apart, the damage is told with
// its line, and nothing is read that was not written.
func TestDamage(t *testing.T) {
	b := sampleBlock()
	one := b.Append(nil)
	for i := range one {
		want := 3
		if i == len(one)-1 {
			want = 2
		}
		for bit := range 8 {
			text := bytes.Repeat(one, 4)
			text[len(one)+i] ^= 1 << bit
			got, s := scan(t, string(text))
			if len(got) != want || len(s.Damaged) == 0 || s.Damaged[0].Line != 7 || s.End != int64(len(text)) {
				t.Fatalf("bit %d of byte %d: %d blocks, %+v, want %d, and damage in line 7", bit, i, len(got), s, want)
			}
			for _, g := range got {
				if !reflect.DeepEqual(g, b) {
					t.Fatalf("bit %d of byte %d: read %+v, want %+v", bit, i, g, b)
				}
			}
		}
	}
}

func TestScanStops(t *testing.T) {
	n := 0
	s, err := Scan(strings.NewReader(written+written), func(*Block) error { n++; return ErrStop })
	if err != nil || n != 1 || s.End != int64(len(written)) {
		t.Errorf("Scan = %+v, %v after %d blocks, want one", s, err, n)
	}
	broken := errors.New("broken")
	if _, err := Scan(strings.NewReader(written), func(*Block) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Scan = %v, want %v", err, broken)
	}
}

// FuzzScan holds that no bytes make the reader panic, and that what is read is
// written the same way.
func FuzzScan(f *testing.F) {
	f.Add([]byte(written))
	f.Add([]byte(written + "@ 2026-11-21T08:00:00.012Z 86400 1000 5407c828\n= 2026 1 0\n" + written))
	f.Add([]byte("@ \n= 2026-11-21T08:00:00.012Z 3 00000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b Block
		if b.parse(text) == nil {
			once := b.Append(nil)
			again, _ := scan(t, string(once))
			if len(again) != 1 || !bytes.Equal(again[0].Append(nil), once) {
				t.Fatalf("%q was written as %q, which reads as %+v", text, once, again)
			}
		}
		_, s := scan(t, string(text))
		if s.End > int64(len(text)) || s.Lines > bytes.Count(text, newline) {
			t.Fatalf("Scan(%q) = %+v, want no more than there is", text, s)
		}
		LastBlock(text)
		ParseNames(text)
	})
}

// TestNames holds that a number is given once: also after lines that were never
// written to their end, and after damaged ones.
func TestNames(t *testing.T) {
	n := NewNames(0xcafe)
	for i, name := range []string{"alice@pool", "group_a", "odd \"\n\xff@pool", "alice@pool"} {
		if got, want := n.Number(name), i%3+1; got != want {
			t.Errorf("Number(%q) = %d, want %d", name, got, want)
		}
	}
	text := n.New()
	for cut := range len(text) + 1 {
		got, whole, bad := ParseNames(text[:cut])
		lines := bytes.Count(text[:cut], newline)
		if len(bad) > 0 || (got == nil) != (lines == 0) || whole != bytes.LastIndexByte(text[:cut], '\n')+1 {
			t.Fatalf("ParseNames(%q) = %v, %d, %v", text[:cut], got, whole, bad)
		}
		if got != nil && got.Number("new") != lines+1 {
			t.Fatalf("after %q the next number is %d, want %d", text[:cut], got.Number("new"), lines+1)
		}
	}
	for i, c := range text {
		altered := bytes.Clone(text)
		altered[i] ^= 1
		got, _, bad := ParseNames(altered)
		if len(bad) == 0 {
			t.Fatalf("ParseNames(%q) sees no damage in byte %d, %q", altered, i, c)
		}
		if got == nil {
			continue
		}
		for id, name := range got.list {
			if name != n.list[id] {
				t.Fatalf("byte %d altered: %d is %q, was %q", i, id, name, n.list[id])
			}
		}
		if id := got.Number("new"); c != '\n' && id != 4 {
			t.Fatalf("byte %d altered: the next number is %d, want 4", i, id)
		}
	}
}

// TestRenameNames checks that numbers keep their samples under other names, and that damage stays.
func TestRenameNames(t *testing.T) {
	n := NewNames(7)
	for _, name := range []string{"alice@vm", "<none>", "bob@vm"} {
		n.Number(name)
	}
	const damage = "4 \"carol@vm\" 00000007 00000000\n"
	back := func(from, to string) func(string) string {
		return func(name string) string { return strings.Replace(name, "@"+from, "@"+to, 1) }
	}
	text := string(n.New()) + damage
	renamed, changed := RenameNames([]byte(text), back("vm", "example.org"))
	got, _, bad := ParseNames(renamed)
	var names []string
	for id := 1; id <= 3; id++ {
		name, _ := got.Of(id)
		names = append(names, name)
	}
	if want := []string{"alice@example.org", "<none>", "bob@example.org"}; !changed || !slices.Equal(names, want) || len(bad) != 1 {
		t.Errorf("names = %q, %v, %v, want %q and 1 damaged", names, changed, bad, want)
	}
	if again, _ := RenameNames(renamed, back("example.org", "vm")); string(again) != text {
		t.Errorf("renamed back:\n%swant\n%s", again, text)
	}
	if _, changed := RenameNames([]byte(text), back("elsewhere", "x")); changed {
		t.Error("names of another domain changed")
	}
}
