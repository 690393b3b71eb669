package jobad

import (
	"strings"
	"testing"
)

const benchText = sleep + `
name           = run
arguments      = -n $(name).$(Process)
output         = out/$(name).$(Process)
request_memory = 2 GB
requirements   = OpSys == "LINUX" && HasData =?= true
log            = $(name).log
`

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := read(benchText+"queue 1000", testOptions()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExpand measures 1000 procs that all differ, and 1000 that do not.
func BenchmarkExpand(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"differing", benchText + "queue 1000"},
		{"equal", strings.ReplaceAll(benchText, "$(Process)", "x") + "queue 1000"},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, _, err := read(c.text, testOptions())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Expand(1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
