package classad

import (
	"fmt"
	"strings"
	"testing"
)

// pairJobs returns jobs that differ from each other in what they ask for and
// how they rank, made from the recorded one. Every third looks at the machine's
// name with a pattern of its own.
func pairJobs(tb testing.TB, count int) []*Ad {
	tb.Helper()
	model := poolJob(tb)
	jobs := make([]*Ad, count)
	for i := range jobs {
		job := model.Clone()
		job.SetInt("RequestCpus", int64(1+i%4))
		job.SetInt("RequestMemory", int64(500+13*(i%300)))
		job.SetInt("DiskUsage", int64(10_000+i))
		job.SetString("Owner", fmt.Sprintf("owner%d", i%250))
		clauses := []string{`(TARGET.Arch == "X86_64")`, `(TARGET.OpSys == "LINUX")`, `(TARGET.Disk >= RequestDisk)`, `(TARGET.Memory >= RequestMemory)`,
			`(TARGET.Cpus >= RequestCpus)`, `((TARGET.HasFileTransfer) || (TARGET.FileSystemDomain == MY.FileSystemDomain))`}
		if i%3 == 0 {
			job.SetString("PreferredHosts", fmt.Sprintf(`^(c|big)[0-9]*[%d-9]+\.cluster\.example\.org$`, i%10))
			clauses = append(clauses, `regexp(MY.PreferredHosts, TARGET.Machine, "i")`)
		}
		clauses = append(clauses, fmt.Sprintf(`(OpSysMajorVer >= %d)`, 6+i%3))
		job.Set("Requirements", mustExpr(tb, strings.Join(clauses, " && ")))
		job.Set("Rank", mustExpr(tb, fmt.Sprintf("ifThenElse(TARGET.HasSingularity =?= true, %d, 0) + TARGET.KFlops / 1000.0 - (TARGET.Memory - RequestMemory) / 1024", i)))
		jobs[i] = job
	}
	return jobs
}

// BenchmarkPairs matches jobs that all differ with slots that all differ, and
// ranks what matches. Making the Matchers is part of the time.
func BenchmarkPairs(b *testing.B) {
	slots, jobs := readPool(b, poolText(b), NewInterner())[:5000], pairJobs(b, 200)
	for _, ways := range []string{"one way first", "both ways"} {
		b.Run(ways, func(b *testing.B) {
			b.ReportAllocs()
			matched := 0
			for b.Loop() {
				matched = 0
				for _, job := range jobs {
					m := NewMatcher(benchContext, job)
					for _, slot := range slots {
						wants := m.Falls(slot) < 0
						if ways == "both ways" || wants {
							if m.FallsBy(slot) < 0 && wants {
								m.Rank(slot)
								matched++
							}
						}
					}
				}
			}
			pairs := float64(len(jobs) * len(slots))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/pair")
			b.ReportMetric(float64(matched)/pairs, "matched")
		})
	}
}
