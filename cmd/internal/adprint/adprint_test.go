package adprint

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func ads(t *testing.T, texts ...string) []*classad.Ad {
	t.Helper()
	var list []*classad.Ad
	for _, text := range texts {
		ad, err := classad.ParseAd(text)
		testenv.OK(t, err)
		list = append(list, ad)
	}
	return list
}

func TestAuto(t *testing.T) {
	two := ads(t, `[Owner = "alice"; JobPrio = 2 + 3]`, `[Owner = "bob"]`)
	for _, c := range []struct {
		letters string
		names   []string
		want    string
	}{
		{"", []string{"Owner", "JobPrio"}, "alice 5\nbob undefined\n"},
		{"V,", []string{"Owner", "JobPrio"}, "\"alice\", 5\n\"bob\", undefined\n"},
		{"ht", []string{"Owner", "JobPrio"}, "Owner\tJobPrio\nalice\t5\nbob\tundefined\n"},
		{"lng", []string{"Owner", "JobPrio"}, "Owner = alice\nJobPrio = 5\n\nOwner = bob\nJobPrio = undefined\n\n"},
		{"r", []string{"owner", "JobPrio"}, "\"alice\" 2 + 3\n\"bob\" JobPrio\n"},
		{"", []string{"JobPrio * 2"}, "10\nundefined\n"},
		// Columns grow with what came so far; names would stand there twice.
		{"h", []string{"Owner", "JobPrio"}, "Owner JobPrio\nalice 5      \nbob   undefined\n"},
		{"lh", []string{"Owner"}, "Owner\nalice\nbob  \n"},
		{"h", []string{"Owner", "2.5", "0.0"}, "Owner 2.5 0.0\nalice 2.5                   0.0\nbob   2.5                   0.0\n"},
		{"hV", []string{"Owner"}, "Owner\n\"alice\"\n\"bob\"  \n"},
		{"j", []string{"Owner"}, " alice\n bob\n"},
		{"jh", []string{"Owner"}, " ID Owner\n alice\n bob  \n"},
	} {
		var b strings.Builder
		if err := Auto(&b, &classad.Context{}, c.letters, c.names, two); err != nil || b.String() != c.want {
			t.Errorf("-af:%s %q = %q, %v, want %q", c.letters, c.names, b.String(), err, c.want)
		}
	}
	var b strings.Builder
	jobs := ads(t, `[ClusterId = 12; ProcId = 3]`, `[ClusterId = 7; ProcId = 10]`)
	if err := Auto(&b, &classad.Context{}, "jl", []string{"ProcId"}, jobs); err != nil || b.String() != "ID = 12.3 ProcId = 3\nID = 7.10 ProcId = 10\n" {
		t.Errorf("-af:jl = %q, %v", b.String(), err)
	}
	if err := Auto(&strings.Builder{}, &classad.Context{}, "", []string{"a +"}, two); err == nil {
		t.Errorf("Auto of a broken expression = nil, want an error")
	}
}

func TestLong(t *testing.T) {
	var b strings.Builder
	if err := Long(&b, ads(t, `[b = 1; a = "x"]`, `[c = true]`)); err != nil {
		t.Fatal(err)
	}
	if want := "a = \"x\"\nb = 1\n\nc = true\n\n"; b.String() != want {
		t.Errorf("Long = %q, want %q", b.String(), want)
	}
}

// someAds draws ads as a queue has them: chained over up to two others to
// one that many share, each level with attributes of its own, which may hide
// those behind them under another spelling.
func someAds(t *rapid.T) []*classad.Ad {
	value := rapid.SampledFrom([]string{"1", `"a \"b\" <é&>"`, "undefined", "{1, {}, [x = 2]}", "[y = {1}; z = []]", "TARGET.A + b", `"two\nlines"`, "1.5"})
	name := rapid.SampledFrom([]string{"A", "a", "B", "ProcId", "procid", "Zeta", "M_1"})
	fill := func(most int) *classad.Ad {
		ad := classad.New()
		for range rapid.IntRange(0, most).Draw(t, "attributes") {
			e, err := classad.ParseExpr(value.Draw(t, "value"))
			testenv.OK(t, err)
			ad.Set(name.Draw(t, "name"), e)
		}
		return ad
	}
	var list []*classad.Ad
	for range rapid.IntRange(0, 3).Draw(t, "clusters") {
		cluster := fill(6)
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			run := cluster
			if rapid.Bool().Draw(t, "differs") {
				run = fill(3).Chain(cluster)
			}
			list = append(list, run)
			for p := range rapid.IntRange(0, 4).Draw(t, "procs") {
				proc := fill(1).Chain(run)
				if rapid.Bool().Draw(t, "numbered") {
					proc.SetInt("ProcId", int64(p))
				}
				list = append(list, proc)
			}
		}
	}
	return list
}

// What is written once and copied reads as if each ad had been written by
// itself.
func TestSharingDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someAds(t)
		var want, got strings.Builder
		for _, ad := range all {
			want.Write(append(ad.AppendLong(nil), '\n'))
		}
		if err := Long(&got, all); err != nil || got.String() != want.String() {
			t.Errorf("Long = %v,\n%swant\n%s", err, got.String(), want.String())
		}
		want.Reset()
		got.Reset()
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		testenv.OK(t, e.Encode(append([]*classad.Ad{}, all...)))
		if err := list(&got, slices.Values(all), 0); err != nil || got.String() != want.String() {
			t.Errorf("JSON = %v,\n%swant\n%s", err, got.String(), want.String())
		}
	})
}

// Lists in an object read as if they had been encoded whole.
func TestObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := struct{ Some, Others []*classad.Ad }{append([]*classad.Ad{}, someAds(t)...), append([]*classad.Ad{}, someAds(t)...)}
		want, err := cmdline.JSON(object)
		testenv.OK(t, err)
		var got strings.Builder
		err = Object(&got, []Member{{"Some", slices.Values(object.Some)}, {"Others", slices.Values(object.Others)}})
		if err != nil || got.String() != string(want) {
			t.Errorf("Object = %v,\n%swant\n%s", err, got.String(), want)
		}
	})
}

func BenchmarkProcs(b *testing.B) {
	cluster := classad.New()
	for i := range 25 {
		cluster.SetInt(fmt.Sprintf("Attribute%d", i), int64(i))
	}
	var procs []*classad.Ad
	for p := range 1000 {
		ad := classad.New().Chain(cluster)
		ad.SetInt("ProcId", int64(p))
		procs = append(procs, ad)
	}
	b.Run("long", func(b *testing.B) {
		for b.Loop() {
			testenv.OK(b, Long(io.Discard, procs))
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			testenv.OK(b, list(io.Discard, slices.Values(procs), 0))
		}
	})
}
