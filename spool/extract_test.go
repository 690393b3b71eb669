package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// unlike are clusters of several kinds, with more text than a segment needs to have an extract, and some
// that are not plain.
func unlike(tx *Tx, from, to int) error {
	tx.Op("test")
	for n := from; n < to; n++ {
		ad := classad.New()
		ad.SetString(pool.AttrOwner, fmt.Sprintf("user%d", n%3))
		ad.SetString("Text", strings.Repeat("x", 1000))
		ad.SetInt(pool.AttrQDate, int64(1790000000+n))
		if n%10 > 0 {
			ad.SetInt(pool.AttrEnteredStatus, -int64(n))
		}
		runs := []NewRun{{Count: 1 + n%2, Ad: classad.New()}}
		runs[0].Ad.SetInt(pool.AttrJobStatus, int64(1+n%4))
		if n%5 == 0 {
			runs = append(runs, NewRun{Count: 2})
		}
		tx.AddCluster(ad, runs)
	}
	return nil
}

// extracts makes a folded spool with an extract of its jobs for the attributes in asked.
func extracts(t testing.TB, asked []string) (dir, extract string) {
	t.Helper()
	dir = t.TempDir()
	s := mustOpen(t, dir)
	if err := s.Update(func(tx *Tx) error { return unlike(tx, 0, 150) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		part, _ := v.Part(asked, "")
		part.Clusters()
		KeepExtracts(part)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "extracts", "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("extracts %q, %v, want one", names, err)
	}
	return dir, names[0]
}

func mustOpen(t testing.TB, dir string) *Spool {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// inPart is what a view of a part says of the attributes that are asked for.
func inPart(t testing.TB, s *Spool, asked []string) (text string) {
	t.Helper()
	if err := s.View(func(v *View) error {
		part, u := v.Part(asked, "")
		text = spelled(part.Clusters(), asked)
		if missed, all := u.Missed(); len(missed) > 0 || all {
			t.Errorf("missed %q, all %v", missed, all)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

// wholly is what a view itself says of them.
func wholly(t testing.TB, s *Spool, asked []string) (text string) {
	t.Helper()
	if err := s.View(func(v *View) error { text = spelled(v.Clusters(), asked); return nil }); err != nil {
		t.Fatal(err)
	}
	return text
}

// A view of a part reads the extract in the place of the segment, with what the journal says since, and
// does without where it does not fit.
func TestExtract(t *testing.T) {
	t.Parallel()
	asked := []string{pool.AttrOwner, pool.AttrJobStatus}
	dir, extract := extracts(t, asked)

	want := wholly(t, mustOpen(t, dir), asked)
	if got := inPart(t, mustOpen(t, dir), asked); got != wholly(t, mustOpen(t, dir), asked) {
		t.Errorf("by the extract:\n%s", got)
	}

	segments, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %q, %v", segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(extract)
	if err != nil {
		t.Fatal(err)
	}
	// What is plain in a segment is not looked at where there is an extract.
	plain := bytes.Index(whole, []byte("C 2 "))
	damaged := bytes.Clone(whole)
	damaged[plain+5] ^= 1
	if err := os.WriteFile(segments[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := inPart(t, mustOpen(t, dir), asked); strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("the segment was read:\n%s", got)
	}
	if err := os.WriteFile(segments[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(text); at += 7 {
		changed := bytes.Clone(text)
		changed[at] ^= 4
		if err := os.WriteFile(extract, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, want := inPart(t, mustOpen(t, dir), asked), wholly(t, mustOpen(t, dir), asked); got != want {
			t.Fatalf("byte %d of the extract changed: %s", at, got)
		}
	}
	if err := os.WriteFile(extract, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]string{{pool.AttrOwner}, append(asked[:2:2], pool.AttrQDate, pool.AttrEnteredStatus), nil} {
		if got, want := inPart(t, mustOpen(t, dir), other), wholly(t, mustOpen(t, dir), other); got != want {
			t.Errorf("asked for %q: %s", other, got)
		}
	}

	s := mustOpen(t, dir)
	if err := s.Update(func(tx *Tx) error {
		tx.Op("test")
		tx.Set(pool.JobID{Cluster: 2, Proc: 0}, pool.AttrJobStatus, classad.Literal(classad.Int(5)))
		tx.Set(pool.JobID{Cluster: 3, Proc: 0}, pool.AttrEnteredStatus, classad.Literal(classad.Int(7)))
		tx.LeaveRange(pool.Procs{Cluster: 4, First: 0, Last: 0}, noon)
		return unlike(tx, 150, 160)
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Spool{s, mustOpen(t, dir)} {
		if got, want := inPart(t, s, asked), wholly(t, mustOpen(t, dir), asked); got != want {
			t.Errorf("with changes:\n%s\nwant\n%s", got, want)
		}
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		part, _ := v.Part(asked, "")
		part.Clusters()
		KeepExtracts(part)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(extract); !os.IsNotExist(err) {
		t.Errorf("the extract of a segment that is gone is still there (%v)", err)
	}
}

// An extract that cannot be written is no loss, and a look that has been had is not taken again.
func TestExtractUnwritten(t *testing.T) {
	t.Parallel()
	asked := []string{pool.AttrOwner, pool.AttrJobStatus}
	dir, _ := extracts(t, asked)
	folder := filepath.Join(dir, "extracts")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir)
	if err := s.View(func(v *View) error {
		part, u := v.Part(asked, "")
		list := part.Clusters()
		KeepExtracts(part)
		if again, same := v.Part(asked, ""); same != u || again.Clusters()[0] != list[0] {
			t.Error("the same part was read twice")
		}
		if _, other := v.Part(asked[:1], ""); other == u {
			t.Error("another part is taken for the same")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := inPart(t, s, asked), wholly(t, mustOpen(t, dir), asked); got != want {
		t.Errorf("without extracts: %s", got)
	}
}

// slotExtracts makes a folded spool with an extract of its slots for the attributes in ofSlot.
func slotExtracts(t testing.TB) (dir, extract string) {
	t.Helper()
	dir = t.TempDir()
	s := mustOpen(t, dir)
	if err := s.Update(func(tx *Tx) error {
		tx.Op("test")
		for n := range 150 {
			ad := classad.New()
			ad.SetString(pool.AttrMachine, fmt.Sprintf("node%d", n))
			ad.SetString("Text", strings.Repeat("x", 1000))
			ad.SetInt(pool.AttrCpus, int64(1+n%3))
			if n%7 > 0 {
				ad.SetReal("Load avg", float64(n)/8)
			}
			if e, err := classad.ParseExpr("TARGET.Wants > Cpus"); err == nil && n%2 == 0 {
				ad.Set("Start", e)
			}
			tx.PutSlot(fmt.Sprintf("slot \"%d\"@node%d", n%2, n), ad)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	slotsInPart(t, s, true)
	names, err := filepath.Glob(filepath.Join(dir, "extracts", "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("extracts %q, %v, want one", names, err)
	}
	return dir, names[0]
}

var ofSlot = []string{pool.AttrMachine, pool.AttrCpus, "Load avg", "Start"}

// slotsInPart is what a view of a part says of the slots; with keep it keeps extracts.
func slotsInPart(t testing.TB, s *Spool, keep bool) (text string, shared int) {
	t.Helper()
	if err := s.View(func(v *View) error {
		part, u := v.Part(ofSlot, "")
		slots, _ := part.Slots()
		text = spelledSlots(slots)
		kinds := map[*classad.Ad]bool{}
		for _, s := range slots {
			kinds[s.Ad.Parent()] = true
		}
		shared = len(kinds)
		if keep {
			KeepExtracts(part)
		}
		if missed, all := u.Missed(); len(missed) > 0 || all {
			t.Errorf("missed %q, all %v", missed, all)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text, shared
}

// spelledSlots is what slots have of the attributes in ofSlot.
func spelledSlots(slots []pool.Slot) string {
	var b strings.Builder
	for _, s := range slots {
		fmt.Fprintf(&b, "%s %d", s.Name, s.Seq)
		for _, name := range ofSlot {
			e, _ := s.Ad.Lookup(name)
			fmt.Fprintf(&b, " %s=%v", name, e)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// slotsWholly is what a view itself says of them.
func slotsWholly(t testing.TB, s *Spool) (text string) {
	t.Helper()
	if err := s.View(func(v *View) error { slots, _ := v.Slots(); text = spelledSlots(slots); return nil }); err != nil {
		t.Fatal(err)
	}
	return text
}

// A view of a part reads slots from the extract, with what the journal says since; those that differ only in
// what each has a value of its own of share an ad.
func TestExtractOfSlots(t *testing.T) {
	t.Parallel()
	dir, extract := slotExtracts(t)
	got, kinds := slotsInPart(t, mustOpen(t, dir), false)
	if want := slotsWholly(t, mustOpen(t, dir)); got != want || kinds != 6 {
		t.Errorf("by the extract, with %d kinds, want 6:\n%s\nwant\n%s", kinds, got, want)
	}
	text, err := os.ReadFile(extract)
	if err != nil {
		t.Fatal(err)
	}
	want := slotsWholly(t, mustOpen(t, dir))
	for at := 0; at < len(text); at += 97 {
		changed := bytes.Clone(text)
		changed[at] ^= 4
		if err := os.WriteFile(extract, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := slotsInPart(t, mustOpen(t, dir), false); got != want {
			t.Fatalf("byte %d of the extract changed: %s", at, got)
		}
	}
	if err := os.WriteFile(extract, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir)
	if err := s.Update(func(tx *Tx) error {
		tx.Op("test")
		ad := classad.New()
		ad.SetInt(pool.AttrCpus, 9)
		tx.PutSlot(`slot "1"@node1`, ad)
		tx.PutSlot("new@node", ad)
		tx.DropSlot(`slot "0"@node2`)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Spool{s, mustOpen(t, dir)} {
		if got, _ := slotsInPart(t, s, false); got != slotsWholly(t, mustOpen(t, dir)) {
			t.Errorf("with changes: %s", got)
		}
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	slotsInPart(t, s, true)
	if _, err := os.Stat(extract); !os.IsNotExist(err) {
		t.Errorf("the extract of a segment that is gone is still there (%v)", err)
	}
}

// FuzzExtractOfSlots holds that no extract whose checksum is right makes a reader fail.
func FuzzExtractOfSlots(f *testing.F) {
	dir, extract := slotExtracts(f)
	text, err := os.ReadFile(extract)
	if err != nil {
		f.Fatal(err)
	}
	head, rows, _ := bytes.Cut(text, newline)
	f.Add(rows[:len(rows)-len("E 00000000\n")])
	for _, row := range []string{"", "K 99\n", "K 9\nCpus = 1\nS \"a\" 0 3 0\n", "S \"a\" 0 3 0\n", "K 0\nS \"a\" -1 3 0\n", "K 0\nS \"a 0 3 0\n", "K 0\nS \"a\" 0 3 9\n", "K 3\n= 1\nS \"a\" 0 3 0\n", "K 0\nS \"a\" 0 3 4\n= 1\n"} {
		f.Add([]byte(row))
	}
	f.Fuzz(func(t *testing.T, rows []byte) {
		b := append(append(bytes.Clone(head), '\n'), rows...)
		if err := os.WriteFile(extract, fmt.Appendf(b, "E %08x\n", checksum(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir)
		if err := s.View(func(v *View) error { part, _ := v.Part(ofSlot, ""); part.Slots(); return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

// Moments stand in the ads of single procs, wherever a cluster comes from.
func TestExtractMoments(t *testing.T) {
	t.Parallel()
	asked := []string{pool.AttrOwner, pool.AttrJobStatus}
	dir, _ := extracts(t, asked)
	all := append(asked[:2:2], pool.AttrQDate, pool.AttrEnteredStatus, pool.AttrClusterID, pool.AttrProcID)
	s := mustOpen(t, dir)
	if err := s.View(func(v *View) error {
		part, _ := v.Part(asked, "")
		list := part.Clusters()
		shared := 0
		for i, c := range list {
			for j, r := range c.Runs {
				for id := range r.Jobs() {
					part, whole := r.Proc(id.Proc), v.Clusters()[i].Runs[j].Proc(id.Proc)
					for _, name := range all {
						a, _ := part.Lookup(name)
						b, _ := whole.Lookup(name)
						if fmt.Sprint(a) != fmt.Sprint(b) {
							t.Errorf("%v: %s is %v, want %v", id, name, a, b)
						}
					}
				}
			}
			if i > 0 && c.Ad == list[i-1].Ad || i > 2 && c.Ad == list[i-3].Ad {
				shared++
			}
		}
		if shared < len(list)/2 {
			t.Errorf("%d of %d clusters share ads with those before", shared, len(list))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// FuzzExtract holds that no extract whose checksum is right makes a reader fail.
func FuzzExtract(f *testing.F) {
	dir, extract := extracts(f, []string{pool.AttrOwner, pool.AttrJobStatus})
	text, err := os.ReadFile(extract)
	if err != nil {
		f.Fatal(err)
	}
	head, rows, _ := bytes.Cut(text, newline)
	f.Add(rows[:len(rows)-len("E 00000000\n")])
	for _, row := range []string{"", "K 5\nA = 1\n", "K 99\n", "R -1\n", "J 1 0 1 1 0 0 1 0\n", "J 1 5 1 1 0 0 1 0\n", "j 1 0\n", "P 12\n", "P 99999999999999999999\n", "j 1 -1 0 0 1 0\n", "K 0\nR 0\nj 1 0 3 2 1 0\n", "K 0\nR 0\nj 1 0 0 0 1 1\n", "K 0\nR 0\nj 1 0 0 2147483647 1 0\n"} {
		f.Add([]byte(row))
	}
	asked := []string{pool.AttrOwner, pool.AttrJobStatus}
	f.Fuzz(func(t *testing.T, rows []byte) {
		b := append(append(bytes.Clone(head), '\n'), rows...)
		if err := os.WriteFile(extract, fmt.Appendf(b, "E %08x\n", checksum(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir)
		if err := s.View(func(v *View) error { part, _ := v.Part(asked, ""); part.Clusters(); return nil }); err != nil {
			t.Fatal(err)
		}
	})
}
