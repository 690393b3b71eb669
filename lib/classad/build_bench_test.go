package classad

import (
	"fmt"
	"testing"
)

// builtAds are the lines of ads of 60 attributes and some 3 KB: most values are
// the same in all, some count, some are texts of their own. The ads are of so
// many kinds by turns, some names of which are their own.
func builtAds(ads, kinds int) (lines [][][]byte, size int64) {
	for i := range ads {
		ad := []string{
			fmt.Sprintf("ClusterId = %d", 1000+i/100), fmt.Sprintf("ProcId = %d", i%100), fmt.Sprintf("QDate = %d", 1_700_000_000+i/7),
			fmt.Sprintf(`GlobalJobId = "schedd.example.org#%d.%d#%d"`, 1000+i/100, i%100, 1_700_000_000+i/7),
			fmt.Sprintf(`Args = "--seed %d --in /home/alice/data/part.%05d.root --out result.%05d"`, i*7919%100_003, i, i),
			fmt.Sprintf(`Out = "out/%d.%d.out"`, 1000+i/100, i%100), fmt.Sprintf(`Err = "out/%d.%d.err"`, 1000+i/100, i%100),
			fmt.Sprintf("JobStatus = %d", 1+i%11/7), fmt.Sprintf("RemoteUserCpu = %d.%d", i%977, i%10), fmt.Sprintf("NumShadowStarts = %d", i%5),
			`Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) && ` +
				`(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && (TARGET.HasFileTransfer)`,
			"RequestMemory = ifThenElse(MemoryUsage =!= undefined, MemoryUsage, (ImageSize + 1023) / 1024)", "RequestDisk = DiskUsage * 2",
			"Rank = TARGET.KFlops / 1000.0", "PeriodicHold = JobStatus == 2 && time() - EnteredCurrentStatus > 86400",
		}
		for n := len(ad); n < 60; n++ {
			name := fmt.Sprintf("Attribute%02d", n)
			if n%8 == 5 && kinds > 1 {
				name = fmt.Sprintf("Kind%dAttribute%02d", i%kinds, n)
			}
			value := fmt.Sprint(n * 1000)
			if n%2 == 0 {
				value = fmt.Sprintf(`"/home/alice/analysis/of/the/year/input.%02d.cfg"`, n)
			}
			ad = append(ad, name+" = "+value)
		}
		out := make([][]byte, len(ad))
		for j, line := range ad {
			out[j] = []byte(line)
			size += int64(len(line)) + 1
		}
		lines = append(lines, out)
	}
	return lines, size
}

func BenchmarkBuilder(b *testing.B) {
	const ads = 30_000
	for _, kinds := range []int{1, 3, 20, 100} {
		b.Run(fmt.Sprintf("kinds=%d", kinds), func(b *testing.B) {
			lines, size := builtAds(ads, kinds)
			out := make([]*Ad, ads)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				build := NewBuilder(nil)
				for i, ad := range lines {
					build.Begin()
					for _, line := range ad {
						if err := build.Line(line); err != nil {
							b.Fatal(err)
						}
					}
					out[i] = build.Finish()
				}
			}
		})
	}
}
