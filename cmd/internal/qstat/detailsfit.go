package qstat

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// fitting tells which of the pool's slots could run a job. The slots are read when
// they are first needed.
type fitting struct {
	queue queue
	read  bool
	slots []pool.Slot
	// judged is how many jobs were held against all slots. A display of very many
	// does that for the first of them only.
	judged int
}

// mostJudged bounds the pairs of job and slot that a display looks at.
const mostJudged = 1_000_000

func (q queue) fitting() *fitting { return &fitting{queue: q} }

// could names slots that match the job as they are advertised, whoever has them, and
// nothing for a job that has one or whose analysis says it already.
func (d *sheet) could(last cycle, fits *fitting) []string {
	if d.claim != nil || d.state == "z" {
		return nil
	}
	for _, v := range last.ofRow(d.row) {
		if _, a := last.rejection(v); a != nil && d.state == "qw" {
			return nil
		}
	}
	if text := fits.of(d.context, d.ad); text != "" {
		return []string{text}
	}
	return nil
}

// of says which slots match an ad; nothing in a pool without slots.
func (f *fitting) of(c *classad.Context, ad *classad.Ad) string {
	if !f.read {
		f.read = true
		f.slots, _ = f.queue.view.Slots()
	}
	if len(f.slots) == 0 || f.judged > mostJudged {
		return ""
	}
	f.judged += len(f.slots)
	match := classad.NewMatcher(c, ad)
	n := 0
	var names []string
	for _, s := range f.slots {
		if match.Match(s.Ad) {
			if n++; n <= 3 {
				names = append(names, s.Name)
			}
		}
	}
	switch {
	case n == 0:
		return fmt.Sprintf("slots that match: none of %d", len(f.slots))
	case n > len(names):
		names = append(names, "...")
	}
	return fmt.Sprintf("slots that match: %d of %d, %s", n, len(f.slots), strings.Join(names, ", "))
}
