package spool

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/logtext"
	"fairspool/spool/internal/takers"
)

// takersText writes takers so that equal ones read alike.
func takersText(t Takers) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.Slots)) {
		text := "gone"
		if ad := t.Slots[name]; ad != nil {
			text = ad.Format(classad.StyleSpool)
		}
		fmt.Fprintf(&b, "slot %q %s\n", name, text)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Marks)) {
		fmt.Fprintf(&b, "mark %q %q\n", name, t.Marks[name])
	}
	for _, id := range slices.Sorted(maps.Keys(t.Pilots)) {
		fmt.Fprintf(&b, "pilot %d %s %v\n", id, t.Pilots[id].Machine, t.Pilots[id].State)
	}
	return b.String()
}

// follow makes the changes of takers.
func follow(t, c Takers) {
	for name, ad := range c.Slots {
		if t.Slots[name] = ad; ad == nil {
			delete(t.Slots, name)
		}
	}
	for name, text := range c.Marks {
		if t.Marks[name] = text; text == "" {
			delete(t.Marks, name)
		}
	}
	for id, p := range c.Pilots {
		if t.Pilots[id] = p; p.State == 0 {
			delete(t.Pilots, id)
		}
	}
}

// drawTakers makes random changes of slots and what keeps jobs from them.
func drawTakers(t *rapid.T, tx *Tx, now Takers) {
	tx.Op("test")
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		name := rapid.SampledFrom([]string{"slot1@n1", "slot1@n2", "a \"slot\n"}).Draw(t, "slot")
		switch rapid.IntRange(0, 6).Draw(t, "change") {
		case 0:
			tx.DropSlot(name)
			delete(now.Slots, name)
		case 1, 2:
			ad := classad.New()
			ad.SetString("Name", name)
			ad.SetInt("Cpus", int64(rapid.IntRange(1, 3).Draw(t, "cpus")))
			if rapid.Bool().Draw(t, "odd") {
				ad.SetString("odd name\n", rapid.String().Draw(t, "text"))
			}
			tx.PutSlot(name, ad)
			now.Slots[name] = ad.Clone()
		case 3:
			text := rapid.SampledFrom([]string{"", "fast 1", "quick 2 \"\n"}).Draw(t, "drained")
			tx.PutMark(pool.DrainedMark+"n1", text)
			follow(now, Takers{Marks: map[string]string{pool.DrainedMark + "n1": text}})
		case 4:
			tx.PutMark("another", rapid.String().Draw(t, "another")+"x")
			tx.PutMark("another", strings.ReplaceAll(rapid.String().Draw(t, "another"), "\x00", ""))
		case 5:
			p := pool.Pilot{ID: 1, Machine: "n2", State: pool.PilotState(rapid.IntRange(1, 5).Draw(t, "state")), Token: "secret", Says: rapid.String().Draw(t, "says")}
			Pilots.Put(tx, p)
			now.Pilots[1] = pool.Pilot{ID: 1, Machine: "n2", State: p.State}
		case 6:
			Pilots.Drop(tx, 1)
			delete(now.Pilots, 1)
		}
	}
}

// TestTakersLaw holds that the log, and the journal, lead back to what there was at each time, and forth again: whatever was folded, and
// in a spool that was restored or salvaged.
func TestTakersLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp("", "takers")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		o := Options{Program: "test", UIDDomain: "x"}
		s, err := Open(filepath.Join(top, "a"), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		now, begin := takers.New(), noon.AddDate(1, 0, 0)
		was := []string{""}
		for n := range rapid.IntRange(1, 12).Draw(t, "transactions") {
			s.At(begin.Add(time.Duration(n+1) * time.Minute))
			if err := s.Update(func(tx *Tx) error { drawTakers(t, tx, now); return nil }); err != nil {
				t.Skip(err) // a text with a zero byte
			}
			was = append(was, takersText(now))
			if rapid.IntRange(0, 3).Draw(t, "fold") == 0 {
				if _, err := s.Fold(1, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		var dump bytes.Buffer
		if err := s.Dump(&dump); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(filepath.Join(top, "b"), &dump, o, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Salvage(filepath.Join(top, "a"), filepath.Join(top, "c"), o, func(f Finding) {
			if f.Damaged {
				t.Fatalf("Salvage: %v", f)
			}
		}); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"a", "b", "c"} {
			s, err := Open(filepath.Join(top, dir), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for n := range was {
				got, err := TakersAt(s, begin.Add(time.Duration(n)*time.Minute))
				if err != nil || takersText(got.Takers) != was[n] || !got.Known.IsZero() {
					t.Fatalf("%s: Takers(%d) = %s, %v, %v, want %s", dir, n, takersText(got.Takers), got.Known, err, was[n])
				}
				for _, c := range got.Later {
					follow(got.Takers, c.Takers)
					if n := int(c.Policy.Sub(begin) / time.Minute); takersText(got.Takers) != was[n] {
						t.Fatalf("%s: at %d follows %s, want %s", dir, n, takersText(got.Takers), was[n])
					}
				}
				if text := takersText(got.Takers); text != was[len(was)-1] {
					t.Fatalf("%s: in the end it is %s, want %s", dir, text, was[len(was)-1])
				}
			}
		}
	})
}

// renewed is a pool of slots whose ads have a lifetime, in segments.
func renewed(t *testing.T, n int) (*Spool, func(at time.Time, cpus int64)) {
	t.Helper()
	s, err := Open(t.TempDir()+"/spool", Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	advertise := func(at time.Time, cpus int64) {
		s.At(at)
		if err := s.Update(func(tx *Tx) error {
			tx.Op("advertise")
			for i := range n {
				ad := classad.New()
				ad.SetInt("Cpus", cpus)
				ad.SetInt(pool.AttrAdLifetime, 300)
				ad.SetInt(pool.AttrLastHeardFrom, at.Unix())
				ad.SetReal("LoadAvg", float64(at.Unix()%7))
				ad.SetInt("Disk", at.Unix()%1000)
				tx.PutSlot(fmt.Sprintf("slot1@n%d", i), ad)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	advertise(noon, 4)
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	return s, advertise
}

// TestRenewedSlots holds that ads that are renewed in time leave nothing in the log, and that a lapse and a change do.
func TestRenewedSlots(t *testing.T) {
	t.Parallel()
	s, advertise := renewed(t, 50)
	size := func() int64 {
		if _, err := s.Fold(1, nil); err != nil {
			t.Fatal(err)
		}
		sizes, err := os.ReadDir(s.path("log"))
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, e := range sizes {
			info, _ := e.Info()
			n += info.Size()
		}
		return n
	}
	before := size()
	for minute := 1; minute <= 20; minute++ {
		advertise(noon.Add(time.Duration(minute)*time.Minute), 4)
		if minute%6 == 0 {
			size()
		}
	}
	if per := (size() - before) / 20; per > 200 {
		t.Errorf("a renewal of 50 ads takes %d bytes of the log", per)
	}
	advertise(noon.Add(time.Hour), 4)
	advertise(noon.Add(61*time.Minute), 8)
	for range 2 {
		got, err := TakersAt(s, noon)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Later) != 2 || len(got.Later[0].Slots) != 50 || len(got.Later[1].Slots) != 50 {
			t.Fatalf("Takers.Later = %v", got.Later)
		}
		cpus := func(t Takers) (n, heard int64) {
			n, _ = t.Slots["slot1@n7"].EvalInt(&classad.Context{}, "Cpus")
			heard, _ = t.Slots["slot1@n7"].EvalInt(&classad.Context{}, pool.AttrLastHeardFrom)
			return n, heard
		}
		for i, want := range [][2]int64{{4, noon.Unix() + 1200}, {4, noon.Unix() + 3660}, {8, noon.Unix() + 3660}} {
			of := got.Takers
			if i > 0 {
				of = got.Later[i-1].Takers
			}
			if n, heard := cpus(of); n != want[0] || heard != want[1] {
				t.Errorf("after %d changes it has %d Cpus, last heard of at %d, want %v", i, n, heard, want)
			}
		}
		size()
	}
}

// TestTakersKnown holds that archived months, and those of versions that kept nothing of slots, are known as such.
func TestTakersKnown(t *testing.T) {
	t.Parallel()
	s, _ := renewed(t, 1)
	name := monthOf(time.Now())
	text, err := os.ReadFile(s.path(logFile(name)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := TakersAt(s, noon.Add(-time.Second)); err != nil || !got.Known.IsZero() || len(got.Slots) != 0 {
		t.Errorf("Takers = %v, %v, want no slots", got, err)
	}
	var older []byte
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, logtext.EarlierHead) {
			older = append(older, line...)
		}
	}
	if err := os.WriteFile(s.path(logFile(name)), older, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TakersAt(s, noon); !errors.As(err, new(*DamageError)) {
		t.Errorf("Takers of a changed log: %v", err)
	}
	if _, err := s.Archive(name, t.TempDir(), true); err != nil {
		t.Fatal(err)
	}
	got, err := TakersAt(s, noon)
	if want, _ := time.Parse("2006-01", name); err != nil || !got.Known.Equal(want.AddDate(0, 1, 0)) || len(got.Slots) != 1 {
		t.Errorf("Takers without the log = %v, %v", got, err)
	}
}

// TestEarlierRefuses holds that a dump with a line that says nothing of slots is refused.
func TestEarlierRefuses(t *testing.T) {
	for text, right := range map[string]bool{
		`s "slot1@n1"`: true, `S "slot1@n1"`: true, `+ Cpus = 8`: true, `+ Cpus`: false, `G "slot1@n1" Cpus = `: false, `G "slot1@n1" Cpus = 8`: true,
		`g "slot1@n1" Cpus`: true, `m "drained n1"`: true, `M [ Name = "drained n1"; Text = "x" ]`: true, `i "7"`: true, `i "x"`: false, `C 12 Cmd = 1`: false,
		`I [ ID = 7; Machine = "n"; State = "Live" ]`: true, `I [ ID = 7; Machine = "n"; State = "Lively" ]`: false, "s \"a\"\ns \"b\"": false, "": false, "u \"a\"": false,
	} {
		if err := takers.Check(text); (err == nil) != right {
			t.Errorf("takers.Check(%q) = %v", text, err)
		}
	}
}
