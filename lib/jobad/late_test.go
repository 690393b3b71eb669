package jobad

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// flat returns the ads of a cluster's procs, one text each, without what tells
// when and under which bound they appeared.
func flat(c Cluster) []string {
	var out []string
	for _, r := range c.Runs {
		ad := r.Ad().Chain(c.Ad).Flat()
		ad.Delete(pool.AttrEnteredStatus)
		ad.Delete("JobMaterializeLimit")
		for range r.Count {
			out = append(out, string(ad.AppendLong(nil)))
		}
	}
	return out
}

// TestMaterialize makes the jobs of descriptions bit by bit, and holds them to
// those that appear at once.
func TestMaterialize(t *testing.T) {
	at := time.Unix(1700000600, 0)
	o := testOptions()
	o.Environ = []string{"PREFIX=/opt"} // as read looks it up
	rapid.Check(t, func(t *rapid.T) {
		var items []string
		for i := range rapid.IntRange(1, 12).Draw(t, "items") {
			items = append(items, fmt.Sprintf("%c%d %s", 'a'+i%3, i, rapid.SampledFrom([]string{"x", "y z", "", "$(Step)"}).Draw(t, "rest")))
		}
		text := sleep + "arguments = $(a) $(b) $(Process) $(Row) $ENV(PREFIX)\n" +
			rapid.SampledFrom([]string{"", "output = o.$(b)\n", "+X = $RANDOM_INTEGER(1, 1000)\n", "priority = $(Step)\n"}).Draw(t, "more")
		queue := fmt.Sprintf("queue %d a, b from %s (\n%s\n)\n", rapid.IntRange(1, 3).Draw(t, "count"),
			rapid.SampledFrom([]string{"", "[1:]", "[::2]", "[-3:]"}).Draw(t, "slice"), strings.Join(items, "\n"))
		whole, _, err := read(text+queue, o)
		testenv.OK(t, err)
		everything, err := whole.Expand(7)
		testenv.OK(t, err)
		want := flat(everything)
		kept, _, err := read(text+fmt.Sprintf("max_materialize = %d\n", rapid.IntRange(1, 9).Draw(t, "bound"))+queue, o)
		testenv.OK(t, err)
		if kept.Count() == 0 {
			return
		}
		c, digest, offset, err := kept.Begin(7)
		testenv.OK(t, err)
		got := flat(c)
		for len(got) < kept.Count() {
			n := min(rapid.IntRange(1, 5).Draw(t, "room"), kept.Count()-len(got))
			more, next, err := Materialize(bytes.NewReader(digest), "example.org", 7, len(got), n, offset, at)
			testenv.OK(t, err)
			if more.Ad.Format(classad.StyleSpool) != c.Ad.Format(classad.StyleSpool) {
				t.Fatalf("the common ad of later procs is %v, want %v", more.Ad, c.Ad)
			}
			if entered, _ := more.Runs[0].Ad().EvalInt(&classad.Context{}, pool.AttrEnteredStatus); entered != at.Unix() {
				t.Fatalf("EnteredCurrentStatus of a later proc = %d, want %d", entered, at.Unix())
			}
			got, offset = append(got, flat(more)...), next
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("proc %d = %s\nwant %s", i, got[i], want[i])
			}
		}
	})
}

func TestLate(t *testing.T) {
	for _, c := range []struct {
		text string
		want Late
	}{
		{"queue 5", Late{}},
		{"max_materialize = 3\nqueue 5", Late{MaxMaterialize: 3}},
		{"max_idle = 2\nqueue 5", Late{MaxIdle: 2}},
		{"materialize_max_idle = 2\nmax_materialize = $(n)\nn = 4\nqueue 5", Late{4, 2}},
	} {
		d, _ := parse(t, sleep+c.text)
		if got, _ := d.Late(); got != c.want {
			t.Errorf("Late of %q = %+v, want %+v", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"max_idle = 0\nqueue", `a.sub:2: max_idle: "0": want a whole number of jobs from 1 up`},
		{"max_idle = few\nqueue", `a.sub:2: max_idle: "few": want a whole number of jobs from 1 up`},
		{"max_idle = 1\nqueue\nqueue", "a.sub:2: max_idle: a description with max_materialize or max_idle has one queue line, this one has 2"},
		{"max_idle = 1$(Process)\nqueue 4", "a.sub:2: max_idle: 10: has to be the same for all jobs"},
	} {
		if _, _, err := read(sleep+c.text, testOptions()); err == nil || err.Error() != c.want {
			t.Errorf("read(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		late         Late
		queued, idle int
		want         int
	}{
		{Late{MaxMaterialize: 10}, 4, 4, 6}, {Late{MaxMaterialize: 10}, 12, 0, 0},
		{Late{MaxIdle: 5}, 100, 2, 3}, {Late{8, 5}, 6, 2, 2},
	} {
		if got := c.late.Room(c.queued, c.idle); got != c.want {
			t.Errorf("%+v.Room(%d, %d) = %d, want %d", c.late, c.queued, c.idle, got, c.want)
		}
	}
}

// TestMaterializeDamaged gives digests that are none.
func TestMaterializeDamaged(t *testing.T) {
	d, _ := parse(t, sleep+"max_materialize = 2\nqueue x in (a, b, c, d)")
	_, digest, offset, err := d.Begin(7)
	testenv.OK(t, err)
	for _, c := range []struct {
		name      string
		digest    []byte
		first, n  int
		offset    int64
		wantInErr string
	}{
		{"empty", nil, 2, 1, 0, "first line"},
		{"no JSON", []byte("x\n"), 2, 1, 2, "first line"},
		{"cut short", digest[:len(digest)-2], 2, 2, offset, "its items end after 1 of 2 lines"},
		{"too many", digest, 3, 2, offset, "no procs 3 to 4"},
		{"nothing", digest, 3, 0, offset, "no procs 3 to 2"},
	} {
		_, _, err := Materialize(bytes.NewReader(c.digest), "example.org", 7, c.first, c.n, c.offset, time.Unix(1, 0))
		if err == nil || !strings.Contains(err.Error(), c.wantInErr) {
			t.Errorf("Materialize of a digest that is %s = %v, want %q", c.name, err, c.wantInErr)
		}
	}
}

// TestMaterializeBytes holds that jobs which appear later have the bytes of the first
// ones, also those that are not UTF-8.
func TestMaterializeBytes(t *testing.T) {
	o := testOptions()
	o.Dir, o.Environ = "/home/\xe9", []string{"PLACE=caf\xe9"}
	kept, _, err := read(sleep+"arguments = caf\xe9 $(Item)\ngetenv = PLACE\nmax_idle = 1\nqueue Item in (x\xe9 x\xe9)\n", o)
	testenv.OK(t, err)
	first, digest, offset, err := kept.Begin(7)
	testenv.OK(t, err)
	next, _, err := Materialize(bytes.NewReader(digest), "example.org", 7, 1, 1, offset, time.Unix(1700000600, 0))
	testenv.OK(t, err)
	if got, want := flat(next)[0], flat(first)[0]; got != want {
		t.Errorf("the job that appears later = %q, want as the first: %q", got, want)
	}
}

// TestDigestBound holds that what could not be read again is not kept.
func TestDigestBound(t *testing.T) {
	o := testOptions()
	o.Environ = []string{"BIG=" + strings.Repeat("x", maxHead)}
	kept, _, err := read(sleep+"getenv = BIG\nmax_idle = 1\nqueue 2\n", o)
	testenv.OK(t, err)
	if _, _, _, err := kept.Begin(7); err == nil || !strings.Contains(err.Error(), "cannot be kept") {
		t.Errorf("Begin with %d bytes of environment = %v, want an error", maxHead, err)
	}
}

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
	testenv.OK(t, err)
	digest, _, err := jobs.Digest(false)
	testenv.OK(t, err)
	line, items, _ := bytes.Cut(digest, []byte("\n"))
	rapid.Check(t, func(t *rapid.T) {
		var head map[string]any
		testenv.OK(t, json.Unmarshal(line, &head))
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
		testenv.OK(t, err)
		text := append(append(odd, '\n'), items...)
		first, n := number.Draw(t, "first"), min(number.Draw(t, "n"), 1000)
		c, _, err := Materialize(bytes.NewReader(text), "example.org", 7, first, n, int64(len(odd)+1), time.Unix(1700000600, 0))
		if err == nil && c.Jobs() > n {
			t.Fatalf("Materialize of %d procs = %d", n, c.Jobs())
		}
	})
}
