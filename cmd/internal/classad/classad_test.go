package classad

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func TestActionsKnowTheirFlags(t *testing.T) {
	used := map[string]bool{}
	for _, a := range Command().Actions {
		for _, name := range a.Flags {
			used[name] = true
			if !slices.ContainsFunc(Command().Flags, func(f cmdline.Flag) bool { return f.Name == name }) {
				t.Errorf("%s takes -%s, which the command does not have", a.Name, name)
			}
		}
	}
	for _, f := range Command().Flags {
		if !used[f.Name] {
			t.Errorf("-%s: no action takes it", f.Name)
		}
	}
}

// TestRecordsOfTheGoldenCorpus puts the corpus, as it lies beside the engine,
// through eval -jsonl. The engine's own tests list what is meant to differ;
// here it counts that each line has the result of its record.
func TestRecordsOfTheGoldenCorpus(t *testing.T) {
	cmdtest.Spool(t, nil) // for its clock and zone
	corpus, err := os.ReadFile(filepath.Join("..", "..", "..", "lib", "classad", "testdata", "golden", "eval.jsonl"))
	testenv.OK(t, err)
	var out, bad bytes.Buffer
	if status := cmdline.Execute(Command(), []string{"eval", "-jsonl", "-json"}, bytes.NewReader(corpus), &out, &bad); status != 0 || bad.Len() > 0 {
		t.Fatalf("eval -jsonl = %d, %s, want 0", status, bad.String())
	}
	records, results := lines(corpus), lines(out.Bytes())
	if len(records) != len(results) {
		t.Fatalf("eval -jsonl of %d records = %d lines, want as many", len(records), len(results))
	}
	all, same := 0, 0
	for i, text := range records {
		var want struct{ Expr, Result string }
		var got string
		testenv.OK(t, json.Unmarshal(text, &want))
		testenv.OK(t, json.Unmarshal(results[i], &got))
		if all++; got == want.Result {
			same++
		} else {
			t.Logf("%s = %s, the reference has %s", want.Expr, got, want.Result)
		}
	}
	if same < all*995/1000 {
		t.Errorf("%d of %d results are those of the records, want 99.5 %%", same, all)
	}
}

func lines(text []byte) [][]byte { return bytes.Split(bytes.TrimSpace(text), []byte("\n")) }

// Whoever sends records one by one gets each answer before the next.
func TestRecordsAreAnsweredAtOnce(t *testing.T) {
	cmdtest.Spool(t, nil)
	stdin, send := io.Pipe()
	receive, stdout := io.Pipe()
	ended := make(chan int)
	go func() {
		status := cmdline.Execute(Command(), []string{"eval", "-jsonl"}, stdin, stdout, io.Discard)
		stdout.Close()
		ended <- status
	}()
	answers := bufio.NewReader(receive)
	for i := range 3 {
		fmt.Fprintf(send, "{\"expr\": \"A * 2\", \"my\": \"A = %d\"}\n", i)
		if got, err := answers.ReadString('\n'); got != fmt.Sprintln(2*i) || err != nil {
			t.Errorf("answer %d = %q, %v, want %d", i, got, err, 2*i)
		}
	}
	send.Close()
	if status := <-ended; status != 0 {
		t.Errorf("status = %d, want 0", status)
	}
}

func TestRanksAsText(t *testing.T) {
	for _, c := range []struct {
		rank       rank
		text, json string
	}{
		{0, "0", "0"}, {1000000, "1000000", "1000000"}, {-1.5, "-1.5", "-1.5"}, {1e300, "1e+300", "1e+300"},
		{rank(math.Inf(-1)), "-Inf", `"\/Expr(-1e999)\/"`}, {rank(math.NaN()), "NaN", `"\/Expr(real(\"NaN\"))\/"`},
	} {
		if got := c.rank.String(); got != c.text {
			t.Errorf("%v.String() = %s, want %s", float64(c.rank), got, c.text)
		}
		got, err := json.Marshal(c.rank)
		if err != nil || string(got) != c.json {
			t.Errorf("json.Marshal(%v) = %s, %v, want %s", float64(c.rank), got, err, c.json)
		}
	}
}

func TestRecordAds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "[  ]"}, {"\n # c\n", "[  ]"}, {"A = 1\n\n\n# c\nB = 2\n", "[ A = 1; B = 2 ]"}, {" \n[ A = 1 ]", "[ A = 1 ]"}, {"{ = 1", "[ '{' = 1 ]"},
	} {
		ad, err := recordAd(c.text)
		if err != nil || ad.Format(classad.StyleSpool) != c.want {
			t.Errorf("recordAd(%q) = %v, %v, want %s", c.text, ad.Format(classad.StyleSpool), err, c.want)
		}
	}
	for _, text := range []string{"A", "[ A = 1", "[ A = 1 ] x", "A = 1\nB = ("} {
		if ad, err := recordAd(text); err == nil {
			t.Errorf("recordAd(%q) = %s, want an error", text, ad.Format(classad.StyleSpool))
		}
	}
}

// A reason shows for every slot that does not match, and none for one that
// does.
func TestEverySlotHasAReason(t *testing.T) {
	w := &classad.Context{}
	terms := []string{"true", "1", "false", "0", "undefined", "error", `"x"`, "TARGET.A", "A", "MY.A && TARGET.A", "A || B", "Requirements", "START && A"}
	for _, left := range terms {
		for _, right := range terms {
			job := cmdtest.Ad(t, "[ A = 1; START = B; Requirements = "+left+" ]")
			slot := cmdtest.Ad(t, "[ A = 0; START = A; B = true; Requirements = "+right+" ]")
			got := newExplainer(w, job).refusals(slot)
			if match := classad.Match(w, job, slot); match != (len(got) == 0) {
				t.Errorf("%s and %s: match = %v with %d refusals %+v", left, right, match, len(got), got)
			}
		}
	}
}

// Each slot counts once for a reason, however often the clause is written, and
// no list grows with the pool.
func TestReasonsAreCounted(t *testing.T) {
	job := cmdtest.Ad(t, "[ A = 1; Requirements = TARGET.B > A && TARGET.B > 1 && (TARGET.B > A) ]")
	x, why := newExplainer(&classad.Context{}, job), reasons{}
	const slots = 300
	for i := range slots {
		why.add(x.refusals(cmdtest.Ad(t, fmt.Sprintf("[ B = -%d; Requirements = %v ]", i, i > 0))))
	}
	for i := range shownReasons {
		why.add(x.refusals(cmdtest.Ad(t, fmt.Sprintf("[ B = 2; Requirements = TARGET.A > %d ]", i+1))))
	}
	list := why.sorted()
	if len(list) != 2+shownReasons {
		t.Fatalf("%d reasons, want %d: %+v", len(list), 2+shownReasons, list)
	}
	first, last := list[0], list[len(list)-1]
	if first.Clause != "TARGET.B > 1" || first.Slots != slots || first.Only != slots-1 {
		t.Errorf("first reason = %+v, want %d slots, and %d by it alone", first, slots, slots-1)
	}
	if s := first.Needs[1]; s.Name != "B" || s.Distinct != slots || len(s.Values) != listedValues || s.Least != "-299" || s.Most != "0" {
		t.Errorf("B = %d values, %d listed, from %s to %s, want %d, %d, -299 and 0", s.Distinct, len(s.Values), s.Least, s.Most, slots, listedValues)
	}
	if last.By != "slot" || last.Slots != 1 {
		t.Errorf("last reason = %+v, want a slot's", last)
	}
	var b strings.Builder
	if err := why.show(&b); err != nil {
		t.Error(err)
	}
	cmdtest.Printed(t, "classad match", 0, b.String(), "")
}

func TestTextsStayShort(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""}, {"ab", 2, "ab"}, {"abc", 2, "ab..."}, {"aäb", 2, "a..."}, {"aäb", 3, "aä..."},
		{"a\nb\r", 9, `a\nb\r`}, {"\x1b[31m\u009b\x7f", 99, `\x1b[31m\x9b\x7f`}, {"caf\xe9 é", 99, `caf\xe9 é`},
		{"\xff\xff\xff", 2, `\xff\xff...`}, {"\x80\x80\x80", 2, "..."},
	} {
		if got := short(c.text, c.most); got != c.want {
			t.Errorf("short(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
