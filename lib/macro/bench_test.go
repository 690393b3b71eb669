package macro

import (
	"strings"
	"testing"
)

func BenchmarkSplit(b *testing.B) {
	texts := map[string]string{
		"plain":  "transfer_input_files = a.dat, b.dat, c.dat",
		"macros": "logs/$Fn(executable).$(ClusterId).$(ProcId:0).out",
		"long":   strings.Repeat("$(A) text $INT(B,%04d) $$([Memory]) ", 1000),
		"nested": hostile(1000)["names"],
	}
	for _, name := range []string{"plain", "macros", "long", "nested"} {
		text := texts[name]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Split(text)
			}
		})
	}
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("# comment\narguments = -n $(ProcId) \\\n  -o $(Out)\n\noutput = out.$(ProcId)\n", 1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l := NewLines(text)
		for ok := true; ok; {
			_, _, ok = l.Next()
		}
	}
}
