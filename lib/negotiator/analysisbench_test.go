package negotiator

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkAnalyse has ten thousand jobs that are all unlike and of which none is
// matched, and slots of as many kinds.
func BenchmarkAnalyse(b *testing.B) {
	for _, c := range []struct{ shapes, slots, kinds int }{{10_000, 1_000, 1_000}, {5_000, 5_000, 1_250}} {
		p := bigPool(b, c.shapes, c.shapes, c.slots, c.kinds)
		for i := range p.Jobs {
			p.Jobs[i].Ad.Set("Requirements", expr(b, fmt.Sprintf(`TARGET.Arch == "X86_64" && TARGET.Memory >= RequestMemory && TARGET.Disk >= %d`, 10_000_000+i)))
		}
		cfg := defaults(b)
		b.Run(fmt.Sprintf("shapes=%d/slots=%d/kinds=%d", c.shapes, c.slots, c.kinds), func(b *testing.B) {
			for b.Loop() {
				if plan := Cycle(p, cfg, now); len(plan.Rejections) != c.shapes {
					b.Fatalf("%d rejections, want %d", len(plan.Rejections), c.shapes)
				}
			}
		})
		b.Run(fmt.Sprintf("encode/rejections=%d", c.shapes), func(b *testing.B) {
			r := Cycle(p, cfg, now).Report(1, now)
			for b.Loop() {
				text, err := json.Marshal(r)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
		})
	}
}
