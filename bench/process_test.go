package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// shared is a folder for spools that several benchmarks read. It is on disk.
var shared string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fairspool-bench")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared = dir
	return testenv.Run(m)
}

// command runs a command on a spool.
func command(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	c := exec.Command(filepath.Join(testenv.Commands(b), name), append(args, "-spool", dir)...)
	c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG=", "FAIRSPOOL_NOW=1800000000")
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// fill makes a spool with so many clusters of so many procs, in so many
// shapes (requests of different sizes), of 10 users.
func fill(b *testing.B, clusters, procs, shapes int) string {
	b.Helper()
	dir := filepath.Join(testenv.OnDisk(b), "spool")
	s, err := spool.Open(dir, spool.Options{Program: "bench", UIDDomain: "example.org", LockWait: time.Minute})
	testenv.OK(b, err)
	for done := 0; done < clusters; {
		testenv.OK(b, s.Update(func(tx *spool.Tx) error {
			tx.Op("submit")
			for range min(clusters-done, 1000) {
				tx.AddCluster(job(b, done, shapes), []spool.NewRun{{Count: procs}})
				done++
			}
			return nil
		}))
	}
	return dir
}

func job(b *testing.B, n, shapes int) *classad.Ad {
	ad := classad.New()
	shape := n % shapes
	for name, text := range map[string]string{
		"MyType": `"Job"`, "Owner": fmt.Sprintf(`"user%d"`, n%10), "User": fmt.Sprintf(`"user%d@example.org"`, n%10),
		"Cmd": `"/bin/sleep"`, "Args": fmt.Sprintf(`"%d"`, n), "Iwd": `"/tmp"`, "In": `"/dev/null"`, "Out": `"/dev/null"`, "Err": `"/dev/null"`,
		"JobStatus": "1", "JobUniverse": "5", "JobPrio": fmt.Sprint(n % 3), "QDate": fmt.Sprint(1790000000 + n), "EnteredCurrentStatus": "1790000000",
		"NumJobStarts": "0", "NumJobMatches": "0", "RemoteWallClockTime": "0.0", "RemoteUserCpu": "0.0", "RemoteSysCpu": "0.0",
		"RequestCpus": "1", "RequestMemory": fmt.Sprint(512 + 64*shape), "RequestDisk": "1024",
		"Requirements": `(TARGET.OpSys == "LINUX" && TARGET.Arch == "X86_64") && (TARGET.Memory >= RequestMemory) && (TARGET.Disk >= RequestDisk)`,
		"Rank":         fmt.Sprintf("TARGET.Memory / %d", 1+shape),
	} {
		e, err := classad.ParseExpr(text)
		testenv.OK(b, err)
		ad.Set(name, e)
	}
	return ad
}

func submitFile(b *testing.B, queue string) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "job.sub")
	testenv.OK(b, os.WriteFile(file, []byte("executable = /bin/true\n"+queue+"\n"), 0o600))
	return file
}

// BenchmarkSubmit is one submit of one job, into an empty queue and into one
// of 100,000 jobs (100 clusters of 1,000 equal procs; 10,000 clusters of 10).
func BenchmarkSubmit(b *testing.B) {
	testenv.Commands(b)
	file := submitFile(b, "queue")
	for _, size := range []struct{ clusters, procs int }{{0, 0}, {100, 1000}, {10000, 10}} {
		b.Run(fmt.Sprintf("queue=%dx%d", size.clusters, size.procs), func(b *testing.B) {
			dir := fill(b, size.clusters, size.procs, 20)
			for b.Loop() {
				command(b, dir, "submit", file)
			}
		})
	}
}

// BenchmarkShow is what people type all day, on a queue of 100,000 jobs.
func BenchmarkShow(b *testing.B) {
	testenv.Commands(b)
	dir := fill(b, 100, 1000, 20)
	for _, args := range [][]string{{"qstat"}, {"qstat", "-u", "user1"}, {"userprio", "-all"}, {"prio", "+1", "5"}} {
		b.Run(fmt.Sprint(args), func(b *testing.B) {
			for b.Loop() {
				command(b, dir, args[0], args[1:]...)
			}
		})
	}
}
