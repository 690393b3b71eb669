package spool

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"fairspool/lib/history"
	"fairspool/lib/plural"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/sampling"
)

// The files of samples: one for each tier and day or month, and the names that the numbers in them stand for.
const (
	samplesDir = sampling.Dir
	namesFile  = sampling.Names
)

// AddSamples notes what there is to remember of a moment for the tiers whose turn it is, and removes what is too old. It is for a
// negotiation cycle, inside Negotiating: there is one writer. Samples are no part of a transaction's promise: a power cut may take the last
// few. New names are synced, and the first samples in each block of the file system.
func (s *Spool) AddSamples(m history.Moment) error {
	if err := s.addSamples(m); err != nil {
		return fmt.Errorf("%s: %w", samplesDir, err)
	}
	return nil
}

func (s *Spool) addSamples(m history.Moment) error {
	if err := s.files.Mkdir(s.path(samplesDir), 0o700); err != nil {
		return err
	}
	var due []*sampleFile
	defer func() {
		for _, f := range due {
			f.file.Close()
		}
	}()
	for _, tier := range history.Tiers() {
		f, err := s.openSamples(tier, m)
		if err != nil {
			return err
		}
		if f != nil {
			due = append(due, f)
		}
	}
	if len(due) == 0 {
		return nil // without a look at the names, which may be many
	}
	if err := s.fill(due, m); err != nil {
		return err
	}
	for _, f := range due {
		if err := f.keep(); err != nil {
			return err
		}
		if f.end == 0 {
			if err := s.removeSamples(f.tier, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill makes the files' next blocks, and keeps the names that are new in them.
func (s *Spool) fill(due []*sampleFile, m history.Moment) error {
	names, err := s.openNames()
	if err != nil {
		return err
	}
	defer func() { names.file.Close() }()
	for _, f := range due {
		b := m.Block(f.last, names.Names)
		f.text = b.Append(f.text)
	}
	return names.keep(s)
}

// sampleNames is the file of names, open for writing.
type sampleNames struct {
	*history.Names
	file files.File
	end  int64
	gap  []byte // a newline that damage has taken
}

// openNames reads the names and cuts off one that was never written to its end, which no sample speaks of.
func (s *Spool) openNames() (n sampleNames, err error) {
	f, err := s.files.Open(s.path(namesFile), files.ReadWrite|files.Create, 0o600)
	if err != nil {
		return n, err
	}
	text, err := files.Tail(f, 0)
	if err == nil {
		var whole int
		n.Names, whole, _ = history.ParseNames(text)
		n.file, n.end = f, int64(whole)
		n.gap = gap(text[:whole])
		if whole < len(text) {
			err = f.Truncate(n.end)
		}
	}
	if err == nil && n.Names == nil {
		err = n.begin(s)
	}
	if err != nil {
		f.Close()
	}
	return n, err
}

// begin makes new names. A file of nothing but damage is kept aside.
func (n *sampleNames) begin(s *Spool) (err error) {
	if n.end > 0 {
		name := s.path(namesFile)
		if err = s.files.Rename(name, name+".damaged"); err != nil {
			return err
		}
		n.file.Close()
		if n.file, err = s.files.Open(name, files.ReadWrite|files.Create, 0o600); err != nil {
			return err
		}
		n.end, n.gap = 0, nil
	}
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	n.Names = history.NewNames(binary.BigEndian.Uint32(id[:]))
	return nil
}

// keep writes the new names, durably: samples speak of them.
func (n *sampleNames) keep(s *Spool) error {
	text := n.New()
	if len(text) == 0 {
		return nil
	}
	if err := write(n.file, append(n.gap, text...), n.end); err != nil {
		return err
	}
	if n.end > 0 {
		return nil
	}
	if err := s.files.SyncDir(s.path(samplesDir)); err != nil {
		return err
	}
	return s.files.SyncDir(s.dir)
}

// sampleFile is a file of samples that is to have another block.
type sampleFile struct {
	tier history.Tier
	file files.File
	last *history.Block // nil for none
	end  int64
	text []byte // to be added; it begins with a newline that damage has taken
}

// gap returns the newline that text, to which more is to be added, should end with and does not.
func gap(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return nil
	}
	return []byte("\n")
}

// openSamples opens the tier's file for a moment, nil when it is not to have another block.
func (s *Spool) openSamples(tier history.Tier, m history.Moment) (*sampleFile, error) {
	f, err := s.files.Open(s.path(samplesDir+"/"+tier.File(m.Now)), files.ReadWrite|files.Create, 0o600)
	if err != nil {
		return nil, err
	}
	last, end, err := lastBlock(f)
	var ends []byte // the last byte that counts
	if err == nil && end > 0 {
		ends = make([]byte, 1)
		_, err = f.ReadAt(ends, end-1)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if last != nil && !tier.Due(last.Time, m.Now) {
		return nil, f.Close()
	}
	return &sampleFile{tier: tier, file: f, last: last, end: end, text: gap(ends)}, nil
}

// lastBlock returns the last block of a file, nil for none, and where the next one belongs. What a dead writer left is cut off, and what is
// damaged stays.
func lastBlock(f files.File) (last *history.Block, end int64, err error) {
	size, err := f.Size()
	if err != nil || size == 0 {
		return nil, 0, err
	}
	for need := int64(4096); need > 0; {
		from := max(size-need, 0)
		text, err := files.Tail(f, from)
		if err != nil {
			return nil, 0, err
		}
		b, n, ok := history.LastBlock(text)
		if ok {
			return &b, size, nil
		}
		need = int64(n)
		if from == 0 || need > size {
			break
		}
	}
	found, err := history.Scan(sampling.Whole(f, size), func(b *history.Block) error {
		c := *b
		c.Samples = nil
		last = &c
		return nil
	})
	if err == nil && found.End < size {
		err = f.Truncate(found.End)
	}
	return last, found.End, err
}

// blockSize is that of a file system's blocks, in bytes, or a multiple of it.
const blockSize = 4096

// keep appends the block. One that does not fit is taken back, as far as that succeeds. Text that reaches into a new block of the file
// system is synced: on ext2, a power cut might otherwise leave the size without the text, and in its place lines of a file that was
// removed.
func (f *sampleFile) keep() (err error) {
	if f.end%blockSize == 0 || f.end/blockSize != (f.end+int64(len(f.text)))/blockSize {
		err = write(f.file, f.text, f.end)
	} else {
		_, err = f.file.WriteAt(f.text, f.end)
	}
	if err != nil {
		f.file.Truncate(f.end)
	}
	return err
}

// removeSamples removes the files of a tier that are too old.
func (s *Spool) removeSamples(tier history.Tier, m history.Moment) error {
	files, err := s.sampleFiles()
	if err != nil {
		return err
	}
	for _, name := range tier.Surplus(files[tier.Name], m.Now) {
		if err := s.files.Remove(s.path(samplesDir + "/" + name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// sampleFiles returns the names of the files that there are, by tier, each ascending.
func (s *Spool) sampleFiles() (map[string][]string, error) {
	entries, err := os.ReadDir(s.path(samplesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	files := map[string][]string{}
	for _, tier := range history.Tiers() {
		for _, e := range entries {
			if _, _, ok := tier.Period(e.Name()); ok {
				files[tier.Name] = append(files[tier.Name], e.Name())
			}
		}
		slices.Sort(files[tier.Name])
	}
	return files, err
}

// samples checks the files of samples and the names.
func (c *checker) samples() {
	text, err := files.Contents(c.s.files, c.s.path(namesFile))
	if err == nil {
		n, _, bad := history.ParseNames(text)
		if c.altered(namesFile, bad) && n != nil {
			c.fine(namesFile, "%s", plural.Count(n.Len(), "name"))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.trouble(namesFile, err)
	}
	files, err := c.s.sampleFiles()
	if c.trouble(samplesDir, err) {
		return
	}
	for _, tier := range history.Tiers() {
		for _, name := range files[tier.Name] {
			c.sampleFile(samplesDir + "/" + name)
		}
	}
}

func (c *checker) sampleFile(name string) {
	f, err := c.s.files.Open(c.s.path(name), files.ReadOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return // it was too old
	}
	if c.trouble(name, err) {
		return
	}
	defer f.Close()
	size, err := f.Size()
	if c.trouble(name, err) {
		return
	}
	blocks := 0
	found, err := history.Scan(sampling.Whole(f, size), func(*history.Block) error { blocks++; return nil })
	if c.trouble(name, err) || !c.altered(name, found.Damaged) {
		return
	}
	torn := ""
	if found.End < size {
		torn = fmt.Sprintf(", and %s of one that was never completed", plural.Count(int(size-found.End), "byte"))
	}
	c.fine(name, "samples of %s%s", plural.Count(blocks, "moment"), torn)
}

// altered reports damage and reports whether there was none.
func (c *checker) altered(name string, bad []history.Damage) bool {
	for _, d := range bad {
		c.damaged(name, d.Line, "%s", d.Why)
	}
	return len(bad) == 0
}

// samplesSize returns the sizes of the files of samples, by tier.
func (s *Spool) samplesSize() (map[string]int64, error) {
	sizes := map[string]int64{}
	files, err := s.sampleFiles()
	for tier, names := range files {
		for _, name := range names {
			info, err := os.Stat(s.path(samplesDir + "/" + name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			sizes[tier] += info.Size()
		}
	}
	return sizes, err
}

// Samples says which samples are wanted.
type Samples = sampling.Wanted

// ReadSamples returns a reader that was given the samples asked for: for each stretch of time those of the finest tier that there is, but
// none finer than the points ask for. Damage names file and line; the rest counts.
func (s *Spool) ReadSamples(want Samples) (r *history.Reader, damage []error, err error) {
	byTier, err := s.sampleFiles()
	if err != nil {
		return nil, nil, err
	}
	return sampling.Read(s.files, s.dir, byTier, want, func(path string, line int, why string) error { return &DamageError{path, line, why} })
}
