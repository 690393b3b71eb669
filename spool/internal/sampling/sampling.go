// Package sampling reads the samples of a spool: files for tiers of time.
package sampling

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"fairspool/lib/history"
	"fairspool/lib/plural"
	"fairspool/spool/internal/files"
)

// The folder of the samples, and the file with the names that numbers in them stand for.
const (
	Dir   = "samples"
	Names = Dir + "/names"
)

// Wanted says which samples are wanted.
type Wanted struct {
	// Since and Until are the time of which they are to be. The zero Since is as
	// long as there are any.
	Since, Until time.Time
	// Points is how many points of each series are wanted at most, 0 for all
	// that there are.
	Points int
	// Wanted selects submitters; nil: all.
	Wanted func(name string) bool
}

// Read returns a reader that was given the samples asked for, of files by tier in a spool's folder, as
// spool.Spool.ReadSamples does. Damaged makes the error of damage.
func Read(layer files.Layer, dir string, byTier map[string][]string, want Wanted, damaged func(path string, line int, why string) error) (r *history.Reader, damage []error, err error) {
	p := pass{layer: layer, dir: dir, files: byTier, damaged: damaged, told: map[place]bool{}}
	tiers := history.Tiers()
	if first, ok := p.begin(p.covering(tiers[len(tiers)-1], want.Until)); ok && want.Since.Before(first) {
		want.Since = first
	}
	r = history.NewReader(want.Since, want.Until, want.Points, want.Wanted)
	text, err := files.Contents(layer, p.path(Names))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	names, _, bad := history.ParseNames(text)
	p.tell(Names, bad)
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
	layer   files.Layer
	dir     string
	files   map[string][]string
	damaged func(path string, line int, why string) error
	damage  []error
	told    map[place]bool
}

// place is where something is damaged.
type place struct {
	path string
	line int
	why  string
}

func (p *pass) path(name string) string { return filepath.Join(p.dir, name) }

// sampled is the time of which one tier's samples are wanted: until is not part
// of it.
type sampled struct {
	tier         history.Tier
	since, until time.Time
}

// covering returns those of a tier's files in which samples stand up to a time without a
// gap: behind one may be what a wrong clock left. The coarsest tier has no other tier to
// fill a gap.
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
func (p *pass) begin(names []string) (first time.Time, ok bool) {
	for _, name := range names {
		f, err := p.layer.Open(p.path(Dir+"/"+name), files.ReadOnly, 0)
		if err != nil {
			continue // it went, or read tells
		}
		size, err := f.Size()
		if err == nil {
			found, _ := history.Scan(Whole(f, size), func(b *history.Block) error {
				first, ok = b.Time, true
				return history.ErrStop
			})
			p.tell(Dir+"/"+name, found.Damaged)
		}
		f.Close()
		if ok {
			break
		}
	}
	return first, ok
}

// stretches divides the time asked for among tiers, in the order of time.
func (p *pass) stretches(tiers []history.Tier, want Wanted) (list []sampled) {
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
		if err := p.file(r, Dir+"/"+name, want.until); err != nil {
			return err
		}
	}
	return nil
}

// file gives the reader the blocks of a file, up to a time.
func (p *pass) file(r *history.Reader, name string, until time.Time) error {
	f, err := p.layer.Open(p.path(name), files.ReadOnly, 0)
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
	found, err := history.Scan(Whole(f, size), func(b *history.Block) error {
		if !b.Time.Before(until) {
			return history.ErrStop
		}
		nameless += r.Add(b)
		return nil
	})
	p.tell(name, found.Damaged)
	if nameless > 0 {
		p.damage = append(p.damage, fmt.Errorf("%s: %s of names that %s does not have", p.path(name), plural.Count(nameless, "sample"), Names))
	}
	return err
}

// tell notes the damage in a file, each place once.
func (p *pass) tell(name string, bad []history.Damage) {
	for _, d := range bad {
		at := place{p.path(name), d.Line, d.Why}
		if !p.told[at] {
			p.told[at] = true
			p.damage = append(p.damage, p.damaged(at.path, at.line, at.why))
		}
	}
}

// Whole returns what a file has, of a size.
func Whole(f files.File, size int64) io.Reader { return io.NewSectionReader(f, 0, size) }
