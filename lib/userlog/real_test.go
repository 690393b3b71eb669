package userlog

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// TestRealLogs reads the events of the kinds that we write from logs of real
// pools, and checks that writing them again gives the same lines. What we
// never say is taken out first: byte counts, the table of resources, and
// lines behind it. Old dates come back as ISO dates.
func TestRealLogs(t *testing.T) {
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "real", "userlog", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs in %s: %v", shared, err)
	}
	counts := map[int]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range strings.SplitAfter(string(text), "\n...\n") {
			checkReal(t, filepath.Base(file), event, counts)
		}
	}
	t.Logf("events written again: %v", counts)
	for _, n := range []int{0, 1, 4, 5, 9, 12} {
		if counts[n] == 0 {
			t.Errorf("event %03d: none in the real logs, want some", n)
		}
	}
}

var (
	header   = regexp.MustCompile(`^(\d{3}) \((\d+)\.(\d+)\.(\d+)\) (\S+ \S+) `)
	transfer = regexp.MustCompile(`(?m)^\t\d+(  -  (?:Run|Total) Bytes)`)
	table    = regexp.MustCompile(`(?s)\tPartitionable Resources :.*\n(\.\.\.\n)$`)
	slotAd   = regexp.MustCompile(`(?m)^\t[A-Za-z_0-9]+ = .*\n`)
	indent   = regexp.MustCompile(`(?m)^(?: {8})+`)           // a log with its tabs expanded
	strange  = regexp.MustCompile(`(?m)^    foo dee doo.*\n`) // put there to try readers
	dagNode  = regexp.MustCompile(`(?m)^    (.*)$`)
	usage    = regexp.MustCompile(`Usr (\d+) (\d\d):(\d\d):(\d\d), Sys (\d+) (\d\d):(\d\d):(\d\d)  -  (\w+ \w+) Usage`)
)

func checkReal(t *testing.T, file, event string, counts map[int]int) {
	t.Helper()
	h := header.FindStringSubmatch(event)
	if h == nil {
		return // made up for a test: cluster -1
	}
	number := atoi(h[1])
	date := h[5]
	when, err := time.Parse(time.DateTime, date)
	if err != nil {
		if when, err = time.Parse("2006/01/02 15:04:05", "2016/"+date); err != nil {
			t.Errorf("%s: %q: no date", file, date)
			return
		}
		event = strings.Replace(event, date, when.Format(time.DateTime), 1)
	}
	event = indent.ReplaceAllStringFunc(event, func(blanks string) string {
		return strings.Repeat("\t", len(blanks)/8)
	})
	event = strange.ReplaceAllString(event, "")
	event = transfer.ReplaceAllString(event, "\t0$1")
	event = table.ReplaceAllString(event, "$1")
	event = strings.Replace(event, "(0) Job was not checkpointed.", "(0) CPU times", 1) // before release 8
	if number == 1 {
		event = slotAd.ReplaceAllString(event, "")
	}
	body := realBody(number, event)
	if body == nil {
		return
	}
	got := string(Event{Job: pool.JobID{Cluster: atoi(h[2]), Proc: atoi(h[3])}, At: when, Body: body}.AppendTo(nil))
	if got != event {
		t.Errorf("%s: event of %s = %q, want %q", file, date, got, event)
	}
	counts[number]++
}

// realBody reads the body of an event; nil for kinds that we do not write.
func realBody(number int, event string) Body {
	lines := strings.Split(event, "\n")
	line := func(i int) string {
		if i < len(lines) && strings.HasPrefix(lines[i], "\t") {
			return lines[i][1:]
		}
		return ""
	}
	_, host, _ := strings.Cut(lines[0], "host: <")
	host = strings.TrimSuffix(host, ">")
	switch number {
	case 0:
		var notes []string
		for _, m := range dagNode.FindAllStringSubmatch(event, -1) {
			notes = append(notes, m[1])
		}
		return Submitted{host, notes}
	case 1:
		return Executing{host, strings.TrimPrefix(line(1), "SlotName: ")}
	case 4:
		return Evicted{Run: used(event, "Run Remote")}
	case 5:
		end := Terminated{Run: used(event, "Run Remote"), Total: used(event, "Total Remote")}
		fmt.Sscanf(line(1), "(1) Normal termination (return value %d)", &end.ReturnValue)
		fmt.Sscanf(line(1), "(0) Abnormal termination (signal %d)", &end.Signal)
		return end
	case 9:
		if strings.Contains(lines[0], "by the user") { // the old text
			return nil
		}
		return Aborted{line(1)}
	case 12:
		held := Held{Reason: line(1)}
		fmt.Sscanf(line(2), "Code %d Subcode %d", &held.Code, &held.Subcode)
		return held
	case 13:
		return Released{line(1)}
	}
	return nil
}

func used(event, of string) Usage {
	for _, m := range usage.FindAllStringSubmatch(event, -1) {
		if m[9] == of {
			return Usage{span(m[1:5]), span(m[5:9])}
		}
	}
	return Usage{}
}

func span(f []string) time.Duration {
	return time.Duration(atoi(f[0])*86400+atoi(f[1])*3600+atoi(f[2])*60+atoi(f[3])) * time.Second
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
