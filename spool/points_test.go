package spool

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// nextCommands are what has to work after any fault. No row of operations is
// in their way.
var nextCommands = []operation{
	{name: "next submit", do: func(tx *Tx) error {
		tx.Op("submit", "next")
		tx.AddCluster(jobAd("dave"), []NewRun{{Count: 2}})
		return nil
	}},
	{name: "next set priority", do: func(tx *Tx) error {
		tx.Op("set priority", "1.10", "+1")
		tx.Set(pool.JobID{Cluster: 1, Proc: 10}, "JobPrio", classad.Literal(classad.Int(1)))
		return nil
	}},
	{name: "next remove", do: func(tx *Tx) error {
		tx.Op("remove", "1.10")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 10}, noon)
		return nil
	}},
}

// proof tries faults on copies of one spool. Many faults leave equal bytes, so a proof
// finds out once what comes of them: what a spool holds by its image, and what commands
// make of it by its tree.
type proof struct {
	t      *testing.T
	base   image
	idle   []standing // copies that are no longer needed
	random *rand.Rand
	known  map[string]outcome // by the names of the operations

	held       map[checksumOf]string
	sequels    map[checksumOf]sequel
	aftermaths map[checksumOf]aftermath

	points, states int
}

// newProof begins a proof on the fixture. What is left to chance goes by seed.
func newProof(t *testing.T, seed uint64) *proof {
	t.Helper()
	return &proof{
		t: t, base: imageOf(t, fixture(t)), random: rand.New(rand.NewPCG(seed, 0)), known: map[string]outcome{},
		held: map[checksumOf]string{}, sequels: map[checksumOf]sequel{}, aftermaths: map[checksumOf]aftermath{},
	}
}

// standing is an image and the directory in which it stands.
type standing struct {
	image
	root string
}

// on makes the image anew and returns a layer with a fault for it. Of a copy that is no
// longer needed it changes the files that differ.
func (p *proof) on(m image, f fault) *faulty {
	p.t.Helper()
	if len(p.idle) == 0 {
		p.idle = append(p.idle, standing{image{}, p.t.TempDir()})
	}
	last := len(p.idle) - 1
	there := p.idle[last]
	p.idle = p.idle[:last]
	if err := m.replace(there.image, there.root); err != nil {
		p.t.Fatal(err)
	}
	return &faulty{fault: f, root: there.root, tree: m.durable()}
}

// discard ends the use of a layer's copy.
func (p *proof) discard(layer *faulty) {
	m := layer.tree.present()
	for _, name := range layer.locks {
		if _, known := m[name]; !known { // the tree knows a lock file once it is opened
			os.Remove(filepath.Join(layer.root, name))
		}
	}
	p.idle = append(p.idle, standing{m, layer.root})
}

// does lets a command do an operation on the spool of a layer. The clock begins at the same
// time for each of them: equal operations on equal trees leave equal trees.
func (p *proof) does(o operation, layer *faulty) (err error) {
	p.t.Helper()
	synctest.Test(p.t, func(*testing.T) { err = o.in(layer.spool(), layer) })
	return err
}

// spool returns the spool's directory in a layer.
func (f *faulty) spool() string { return filepath.Join(f.root, "spool") }

// outcome is what comes of operations that nothing disturbs.
type outcome struct {
	holds   string
	refused bool // the last of them was
}

// after returns the outcome of operations.
func (p *proof) after(operations ...operation) outcome {
	p.t.Helper()
	key := names(operations)
	if known, ok := p.known[key]; ok {
		return known
	}
	layer := p.on(p.base, fault{})
	defer p.discard(layer)
	var err error
	for _, o := range operations {
		err = o.in(layer.spool(), layer)
	}
	text, e := held(layer.spool(), layer)
	if e != nil {
		p.t.Fatal(e)
	}
	p.known[key] = outcome{text, err != nil}
	return p.known[key]
}

// steps returns the changing operations of o when nothing goes wrong, and how
// often it reads.
func (p *proof) steps(o operation) ([]step, int) {
	p.t.Helper()
	layer := p.on(p.base, fault{})
	defer p.discard(layer)
	if err := p.does(o, layer); err != nil {
		p.t.Fatalf("%s: %v", o.name, err)
	}
	return layer.steps, layer.reads
}

// answers tells what a spool may hold, all of it lists of operations, when o
// has been answered with err: o is there if it was acknowledged, it is not if
// it was refused, and it may be if nobody said either.
func answers(done [][]operation, o operation, err error, dead bool) [][]operation {
	var may [][]operation
	for _, d := range done {
		if err != nil {
			may = append(may, d)
		}
		if err == nil || dead || errors.Is(err, files.ErrUncertain) {
			may = append(may, append(slices.Clone(d), o))
		}
	}
	return may
}

// reads returns what a spool holds that is an image.
func (p *proof) reads(m image, where string) string {
	p.t.Helper()
	sum := m.sum()
	if text, known := p.held[sum]; known {
		return text
	}
	layer := p.on(m, fault{})
	defer p.discard(layer)
	text, err := held(layer.spool(), layer)
	if err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
	p.held[sum] = text
	return text
}

// holds checks that what a spool holds is what one of the lists of operations
// leads to, and returns which.
func (p *proof) holds(got, where string, may [][]operation) []operation {
	p.t.Helper()
	p.states++
	for _, operations := range may {
		if p.after(operations...).holds == got {
			return operations
		}
	}
	var b strings.Builder
	for _, operations := range may {
		fmt.Fprintf(&b, "\nafter %s: %s", names(operations), firstDifference(got, p.after(operations...).holds))
	}
	p.t.Fatalf("%s: the spool holds none of what it may:%s", where, b.String())
	return nil
}

func names(operations []operation) string {
	list := []string{"the fixture"}
	for _, o := range operations {
		list = append(list, o.name)
	}
	return strings.Join(list, ", ")
}

// firstDifference shows where two texts begin to differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d = %q, want %q", i+1, slices.Concat(g, make([]string, len(w)))[i], slices.Concat(w, make([]string, len(g)))[i])
		}
	}
	return "none"
}

// lasts tells what a spool that holds now may hold after a power cut, once a
// later writer has been acknowledged. It has made sure of all that went through
// the journal; other changes last only if they were acknowledged themselves.
func lasts(now []operation, may [][]operation) [][]operation {
	for _, operations := range may {
		for _, o := range operations {
			if o.do == nil {
				return may
			}
		}
	}
	return [][]operation{now}
}

// look is an Update that changes nothing.
var look = operation{name: "look", do: func(*Tx) error { return nil }}

// remnant is what a spool holds after a power cut.
type remnant struct{ cut, holds string }

// sequel is what a spool holds, what it holds when the next commands have worked on it,
// and what a power cut leaves of that.
type sequel struct {
	now, next string
	last      remnant
}

// sequel lets the next commands work on the spool of a layer.
func (p *proof) sequel(layer *faulty, where string) sequel {
	p.t.Helper()
	s := sequel{now: p.reads(layer.tree.present(), where)}
	where += ", and the next commands"
	for _, o := range nextCommands {
		if err := p.does(o, layer); err != nil {
			p.t.Fatalf("%s: %s: %v", where, o.name, err)
		}
	}
	c := layer.tree.hardestCut()
	s.next, s.last = p.reads(layer.tree.present(), where), remnant{c.name, p.reads(c.image, where+", power cut, "+c.name)}
	return s
}

// restarted returns the sequel of what a power cut has left.
func (p *proof) restarted(c cut, where string) sequel {
	p.t.Helper()
	sum := c.image.sum()
	s, known := p.sequels[sum]
	if !known {
		layer := p.on(c.image, fault{})
		defer p.discard(layer)
		s = p.sequel(layer, where)
		p.sequels[sum] = s
	}
	return s
}

// goesOn checks that a spool held what it may, that the next commands worked on it, and
// that they survived a power cut.
func (p *proof) goesOn(s sequel, where string, may [][]operation) {
	p.t.Helper()
	now := slices.Concat(p.holds(s.now, where, may), nextCommands)
	where += ", and the next commands"
	p.holds(s.next, where, [][]operation{now})
	var later [][]operation
	for _, operations := range may {
		later = append(later, slices.Concat(operations, nextCommands))
	}
	p.holds(s.last.holds, where+", power cut, "+s.last.cut, lasts(now, later))
}

// aftermath is what comes of a tree that a fault has left: by a power cut, by a writer
// that has nothing to write and power cuts after it, and by the next commands.
type aftermath struct {
	cuts   []string
	left   []sequel // after each of the cuts
	looked string
	lasts  []remnant
	sequel
}

// aftermath lets others go on with the spool of a layer that a fault has left.
func (p *proof) aftermath(layer *faulty, where string) aftermath {
	p.t.Helper()
	sum := layer.tree.sum()
	a, known := p.aftermaths[sum]
	if known {
		return a
	}
	p.agrees(layer, where)
	for _, c := range layer.tree.cuts(p.random)[1:] {
		a.cuts, a.left = append(a.cuts, c.name), append(a.left, p.restarted(c, where+", power cut, "+c.name))
	}
	layer.revive()
	if err := p.does(look, layer); err != nil {
		p.t.Fatalf("%s, and a look: %v", where, err)
	}
	a.looked = p.reads(layer.tree.present(), where+", and a look")
	for _, c := range layer.tree.cuts(p.random) {
		a.lasts = append(a.lasts, remnant{c.name, p.reads(c.image, where+", and a look, power cut, "+c.name)})
	}
	a.sequel = p.sequel(layer, where)
	p.aftermaths[sum] = a
	return a
}

// settles checks that a writer that has nothing to write leaves behind it a
// spool of which no power cut takes anything. It is uncertain what one brings
// back if the writer before could not cut back, or was stopped at that.
func (p *proof) settles(a aftermath, where string, may [][]operation, uncertain bool) {
	p.t.Helper()
	where += ", and a look"
	now := p.holds(a.looked, where, may)
	if !uncertain {
		may = lasts(now, may)
	}
	for _, r := range a.lasts {
		p.holds(r.holds, where+", power cut, "+r.cut, may)
	}
}

// survives checks what is there after a power cut.
func (p *proof) survives(c cut, where string, may [][]operation) {
	p.t.Helper()
	where += ", power cut, " + c.name
	p.holds(p.reads(c.image, where), where, may)
}

// point tries one fault at one step of an operation, and every different thing
// that a power cut may leave then. It reports whether the fault came about.
func (p *proof) point(o operation, f fault) bool {
	p.t.Helper()
	layer := p.on(p.base, f)
	defer p.discard(layer)
	err := p.does(o, layer)
	if !layer.fired || f.then != nil && !layer.dead {
		return false
	}
	p.points++
	where := fmt.Sprintf("%s: %s", o.name, f)
	if f.at > 0 {
		where += fmt.Sprintf(" (%s), answer %v", layer.steps[f.at-1], err)
	}
	may := answers([][]operation{nil}, o, err, layer.dead)
	a := p.aftermath(layer, where)
	p.settles(a, where, may, errors.Is(err, files.ErrUncertain) || f.then != nil)
	p.goesOn(a.sequel, where, may)
	for i, name := range a.cuts {
		p.goesOn(a.left[i], where+", power cut, "+name, may)
	}
	return true
}

// log tells how much was tried.
func (p *proof) log(steps int) {
	p.t.Helper()
	p.t.Logf("%d steps, %d fault points, %d states, %d of them distinct, %d trees", steps, p.points, p.states, len(p.held), len(p.aftermaths))
}

// TestStoppedWriter lets each operation of the table go wrong at each of its
// steps, in every way that the layer knows, without and with a power cut that
// takes any of what was not synced. Afterwards the spool opens, holds the
// operation whole or not at all, whole if it was acknowledged, not at all if it
// was refused, and the next commands work and last.
func TestStoppedWriter(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := newProof(t, 1)
			if same := p.after(o).holds == p.after().holds; same != o.same {
				t.Fatalf("the operation changes nothing: %v, want %v", same, o.same)
			}
			p.everyPoint(o)
		})
	}
}

// TestStoppedUnknownEnd does the same on a spool whose lock file does not tell
// how far the journal was acknowledged, as after a power cut.
func TestStoppedUnknownEnd(t *testing.T) {
	t.Parallel()
	for _, o := range []operation{operations[0], operations[4]} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := newProof(t, 1)
			p.base["spool/lock"] = nil
			p.everyPoint(o)
		})
	}
}

// everyPoint tries every fault at every step.
func (p *proof) everyPoint(o operation) {
	p.t.Helper()
	p.pointsFrom(o, func(step) bool { return true })
}

// pointsFrom tries every fault at the first such step and at every later one.
func (p *proof) pointsFrom(o operation, begins func(step) bool) {
	p.t.Helper()
	steps, _ := p.steps(o)
	first := slices.IndexFunc(steps, begins)
	if first < 0 {
		p.t.Fatalf("%s: no such step in %v", o.name, steps)
	}
	for i, s := range steps {
		if i < first {
			continue
		}
		for _, f := range faultsAt(i+1, s) {
			if !p.point(o, f) {
				p.t.Fatalf("%s: %s did not come about", o.name, f)
			}
		}
	}
	p.acknowledged(o)
	p.log(len(steps))
}

// acknowledged tries every power cut after an operation that nothing
// disturbed.
func (p *proof) acknowledged(o operation) {
	p.t.Helper()
	layer := p.on(p.base, fault{})
	defer p.discard(layer)
	if err := p.does(o, layer); err != nil {
		p.t.Fatalf("%s: %v", o.name, err)
	}
	for _, c := range layer.tree.cuts(p.random) {
		p.survives(c, o.name+", acknowledged", [][]operation{{o}})
	}
}

// TestUnreadable lets each read of each operation fail, once and from then on:
// the operation is refused with that error, and nothing is changed. A look behind the deed,
// how far others have come, is no reason to fail: then all of it is done.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := newProof(t, 1)
			_, reads := p.steps(o)
			for at := 1; at <= reads; at++ {
				for _, f := range []fault{
					{name: "I/O error", atRead: at, once: syscall.EIO},
					{name: "I/O errors from then on", atRead: at, once: syscall.EIO, lasting: "all"},
				} {
					p.unreadable(o, f, o.same || at > reads-2)
				}
			}
			t.Logf("%d fault points", p.points)
		})
	}
}

// unreadable holds that of one read; it may be one behind the deed.
func (p *proof) unreadable(o operation, f fault, behind bool) {
	p.t.Helper()
	layer := p.on(p.base, f)
	defer p.discard(layer)
	err := p.does(o, layer)
	var damage *DamageError
	done := behind && err == nil
	if !layer.fired || !done && !errors.Is(err, syscall.EIO) || errors.As(err, &damage) {
		p.t.Fatalf("%s: %s: %v, want an I/O error", o.name, f, err)
	}
	p.points++
	where := fmt.Sprintf("%s: %s", o.name, f)
	var may []operation
	if done {
		may = []operation{o}
	}
	p.goesOn(p.aftermath(layer, where).sequel, where, [][]operation{may})
}

// TestStoppedCreation lets the making of a spool go wrong at every step; the
// next one to open it finishes the work.
func TestStoppedCreation(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	p.base = image{} // instead of the fixture: nothing
	make := operation{name: "make", run: func(*Spool) error { return nil }}
	submit := operations[0]
	steps, _ := p.steps(make)
	seen := map[checksumOf]bool{} // what power cuts have left
	for i, s := range steps {
		for _, f := range faultsAt(i+1, s) {
			layer := p.on(p.base, f)
			err := p.does(make, layer)
			p.points++
			cuts := layer.tree.cuts(p.random)
			layer.revive()
			for _, c := range cuts {
				where := fmt.Sprintf("%s (%s), answer %v, power cut, %s", f, s, err, c.name)
				if _, there := c.image["spool/VERSION"]; err == nil && !there {
					t.Fatalf("%s: it was said that the spool is made, but it has no VERSION", where)
				}
				p.states++
				sum := withoutID(c.image).sum()
				if seen[sum] {
					continue
				}
				seen[sum] = true
				restarted := p.on(c.image, fault{})
				p.made(restarted, where, submit)
				p.discard(restarted)
			}
			p.made(layer, fmt.Sprintf("%s (%s), answer %v", f, s, err), submit)
			p.discard(layer)
		}
	}
	t.Logf("%d steps, %d fault points, %d states, %d of them distinct", len(steps), p.points, p.states, len(p.held))
}

// withoutID returns an image without the id that a new spool draws, and what follows it.
func withoutID(m image) image {
	m = maps.Clone(m)
	for _, name := range []string{"spool/VERSION", "spool/VERSION.new"} {
		if before, id, found := bytes.Cut(m[name], []byte("\nid ")); found {
			m[name] = fmt.Append(slices.Clip(before), len(id))
		}
	}
	return m
}

// made checks that a spool works whose making was disturbed, and that nobody calls
// it damaged before.
func (p *proof) made(layer *faulty, where string, o operation) {
	p.t.Helper()
	_, current := os.Stat(filepath.Join(layer.spool(), "CURRENT"))
	_, version := os.Stat(filepath.Join(layer.spool(), "VERSION"))
	switch err := Find(layer.spool()); {
	case err == nil:
		if list := matches(findings(p.t, layer.spool()), "!"); len(list) > len(matches(list, "!lock: ")) { // which may be torn, and is written anew
			p.t.Fatalf("%s: Check finds %q", where, list)
		}
	case version == nil || current == nil && !errors.Is(err, errBegun):
		p.t.Fatalf("%s: Find = %v", where, err)
	}
	if err := p.does(o, layer); err != nil {
		p.t.Fatalf("%s, then %s: %v", where, o.name, err)
	}
	p.survives(layer.tree.hardestCut(), where, [][]operation{{o}})
}

// TestPowerCutAfterFold holds that a power cut brings no index back whose files a
// fold has swept away: a check would take it for damage.
func TestPowerCutAfterFold(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	foldAll(t, dir)
	if err := attempt(dir, files.Disk{}, operations[2].do); err != nil {
		t.Fatal(err)
	}
	layer, err := newFaultyOn(filepath.Join(t.TempDir(), "root"), imageOf(t, dir), fault{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(dir)
	fold := operation{run: func(s *Spool) error { _, err := s.Fold(1, nil); return err }}
	if err := fold.in(filepath.Join(layer.root, name), layer); err != nil {
		t.Fatal(err)
	}
	for _, c := range layer.tree.cuts(rand.New(rand.NewPCG(1, 1))) {
		root := filepath.Join(t.TempDir(), "cut")
		if err := c.image.write(root); err != nil {
			t.Fatal(err)
		}
		if report, sound := checkOf(t, filepath.Join(root, name)); !sound {
			t.Errorf("%s: %s", c.name, report)
		}
	}
}

// meanwhile does something once, before a folder is first synced.
type meanwhile struct {
	*faulty
	do func()
}

func (m *meanwhile) SyncDir(name string) error {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.faulty.SyncDir(name)
}

// TestPowerCutAfterCommitDuringFold holds that no power cut after a fold takes what another
// writer was told is committed while the fold went on: it is copied to the new journal.
func TestPowerCutAfterCommitDuringFold(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	layer := p.on(p.base, fault{})
	submit, fold := operations[0], operation{run: func(s *Spool) error { _, err := s.Fold(1, nil); return err }}
	among := &meanwhile{layer, func() {
		if err := submit.in(layer.spool(), layer); err != nil {
			t.Error(err)
		}
	}}
	if err := fold.in(layer.spool(), among); err != nil || among.do != nil {
		t.Fatalf("fold = %v, want none, and a commit meanwhile", err)
	}
	for _, c := range layer.tree.cuts(p.random) {
		p.survives(c, "committed while a fold went on", [][]operation{{submit}})
	}
}

// TestNewLock has the power fail while the second writer since the lock file was made
// is stopped in the middle of its transaction: whatever is left of the lock file, what
// was never completed is no damage.
func TestNewLock(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	delete(p.base, "spool/lock")
	first, second := operations[0], operations[2]
	layer := p.on(p.base, fault{})
	defer p.discard(layer)
	if err := p.does(first, layer); err != nil {
		t.Fatal(err)
	}
	again := p.on(layer.tree.present(), fault{}) // to count its steps
	defer p.discard(again)
	if err := p.does(second, again); err != nil {
		t.Fatal(err)
	}
	at := 1 + slices.IndexFunc(again.steps, func(s step) bool { return s.String() == "write spool/journal.1" })
	layer.arm(fault{at: at, torn: 50})
	if err := p.does(second, layer); err == nil || layer.steps[at-1].String() != "write spool/journal.1" {
		t.Fatalf("%v at %v", err, layer.steps)
	}
	changes := layer.tree.unsynced()
	for i, c := range changes {
		for k := range c.choices() {
			choice := make([]int, len(changes))
			for j, c := range changes {
				choice[j] = c.choices() - 1
			}
			choice[i] = k
			p.survives(layer.tree.after(changes, choice), "torn", [][]operation{{first}})
		}
	}
}

// TestNewLockLasts holds that no power cut after the first cycle or fold of a spool leaves a lock
// file that a check complains of: room without a text in it.
func TestNewLockLasts(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	for _, o := range operations {
		if o.name != "fold" && o.name != "report a cycle" {
			continue
		}
		layer := p.on(p.base, fault{})
		if err := o.in(layer.spool(), layer); err != nil {
			t.Fatal(err)
		}
		for _, c := range layer.tree.cuts(p.random) {
			left := p.on(c.image, fault{})
			if list := matches(findings(t, left.spool()), "!"); len(list) > 0 {
				t.Errorf("%s, power cut, %s: Check finds %q", o.name, c.name, list)
			}
		}
	}
}
