package classad

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// adText draws the text of one long-form ad, good or bad, of names and values
// that come again and again.
func adText(t *rapid.T) string {
	of := func(texts ...string) string { return rapid.SampledFrom(texts).Draw(t, "piece") }
	n := func(below int) int { return rapid.IntRange(0, below-1).Draw(t, "n") }
	names := []string{"Name", "Memory", "Requirements", "Rank", "Cpus", "MY", "State"}
	if n(3) == 0 { // enough for a front
		for i := range frontSize {
			names = append(names, fmt.Sprint("Attr", i))
		}
	}
	if n(3) == 0 {
		names = slices.Delete(names, 2, 2+n(4))
	}
	for range n(3) {
		names = slices.Insert(names, n(len(names)+1), of("Extra", "MEMORY", "Rank", "Other", "name", "Attr3"))
	}
	if n(5) == 0 {
		i := n(len(names))
		names[i] = strings.ToUpper(names[i])
	}
	end := of("\n", "\n", "\n", "\r\n")
	var b strings.Builder
	for _, name := range names {
		b.WriteString(of("", "", "", "", "", "# comment"+end, "  ", "\t", "-- heading"+end))
		b.WriteString(name + of(" = ", " = ", " = ", " = ", " = ", "=", " =", "= ", "\t= ", "  =  ", " =\t"))
		b.WriteString(of("1", "1", "2", "2", `"a"`, `"a"`, "true", "-1.5", "Memory + 1", "Memory + 1", "TARGET.Memory > 5 && MY.Rank",
			of("1K", "3 foo", `"x" "y"`, `"C:\dir\"`, `"a\\b"`, `"q\"q"`, "a &&"+end+"  b", "(1 +"+end+"\t2)", "undefined", "UNDEFINED", "1 ", "1\t", "1 // c", "{ 1, 2 }", "[ a = 1 ]", "Memory", `"a" `, "007", "9223372036854775808", "x.y", "relTime(\"1:05\")"),
			of("1", "2", "3", `"b"`, "2.5", of("1", "(", "= 1", "1 +"+end+" "+end+" 2", "\"open", "\"nul\x00\"", "1 \x00", "", "b ||"+end+" (", "'q'", "01", "a ? b"))))
		b.WriteString(end)
	}
	return b.String()
}

// readResult is an ad or an error, and where it was.
type readResult struct {
	text string
	line int
}

// readResults reads a long-form text; errors and ads are told with their line
// from the text's beginning.
func readResults(text string, in *Interner) (out []readResult) {
	r := NewReader(strings.NewReader(text), "f")
	r.SetForm(FormLong)
	if in != nil {
		r.Intern(in)
	}
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return out
		}
		var bad *SyntaxError
		switch {
		case errors.As(err, &bad):
			out = append(out, readResult{fmt.Sprintf("column %d: %s", bad.Col, bad.Msg), bad.Line})
		case err != nil:
			out = append(out, readResult{err.Error(), 0})
		default:
			out = append(out, readResult{ad.Format(StyleSpool) + " Requirements " + ad.Eval(noon, "Requirements", ad).String() + fmt.Sprint(Match(noon, ad, ad)), r.Line()})
		}
	}
}

func TestAdsOfAStreamReadAsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for range rapid.IntRange(1, 4).Draw(t, "kinds") {
			texts = append(texts, adText(t)+"\n")
		}
		stream, line := "", 0
		var want []readResult
		for range rapid.IntRange(1, 12).Draw(t, "ads") {
			text := rapid.SampledFrom(texts).Draw(t, "text")
			for _, r := range readResults(text, nil) {
				want = append(want, readResult{r.text, r.line + line})
			}
			stream += text
			line += strings.Count(text, "\n")
		}
		in := NewInterner()
		for _, how := range []*Interner{nil, in, in} {
			if got := readResults(stream, how); !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Fatalf("result %d of the stream = %+v, alone %+v, of\n%s", i, got[i], want[i], stream)
					}
				}
				t.Fatalf("the stream has %d results, alone they are %d, of\n%s", len(got), len(want), stream)
			}
		}
	})
}

func TestManyGoroutinesEvaluateAndReadTheSame(t *testing.T) {
	slots, job := firstOfPool(t, 200), poolJob(t)
	var stream strings.Builder
	for i, slot := range slots {
		text, _ := orderedText(slot.entries())
		fmt.Fprintf(&stream, "%s\n", text)
		if i%7 == 0 {
			stream.WriteString("Odd" + fmt.Sprint(i) + " = Memory * 2\n\n")
		}
	}
	one := func(job *Ad, slots []*Ad) string {
		var b strings.Builder
		m := NewMatcher(benchContext, job)
		for _, slot := range slots {
			ok, rank, theirs := MatchRanks(benchContext, job, slot)
			same, rank2, theirs2 := m.MatchRanks(slot)
			fmt.Fprintln(&b, ok, rank, theirs, ok == same && rank == rank2 && theirs == theirs2, slot.Eval(benchContext, "START", job), Satisfies(benchContext, slot, job))
		}
		return b.String()
	}
	fresh := func(in *Interner) (job *Ad, slots []*Ad) { return poolJob(t), readPool(t, []byte(stream.String()), in) }
	wantJob, wantSlots := fresh(NewInterner())
	want := one(wantJob, wantSlots)
	in := NewInterner()
	job, slots = fresh(in)
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			got := ""
			switch worker % 4 {
			case 0: // the same ads, whose programs nobody has made yet
				got = one(job, slots)
			case 1: // copies, which freeze names; changed ones unlike all others
				copies := make([]*Ad, len(slots))
				for i, slot := range slots {
					copies[i] = slot.Clone()
					if i%3 == worker%3 {
						copies[i].Set(fmt.Sprint("Own", worker, i), Literal(Int(int64(i))))
					}
				}
				got = one(job.Clone(), copies)
			case 2: // ads read meanwhile, which share expressions and names with those
				_, again := fresh(in)
				got = one(job, again)
			case 3: // with a parent, and flat
				chained := make([]*Ad, len(slots))
				for i, slot := range slots {
					chained[i] = New().Chain(slot)
					if i%2 == 0 {
						chained[i] = chained[i].Flat()
					}
				}
				got = one(New().Chain(job), chained)
			}
			if got != want {
				t.Errorf("goroutine %d has other results than one alone", worker)
			}
		})
	}
	wait.Wait()
}

// TestShortReadingOfConstants compares the reader of constants with the parser:
// what it takes must be what the parser makes of it in every dialect.
func TestShortReadingOfConstants(t *testing.T) {
	pieces := []string{"0", "1", "7", "00", "999999999999999999", "9223372036854775807", "-", "+", ".", "e", "E5", "x", "\"", "\"", "\\", "a", " ", "\n", "\r", "true", "FALSE", "Undefined", "error", "'", "\x00", "\xff", "K", "//", "0x1F", "inf", "nan"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "pieces"), "")
		got, ok := scanConstant([]byte(text))
		if !ok {
			return
		}
		for dialect, parse := range map[string]func(string) (*Expr, error){"new": ParseExpr, "long": ParseLongExpr} {
			e, err := parse(text)
			if err != nil || !e.constant() || !sameValue(e.lit, got) {
				t.Fatalf("the constant %q = %v, want %v, %v in the %s dialect", text, got, e, err, dialect)
			}
		}
	})
}
