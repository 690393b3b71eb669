package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

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
		tx.Set(pool.JobID{Cluster: 11, Proc: 0}, pool.AttrJobStatus, classad.Literal(classad.Int(2))) // which is not in the extract
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

// drawnSlot draws the ad of a slot: some attributes are those of a kind, others its own. The text makes a segment that is long enough
// for an extract.
func drawnSlot(t *rapid.T, n int) *classad.Ad {
	ad := classad.New()
	ad.SetString("Text", strings.Repeat("x", 2000))
	ad.SetString(pool.AttrMachine, fmt.Sprintf("node%d", n))
	ad.SetInt(pool.AttrSlotID, int64(1+n%4))
	set := func(name, text string) {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		ad.Set(name, e)
	}
	for name, values := range map[string][]string{
		"Cpus": {"1", "2", ""}, "cpus": {"", "", "3"}, "Load avg": {"", "0.5", fmt.Sprint(n)}, "LoadAvg": {fmt.Sprint(n), fmt.Sprint(n % 5), "undefined"}, "RequestLess": {"", "", fmt.Sprint(n)},
		"Start": {"true", "LoadAvg < 20", "TARGET.Wants >= Cpus", "SlotID == 1 || MY.Machine == TARGET.Likes", "RequestLess > 3", "Rest > 1"},
		"Rest":  {"1", "2", ""}, pool.AttrRequirements: {"Start", "Start", "Start && TARGET.Wants > 0", fmt.Sprintf("Start && %d >= 0", n)},
	} {
		if text := rapid.SampledFrom(values).Draw(t, name); text != "" {
			set(name, text)
		}
	}
	return ad
}

// TestSlotsThatLaw holds that slots judged by extracts, once for many that are alike, are those that are accepted one by one, while slots
// come, change and go, and others are written by hand.
func TestSlotsThatLaw(t *testing.T) {
	t.Parallel()
	saved := 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "law")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		kinds := make([]*classad.Ad, rapid.IntRange(1, 4).Draw(rt, "kinds"))
		for i := range kinds {
			kinds[i] = drawnSlot(rt, i)
		}
		own := rapid.SampledFrom([]string{"", "", "RequestLess", pool.AttrRequirements, "Rest"}).Draw(rt, "own")
		put := func(tx *Tx, n int) {
			ad := kinds[n%len(kinds)].Clone()
			ad.SetString(pool.AttrMachine, fmt.Sprintf("node%d", n))
			ad.SetInt("LoadAvg", int64(n))
			if e, err := classad.ParseExpr(fmt.Sprintf("Start || %d > 20", n)); own == pool.AttrRequirements && err == nil {
				ad.Set(own, e)
			} else if own != "" {
				ad.SetInt(own, int64(n%40))
			}
			if rapid.IntRange(0, 9).Draw(rt, "apart") == 0 {
				ad = drawnSlot(rt, n)
			}
			tx.PutSlot(fmt.Sprintf("slot%d@node%d", n%3, n), ad)
		}
		change := func(from, to int) {
			if err := s.Update(func(tx *Tx) error {
				tx.Op("test")
				for n := from; n < to; n++ {
					put(tx, n)
				}
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
		}
		change(0, 45)
		if _, err := s.Fold(1, nil); err != nil {
			rt.Fatal(err)
		}
		read := []string{pool.AttrMachine, pool.AttrSlotID, "Cpus", "LoadAvg", "Load avg", "Start", "Rest", "Wants", "Likes"}
		begin := rapid.SampledFrom([]string{"", "request"}).Draw(rt, "begin")
		if err := s.View(func(v *View) error { part, _ := v.Part(read, begin); part.Slots(); KeepExtracts(part); return nil }); err != nil {
			rt.Fatal(err)
		}
		if from := rapid.IntRange(40, 50).Draw(rt, "changed"); from < 50 {
			change(from, 50)
		}
		if rapid.Bool().Draw(rt, "by hand") {
			if err := os.WriteFile(filepath.Join(dir, "slots.d", "a.ads"), []byte("Name = \"slot1@node1\"\nCpus = 2\nRequirements = true\n"), 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		s.Close()
		if s, err = Open(dir, Options{Program: "test", UIDDomain: "x"}); err != nil {
			rt.Fatal(err)
		}
		job := classad.New()
		job.SetInt("Wants", int64(rapid.IntRange(0, 3).Draw(rt, "wants")))
		job.SetString("Likes", "node7")
		requirements, err := classad.ParseExpr(rapid.SampledFrom([]string{"true", "TARGET.Cpus >= 2", "TARGET.LoadAvg < 30", `regexp("1", TARGET.Machine)`, `TARGET["Load avg"] > 1`,
			"TARGET.Rest == 1 && TARGET.Cpus is undefined", "isUndefined(TARGET.RequestLess)", "isUndefined(TARGET.Text)", `unparse(TARGET.Start) != "true"`}).Draw(rt, "requirements"))
		if err != nil {
			rt.Fatal(err)
		}
		job.Set(pool.AttrRequirements, requirements)
		if err := s.View(func(v *View) error {
			part, u := v.Part(read, begin)
			var asked atomic.Int64
			names, all := SlotsThat(part, func() func(*classad.Ad) bool {
				match := classad.NewMatcher(nil, job)
				return func(ad *classad.Ad) bool { asked.Add(1); return match.Match(ad) }
			})
			slots, _ := v.Slots()
			if all != len(slots) {
				rt.Fatalf("%d slots, want %d", all, len(slots))
			}
			if missed, more := u.Missed(); len(missed) > 0 || more {
				names, all = SlotsThat(v, func() func(*classad.Ad) bool { return classad.NewMatcher(nil, job).Match })
			} else if int(asked.Load()) < all {
				saved++
			}
			var want []string
			for _, s := range slots {
				if classad.Match(nil, job, s.Ad) {
					want = append(want, s.Name)
				}
			}
			slices.SortFunc(names, pool.CompareNames)
			if !slices.Equal(names, want) || all != len(slots) {
				rt.Fatalf("%q of %d, want %q", names, all, want)
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
	})
	if saved == 0 {
		t.Error("no slot was judged with others")
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
	for _, row := range []string{"", "K 99\n", "L 9\nCpus = 1\nK 1 0\nS \"a\" 0 3 0\n", "O 5\nCpus\nK 0\nS \"a\" 0 3 9\nCpus = 1\n", "S \"a\" 0 3 0\n", "K 0\nS \"a\" -1 3 0\n", "K 0\nS \"a 0 3 0\n",
		"K 0\nS \"a\" 0 3 9\n", "L 4\n= 1\nK 1 0\nS \"a\" 0 3 0\n", "K 0\nS \"a\" 0 3 4\n= 1\n", "K 1 0\n", "K 2 0 0", "K -1\n", "L 9\n", "S", "S \"a", "S \"a\\\"\" 0 3 0\n"} {
		f.Add([]byte(row))
	}
	f.Fuzz(func(t *testing.T, rows []byte) {
		b := append(append(bytes.Clone(head), '\n'), rows...)
		if err := os.WriteFile(extract, fmt.Appendf(b, "E %08x\n", checksum(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir)
		if err := s.View(func(v *View) error {
			part, _ := v.Part(ofSlot, "")
			SlotsThat(part, func() func(*classad.Ad) bool { return classad.NewMatcher(nil, classad.New()).Match })
			part.Slots()
			return nil
		}); err != nil {
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
