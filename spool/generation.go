package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
)

// generation is what one fold of the journal left: which files hold the spool as of its last folded transaction, behind which the journal
// of the same number begins. It is written once, as index.N, and never changed.
type generation struct {
	number  int
	base    ack // where its journal begins; End is 0
	jobs    []segmentFile[int]
	slots   []segmentFile[string]
	tables  map[string]tableFile // by name; absent: empty
	history map[string]stretch   // by month
	log     map[string]stretch   // by month: what the journal's headers told, once folded
}

// tableFile is the file of a small table.
type tableFile struct {
	name  string // such as claims.7
	bytes int64
	rows  int
	crc   uint32
}

// stretch is how much of an append-only file counts: what stands behind end was never committed.
type stretch struct {
	end int64
	crc uint32 // of all that counts
}

// noGeneration is what is there before anything was folded.
func noGeneration(number int) *generation {
	return &generation{
		number: number, base: ack{Generation: number, Next: 1},
		tables: map[string]tableFile{}, history: map[string]stretch{}, log: map[string]stretch{},
	}
}

// text writes index.N: a line for each file, and a last one with the CRC-32C of everything before it.
func (g *generation) text() []byte {
	b := fmt.Appendf(nil, "generation %d %d %d %08x\n", g.number, g.base.Seq, g.base.Next, g.base.CRC)
	for _, f := range g.jobs {
		b = f.append(b, "jobs", clusterKeys)
	}
	for _, f := range g.slots {
		b = f.append(b, "slots", slotKeys)
	}
	for _, name := range slices.Sorted(maps.Keys(g.tables)) {
		t := g.tables[name]
		b = fmt.Appendf(b, "table %s %s %d %d %08x\n", name, t.name, t.bytes, t.rows, t.crc)
	}
	b = appendStretches(b, "history", g.history)
	b = appendStretches(b, "log", g.log)
	return endline.Append(b)
}

func appendStretches(b []byte, word string, months map[string]stretch) []byte {
	for _, month := range slices.Sorted(maps.Keys(months)) {
		b = fmt.Appendf(b, "%s %s %d %08x\n", word, month, months[month].end, months[month].crc)
	}
	return b
}

// parseGeneration reads index.N. The error says what is wrong, and line where.
func parseGeneration(b []byte, number int) (g *generation, line int, err error) {
	lines, _, err := endline.Cut(b)
	if err != nil {
		return nil, 1, err
	}
	g = noGeneration(number)
	for n, text := range strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n") {
		if err := g.parseLine(text, n == 0); err != nil {
			return nil, n + 1, err
		}
	}
	return g, 0, nil
}

func (g *generation) parseLine(text string, first bool) (err error) {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case first != (word == "generation"):
		return fmt.Errorf("%q: not expected here", word)
	case first:
		var n int
		_, err = fmt.Sscanf(rest, "%d %d %d %x", &n, &g.base.Seq, &g.base.Next, &g.base.CRC)
		if err == nil && n != g.number {
			err = fmt.Errorf("it is of generation %d", n)
		}
	case word == "jobs":
		g.jobs, err = appendSegment(g.jobs, rest, clusterKeys)
	case word == "slots":
		g.slots, err = appendSegment(g.slots, rest, slotKeys)
	case word == "table":
		var name string
		var t tableFile
		_, err = fmt.Sscanf(rest, "%s %s %d %d %x", &name, &t.name, &t.bytes, &t.rows, &t.crc)
		g.tables[name] = t
	case word == "history":
		err = parseStretch(g.history, rest)
	case word == "log":
		err = parseStretch(g.log, rest)
	default:
		err = fmt.Errorf("%q: a line of unknown kind", word)
	}
	return err
}

// parseStretch reads "2026-11 4711 5407c828".
func parseStretch(months map[string]stretch, text string) error {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return fmt.Errorf("%q: not a month, a length and a checksum", text)
	}
	end, err := strconv.ParseInt(fields[1], 10, 64)
	crc, err2 := strconv.ParseUint(fields[2], 16, 32)
	months[fields[0]] = stretch{end, uint32(crc)}
	return errors.Join(err, err2)
}

// errMoved says that a generation is no longer in force, and gone.
var errMoved = errors.New("the generation is gone")

// pinned is a generation in use. While the pin is held none of its files is removed; no process ever waits for it.
type pinned struct {
	*generation
	pin files.Lock
}

func (p pinned) release() {
	if p.pin != nil {
		p.pin.Unlock()
	}
}

func (s *Spool) indexFile(number int) string { return s.path("index." + strconv.Itoa(number)) }

// openGeneration pins a generation and reads its index. errMoved: it was removed meanwhile, and CURRENT names another.
func (s *Spool) openGeneration(number int) (pinned, error) {
	name := s.indexFile(number)
	pin, err := s.pinFile(name)
	if err != nil {
		return pinned{}, err
	}
	g, err := s.readGeneration(number)
	if err != nil {
		pin.Unlock()
		return pinned{}, err
	}
	return pinned{g, pin}, nil
}

func (s *Spool) readGeneration(number int) (*generation, error) {
	name := s.indexFile(number)
	b, err := files.Contents(s.files, name)
	if err != nil {
		return nil, err
	}
	g, line, err := parseGeneration(b, number)
	if err != nil {
		return nil, &DamageError{name, line, err.Error()}
	}
	return g, nil
}

// pinFile takes the shared lock on an index. Only the sweeping away of old generations ever takes the other, and never waits for it.
func (s *Spool) pinFile(name string) (files.Lock, error) {
	pin, err := lockFile(s.files, name, files.ReadOnly, true, 0)
	if err == nil {
		var ours bool
		if ours, err = leadsTo(name, pin); ours {
			return pin, nil
		}
		pin.Unlock()
	}
	if err == nil || errors.Is(err, ErrLocked) || errors.Is(err, fs.ErrNotExist) {
		err = errMoved
	}
	return nil, err
}

// openCurrent pins the generation in force for a caller with a lock that keeps others from replacing it: if its index is gone, that is
// damage.
func (s *Spool) openCurrent(number int) (pinned, error) {
	base, err := s.openGeneration(number)
	if errors.Is(err, errMoved) {
		err = &DamageError{s.indexFile(number), 1, "the file is missing"}
	}
	return base, err
}

// pinCurrent pins the generation in force.
func (s *Spool) pinCurrent() (pinned, ack, error) {
	for {
		current, err := s.current()
		if err != nil {
			return pinned{}, current, err
		}
		base, err := s.openGeneration(current.Generation)
		if !errors.Is(err, errMoved) {
			return base, current, err
		}
		if again, e := s.current(); e == nil && again == current {
			if err := s.superseded(current); err != nil {
				return base, current, err
			}
			return base, current, &DamageError{s.indexFile(current.Generation), 1, "the file is missing"}
		}
	}
}

// sweep removes the generations that are no longer in force, except those that a reader has pinned, and every file that none of the others
// names. It runs under fold.lock.
func (s *Spool) sweep(current int) error {
	s.forget() // or what it has pinned itself could not go
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	kept, retired := []int{current}, false
	for _, e := range entries {
		n, ok := numbered(e.Name(), "index.")
		if !ok || n == current {
			continue
		}
		gone, err := s.retire(n)
		if err != nil {
			return err
		}
		if !gone {
			kept = append(kept, n)
		}
		retired = retired || gone
	}
	if retired {
		// Or a power cut brings back an index whose files are gone.
		if err := s.files.SyncDir(s.dir); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	var generations []*generation
	for _, n := range kept {
		g, err := s.readGeneration(n)
		if err != nil {
			return err
		}
		g.name(named)
		generations = append(generations, g)
	}
	if err := s.sweepDigests(generations); err != nil {
		return err
	}
	return s.removeUnnamed(entries, named)
}

// retire removes the index of a generation and its journal, unless a reader has pinned it.
func (s *Spool) retire(n int) (gone bool, err error) {
	pin, err := lockFile(s.files, s.indexFile(n), files.ReadWrite, false, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer pin.Unlock()
	return true, s.files.Remove(s.indexFile(n))
}

// name notes the files that belong to a generation.
func (g *generation) name(named map[string]bool) {
	named["index."+strconv.Itoa(g.number)] = true
	named["journal."+strconv.Itoa(g.number)] = true
	for _, f := range g.jobs {
		named["jobs/"+f.name] = true
	}
	for _, f := range g.slots {
		named["slots/"+f.name] = true
	}
	for _, t := range g.tables {
		named[t.name] = true
	}
}

// swept returns the number of a journal's or a small table's file.
func swept(name string) (n int, ok bool) {
	kind, _, _ := strings.Cut(name, ".")
	if kind != "journal" && !slices.Contains(tableNames(), kind) {
		return 0, false
	}
	return numbered(name, kind+".")
}

// removeUnnamed removes the files of generations that are gone. Files with other names are not the spool's.
func (s *Spool) removeUnnamed(entries []os.DirEntry, named map[string]bool) error {
	var names []string
	for _, e := range entries {
		if _, ok := swept(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	for _, dir := range []string{"jobs", "slots"} {
		in, err := os.ReadDir(s.path(dir))
		if err != nil {
			return err
		}
		for _, e := range in {
			if _, ok := numbered(filepath.Ext(e.Name()), "."); ok && e.Type().IsRegular() {
				names = append(names, dir+"/"+e.Name())
			}
		}
	}
	for _, name := range names {
		if named[name] {
			continue
		}
		if err := s.files.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// numbered returns the number in names such as journal.7.
func numbered(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && strconv.Itoa(n) == rest
}
