package spool

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// sequences is how many of them TestSequences plays, and recoveries how many
// stopped writers TestStoppedRecovery has.
const sequences, recoveries = 100, 16

// TestSequences plays a few operations in a row, by commands that live for one
// or for several of them. One or two of them go wrong at a random step, the
// power fails now and then, and in the end. Then the spool holds every
// operation that was acknowledged, in order, none that was refused, and perhaps
// those of which nobody said either.
func TestSequences(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	for seed := range uint64(sequences) {
		p.sequence(seed)
	}
	p.log(0)
}

// TestSoakSequences plays others, and stops others of the writers that come after a stopped one.
func TestSoakSequences(t *testing.T) {
	length, seed := testenv.Soak(t)
	for end := time.Now().Add(length); time.Now().Before(end); {
		p := newProof(t, seed)
		for range 100 {
			p.sequence(seed)
			seed++
		}
		p.recoveries(seed)
	}
}

// sequence plays the operations that the seed chooses.
func (p *proof) sequence(seed uint64) {
	p.t.Helper()
	p.random = rand.New(rand.NewPCG(seed, 0))
	story := []string{fmt.Sprintf("sequence %d", seed)}
	may := [][]operation{nil}
	layer := p.on(p.base, fault{})
	defer func() { p.discard(layer) }()
	chosen := p.random.Perm(len(operations))[:3+p.random.IntN(4)]
	faults := p.random.Perm(len(chosen))[:1+p.random.IntN(2)]
	var s *Spool // of a command that has not ended
	for i, k := range chosen {
		o := operations[k]
		layer.revive()
		if slices.Contains(faults, i) {
			layer.arm(p.randomFault())
		}
		if s == nil {
			s, _ = open(layer.spool(), testOptions(layer.spool()), layer)
		}
		err := errStopped
		if s != nil {
			err = o.on(s)
		}
		story = append(story, p.tell(layer, o, err))
		if may = p.believes(may, o, err, layer); len(may) == 0 {
			p.t.Fatalf("%s: nothing that the spool may hold leads to this answer", strings.Join(story, "; "))
		}
		cuts := p.random.IntN(4) == 0 || layer.dead && p.random.IntN(2) == 0
		if s != nil && (layer.dead || cuts || p.random.IntN(2) == 0) {
			s.Close()
			s = nil
		}
		if cuts {
			c := layer.tree.randomCut(p.random)
			story = append(story, "power cut, "+c.name)
			p.discard(layer)
			layer = p.on(c.image, fault{})
		}
	}
	if s != nil {
		s.Close()
	}
	where := strings.Join(story, "; ")
	layer.revive()
	p.agrees(layer, where)
	p.holds(p.reads(layer.tree.present(), where), where, may)
	p.survives(layer.tree.randomCut(p.random), where, may)
	p.survives(layer.tree.hardestCut(), where, may)
}

// agrees checks the double itself: if a power cut takes nothing, what stands on
// the disk is what processes see.
func (p *proof) agrees(layer *faulty, where string) {
	p.t.Helper()
	real, err := readImage(layer.root)
	if err != nil {
		p.t.Fatal(err)
	}
	left := layer.tree.present()
	maps.DeleteFunc(real, func(name string, b []byte) bool { // a lock file that nobody has opened
		_, known := left[name]
		return !known && strings.HasSuffix(name, ".lock") && len(b) == 0
	})
	if left.sum() != real.sum() {
		p.t.Fatalf("%s: the tree has %d files and the directory %d, or other contents", where, len(left), len(real))
	}
}

// randomFault returns any fault at one of the first steps of an operation.
func (p *proof) randomFault() fault {
	kinds := []string{"open", "write", "sync", "syncdir"}
	list := faultsAt(1+p.random.IntN(15), step{op: kinds[p.random.IntN(len(kinds))]})
	return list[p.random.IntN(len(list))]
}

// tell says for a message what came of an operation.
func (p *proof) tell(layer *faulty, o operation, err error) string {
	text := o.name
	if layer.fired {
		p.points++
		text += fmt.Sprintf(" with %s (%s)", layer.fault, layer.steps[min(layer.at, len(layer.steps))-1])
	}
	return text + fmt.Sprintf(", answer %v", err)
}

// believes tells what a spool may hold after an answer: answers, less what
// contradicts it because the operation is refused, or is not, all by itself.
func (p *proof) believes(may [][]operation, o operation, err error, layer *faulty) [][]operation {
	var still [][]operation
	for _, done := range may {
		refused := p.after(append(slices.Clone(done), o)...).refused
		switch {
		case refused && err != nil:
			still = append(still, done)
		case !refused && (err == nil || layer.fired):
			still = append(still, answers([][]operation{done}, o, err, layer.dead)...)
		}
	}
	return still
}

// nextWriters are whom TestStoppedRecovery stops while they mend.
var nextWriters = []operation{
	operations[0],
	{name: "remove after a fault", do: func(tx *Tx) error {
		tx.Op("remove", "1.8")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 8}, noon)
		return nil
	}},
	look,
}

// TestStoppedRecovery stops the writer that comes after a stopped one, at each
// of its steps.
func TestStoppedRecovery(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	for seed := range uint64(recoveries) {
		p.recoveries(seed)
	}
	p.log(0)
}

// recoveries stops the writer that comes after a stopped one at each of its steps.
func (p *proof) recoveries(seed uint64) {
	p.t.Helper()
	for at := 1; p.recovery(seed, at); at++ {
	}
}

// recovery stops a writer somewhere and the next one at a step. It tells
// whether the next one takes that step.
func (p *proof) recovery(seed uint64, at int) bool {
	p.t.Helper()
	p.random = rand.New(rand.NewPCG(seed, 1))
	layer, may, where := p.stoppedWriter()
	defer p.discard(layer)
	o := nextWriters[p.random.IntN(len(nextWriters))]
	layer.arm(fault{name: "stop", at: at, torn: 50, done: p.random.IntN(2) == 0})
	err := p.does(o, layer)
	if !layer.fired {
		return false
	}
	p.points++
	where = fmt.Sprintf("recovery %d: %s; %s: %s (%s), answer %v", seed, where, o.name, layer.fault, layer.steps[at-1], err)
	may = p.believes(may, o, err, layer)
	c := layer.tree.randomCut(p.random)
	hardest := layer.tree.hardestCut()
	layer.revive()
	p.goesOn(p.sequel(layer, where), where, may)
	for _, c := range []cut{c, hardest} {
		where := where + "; power cut, " + c.name
		p.goesOn(p.restarted(c, where), where, may)
	}
	return true
}

// stoppedWriter returns a spool that a stopped writer left, half of them after
// a power cut, what it may hold, and how it came to be.
func (p *proof) stoppedWriter() (*faulty, [][]operation, string) {
	p.t.Helper()
	o := operations[p.random.IntN(len(operations))]
	steps, _ := p.steps(o)
	at := 1 + p.random.IntN(len(steps))
	list := faultsAt(at, steps[at-1])
	f := list[p.random.IntN(len(list))]
	if f.once != nil { // stopped while it takes back what has failed
		f.then = &fault{name: "stop", at: 1 + p.random.IntN(3), torn: 50}
	}
	layer := p.on(p.base, f)
	err := p.does(o, layer)
	may := answers([][]operation{nil}, o, err, layer.dead)
	where := fmt.Sprintf("%s: %s (%s), answer %v", o.name, f, steps[at-1], err)
	layer.revive()
	if p.random.IntN(2) == 0 {
		return layer, may, where
	}
	c := layer.tree.randomCut(p.random)
	p.discard(layer)
	return p.on(c.image, fault{}), may, where + "; power cut, " + c.name
}

// TestStoppedWhileFailing stops a writer at each step that it takes after
// something else has failed, which is when it takes things back.
func TestStoppedWhileFailing(t *testing.T) {
	t.Parallel()
	for _, o := range []operation{operations[0], operations[5]} {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			p := newProof(t, 1)
			steps, _ := p.steps(o)
			for i, s := range steps {
				for _, f := range faultsAt(i+1, s) {
					if f.once == nil || s.op != "write" && s.op != "sync" || f.once != syscall.ENOSPC && p.random.IntN(3) > 0 {
						continue
					}
					for later := 1; ; later++ {
						f.then = &fault{name: "stop", at: later, torn: 50}
						if !p.point(o, f) {
							break
						}
					}
				}
			}
			p.log(len(steps))
		})
	}
}

// TestCutBackUnsynced lets a removal be cut from the journal, but not durably
// so, and stops the next one at each of its steps: a power cut that brings the
// first back brings it back with its history.
func TestCutBackUnsynced(t *testing.T) {
	t.Parallel()
	p := newProof(t, 1)
	o, next := operations[4], nextCommands[2]
	steps, _ := p.steps(o)
	sync := slices.IndexFunc(steps, func(s step) bool { return s == step{op: "sync", file: "spool/journal.1"} })
	for at := 1; ; at++ {
		layer := p.on(p.base, fault{at: sync + 1, once: syscall.EIO, lasting: "sync"})
		err := p.does(o, layer)
		may := answers([][]operation{nil}, o, err, layer.dead)
		layer.arm(fault{name: "stop", at: at, done: true})
		err = p.does(next, layer)
		if !layer.fired {
			return
		}
		may = p.believes(may, next, err, layer)
		for _, c := range layer.tree.cuts(p.random) {
			p.survives(c, fmt.Sprintf("%s (%s)", layer.fault, layer.steps[at-1]), may)
		}
		p.discard(layer)
	}
}
