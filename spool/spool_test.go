package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestDamage changes the journal in ways that no crash does, and holds that
// every command stops with file and line and changes nothing.
func TestDamage(t *testing.T) {
	base := fixture(t)
	if err := attempt(base, disk{}, operations[0].do); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(base, "journal.1"))
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.Index(good, []byte("\nT 2 ")) + 1
	third := bytes.Index(good, []byte("\nT 3 ")) + 1
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 4
		return b
	}
	line := func(at int) int { return bytes.Count(good[:at], newline) + 1 }
	for _, c := range []struct {
		name    string
		journal []byte
		noAck   bool
		line    int
	}{
		{"a byte of the first transaction", flip(40), false, 1},
		{"a byte of the second", flip(second + 60), false, line(second)},
		{"a byte of the last", flip(len(good) - 30), false, line(third)},
		{"the second cut out", append(bytes.Clone(good[:second]), good[third:]...), false, line(second)},
		{"the end cut off", good[:third], false, line(third)},
		{"half of the last cut off", good[:third+50], false, line(third)},
		{"all of it gone", nil, false, 1},
		{"a byte of the second, end not known", flip(second + 60), true, line(second)},
		{"the second twice", append(bytes.Clone(good[:third]), good[second:]...), false, line(third)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			path := filepath.Join(dir, "journal.1")
			if err := os.WriteFile(path, c.journal, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.noAck {
				if err := os.Truncate(filepath.Join(dir, "lock"), 0); err != nil {
					t.Fatal(err)
				}
			}
			want := fmt.Sprintf("%s:%d: damaged: ", path, c.line)
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			err = s.View(func(*View) error { return nil })
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("View = %v, want %s…", err, want)
			}
			// Setting a priority needs the whole queue; whoever only appends
			// sees the damage where it looks.
			err = s.Update(operations[2].do)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Update = %v, want %s…", err, want)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, c.journal) {
				t.Error("the damaged journal was written to")
			}
		})
	}
}

// TestTornTail holds that what a dead writer left behind the end is cut off,
// with a word about it, whether or not the end is known.
func TestTornTail(t *testing.T) {
	base := fixture(t)
	want := dump(t, base)
	good, err := os.ReadFile(filepath.Join(base, "journal.1"))
	if err != nil {
		t.Fatal(err)
	}
	torn, _ := appendFrame(nil, header{Seq: 3, User: "a", Program: "b", Op: "c"}, []byte("C 2 A = \""+strings.Repeat("long ", 200)+"\"\n"), 3)
	for n := 1; n < len(torn); n += 1 + n/9 {
		dir := copyDir(t, base)
		if err := os.WriteFile(filepath.Join(dir, "journal.1"), append(bytes.Clone(good), torn[:n]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			os.Truncate(filepath.Join(dir, "lock"), 0)
		}
		if got := dump(t, dir); got != want {
			t.Fatalf("%d bytes of a torn tail: %s\nwant %s", n, got, want)
		}
		var said string
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Warn: func(m string) { said += m }})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(operations[2].do); err != nil {
			t.Fatalf("%d bytes of a torn tail: %v", n, err)
		}
		if !strings.Contains(said, fmt.Sprintf("cut off %d bytes", n)) {
			t.Fatalf("%d bytes of a torn tail: the writer said %q", n, said)
		}
		said = ""
		if err := s.Update(operations[3].do); err != nil || said != "" {
			t.Fatalf("%d bytes of a torn tail: the writer after that: %v, %q", n, err, said)
		}
	}
}

// TestManyWriters lets writers with handles of their own go at one spool, and
// a reader look on: nothing is lost, nothing is there twice, no cluster id is
// given twice, and the reader sees each transaction whole.
func TestManyWriters(t *testing.T) {
	dir := fixture(t)
	const writers, rounds = 8, 12
	var all sync.WaitGroup
	ids := make(chan int, writers*rounds)
	for range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			for range rounds {
				if err := s.Update(func(tx *Tx) error {
					tx.Op("submit")
					ids <- tx.AddCluster(jobAd("alice"), []NewRun{{Count: 3}, {Count: 2}})
					return nil
				}); err != nil {
					t.Error(err)
				}
				if err := s.Update(func(tx *Tx) error {
					tx.Op("count")
					r, _ := tx.Submitter("carol@x")
					r.ResourcesUsed++
					tx.PutSubmitter(r)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for watching := true; watching; {
		select {
		case <-done:
			watching = false
		default:
		}
		if err := reader.View(func(v *View) error {
			for _, c := range v.Clusters()[1:] {
				if n := len(c.Runs); n != 2 {
					return fmt.Errorf("cluster %d has %d runs: half a transaction", c.ID, n)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(ids)
	seen := map[int]bool{}
	for id := range ids {
		if seen[id] {
			t.Errorf("cluster id %d was given twice", id)
		}
		seen[id] = true
	}
	if err := reader.View(func(v *View) error {
		r, _ := v.Submitter("carol@x")
		if want := 11 + 5*writers*rounds; v.Len() != want || len(seen) != writers*rounds || r.ResourcesUsed != writers*rounds {
			t.Errorf("%d jobs, %d clusters, %d counted; want %d, %d, %d", v.Len(), len(seen), r.ResourcesUsed, want, writers*rounds, writers*rounds)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestSubmitReadsNoJob holds that what a submit reads does not depend on how
// much is in the queue.
func TestSubmitReadsNoJob(t *testing.T) {
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := s.Update(operations[1].do); err != nil {
			t.Fatal(err)
		}
	}
	layer := newFaulty()
	if err := attempt(dir, layer, operations[0].do); err != nil {
		t.Fatal(err)
	}
	if layer.read > 1024 {
		t.Errorf("a submit read %d bytes of a spool with 2,011 jobs, want at most 1,024", layer.read)
	}
}

func TestRefusals(t *testing.T) {
	t.Run("locked", func(t *testing.T) {
		dir := fixture(t)
		s, err := Open(dir, Options{Program: "holder", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(func(*Tx) error {
			err := attempt(dir, disk{}, operations[0].do)
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("held by pid %d (holder)", os.Getpid())) {
				t.Errorf("a second writer = %v, want ErrLocked and who holds it", err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("network", func(t *testing.T) {
		real := fileSystemType
		defer func() { fileSystemType = real }()
		fileSystemType = func(string) (int64, error) { return unix.NFS_SUPER_MAGIC, nil }
		dir := filepath.Join(t.TempDir(), "spool")
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "NFS") {
			t.Errorf("Open on NFS = %v, want a refusal", err)
		}
		if _, err := Open(dir, Options{UIDDomain: "x", AllowNetwork: true}); err != nil {
			t.Errorf("Open on NFS with leave = %v", err)
		}
	})
	t.Run("other uid", func(t *testing.T) {
		dir := "/"
		if os.Geteuid() == 0 {
			dir = t.TempDir()
			if err := os.Chown(dir, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "belongs to") {
			t.Errorf("Open of somebody else's directory = %v, want a refusal", err)
		}
	})
	t.Run("not a spool", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
			t.Errorf("Open of a directory in use = %v, want a refusal", err)
		}
	})
	t.Run("newer format", func(t *testing.T) {
		dir := fixture(t)
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte("fairspool spool\nformat 2\nUID_DOMAIN x\nid 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("Open of format 2 = %v, want a refusal", err)
		}
	})
	t.Run("other domain", func(t *testing.T) {
		if _, err := Open(fixture(t), Options{UIDDomain: "y"}); err == nil || !strings.Contains(err.Error(), "UID_DOMAIN") {
			t.Errorf("Open with another UID_DOMAIN = %v, want a refusal", err)
		}
	})
	t.Run("unnamed, void, empty", func(t *testing.T) {
		dir := fixture(t)
		before, _ := os.ReadFile(filepath.Join(dir, "journal.1"))
		for name, do := range map[string]func(*Tx) error{
			"unnamed":     func(tx *Tx) error { tx.DropSlot("s"); return nil },
			"no such job": func(tx *Tx) error { tx.Op("x"); tx.Set(pool.JobID{Cluster: 1, Proc: 99}, "A", nil); return nil },
			"partly there": func(tx *Tx) error {
				tx.Op("x")
				tx.SetRange(1, 5, 50, "A", classad.Literal(classad.Int(1)))
				return nil
			},
			"no procs": func(tx *Tx) error { tx.Op("x"); tx.AddCluster(classad.New(), nil); return nil },
			"refused":  func(tx *Tx) error { tx.Op("x"); tx.DropSlot("s"); return errors.New("no") },
		} {
			if err := attempt(dir, disk{}, do); err == nil {
				t.Errorf("%s: Update succeeded", name)
			}
		}
		if err := attempt(dir, disk{}, func(*Tx) error { return nil }); err != nil {
			t.Errorf("an empty transaction: %v", err)
		}
		if now, _ := os.ReadFile(filepath.Join(dir, "journal.1")); !bytes.Equal(now, before) {
			t.Error("the journal changed")
		}
	})
}

// TestHandWrittenSlots holds that bad ads in slots.d cost nothing but
// themselves, each with file and line.
func TestHandWrittenSlots(t *testing.T) {
	dir := fixture(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "slots.d", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.ads", "Name = \"slot10@a\"\nCpus = 1\n\nCpus = = 2\nName = \"bad@a\"\n\nName = \"slot2@a\"\n")
	write("b.ads", "Name = \"slot2@a\"\n\nCpus = 4\n")
	write("ignored.txt", "Name = \"x\"\n")
	if err := attempt(dir, disk{}, operations[6].do); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		slots, bad := v.Slots()
		var names []string
		for _, s := range slots {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != "slot1@host slot2@a slot10@a" {
			t.Errorf("slots = %s", got)
		}
		text := fmt.Sprint(bad)
		for _, want := range []string{"a.ads:4", "b.ads:1: slot slot2@a stands in", "a.ads:7 already", "b.ads:3: slot ad without a Name"} {
			if !strings.Contains(text, want) {
				t.Errorf("errors = %s, want %q", text, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestModel plays random changes against a map of jobs, and holds that the
// runs in the spool, the same read anew, and the map agree.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		model := map[pool.JobID]map[string]string{}
		for range rapid.IntRange(1, 6).Draw(t, "transactions") {
			if err := s.Update(func(tx *Tx) error {
				tx.Op("play")
				for range rapid.IntRange(1, 8).Draw(t, "changes") {
					play(t, tx, model)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			fresh, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Spool{s, fresh} {
				if err := s.View(func(v *View) error { return compare(v, model) }); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// play makes one random change to the transaction and the model.
func play(t *rapid.T, tx *Tx, model map[pool.JobID]map[string]string) {
	ids := []pool.JobID{}
	for id := range tx.Jobs() {
		ids = append(ids, id)
	}
	if len(ids) == 0 || rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
		var runs []NewRun
		id, proc := tx.NextCluster(), 0
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			n, first := rapid.IntRange(1, 6).Draw(t, "procs"), proc
			ad := classad.New()
			ad.SetInt("X", int64(proc))
			runs = append(runs, NewRun{n, ad})
			for range n {
				model[pool.JobID{Cluster: id, Proc: proc}] = map[string]string{"X": fmt.Sprint(first)}
				proc++
			}
		}
		tx.AddCluster(classad.New(), runs)
		return
	}
	id := ids[rapid.IntRange(0, len(ids)-1).Draw(t, "job")]
	name := rapid.SampledFrom([]string{"X", "Y"}).Draw(t, "attribute")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		tx.Leave(id, noon)
		delete(model, id)
	case 1:
		tx.Set(id, name, nil)
		delete(model[id], name)
	default:
		last := id.Proc
		for model[pool.JobID{Cluster: id.Cluster, Proc: last + 1}] != nil && rapid.Bool().Draw(t, "further") {
			last++
		}
		n := rapid.Int64Range(0, 9).Draw(t, "value")
		tx.SetRange(id.Cluster, id.Proc, last, name, classad.Literal(classad.Int(n)))
		for p := id.Proc; p <= last; p++ {
			model[pool.JobID{Cluster: id.Cluster, Proc: p}][name] = fmt.Sprint(n)
		}
	}
}

func compare(v *View, model map[pool.JobID]map[string]string) error {
	n := 0
	last := pool.JobID{}
	for id, ad := range v.Jobs() {
		n++
		if !last.Less(id) {
			return fmt.Errorf("job %v comes after %v", id, last)
		}
		last = id
		for _, name := range []string{"X", "Y"} {
			want, ok := model[id][name]
			e, has := ad.Lookup(name)
			if has != ok || ok && e.String() != want {
				return fmt.Errorf("%v.%s = %v, want %v", id, name, e, want)
			}
		}
	}
	if n != len(model) || v.Len() != n {
		return fmt.Errorf("%d jobs, Len %d, want %d", n, v.Len(), len(model))
	}
	return nil
}

// FuzzRecord holds that no line makes the reader panic, and that what is read
// is written the same way.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`C 12 Cmd = "/bin/sleep"`, `N 12 0-999`, `A 12 3-5 JobPrio = 5`, `D 12 3-5 JobPrio`, `L 12 3-5`, `k 12.3`,
		`u "alice@example.org"`, `S "slot1@host"`, `G "slot1@host" Cpus = 8`, `g "slot1@host" Cpus`, `s "x"`, `b "x"`, `H 2026-11 4711`,
		`K [Job = "1.0"; Attempt = 1; Slot = "s"; Machine = "m"; Submitter = "a@x"; State = "Matched"; Weight = 1000; MatchedAt = 1]`,
		`U [Name = "a@x"; Priority = 0.5]`, `B [Slot = "s"; Failures = 1; Until = 5]`, `A 1 5-3 X = 1`, `A -1 0-0 X = 1`, `C`, ``, `Z 1`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := parseRecord([]byte(line), classad.NewInterner())
		if err != nil {
			return
		}
		newState().apply(r, 1)
		once := r.append(nil)
		again, err := parseRecord(bytes.TrimSuffix(once, newline), classad.NewInterner())
		if err != nil {
			t.Fatalf("%q was written as %q, which reads as: %v", line, once, err)
		}
		if twice := again.append(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%q was written as %q and then as %q", line, once, twice)
		}
	})
}

// FuzzFrame holds that no bytes make the reader panic or accept what was not
// written.
func FuzzFrame(f *testing.F) {
	b, _ := appendFrame(nil, header{Seq: 1, User: "a b", Program: "p", Op: "o", Args: []string{"x\ny", ""}}, []byte("N 1 0-0\n"), 2)
	f.Add(b)
	f.Add([]byte("T 1 \nE 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, err := parseFrame(b, 1)
		if err != nil {
			return
		}
		if fr.Size > len(b) || fr.Seq != 1 {
			t.Fatalf("accepted %d of %d bytes as transaction %d", fr.Size, len(b), fr.Seq)
		}
	})
}
