package spool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/extracttext"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/left"
	"fairspool/spool/internal/summarytext"
	"fairspool/spool/internal/takers"
)

// Left chooses among the jobs that have left the queue. The zero Left is all of them. Months of the history that lie before Since are not
// read.
type Left = left.Jobs

// History goes through the ads of the chosen jobs that have left the queue, as of the last complete transaction: the last to leave first,
// until each returns false. An ad is each's to keep and to change. What was chosen by cluster, owner or time is found without reading the
// other ads, whatever their number. Archived months are passed over. All that is read is held to its checksum: what is missing or does not
// check gives a *DamageError, after the ads of those that left later.
func (s *Spool) History(which Left, each func(ad *classad.Ad) (more bool)) error {
	return s.View(func(v *View) error { return v.History(which, each) })
}

// History does what that of the Spool does, as of the view.
func (v *View) History(which Left, each func(ad *classad.Ad) (more bool)) error {
	months := v.state().history
	c := left.NewReader(which, extracttext.SetLine)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(months))) {
		if !which.Since.IsZero() && name < monthOf(which.Since) {
			break
		}
		more, err := v.spool.pastMonth(name, months[name], func(b block) (bool, int, error) {
			ad, lines, err := c.Read(b.text)
			if err == nil && ad != nil {
				ad = v.shownAd(ad, true)
			}
			return err == nil && (ad == nil || each(ad)), lines, err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// pastMonth goes through a month's history, backwards from its recorded end, until each returns false. With an error each tells how many
// lines of the ad are good. If what is recorded turns out to be gone before each was called, what is recorded by then counts: others may
// have archived the month, or cut off what its writer never acknowledged.
func (s *Spool) pastMonth(name string, known stretch, each func(block) (more bool, good int, err error)) (more bool, err error) {
	begun := false
	more, err = s.backwards(name, known, func(b block) (bool, int, error) {
		begun = true
		return each(b)
	})
	if isDamage(err) && !begun {
		if now, ok := s.recordedNow(); ok && now.history[name] != known && now.history[name].end <= known.end {
			return s.backwards(name, now.history[name], each)
		}
	}
	return more, err
}

func (s *Spool) backwards(name string, known stretch, each func(block) (bool, int, error)) (more bool, err error) {
	if known.end == 0 {
		return true, nil
	}
	path := s.path(historyFile(name))
	f, err := s.openRecorded(path, known)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := pastReader{file: f, name: path, end: known.end, crc: known.crc}
	for r.end > 0 {
		blocks, damage := r.before()
		for _, b := range slices.Backward(blocks) {
			more, good, err := each(b)
			if err != nil {
				return false, &DamageError{path, lineAt(f, b.at) + good, err.Error()}
			}
			if !more {
				return false, nil
			}
		}
		if damage != nil {
			return false, damage
		}
	}
	return true, nil
}

// recordedNow returns what is recorded by now of the files that are only appended to, whatever this Spool has read so far.
func (s *Spool) recordedNow() (*state, bool) {
	d := dumping{spool: s}
	if err := twice(d.read); err != nil {
		return nil, false
	}
	d.state.base.release()
	return d.state, true
}

// pastReader reads a month's history backwards, a piece at a time, and holds each piece to the checksum that the footer behind it, or the
// journal, has of it.
type pastReader struct {
	file   files.File
	name   string
	end    int64  // behind what is still to come
	crc    uint32 // of the file up to there
	piece  int    // how many bytes were read the last time
	buffer []byte // a newline, so that each line has one before it, and the piece
}

const (
	firstPiece = 64 << 10 // enough for a few ads, and most ask for a few
	mostPiece  = 4 << 20
)

// adEnd stands behind the footer of an ad.
var adEnd = []byte("\n\n")

// block is the lines of an ad, with the newline before the first and without the footer.
type block struct {
	at   int64 // where the first line begins
	text []byte
}

// before returns the ads of the piece before those that were returned, in the order of the file, until the next call. None, and no error:
// that was all. With an error, which names the ad before them, they are whole all the same.
func (r *pastReader) before() ([]block, error) {
	if r.end == 0 {
		return nil, nil
	}
	if r.piece = min(2*r.piece, mostPiece); r.piece == 0 {
		r.piece = firstPiece
	}
	for ; ; r.piece *= 2 {
		from := max(r.end-int64(r.piece), 0)
		if err := r.read(from); err != nil {
			return nil, err
		}
		if begin, ok := r.begin(from); ok {
			return r.take(from, begin)
		}
		if r.piece > dumptext.MostBytes {
			return nil, r.damaged(from, fmt.Sprintf("an ad of more than %d bytes, or none", r.piece))
		}
	}
}

// begin returns where in the buffer the first ad begins that has all of the footer before it there, and false if there is no such ad.
func (r *pastReader) begin(from int64) (int, bool) {
	if from == 0 {
		return 0, true
	}
	text := r.buffer[1:]
	skip := min(footerSize-len(adEnd), len(text))
	i := bytes.Index(text[skip:], adEnd)
	end := skip + i + len(adEnd)
	return end, i >= 0 && end < len(text)
}

// take parts the piece, which stands at from in the file, into its ads, and turns to what stands before them.
func (r *pastReader) take(from int64, begin int) ([]block, error) {
	known := uint32(0)
	if begin > 0 {
		_, known, _ = footerOf(r.buffer[1 : begin+1]) // without a footer nothing checks
	}
	text := r.buffer[begin+1:]
	if crc32.Update(known, castagnoli, text) != r.crc {
		return r.wholeOnes(from, begin, known)
	}
	r.end, r.crc = from+int64(begin), known
	return r.split(from, begin), nil
}

// wholeOnes returns the ads of the piece behind the last one that does not check, and the damage.
func (r *pastReader) wholeOnes(from int64, begin int, known uint32) ([]block, error) {
	blocks := r.split(from, begin)
	for i := len(blocks) - 1; i >= 0; i-- {
		at := int(blocks[i].at - from)
		text := r.buffer[at+1 : at+len(blocks[i].text)]
		recorded, behind, ok := footerOf(r.buffer[:r.end-from+1])
		start := known
		if i > 0 {
			_, start, _ = footerOf(r.buffer[:at+1])
		}
		why := ""
		switch sum := crc32.Update(start, castagnoli, text); {
		case !ok:
			why = "it has no checksum"
		case behind != r.crc:
			why = "it is not the one that was recorded"
		case sum != recorded:
			why = fmt.Sprintf("the checksum up to the end of the ad here is %08x, recorded is %08x", sum, recorded)
		default:
			r.end, r.crc = blocks[i].at, start
			continue
		}
		return blocks[i+1:], r.damaged(blocks[i].at, why)
	}
	return blocks, nil
}

// read reads from there up to the end into the buffer.
func (r *pastReader) read(from int64) error {
	n := int(r.end - from)
	if cap(r.buffer) < n+1 {
		r.buffer = make([]byte, n+1)
	}
	r.buffer = r.buffer[:n+1]
	r.buffer[0] = '\n'
	got, err := r.file.ReadAt(r.buffer[1:], from)
	if got == n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = r.damaged(from+int64(got), fmt.Sprintf("%d bytes are missing here", n-got))
	}
	return err
}

// split returns the ads of the buffer, which stands at from in the file, the first of which begins at begin. What stands behind the last
// end of an ad is one too.
func (r *pastReader) split(from int64, begin int) (blocks []block) {
	for at := begin; at+1 < len(r.buffer); {
		end := len(r.buffer) - 1
		if i := bytes.Index(r.buffer[at+1:], adEnd); i >= 0 {
			end = at + i + len(adEnd)
		}
		lines := max(end+1-footerSize, at+1)
		blocks = append(blocks, block{from + int64(at), r.buffer[at:lines:lines]})
		at = end
	}
	return blocks
}

// damaged says that the ad that begins at a place of the file does not check.
func (r *pastReader) damaged(at int64, why string) error {
	return &DamageError{r.name, lineAt(r.file, at), why}
}

// lineAt returns the number of the line that begins at a place of a file.
func lineAt(f files.File, at int64) int {
	line := 1
	b := make([]byte, 64<<10)
	for from := int64(0); from < at; {
		n, err := f.ReadAt(b[:min(int64(len(b)), at-from)], from)
		line += bytes.Count(b[:n], newline)
		from += int64(n)
		if err != nil {
			break
		}
	}
	return line
}

// earlier returns how the transaction with that body, which is the next of the state, finds slots and what keeps jobs from them: see
// package takers. Of renewals in time, which are many in a large pool, it reads no ad.
func (s *state) earlier(body []byte) (lines []string, err error) {
	var slots []*takers.Touched
	byName := map[string]*takers.Touched{}
	for _, line := range (chunk{text: body}).lines() {
		if len(line) < 3 {
			continue
		}
		var was string
		switch line[0] {
		case 'S', 'G', 'g', 's':
			var r record
			var rest []byte
			if rest, err = r.slot(line[2:]); err != nil {
				return nil, err
			}
			t := byName[r.Slot]
			if t == nil {
				t = &takers.Touched{Name: r.Slot}
				byName[r.Slot], slots = t, append(slots, t)
			}
			err = t.Take(line[0], rest)
		case 'M', 'm':
			was, err = s.markBefore(line)
		case 'I', 'i':
			was, err = s.pilotBefore(line)
		}
		if err != nil {
			return nil, err
		}
		if was != "" {
			lines = append(lines, was)
		}
	}
	for _, t := range slots {
		if until, known := s.until(t.Name); known && t.RenewedBy(until) {
			continue
		}
		slot, made := s.slots.made[t.Name]
		if !made {
			if slot, err = s.slots.make(s.own, t.Name); err != nil {
				return nil, err
			}
		}
		var ad *classad.Ad
		if slot != nil {
			ad = slot.Ad
		}
		lines = t.Before(lines, ad)
	}
	return lines, nil
}

// until returns until when the ad of a slot is valid, if the index of its segment says that, and its lifetime did not change since.
func (s *state) until(name string) (until int64, known bool) {
	_, made := s.slots.made[name]
	for _, c := range s.slots.pending[name] {
		made = made || c.text[0] != 'G' || bytes.Contains(c.text, []byte("\nS ")) || bytes.Contains(c.text, []byte("\ns ")) || bytes.Contains(c.text, []byte(pool.AttrAdLifetime))
	}
	if made || s.slots.under != nil {
		return 0, false
	}
	_, e, err := s.slots.entry(name)
	var summary pool.SlotSummary
	known = err == nil && e != nil && summarytext.Read(&summary, e.summary)
	return summary.Until, known
}

// markBefore returns how the mark of a line was, if it keeps jobs from slots.
func (s *state) markBefore(line []byte) (string, error) {
	name, err := keyOf(markKind, line)
	if err != nil || !takers.IsMark(name) {
		return "", err
	}
	m, _, err := s.marks.get(name)
	return takers.Mark(name, m.Text), err
}

// pilotBefore returns how the pilot of a line was, if that changes.
func (s *state) pilotBefore(line []byte) (string, error) {
	id, err := keyOf(Pilots, line)
	if err != nil {
		return "", err
	}
	p, there, err := tableIn(s, Pilots).get(id)
	if err == nil && there && line[0] == Pilots.letter {
		var now pool.Pilot
		if now, err = Pilots.parse(line, 0); now.State == p.State && now.Machine == p.Machine {
			return "", err
		}
	}
	return takers.Pilot(id, p), err
}

// keyOf returns the key of a line that writes or removes a row.
func keyOf[K comparable, V any](k *Kind[K, V], line []byte) (key K, err error) {
	if line[0] == k.letter {
		return k.keyIn(line)
	}
	r := record{Kind: line[0]}
	if err := k.parseRecord(&r, string(line[2:])); err != nil {
		return key, err
	}
	return r.Key.(K), nil
}

// Takers are what decides which slots take jobs, and TakersSince how these were at a time, and what changed since.
type (
	Takers       = takers.Takers
	TakersChange = takers.Change
	TakersSince  = takers.Since
)

// TakersAt returns what decided which slots of a pool took jobs at a time, by policy time, and what changed since.
func TakersAt(s *Spool, at time.Time) (t TakersSince, err error) {
	d := dumping{spool: s}
	if err := twice(d.read); err != nil {
		return t, err
	}
	defer d.state.base.release()
	list, known := d.journal, time.Time{}
	for name, recorded := range d.state.log {
		text, err := s.logMonth(name, recorded)
		if month, bad := time.Parse("2006-01", name); bad == nil && recorded.end == 0 && month.AddDate(0, 1, 0).After(known) {
			known = month.AddDate(0, 1, 0) // it is archived
		}
		if err == nil {
			err = eachLogged(s.path(logFile(name)), text, func(l Logged) error { list = append(list, l); return nil })
		}
		if err != nil {
			return t, err
		}
	}
	now, err := d.state.takers()
	if err != nil {
		return t, err
	}
	return takers.Before(now, list, known, at)
}

// takers returns those of the state.
func (s *state) takers() (Takers, error) {
	t := takers.New()
	slots, err := s.slots.all(newWorker)
	marks, err2 := s.marks.all()
	pilots, err3 := tableIn(s, Pilots).all()
	for _, slot := range slots {
		t.Slots[slot.Name] = slot.Ad
	}
	for name, m := range marks {
		if takers.IsMark(name) {
			t.Marks[name] = m.Text
		}
	}
	for id, p := range maps.All(pilots) {
		t.Pilots[id] = takers.Reduced(p)
	}
	return t, errors.Join(err, err2, err3)
}
