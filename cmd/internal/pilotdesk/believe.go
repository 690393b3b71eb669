package pilotdesk

import (
	"strings"
	"time"

	"fairspool/cmd/internal/pilot"
	"fairspool/lib/pool"
)

// longestText bounds each text that a pilot has put into the queue.
const longestText = 5000

// believable reduces a request to what can be trusted: texts of one line and bounded length, and amounts from 0 up.
// Otherwise a pilot's machine is trusted about its own jobs.
func believable(r *pilot.Request) {
	line(&r.Why.Text)
	line(&r.Found.Reason)
	line(&r.Scratch)
	r.Ago = max(r.Ago, 0)
	progress(r.Reported)
	if r.Used != nil {
		progress(&r.Used.Progress)
	}
	if r.Telling != nil {
		progress(&r.Telling.Now)
		progress(&r.Telling.Before)
		r.Telling.Sent = max(r.Telling.Sent, 0)
	}
	if how := r.How; how != nil {
		for _, text := range []*string{&how.Lost, &how.StartFailed, &how.OutputFailed, &how.Core} {
			line(text)
		}
		for _, d := range []*time.Duration{&how.Wall, &how.UserCPU, &how.SysCPU} {
			*d = min(max(*d, 0), longest)
		}
		for _, n := range []*int64{&how.MaxRSSKB, &how.DiskKB, &how.IOBytes, &how.Sent, &how.Received} {
			*n = min(max(*n, 0), most)
		}
		progress(&how.Reported)
		how.Executed, how.Recorded = time.Time{}, time.Time{}
	}
}

const (
	longest = 100 * 365 * 24 * time.Hour
	most    = 1 << 60
)

// progress bounds the amounts of an attempt's usage.
func progress(p *pool.Progress) {
	if p == nil {
		return
	}
	for _, d := range []*time.Duration{&p.Wall, &p.UserCPU, &p.SysCPU} {
		*d = min(max(*d, 0), longest)
	}
	for _, n := range []*int64{&p.RSSKB, &p.PeakKB, &p.DiskKB, &p.IOBytes} {
		*n = min(max(*n, 0), most)
	}
}

// line makes a text one line of some length.
func line(text *string) {
	if len(*text) > longestText {
		*text = (*text)[:longestText]
	}
	*text = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(*text, "?"))
}
