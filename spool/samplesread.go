package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"fairspool/lib/history"
	"fairspool/lib/plural"
)

// Samples says which samples are wanted.
type Samples struct {
	// Since and Until are the time of which they are to be. The zero Since is as
	// long as there are any.
	Since, Until time.Time
	// Points is how many points of each series are wanted at most, 0 for all
	// that there are.
	Points int
	// Wanted says of whom; nil: of everybody.
	Wanted func(name string) bool
}

// ReadSamples returns a reader that was given the samples asked for: for each
// stretch of time those of the finest tier that there is, but none finer than the
// points ask for. Damage names file and line; the rest counts.
func (s *Spool) ReadSamples(want Samples) (r *history.Reader, damage []error, err error) {
	files, err := s.sampleFiles()
	if err != nil {
		return nil, nil, err
	}
	p := pass{s: s, files: files}
	tiers := history.Tiers()
	if first, ok := p.begin(p.covering(tiers[len(tiers)-1], want.Until)); ok && want.Since.Before(first) {
		want.Since = first
	}
	r = history.NewReader(want.Since, want.Until, want.Points, want.Wanted)
	text, err := contents(s.files, s.path(namesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	names, _, bad := history.ParseNames(text)
	p.tell(namesFile, bad)
	if names == nil {
		return r, p.damage, nil
	}
	r.SetNames(names)
	step := time.Duration(0)
	if want.Points > 0 {
		step = want.Until.Sub(want.Since) / time.Duration(want.Points)
	}
	for _, span := range p.stretches(history.Choose(step), want) {
		if err := p.read(r, span); err != nil {
			return nil, nil, err
		}
	}
	return r, p.damage, nil
}

// pass is one reading of samples.
type pass struct {
	s      *Spool
	files  map[string][]string
	damage []error
}

// sampled is the time of which one tier's samples are wanted: until is not part
// of it.
type sampled struct {
	tier         history.Tier
	since, until time.Time
}

// covering returns those of a tier's files in which samples stand up to a time
// without a gap: behind one may be what a wrong clock left. The coarsest tier has
// nobody to fill a gap.
func (p *pass) covering(tier history.Tier, until time.Time) []string {
	files := p.files[tier.Name]
	end := len(files)
	for end > 0 && files[end-1] > tier.File(until) {
		end--
	}
	files = files[:end]
	if tier.Keep == 0 {
		return files
	}
	for i := len(files) - 1; i > 0; i-- {
		begin, _, _ := tier.Period(files[i])
		if _, before, _ := tier.Period(files[i-1]); before.Before(begin) {
			return files[i:]
		}
	}
	return files
}

// begin returns the time of the first samples in the files.
func (p *pass) begin(files []string) (first time.Time, ok bool) {
	for _, name := range files {
		f, err := p.s.files.Open(p.s.path(samplesDir+"/"+name), readOnly, 0)
		if err != nil {
			continue // it went, or read tells
		}
		size, err := f.Size()
		if err == nil {
			found, _ := history.Scan(whole(f, size), func(b *history.Block) error {
				first, ok = b.Time, true
				return history.ErrStop
			})
			p.tell(samplesDir+"/"+name, found.Damaged)
		}
		f.Close()
		if ok {
			break
		}
	}
	return first, ok
}

// stretches divides the time asked for among tiers, in the order of time.
func (p *pass) stretches(tiers []history.Tier, want Samples) (list []sampled) {
	until := want.Until.Add(time.Millisecond)
	for _, tier := range tiers {
		since, ok := p.begin(p.covering(tier, want.Until))
		if !ok || !since.Before(until) {
			continue
		}
		if since.Before(want.Since) {
			since = want.Since
		}
		list = append(list, sampled{tier, since, until})
		until = since
	}
	slices.Reverse(list)
	return list
}

// read gives the reader the blocks of a stretch, and those before it from which
// it follows what was so when it began.
func (p *pass) read(r *history.Reader, want sampled) error {
	files := p.files[want.tier.Name]
	from := 0
	for i, name := range files {
		if begin, _, _ := want.tier.Period(name); begin.After(want.since) {
			break
		}
		from = i
	}
	for _, name := range files[min(from, len(files)):] {
		if begin, _, _ := want.tier.Period(name); !begin.Before(want.until) {
			break
		}
		if err := p.file(r, samplesDir+"/"+name, want.until); err != nil {
			return err
		}
	}
	return nil
}

// file gives the reader the blocks of a file, up to a time.
func (p *pass) file(r *history.Reader, name string, until time.Time) error {
	f, err := p.s.files.Open(p.s.path(name), readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // too old meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	nameless := 0
	found, err := history.Scan(whole(f, size), func(b *history.Block) error {
		if !b.Time.Before(until) {
			return history.ErrStop
		}
		nameless += r.Add(b)
		return nil
	})
	p.tell(name, found.Damaged)
	if nameless > 0 {
		p.damage = append(p.damage, fmt.Errorf("%s: %s of names that %s does not have", p.s.path(name), plural.Count(nameless, "sample"), namesFile))
	}
	return err
}

// tell notes the damage in a file, each place once.
func (p *pass) tell(name string, bad []history.Damage) {
	for _, d := range bad {
		place := DamageError{p.s.path(name), d.Line, d.Why}
		if !slices.ContainsFunc(p.damage, func(err error) bool { known, ok := err.(*DamageError); return ok && *known == place }) {
			p.damage = append(p.damage, &place)
		}
	}
}

// whole returns what a file has, of a size.
func whole(f file, size int64) io.Reader { return io.NewSectionReader(f, 0, size) }
