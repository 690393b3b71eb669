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

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/logtext"
)

// castagnoli is the CRC polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of b.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Transaction is the T line of a transaction, and Logged one of the audit trail: the log keeps it when its lines are folded away.
type (
	Transaction = logtext.Transaction
	Logged      = logtext.Logged
)

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

// framed returns the bytes of the transaction with that body, and its CRC; synced is frame.Synced. It moves the body in the room that it
// has, if that is enough for the other two lines: a body may have many megabytes, which are not to be there twice.
func framed(h Transaction, body []byte, synced uint64, next int) ([]byte, uint32) {
	head := h.Append(nil)
	n := len(head) + len(body)
	b := body[:min(n, cap(body))]
	if cap(body) < n+endRoom {
		b = make([]byte, n, n+endRoom)
	}
	copy(b[len(head):], body)
	copy(b, head)
	b = fmt.Appendf(b, "E %d %d %d %d ", h.Seq, n, synced, next)
	crc := checksum(b)
	return fmt.Appendf(b, "%08x\n", crc), crc
}

// endRoom is as much as an E line takes.
const endRoom = 100

// lineRoom is more than most lines take.
const lineRoom = 4096

// withRoom returns a text with room for n more bytes. To double the room copies less often than append, and room that is made so is not
// touched until it is needed.
func withRoom(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+max(len(b), n)), b...)
}

// parseFrame reads the transaction that begins b and must have the number seq. It returns errIncomplete when b ends before the frame does,
// and another error when what is there cannot be that frame.
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
	h, err := logtext.ParseHeader(string(f.head))
	return Logged{Transaction: h, What: logtext.Words(f.Body)}, err
}

// loggedIn does as logged, with how the transaction, the next one of the state, finds slots. It begins on a line of a journal.
func (f frame) loggedIn(s *state, journal string, line int) (l Logged, err error) {
	if l, err = f.logged(); err == nil {
		l.Earlier, err = s.earlier(f.Body)
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

// parseEnd checks the E line, last, of a frame whose other lines are length bytes at the start of b.
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

// wasSynced reports whether the transaction behind number seq, which b should begin with, was durable once: a whole transaction stands
// anywhere in b that was written when it was. If so, what b begins with is damage and no torn tail.
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

// writeLog adds the transactions that are folded to the log, by months of the machine's clock, and returns how much of it counts then.
func (f *fold) writeLog() (map[string]stretch, error) {
	months := f.state.log
	texts := map[string][]byte{}
	for _, l := range f.headers {
		month := monthOf(l.Machine)
		texts[month] = l.Append(texts[month])
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

// addLog appends to a month's log, durably. A log that does not check is left as it is.
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
	sum, err := files.Sum(f, known.end)
	if err == nil && sum != known.crc {
		err = otherSum(path, sum, known)
	}
	return err
}

// otherSum says that a file that is only appended to has another checksum than was recorded.
func otherSum(path string, sum uint32, known stretch) error {
	return &DamageError{path, 1, fmt.Sprintf("its checksum is %08x, recorded is %08x", sum, known.crc)}
}

// Log goes through all transactions there are traces of, the oldest first: those that were folded away, and those of the journal. Archived
// months are passed over.
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
				l.Earlier = nil // the journal's have none either
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

// journalLog pins the generation in force and returns the transactions of its journal. Months that these have archived are removed from its
// log.
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

// logMonth returns the text of a month of the log, none if others have archived the month by now.
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
	r, n := logtext.Reader{Each: each}, 0
	for line := range bytes.Lines(text) {
		if err := r.Line(bytes.TrimSuffix(line, newline)); err != nil {
			return inLog(&r, path, n, err)
		}
		n++
	}
	return inLog(&r, path, n, r.End())
}

// inLog returns an error, if there is one, as damage in a line of a log, counted from 0, unless it is of what takes the transactions.
func inLog(r *logtext.Reader, path string, n int, err error) error {
	if r.Wrong(err) {
		return &DamageError{path, n + 1, err.Error()}
	}
	return err
}
