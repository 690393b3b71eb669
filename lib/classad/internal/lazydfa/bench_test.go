package lazydfa

import (
	"regexp"
	"strings"
	"testing"
)

// benchmarks are patterns of real pools, with texts that they find and texts
// that they do not.
var benchmarks = []struct{ name, pattern, text string }{
	{"Machine", `(?i)^(c|big)[0-9]+\.cluster\.example\.org$`, "c0869.cluster.example.org"},
	{"OtherMachine", `(?i)^(c|big)[0-9]+\.cluster\.example\.org$`, "arm852.cluster.example.org"},
	{"LateMiss", `(?i)^(c|big)[0-9]+\.cluster\.example\.org$`, "c0869.cluster.example.net"},
	{"Group", `(?i)^(group_(physics|bio|chem)\.)`, "group_physics.alice"},
	{"Word", `needle`, strings.Repeat("hay stack ", 19) + "needle."},
	{"WordBoundaries", `\bneedle\b`, strings.Repeat("hay stack ", 19) + "needle."},
	{"WordAnyCase", `(?i)needle`, strings.Repeat("hay stack ", 19) + "needle."},
	{"WordPrefix", `needle[0-9]`, strings.Repeat("hay stack ", 19) + "needle1"},
	{"ManyFalsePrefixes", `ne[^d]dle`, strings.Repeat("nee stack ", 19) + "nendle."},
}

var found bool

func BenchmarkMatch(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			m, err := Compile(c.pattern)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				found = m.Match(c.text)
			}
		})
		b.Run(c.name+"/regexp", func(b *testing.B) {
			re := regexp.MustCompile(c.pattern)
			b.ReportAllocs()
			for b.Loop() {
				found = re.MatchString(Widen(c.text))
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(c.pattern); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/first", func(b *testing.B) {
			for b.Loop() {
				m, _ := Compile(c.pattern)
				found = m.Match(c.text)
			}
		})
		b.Run(c.name+"/regexp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := regexp.Compile(c.pattern); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
