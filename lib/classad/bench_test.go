package classad

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

var benchContext = &Context{Now: time.Unix(1_700_000_000, 0).UTC()}

// poolFile opens a file of the recorded pool of ten thousand slots.
func poolFile(tb testing.TB, name string) *os.File {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", "golden", "bench", name))
	testenv.OK(tb, err)
	tb.Cleanup(func() { f.Close() })
	return f
}

func poolReader(tb testing.TB) io.Reader {
	tb.Helper()
	z, err := gzip.NewReader(poolFile(tb, "slots.ads.gz"))
	testenv.OK(tb, err)
	return z
}

func poolText(tb testing.TB) []byte {
	tb.Helper()
	text, err := io.ReadAll(poolReader(tb))
	testenv.OK(tb, err)
	return text
}

// firstOfPool reads the first n slots of the pool.
func firstOfPool(tb testing.TB, n int) (slots []*Ad) {
	tb.Helper()
	r := NewReader(poolReader(tb), "slots.ads")
	for range n {
		ad, err := r.Next()
		testenv.OK(tb, err)
		slots = append(slots, ad)
	}
	return slots
}

func readPool(tb testing.TB, text []byte, in *Interner) []*Ad {
	tb.Helper()
	r := NewReader(bytes.NewReader(text), "slots.ads")
	if in != nil {
		r.Intern(in)
	}
	var slots []*Ad
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return slots
		}
		testenv.OK(tb, err)
		slots = append(slots, ad)
	}
}

func poolJob(tb testing.TB) *Ad {
	tb.Helper()
	job, err := NewReader(poolFile(tb, "job.ad"), "job.ad").Next()
	testenv.OK(tb, err)
	return job
}

// matchPool matches a job against slots and adds up the ranks of both sides.
func matchPool(job *Ad, slots []*Ad) (matches int, jobRank, slotRank float64) {
	for _, slot := range slots {
		if ok, theirs, ours := MatchRanks(benchContext, job, slot); ok {
			matches++
			jobRank += theirs
			slotRank += ours
		}
	}
	return matches, jobRank, slotRank
}

// specialisedPool is matchPool with a Matcher.
func specialisedPool(job *Ad, slots []*Ad) (matches int, jobRank, slotRank float64) {
	m := NewMatcher(benchContext, job)
	for _, slot := range slots {
		if ok, theirs, ours := m.MatchRanks(slot); ok {
			matches++
			jobRank += theirs
			slotRank += ours
		}
	}
	return matches, jobRank, slotRank
}

func TestPoolOfTenThousand(t *testing.T) {
	job, slots := poolJob(t), readPool(t, poolText(t), NewInterner())
	for _, way := range []struct {
		name  string
		match func(*Ad, []*Ad) (int, float64, float64)
	}{{"MatchRanks", matchPool}, {"Matcher", specialisedPool}} {
		matches, jobRank, slotRank := way.match(job, slots)
		if matches != 2586 || jobRank < 4912868.948 || jobRank > 4912868.950 || slotRank != 7610 {
			t.Errorf("%s: matches = %d with ranks %.3f and %v, want 2586, 4912868.949, 7610", way.name, matches, jobRank, slotRank)
		}
	}
}

func BenchmarkPoolRead(b *testing.B) {
	text := poolText(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		readPool(b, text, nil)
	}
}

// perSlot reports how long one slot of a pool took.
func perSlot(b *testing.B, slots []*Ad) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(slots)), "ns/slot")
}

// BenchmarkPoolMatch is a match of a job and a slot with both ranks, of two ads
// that nothing is known of beforehand.
func BenchmarkPoolMatch(b *testing.B) {
	slots, job := readPool(b, poolText(b), NewInterner()), poolJob(b)
	b.ReportAllocs()
	for b.Loop() {
		matchPool(job, slots)
	}
	perSlot(b, slots)
}

// BenchmarkPoolMatcher is the same with the job's side worked out once for all
// slots, which is part of the time.
func BenchmarkPoolMatcher(b *testing.B) {
	slots, job := readPool(b, poolText(b), NewInterner()), poolJob(b)
	b.ReportAllocs()
	for b.Loop() {
		specialisedPool(job, slots)
	}
	perSlot(b, slots)
}

const (
	smallJob = `[ Owner = "alice"; RequestCpus = 1; RequestMemory = 2000; RequestDisk = DiskUsage * 2; DiskUsage = 14336;
	PreferredHosts = "^(c|big)[0-9]+\\.cluster"; Rank = TARGET.KFlops / 1000.0 - (TARGET.Memory - RequestMemory) / 1024;
	Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) &&
		(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && regexp(MY.PreferredHosts, TARGET.Machine, "i") ]`
	smallSlot = `[ Machine = "c107.cluster.example.org"; Arch = "X86_64"; OpSys = "LINUX"; Cpus = 4; Memory = 8192; Disk = 50000000;
	KFlops = 1496512; State = "Unclaimed"; Activity = "Idle"; Rank = ifThenElse(TARGET.Owner == "alice", 5, 0);
	Start = (TARGET.RequestMemory ?: 0) <= Memory; Requirements = Start && stringListMember(TARGET.Owner, "alice, bob") ]`
)

func BenchmarkMatch(b *testing.B) {
	job, slot := mustAd(b, smallJob), mustAd(b, smallSlot)
	if !Match(benchContext, job, slot) {
		b.Fatal("the ads do not match")
	}
	b.ReportAllocs()
	for b.Loop() {
		Match(benchContext, job, slot)
	}
}

func BenchmarkRank(b *testing.B) {
	job, slot := mustAd(b, smallJob), mustAd(b, smallSlot)
	rank, _ := job.Lookup("Rank")
	b.ReportAllocs()
	for b.Loop() {
		Rank(benchContext, rank, job, slot)
	}
}

func BenchmarkParseExpr(b *testing.B) {
	e, _ := mustAd(b, smallJob).Lookup("Requirements")
	text := e.Format(StyleSpool)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseExpr(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	ad := mustAd(b, smallJob)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = ad.AppendLong(buf[:0])
	}
}

func mustAd(tb testing.TB, text string) *Ad {
	tb.Helper()
	ad, err := ParseAd(text)
	testenv.OK(tb, err)
	return ad
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	job, slot := mustAd(t, smallJob), mustAd(t, smallSlot)
	rank, _ := job.Lookup("Rank")
	allocs := testing.AllocsPerRun(1000, func() {
		Match(benchContext, job, slot)
		Rank(benchContext, rank, job, slot)
	})
	if allocs > 0.1 { // a garbage collection may take the scratch memory away
		t.Errorf("allocations = %v, want 0", allocs)
	}
}

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
