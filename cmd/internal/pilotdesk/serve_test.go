package pilotdesk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/pilot"
	"fairspool/internal/testenv"
	"fairspool/lib/link"
)

// BenchmarkServe is serve -pilot in a pool with 10,000 claims, all of its machine or a hundredth of them, while nothing comes but
// heartbeats: its own memory, that of the program, which all processes share, and the part of a core that it takes.
func BenchmarkServe(b *testing.B) {
	for _, own := range []int{10_000, 100} {
		b.Run(fmt.Sprintf("%d-of-10000", own), func(b *testing.B) { serveIdle(b, own) })
	}
}

func serveIdle(b *testing.B, own int) {
	const claims = 10_000
	h := newHost(b)
	var others strings.Builder
	for i := range claims - own {
		others.WriteString(static(i, "n2") + "\n")
	}
	for name, text := range map[string]string{"job.sub": fmt.Sprintf("executable = /bin/true\nqueue %d\n", claims), "slots.ads": others.String()} {
		testenv.OK(b, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
	}
	h.run("submit", "job.sub")
	if own < claims {
		h.run("slots", "advertise", "slots.ads")
	}
	c := h.call(h.hello("n1"))
	var slots pilot.Slots
	for i := range own {
		slots.Ads = append(slots.Ads, static(i, "n1"))
	}
	testenv.OK(b, link.WriteMessage(c.control, slots))
	for told := -1; told < own; {
		var n pilot.News
		testenv.OK(b, c.hear(0, &n))
		if told < 0 {
			told = 0
			h.run("negotiate", "-q")
		}
		told += len(n.Now)
	}
	pid := c.serve.Process.Pid
	beat := func() {
		var n pilot.News
		err := link.WritePacket(c.control, 0, []byte(`{"Number":1}`))
		if err == nil {
			err = c.hear(0, &n)
		}
		testenv.OK(b, err)
	}
	<-time.After(2 * spareEvery) // memory is given back by then
	for b.Loop() {
		begin, used := time.Now(), ticks(b, pid)
		for range 3 {
			beat()
			<-time.After(beatEvery)
		}
		b.ReportMetric(float64(ticks(b, pid)-used)/time.Since(begin).Seconds(), "%core") // a tick is 10 ms
	}
	b.ReportMetric(float64(status(b, pid, "RssAnon"))/1024, "MB")
	b.ReportMetric(float64(status(b, pid, "RssFile"))/1024, "sharedMB")
}

// static returns the ad of a static slot.
func static(i int, machine string) string {
	return fmt.Sprintf("Name = \"slot%d@%s\"\nMachine = \"%[2]s\"\nCpus = 1\nMemory = 1024\nDisk = 1000000\nHasFileTransfer = true\nFileSystemDomain = \"n1\"\nRequirements = true\n", i+1, machine)
}

// status returns a number of a process's /proc/PID/status, in KB for sizes.
func status(t testing.TB, pid int, name string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, found := strings.Cut(string(text), "\n"+name+":")
	if err != nil || !found {
		t.Fatal(name, err)
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	testenv.OK(t, err)
	return n
}

// ticks returns the processor time of a process, in hundredths of a second.
func ticks(t testing.TB, pid int) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if err != nil || len(fields) < 13 {
		t.Fatal(err)
	}
	for _, field := range fields[11:13] {
		one, err := strconv.Atoi(field)
		testenv.OK(t, err)
		n += one
	}
	return n
}
