package userlog

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// This file reads events as HTCondor's documentation and its programs say that
// they are to be read, with nothing of the package: one pattern for each kind, of
// which the named parts are the fields. Texts are trimmed, as those programs do.

const (
	specTime  = `Usr (?P<%[1]su>\d+ \d\d:\d\d:\d\d), Sys (?P<%[1]ss>\d+ \d\d:\d\d:\d\d)  -  %[2]s Usage\n`
	specExit  = `(?:\t\(1\) Normal termination \(return value (?P<value>-?\d+)\)\n|\t\(0\) Abnormal termination \(signal (?P<signal>-?\d+)\)\n\t(?:\(0\) No core file|\(1\) Corefile in: (?P<core>.*))\n)`
	specText  = `(?:\t(?P<reason>.*)\n)?`
	specNotes = `(?P<notes>(?:    .*\n)*)`
)

func specUsage(of ...string) string {
	var b strings.Builder
	for _, o := range of {
		b.WriteString(`\t\t` + fmt.Sprintf(specTime, strings.ToLower(strings.ReplaceAll(o, " ", "")), o))
	}
	return b.String()
}

func specBytes(of string) string {
	low := strings.ToLower(of)
	return `\t(?P<` + low + `sent>\d+)  -  ` + of + ` Bytes Sent By Job\n\t(?P<` + low + `received>\d+)  -  ` + of + ` Bytes Received By Job\n`
}

var spec = map[string]*regexp.Regexp{}

func init() {
	for number, body := range map[string]string{
		"000": `Job submitted from host: <(?P<host>.*)>\n` + specNotes,
		"001": `Job executing on host: <(?P<host>.*)>\n(?:\tSlotName: (?P<slot>.*)\n)?(?P<ad>(?:\t[A-Za-z]+ = .*\n)*)`,
		"002": `\((?P<type>-?\d+)\) .*\n`,
		"003": `Job was checkpointed\.\n` + strings.TrimPrefix(specUsage("Run Remote", "Run Local"), `\t`) + `(?:\t(?P<sent>\d+)  -  Run Bytes Sent By Job For Checkpoint\n)?`,
		"004": `Job was evicted\.(?: Code (?P<code>\d+) Subcode (?P<subcode>\d+))?\n\t\((?P<how>[01])\) (?P<words>[A-Za-z ]+)\.?\n` +
			specUsage("Run Remote", "Run Local") + specBytes("Run") + `(?:` + specExit + `)?(?:\t(?:Reason: )?(?P<reason>.*)\n)?`,
		"005": `Job terminated\.\n` + specExit + specUsage("Run Remote", "Run Local", "Total Remote", "Total Local") + specBytes("Run") + specBytes("Total"),
		"006": `Image size of job updated: (?P<image>-?\d+)\n(?:\t(?P<memory>\d+)  -  MemoryUsage of job \(MB\)\n)?(?:\t(?P<resident>\d+)  -  ResidentSetSize of job \(KB\)\n)?(?:\t(?P<proportional>\d+)  -  ProportionalSetSize of job \(KB\)\n)?`,
		"007": `Shadow exception!\n\t(?P<message>.*)\n` + specBytes("Run"),
		"008": `(?P<text>.*)\n`,
		"009": `Job was aborted\.\n` + specText,
		"010": `Job was suspended\.\n\tNumber of processes actually suspended: (?P<n>\d+)\n`,
		"011": `Job was unsuspended\.\n`,
		"012": `Job was held\.\n\t(?P<reason>.*)\n\tCode (?P<code>\d+) Subcode (?P<subcode>\d+)\n`,
		"013": `Job was released\.\n` + specText,
		"021": `(?P<kind>Error|Warning|Message) from (?P<daemon>\w+) on (?P<host>.*):\n(?P<notes>(?:\t.*\n)*?)(?:\tCode (?P<code>\d+) Subcode (?P<subcode>\d+)\n)?`,
		"022": `Job disconnected, attempting to reconnect\n    (?P<reason>.*)\n    Trying to reconnect to (?P<slot>\S+) (?P<address>.*)\n`,
		"023": `Job reconnected to (?P<slot>.*)\n    startd address: (?P<startd>.*)\n    starter address: (?P<starter>.*)\n`,
		"024": `Job reconnection failed\n    (?P<reason>.*)\n    Can not reconnect to (?P<slot>.*), rescheduling job\n`,
		"028": `Job ad information event triggered\.\n(?P<ad>(?:[A-Za-z]+ = .*\n)*)`,
		"033": `(?:Changing job attribute (?P<name>\w+) from (?P<from>0|"x to y"|undefined) to (?P<to>.*)|Setting job attribute (?P<name2>\w+) to (?P<to2>.*))\n`,
		"035": `Cluster submitted from host: <(?P<host>.*)>\n` + specNotes,
		"036": `Cluster removed\n\tMaterialized (?P<jobs>\d+) jobs from (?P<items>\d+) items\.\t(?P<completion>Error -\d+|Complete|Paused|Incomplete)\n` + specText,
		"037": `Job Materialization Paused\n(?:\t(?P<reason>.*)\n\tPauseCode (?P<pause>\d+)\n|\t(?P<reason2>.*)\n)??(?:\tHoldCode (?P<hold>\d+)\n)?`,
		"038": `Job Materialization Resumed\n` + specText,
		"040": `(?P<step>[A-Za-z ]+ transfer(?:ring)? (?:in|out)put files)\n(?:\tSeconds spent in queue: (?P<queued>\d+)\n)?(?:\tTransferring to host: (?P<host>.*)\n)?`,
	} {
		spec[number] = regexp.MustCompile(`^` + body + `$`)
	}
}

var specHeader = regexp.MustCompile(`^(\d{3}) \((-?\d{2,})\.(-?\d{2,})\.(-?\d{2,})\) (\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3})?Z?) `)

// specRead reads a log: its events as number, ids, time and fields.
func specRead(log string) (events []map[string]string, err error) {
	for len(log) > 0 {
		text, rest, ok := strings.Cut("\n"+log, "\n...\n")
		if !ok {
			return events, fmt.Errorf("%q: no end", log)
		}
		text, log = text[1:]+"\n", rest
		h := specHeader.FindStringSubmatch(text)
		if h == nil {
			return events, fmt.Errorf("%q: no header", text)
		}
		pattern := spec[h[1]]
		m := pattern.FindStringSubmatch(text[len(h[0]):])
		if m == nil {
			return events, fmt.Errorf("%q: not as in the specification", text)
		}
		e := map[string]string{"number": h[1], "id": h[2] + "." + h[3] + "." + h[4], "time": h[5]}
		for i, name := range pattern.SubexpNames() {
			if v := strings.TrimSpace(m[i]); name != "" && v != "" {
				e[strings.TrimSuffix(name, "2")] = v
			}
		}
		events = append(events, e)
	}
	return events, nil
}

// fields returns what a reader is to find of a body.
func fields(body Body) map[string]string {
	f := map[string]string{}
	put := func(name string, v any) {
		text := strings.TrimSpace(strings.NewReplacer("\n", " ", "\r", " ").Replace(fmt.Sprint(v)))
		if text != "" {
			f[name] = text
		}
	}
	list := func(name, indent string, lines []string) {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(indent + l + "\n")
		}
		if t := strings.TrimSpace(b.String()); t != "" {
			f[name] = t // its line breaks are its own
		}
	}
	usage := func(name string, u Usage) {
		put(name+"u", specDuration(u.User))
		put(name+"s", specDuration(u.System))
	}
	moved := func(name string, y Bytes) { put(name+"sent", y.Sent); put(name+"received", y.Received) }
	exit := func(x Exit) {
		if x.Signal == 0 {
			put("value", x.ReturnValue)
			return
		}
		put("signal", x.Signal)
		put("core", x.Core)
	}
	known := func(name string, n int64) {
		if n >= 0 {
			put(name, n)
		}
	}
	codes := func(code, subcode int, always bool) {
		if always || code != 0 {
			put("code", code)
			put("subcode", subcode)
		}
	}
	switch b := body.(type) {
	case Submitted:
		put("host", b.Host)
		list("notes", "    ", b.Notes)
	case ClusterSubmitted:
		put("host", b.Host)
		list("notes", "    ", b.Notes)
	case Executing:
		put("host", b.Host)
		put("slot", b.Slot)
		list("ad", "\t", b.Ad)
	case ExecutableError:
		put("type", b.Type)
	case Evicted:
		codes(b.Code, b.Subcode, b.Subcode != 0)
		put("how", 0)
		put("words", "CPU times")
		if b.Checkpointed {
			put("how", 1)
			put("words", "Job was checkpointed")
		}
		if b.Requeued != nil {
			put("words", "Job terminated and was requeued")
			exit(*b.Requeued)
		}
		usage("runremote", b.Run)
		usage("runlocal", b.RunLocal)
		moved("run", b.Bytes)
		put("reason", b.Reason)
	case Checkpointed:
		usage("runremote", b.Run)
		usage("runlocal", b.RunLocal)
		if b.Sent != 0 {
			put("sent", b.Sent)
		}
	case Terminated:
		exit(b.Exit())
		usage("runremote", b.Run)
		usage("runlocal", b.RunLocal)
		usage("totalremote", b.Total)
		usage("totallocal", b.TotalLocal)
		moved("run", b.Bytes)
		moved("total", b.TotalBytes)
	case ImageSize:
		put("image", b.ImageKB)
		known("memory", b.MemoryMB)
		known("resident", b.ResidentKB)
		known("proportional", b.ProportionalKB)
	case ShadowException:
		put("message", b.Message)
		moved("run", b.Bytes)
	case Generic:
		put("text", b.Text)
	case Aborted:
		put("reason", b.Reason)
	case Suspended:
		put("n", b.Processes)
	case Held:
		put("reason", "Reason unspecified")
		put("reason", b.Reason)
		codes(b.Code, b.Subcode, true)
	case Released:
		put("reason", b.Reason)
	case RemoteError:
		put("kind", b.Kind)
		put("daemon", b.Daemon)
		put("host", b.Host)
		list("notes", "\t", b.Text)
		codes(b.Code, b.Subcode, false)
	case Disconnected:
		put("reason", b.Reason)
		put("slot", b.Slot)
		put("address", b.Address)
	case Reconnected:
		put("slot", b.Slot)
		put("startd", b.Startd)
		put("starter", b.Starter)
	case ReconnectFailed:
		put("reason", b.Reason)
		put("slot", b.Slot)
	case AdInformation:
		list("ad", "", b.Ad)
	case AttributeChanged:
		put("name", b.Name)
		put("from", b.From)
		put("to", b.To)
	case ClusterRemoved:
		put("jobs", b.Jobs)
		put("items", b.Items)
		put("completion", map[bool]string{true: fmt.Sprintf("Error %d", int(b.Completion)), false: [...]string{"Incomplete", "Complete", "Paused"}[max(b.Completion, 0)]}[b.Completion < 0])
		put("reason", b.Notes)
	case FactoryPaused:
		put("reason", b.Reason)
		if b.PauseCode != 0 {
			put("pause", b.PauseCode)
		}
		if b.HoldCode != 0 {
			put("hold", b.HoldCode)
		}
	case FactoryResumed:
		put("reason", b.Reason)
	case FileTransfer:
		put("step", map[TransferStep]string{
			InputQueued: "Entered queue to transfer input files", InputStarted: "Started transferring input files", InputFinished: "Finished transferring input files",
			OutputQueued: "Entered queue to transfer output files", OutputStarted: "Started transferring output files", OutputFinished: "Finished transferring output files",
		}[b.Step])
		known("queued", int64(b.Queued))
		put("host", b.Host)
	}
	return f
}

// specDuration is D HH:MM:SS.
func specDuration(d time.Duration) string {
	h := int(d.Hours())
	return fmt.Sprintf("%d %02d:%02d:%02d", h/24, h%24, int(d.Minutes())%60, int(d.Seconds())%60)
}

// TestSpecification reads with the reader above what the package writes: of every
// kind, with all sorts of contents.
func TestSpecification(t *testing.T) {
	seen := map[int]bool{}
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		want := rapid.SliceOfN(anyEvent(rapid.OneOf(text, rapid.SampledFrom([]string{"", "a\nb", "x\n...\n", "...", " y\r"}))), 1, 5).Draw(t, "events")
		for _, e := range want {
			log = e.AppendTo(log)
		}
		got, err := specRead(string(log))
		if err != nil || len(got) != len(want) {
			t.Fatalf("read of %q = %d events, %v, want %d", log, len(got), err, len(want))
		}
		for i, e := range want {
			seen[e.Body.number()] = true
			f := fields(e.Body)
			f["number"] = fmt.Sprintf("%03d", e.Body.number())
			f["id"] = fmt.Sprintf("%03d.%03d.%03d", e.Job.Cluster, e.Job.Proc, e.Subproc)
			f["time"] = specMoment(e)
			if fmt.Sprint(got[i]) != fmt.Sprint(f) {
				t.Fatalf("read of %q = %v, want %v", e.AppendTo(nil), got[i], f)
			}
		}
	})
	for number := range spec {
		var n int
		fmt.Sscanf(number, "%d", &n)
		if !seen[n] {
			t.Errorf("event %s: none was written, want some", number)
		}
	}
}

func specMoment(e Event) string {
	form := "2006-01-02 15:04:05"
	if e.Stamp.T {
		form = "2006-01-02T15:04:05"
	}
	if e.Stamp.Digits == 3 {
		form += ".000"
	}
	if e.Stamp.UTC {
		form += "Z"
	}
	return e.At.Format(form)
}
