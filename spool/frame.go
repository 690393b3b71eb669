package spool

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/quotedtext"
)

// castagnoli is the CRC polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of b.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// timeLayout is how the journal writes times: UTC, milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Transaction is the T line of a transaction: user, operation and times.
type Transaction struct {
	Seq     uint64
	Machine time.Time // when, by the machine's clock
	Policy  time.Time // when, in policy time
	UID     int
	User    string
	Program string
	Op      string
	Args    []string
}

// append writes the T line.
func (h Transaction) append(b []byte) []byte {
	b = fmt.Appendf(b, "T %d %s %s %d %q %q %q", h.Seq, h.Machine.UTC().Format(timeLayout), h.Policy.UTC().Format(timeLayout), h.UID, h.User, h.Program, h.Op)
	for _, a := range h.Args {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, a)
	}
	return append(b, '\n')
}

// frame is one transaction as it stands in the journal.
type frame struct {
	Seq    uint64
	head   []byte // the T line; few ask what it says
	Body   []byte // the lines between T and E, each with its newline
	Next   int    // the next free cluster number
	CRC    uint32
	Synced uint64 // the last transaction that was known to be durable when this one was written
	Size   int    // bytes of the whole frame, T to E
}

// framed returns the bytes of the transaction with that body, and its CRC; synced is
// frame.Synced. It moves the body in the room that it has, if that is enough for the other two
// lines: a body may have many megabytes, which are not to be there twice.
func framed(h Transaction, body []byte, synced uint64, next int) ([]byte, uint32) {
	head := h.append(nil)
	n := len(head) + len(body)
	b := slices.Grow(body, len(head)+endRoom)[:n]
	copy(b[len(head):], body)
	copy(b, head)
	b = fmt.Appendf(b, "E %d %d %d %d ", h.Seq, n, synced, next)
	crc := checksum(b)
	return fmt.Appendf(b, "%08x\n", crc), crc
}

// endRoom is as much as an E line takes.
const endRoom = 100

// parseFrame reads the transaction that begins b and must have the number
// seq. It returns errIncomplete when b ends before the frame does, and another
// error when what is there cannot be that frame.
func parseFrame(b []byte, seq uint64) (frame, error) {
	var room [32]byte
	head := append(strconv.AppendUint(append(room[:0], "T "...), seq, 10), ' ')
	if !bytes.HasPrefix(b, head[:min(len(head), len(b))]) {
		return frame{}, fmt.Errorf("no transaction %d here", seq)
	}
	line, _, ok := bytes.Cut(b, newline)
	if !ok {
		return frame{}, errIncomplete
	}
	end := bytes.Index(b, []byte("\nE "))
	if end < 0 {
		return frame{}, errIncomplete
	}
	f := frame{Seq: seq, head: line}
	length := end + 1
	last, _, ok := bytes.Cut(b[length:], newline)
	if !ok {
		return frame{}, errIncomplete
	}
	f.Size = length + len(last) + 1
	if err := f.parseEnd(b, length, last, seq); err != nil {
		return frame{}, err
	}
	f.Body = b[len(line)+1 : length]
	return f, nil
}

// logged returns the transaction as the log tells it.
func (f frame) logged() (Logged, error) {
	h, err := parseHeader(string(f.head))
	return Logged{Transaction: h, What: summary(f)}, err
}

// loggedIn does as logged, with how the transaction, the next one of the state, finds slots. It begins on a line of a journal.
func (f frame) loggedIn(s *state, journal string, line int) (l Logged, err error) {
	if l, err = f.logged(); err == nil {
		l.earlier, err = s.earlier(f.Body)
	}
	if err != nil && !isDamage(err) {
		err = &DamageError{journal, line, err.Error()}
	}
	return l, err
}

var (
	newline       = []byte("\n")
	errIncomplete = fmt.Errorf("the transaction has no end")
)

// parseEnd checks the E line, last, of a frame whose other lines are length
// bytes at the start of b.
func (f *frame) parseEnd(b []byte, length int, last []byte, seq uint64) error {
	rest := strings.TrimPrefix(string(last), "E ")
	var numbers [4]uint64
	for i := range numbers {
		digits, behind, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return fmt.Errorf("transaction %d: its end line does not check", seq)
		}
		numbers[i], rest = n, behind
	}
	if numbers[0] != seq || numbers[1] != uint64(length) || strings.Contains(rest, " ") {
		return fmt.Errorf("transaction %d: its end line does not check", seq)
	}
	sum := checksum(b[:length+len(last)-len(rest)])
	if recorded, err := strconv.ParseUint(rest, 16, 32); err != nil || len(rest) != 8 || uint32(recorded) != sum || strings.ToLower(rest) != rest {
		return fmt.Errorf("transaction %d: its checksum is %08x, recorded is %s", seq, sum, rest)
	}
	f.Synced, f.Next, f.CRC = numbers[2], int(numbers[3]), sum
	return nil
}

// parseHeader reads a T line whose checksum is known to be right.
func parseHeader(line string) (Transaction, error) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) != 6 {
		return Transaction{}, fmt.Errorf("a T line with too few fields")
	}
	seq, err1 := strconv.ParseUint(fields[1], 10, 64)
	machine, err2 := time.Parse(timeLayout, fields[2])
	policy, err3 := time.Parse(timeLayout, fields[3])
	uid, err4 := strconv.Atoi(fields[4])
	texts, err5 := quotedtext.All(fields[5])
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return Transaction{}, fmt.Errorf("a T line that does not parse: %w", err)
		}
	}
	if len(texts) < 3 {
		return Transaction{}, fmt.Errorf("a T line with too few fields")
	}
	return Transaction{seq, machine, policy, uid, texts[0], texts[1], texts[2], texts[3:]}, nil
}

// wasSynced reports whether the transaction behind number seq, which b should begin with, was
// durable once: a whole transaction stands anywhere in b that was written when it was. If so, what
// b begins with is damage and no torn tail.
func wasSynced(b []byte, seq uint64) bool {
	for at := 0; at < len(b); {
		if b[at] == 'T' {
			var number uint64
			if n, _ := fmt.Sscanf(string(b[at:min(at+24, len(b))]), "T %d ", &number); n == 1 && number > seq {
				f, err := parseFrame(b[at:], number)
				if err == nil && f.Synced > seq {
					return true
				}
				if err == errIncomplete {
					return false // nor does anything behind it have an end
				}
			}
		}
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return false
		}
		at += i + 1
	}
	return false
}

// Logged is one transaction of the audit trail. The log keeps it when its lines
// are folded away.
type Logged struct {
	Transaction
	What    string   // what it changed, in a few words
	earlier []string // how it found slots: see state.earlier
}

// append writes the lines of the log.
func (l Logged) append(b []byte) []byte {
	b = fmt.Appendf(l.Transaction.append(b), "= %s\n", l.What)
	for _, line := range l.earlier {
		b = append(append(append(b, earlierHead...), line...), '\n')
	}
	return b
}

// writeLog adds the transactions that are folded to the log, by months of the
// machine's clock, and returns how much of it counts then.
func (f *fold) writeLog() (map[string]stretch, error) {
	months := f.state.log
	texts := map[string][]byte{}
	for _, l := range f.headers {
		month := monthOf(l.Machine)
		texts[month] = l.append(texts[month])
	}
	for _, month := range slices.Sorted(maps.Keys(texts)) {
		after, err := f.spool.addLog(month, months[month], texts[month])
		if err != nil {
			return nil, err
		}
		months[month] = after
	}
	return months, nil
}

// addLog appends to a month's log, durably. A log that does not check is left as it
// is.
func (s *Spool) addLog(name string, known stretch, text []byte) (stretch, error) {
	m, err := s.openMonth(logFile(name), name, known, sums, func() error { return nil })
	if err != nil {
		return known, err
	}
	defer m.file.Close()
	m.put(text)
	err = m.keep(s, "log")
	return stretch{m.end, m.crc}, err
}

// logFile returns the name of a month's log in the spool.
func logFile(month string) string { return "log/" + month }

// sums returns an error unless a file has the recorded checksum.
func sums(path string, f files.File, known stretch) error {
	sum, err := sumTo(f, known.end)
	if err == nil && sum != known.crc {
		err = otherSum(path, sum, known)
	}
	return err
}

// sumTo returns the CRC-32C of the first bytes of a file.
func sumTo(f files.File, end int64) (sum uint32, err error) {
	b := make([]byte, min(end, 1<<20))
	for at := int64(0); at < end; {
		n, err := f.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if n == 0 && err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b[:n])
		at += int64(n)
	}
	return sum, nil
}

// otherSum says that a file that is only appended to has another checksum than was recorded.
func otherSum(path string, sum uint32, known stretch) error {
	return &DamageError{path, 1, fmt.Sprintf("its checksum is %08x, recorded is %08x", sum, known.crc)}
}

// Log goes through all transactions there are traces of, the oldest first: those
// that were folded away, and those of the journal. Archived months are passed over.
func (s *Spool) Log(each func(Logged) error) error {
	var base pinned
	var journal []Logged
	if err := twice(func() (err error) {
		base, journal, err = s.journalLog()
		return err
	}); err != nil {
		return err
	}
	defer base.release()
	for _, name := range slices.Sorted(maps.Keys(base.log)) {
		text, err := s.logMonth(name, base.log[name])
		if err == nil {
			err = eachLogged(s.path(logFile(name)), text, func(l Logged) error {
				l.earlier = nil // the journal's have none either
				return each(l)
			})
		}
		if err != nil {
			return err
		}
	}
	for _, l := range journal {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// journalLog pins the generation in force and returns the transactions of its
// journal. Months that these have archived are removed from its log.
func (s *Spool) journalLog() (pinned, []Logged, error) {
	base, current, err := s.pinCurrent()
	if err != nil {
		return base, nil, err
	}
	var list []Logged
	p := base.start()
	if err := s.advance(&p, current, func(f frame, line int) error {
		l, err := f.logged()
		if err != nil {
			return &DamageError{s.journal(p.generation), line, err.Error()}
		}
		list = append(list, l)
		for _, line := range (chunk{text: f.Body}).lines() {
			if month, ok := bytes.CutPrefix(line, []byte("h log/")); ok {
				delete(base.log, string(month))
			}
		}
		return nil
	}); err != nil {
		base.release()
		return pinned{}, nil, err
	}
	return base, list, nil
}

// logMonth returns the text of a month of the log, none if others have archived the
// month by now.
func (s *Spool) logMonth(name string, known stretch) ([]byte, error) {
	text, err := s.logText(name, known)
	if isDamage(err) {
		if now, ok := s.recordedNow(); ok && now.log[name].end < known.end {
			return nil, nil
		}
	}
	return text, err
}

func (s *Spool) logText(name string, known stretch) ([]byte, error) {
	if known.end == 0 {
		return nil, nil
	}
	path := s.path(logFile(name))
	f, err := s.openRecorded(path, known)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, known.end)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if sum := checksum(b); sum != known.crc {
		return nil, otherSum(path, sum, known)
	}
	return b, nil
}

// eachLogged goes through the transactions of a month's log.
func eachLogged(path string, text []byte, each func(Logged) error) error {
	r := logReader{each: each}
	n := 0
	for ; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, newline)
		if err := r.line(line); err != nil {
			return r.located(path, n, err)
		}
		text = rest
	}
	return r.located(path, n, r.end())
}

// logReader reads the lines of a month's log.
type logReader struct {
	each  func(Logged) error
	next  Logged
	lines int // of next
	bad   error
}

// line reads the next line.
func (r *logReader) line(line []byte) (err error) {
	what, second := bytes.CutPrefix(line, []byte("= "))
	was, further := bytes.CutPrefix(line, []byte(earlierHead))
	switch {
	case r.lines == 1 && second:
		r.next.What = string(what)
	case r.lines > 1 && further:
		r.next.earlier = append(r.next.earlier, string(was))
	case r.lines == 1:
		r.bad = fmt.Errorf("%.80q: not what a transaction changed", line)
		return r.bad
	default:
		if err := r.end(); err != nil {
			return err
		}
		if r.next.Transaction, r.bad = parseHeader(string(line)); r.bad != nil {
			return r.bad
		}
	}
	r.lines++
	return nil
}

// end hands over the last transaction.
func (r *logReader) end() (err error) {
	if r.lines > 0 {
		err = r.each(r.next)
	}
	r.next, r.lines = Logged{}, 0
	return err
}

// located returns an error, if there is one, as damage in a line, counted from 0, unless it is that of each.
func (r *logReader) located(path string, n int, err error) error {
	if err != nil && err == r.bad {
		return &DamageError{path, n + 1, err.Error()}
	}
	return err
}
