package userlog

import (
	"strings"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// text draws a text that a reader gives back as it is.
var text = rapid.StringMatching(`[!-~äö](?:[ -~äö]{0,30}[!-~äö])?`)

// rough draws one that may be empty, have line breaks and look like anything.
var rough = rapid.OneOf(
	rapid.Just(""), text,
	rapid.SampledFrom([]string{
		"a\n...\n000 (001.000.000) 2026-11-20 10:00:00 Job submitted from host: <x>\n...", "...", "\n...\n", "\r\n", "\t...",
		" x ", "Code 1 Subcode 2", "Reason: x", "(1) Normal termination (return value 0)", "from to", "\xff\xfe",
	}),
)

// anyBody draws the body of any kind that is written, with such texts.
func anyBody(s *rapid.Generator[string]) *rapid.Generator[Body] {
	return rapid.Custom(func(t *rapid.T) Body {
		draw := func() string { return s.Draw(t, "text") }
		number := func() int { return rapid.IntRange(0, 1<<30).Draw(t, "number") }
		list := func() []string { return rapid.SliceOfN(text, 0, 3).Draw(t, "lines") }
		ad := func() (lines []string) {
			for _, v := range list() {
				lines = append(lines, "Attr = "+v)
			}
			return lines
		}
		usage := func() Usage {
			d := rapid.Int64Range(0, 1e8)
			return Usage{time.Duration(d.Draw(t, "user")) * time.Second, time.Duration(d.Draw(t, "system")) * time.Second}
		}
		transferred := func() Bytes { return Bytes{int64(number()), int64(number())} }
		exit := func() Exit {
			if rapid.Bool().Draw(t, "killed") {
				return Exit{Signal: rapid.IntRange(1, 64).Draw(t, "signal"), Core: strings.TrimSpace(draw())}
			}
			return Exit{ReturnValue: rapid.IntRange(0, 255).Draw(t, "value")}
		}
		switch rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 21, 22, 23, 24, 28, 33, 35, 36, 37, 38, 40}).Draw(t, "kind") {
		case 0:
			return Submitted{draw(), orNil(list())}
		case 1:
			return Executing{draw(), draw(), orNil(ad())}
		case 2:
			return ExecutableError{rapid.IntRange(-1, 2).Draw(t, "type")}
		case 3:
			return Checkpointed{usage(), usage(), int64(number())}
		case 4:
			v := Evicted{Code: number(), Subcode: number(), Run: usage(), RunLocal: usage(), Bytes: transferred(), Reason: draw()}
			if rapid.Bool().Draw(t, "again") {
				x := exit()
				v.Requeued = &x
			} else {
				v.Checkpointed = rapid.Bool().Draw(t, "checkpoint")
			}
			return v
		case 5:
			x := exit()
			return Terminated{x.ReturnValue, x.Signal, x.Core, usage(), usage(), usage(), usage(), transferred(), transferred()}
		case 6:
			kb := rapid.Int64Range(-1, 1<<40)
			return ImageSize{kb.Draw(t, "image"), kb.Draw(t, "memory"), kb.Draw(t, "resident"), kb.Draw(t, "proportional")}
		case 7:
			return ShadowException{draw(), transferred()}
		case 8:
			return Generic{draw()}
		case 9:
			return Aborted{draw()}
		case 10:
			return Suspended{number()}
		case 11:
			return Unsuspended{}
		case 12:
			return Held{draw(), number(), number()}
		case 13:
			return Released{draw()}
		case 21:
			return RemoteError{"Error", "starter", "slot1@" + draw(), orNil(list()), 1 + number(), number()}
		case 22:
			return Disconnected{draw(), "slot1@h", draw()}
		case 23:
			return Reconnected{draw(), draw(), draw()}
		case 24:
			return ReconnectFailed{draw(), draw()}
		case 28:
			return AdInformation{orNil(ad())}
		case 33:
			c := AttributeChanged{Name: "JobPrio", To: draw()}
			if rapid.Bool().Draw(t, "changed") {
				c.From = rapid.SampledFrom([]string{"0", `"x to y"`, "undefined"}).Draw(t, "from")
			}
			return c
		case 35:
			return ClusterSubmitted{draw(), orNil(list())}
		case 36:
			return ClusterRemoved{number(), number(), Completion(rapid.IntRange(-3, 2).Draw(t, "completion")), draw()}
		case 37:
			return FactoryPaused{draw(), number(), number()}
		case 38:
			return FactoryResumed{draw()}
		}
		return FileTransfer{TransferStep(rapid.IntRange(0, 5).Draw(t, "step")), rapid.IntRange(-1, 1e6).Draw(t, "queued"), draw()}
	})
}

func orNil(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return lines
}

// anyEvent draws an event of any kind and date.
func anyEvent(s *rapid.Generator[string]) *rapid.Generator[Event] {
	return rapid.Custom(func(t *rapid.T) Event {
		e := Event{
			Job:     pool.JobID{Cluster: rapid.IntRange(-1, 1<<31).Draw(t, "cluster"), Proc: rapid.IntRange(-1, 1e6).Draw(t, "proc")},
			Subproc: rapid.IntRange(-1, 3).Draw(t, "subproc"),
			At:      time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0).UTC(),
			Body:    anyBody(s).Draw(t, "body"),
		}
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 1:
			e.Stamp.T = true
		case 2:
			e.Stamp.UTC, e.Stamp.Digits = true, 3
			e.At = e.At.Add(123 * time.Millisecond)
		}
		return e
	})
}
