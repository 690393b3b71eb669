package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// dumped returns what Dump writes of a spool.
func dumped(t testing.TB, dir string) string {
	t.Helper()
	s, err := Open(dir, Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b strings.Builder
	if err := s.Dump(&b); err != nil {
		t.Fatalf("Dump: %v", err)
	}
	return b.String()
}

// restored returns the directory of a spool that was made from a dump.
func restored(t testing.TB, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(dir, strings.NewReader(text), Options{Program: "test", UIDDomain: "x"}, nil); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	return dir
}

// assorted is a spool of everything, and of jobs and slots that are hard to
// write down.
func assorted(t testing.TB) string {
	t.Helper()
	dir := everything(t)
	odd := classad.New()
	for name, text := range map[string]string{
		"Path": `"C:\\dir\\"`, "Odd1": `1`, "oDD22": `"a\"b"`, "MyType": `"Job"`, "Attributes": `3`, "Tab": `"a\tb"`, "Bytes": `"\377\001"`,
		"Percent": `"100%25 \\ \"%\""`, "Quoted": `'odd name\n' + MY.'x y'`, "Real": `1e-300 + 0.1`, "Deep": `[ a = { 1,"\\" }; 'b c' = 2 ]`,
		"": `1`, " # comment": `2`, "-- Schedd": `3`, "ü": `"ü"`, "Regexp": `regexp("^\\d+\"$", Name)`, "E2": `"\\"`, "Long": `"` + strings.Repeat("long \\\\ ", 20_000) + `"`,
	} {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		odd.Set(name, e)
	}
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("submit", "", "odd\n\"%\\\x00\xff")
		tx.AddCluster(odd, []NewRun{{Count: 2}, {Count: 3, Ad: odd}})
		tx.AddCluster(classad.New(), []NewRun{{Count: 1}})
		tx.Leave(pool.JobID{Cluster: tx.NextCluster() - 2}, noon.AddDate(0, 1, 0))
		tx.PutSlot("a slot\n\"%\\\xff", odd)
		tx.PutBackoff(pool.Backoff{Slot: "b\n\"%\\", Until: noon})
		tx.PutTally(accountant.Tally{Key: accountant.Key{Kind: "b\n\"%\\", Name: "\xff/é"}, Decayed: accountant.Recent{CPU: 1e-300, IO: math.Inf(1)}})
		tx.AddFactory(Factory{Cluster: tx.NextCluster() - 1, Owner: "b\n\"%\\", Next: 1, Jobs: 2}, nil)
		long := tx.AddCluster(classad.New(), []NewRun{{Count: 1}})
		tx.AddFactory(Factory{Cluster: long, Next: 1, Jobs: 1}, bytes.Repeat([]byte("é, \\\r\n\x00"), digestBlock/3))
		tx.PutMark("b\n\"%\\", "\x01\xff\n")
		putRows(tx)
		tx.Op("submit", "", "odd\n\"%\\\x00\xff")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.ads": "Name = \"hand\\written\"\n\n", "b.ads": "", "note\n": "no newline\x00"} {
		if err := os.WriteFile(filepath.Join(dir, "slots.d", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDumpRestore holds that a spool that was restored from a dump reads as
// the dumped one, dumps as it did, is sound and takes commands; and that
// folding changes no byte of a dump.
func TestDumpRestore(t *testing.T) {
	t.Parallel()
	dir := assorted(t)
	text := dumped(t, dir)
	if again := dumped(t, dir); again != text {
		t.Fatalf("Dump = %s\nand then %s", text, again)
	}
	to := restored(t, text)
	if got, want := dump(t, to), strings.ReplaceAll(dump(t, dir), dir, to); got != want {
		t.Errorf("restored: %s\nwant %s", got, want)
	}
	if got := dumped(t, to); got != text {
		t.Errorf("the restored spool dumps as %s\nwant %s", got, text)
	}
	report, sound := checkOf(t, to)
	if !sound || strings.Contains(report, "left over") {
		t.Errorf("Check of the restored spool: %v\n%s", sound, report)
	}
	for _, name := range []string{"a.ads", "b.ads", "note\n"} {
		want, _ := os.ReadFile(filepath.Join(dir, "slots.d", name))
		if got, err := os.ReadFile(filepath.Join(to, "slots.d", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("slots.d/%s = %q, %v, want %q", name, got, err, want)
		}
	}
	foldAll(t, dir)
	if got := dumped(t, dir); got != text {
		t.Errorf("after a fold, Dump = %s\nwant %s", got, text)
	}
	for _, op := range operations[:2] {
		if err := op.in(to, files.Disk{}); err != nil {
			t.Errorf("%s on the restored spool: %v", op.name, err)
		}
	}
}

// TestDumpIsLongForm holds that every reader of the long form gets the ads
// that the spool holds, as far as the long form can hold them.
func TestDumpIsLongForm(t *testing.T) {
	t.Parallel()
	dir := assorted(t)
	in := classad.NewReader(strings.NewReader(dumped(t, dir)), "dump")
	in.SetForm(classad.FormLong)
	kinds := map[string]int{}
	var clusters []*classad.Ad
	for {
		ad, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := ad.EvalString(&classad.Context{}, "MyType")
		kinds[kind]++
		n, ok := ad.EvalInt(&classad.Context{}, "Attributes")
		if !ok || n == 0 || kind == "Job" {
			continue
		}
		more, err := in.Next()
		if err != nil || more.Len() != int(n) {
			t.Fatalf("line %d: %v attributes, %v, want %d", in.Line(), more.Len(), err, n)
		}
		if kind == "Cluster" {
			clusters = append(clusters, more)
		}
	}
	for _, kind := range []string{"Spool", "Cluster", "Procs", "Slot", "Claim", "Submitter", "Backoff", "Tally", "Mark", "Endings", "Reservation", "Successors", "Entitled", "Course", "Pilot", "Input", "Flocked", "History", "Transaction", "HandWritten", "Report", "End"} {
		if kinds[kind] == 0 {
			t.Errorf("no ad of type %s in the dump: %v", kind, kinds)
		}
	}
	odd := clusters[len(clusters)-1]
	for name, want := range map[string]string{
		"MyType": `"Job"`, "Percent": `"100%25 \\ \"%\""`, "Real": `1e-300 + 0.1`, "Attributes": "3", "Regexp": `regexp("^\\d+\"$",Name)`,
		"Path": `"C:\\dir\\"`, "Odd6": `"E2 = \"%5C%5C\""`,
	} {
		if e, _ := odd.Lookup(name); e.Format(classad.StyleSpool) != want {
			t.Errorf("%s = %v, want %v", name, e.Format(classad.StyleSpool), want)
		}
	}
}

// TestDumpRestoreLaw dumps and restores random spools.
func TestDumpRestoreLaw(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp(place, "spool")
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
		model := map[pool.JobID]map[string]string{}
		for range rapid.IntRange(0, 4).Draw(t, "transactions") {
			if err := s.Update(func(tx *Tx) error {
				tx.Op(rapid.String().Draw(t, "op")+"x", rapid.String().Draw(t, "argument"))
				play(t, tx, model)
				ad := classad.New()
				ad.SetString(rapid.String().Draw(t, "name"), rapid.String().Draw(t, "text"))
				name := rapid.StringMatching(`[ab"\\%\n]{1,2}`).Draw(t, "slot")
				tx.PutSlot(name, ad)
				tx.AddCluster(ad, []NewRun{{Count: 2, Ad: ad}})
				claim := drawClaim(t)
				claim.Job, claim.Slot = pool.JobID{Cluster: tx.NextCluster() - 1}, name
				tx.PutClaim(claim)
				tx.Leave(pool.JobID{Cluster: tx.NextCluster() - 1, Proc: 1}, noon)
				tx.PutTally(drawTally(t))
				tx.PutSubmitter(drawRecord(t))
				tx.PutMark(drawText(t, "mark"), drawText(t, "text"))
				Endings.Put(tx, drawEndings(t))
				Reservations.Put(tx, drawReservation(t))
				Succession.Put(tx, drawSuccessors(t))
				Entitlement.Put(tx, drawEntitled(t))
				Course.Set(tx, []pool.Course{drawCourse(t)})
				Pilots.Put(tx, drawPilot(t))
				Inputs.Put(tx, drawInput(t))
				Flocked.Put(tx, drawRecord(t))
				model[pool.JobID{Cluster: tx.NextCluster() - 1}] = map[string]string{}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "fold") {
				if _, err := s.Fold(1, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		var once, twice bytes.Buffer
		if err := s.Dump(&once); err != nil {
			t.Fatal(err)
		}
		text := once.String()
		if _, err := Restore(filepath.Join(top, "b"), &once, o, nil); err != nil {
			t.Fatal(err)
		}
		r, err := Open(filepath.Join(top, "b"), o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Dump(&twice); err != nil || twice.String() != text {
			t.Fatalf("restored, it dumps as %v, %s\nwant %s", err, twice.String(), text)
		}
	})
}

// TestRestoreRefuses holds that nothing that is no whole dump becomes a spool,
// that the error names the line, and that what was made is removed.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	text := dumped(t, assorted(t))
	change := func(from, to string) string {
		if strings.Count(text, from) == 0 {
			t.Fatalf("%q is not in the dump", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	lines := func(s string) int { return strings.Count(s, "\n") }
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "line 1: it ends here and is incomplete"},
		{"half", text[:len(text)/2], "it is not whole"},
		{"without the end", text[:strings.LastIndex(text, "MyType = \"End\"")], fmt.Sprintf("line %d: it ends here and is incomplete", lines(text)-9)},
		{"without the last newline", text[:len(text)-1], "it is not whole"},
		{"twice", text + text, fmt.Sprintf("line %d: an ad of type \"Spool\" is not expected here", lines(text)+1)},
		{"ads of something else", "A = 1\n\n", "line 1: this is no dump of a spool"},
		{"a word", "hello", "line 1: this is no dump of a spool"},
		{"the first bytes", "MyTy", "the dump, line 1: the dump ends in the middle of an ad"},
		{"a later notation", change("DumpFormat = 1", "DumpFormat = 2"), "line 1: it is in notation 2, newer than 1"},
		{"another domain", change(`UIDDomain = "x"`, `UIDDomain = "y"`), "line 1: its UID_DOMAIN is y, the configuration says x"},
		{"a word too many", change("NextCluster", "More = 1\nNextCluster"), `line 1: NextCluster is expected, and here is "More = 1"`},
		{"a cluster twice", change("Cluster = 2\nOwner", "Cluster = 1\nOwner"), "procs of cluster 2 behind cluster 1"},
		{"an id too large", change("Cluster = 2\nOwner", "Cluster = 2147483648\nOwner"), "not between 1 and 2147483647"},
		{"a changed value", change("Cpus = 8", "Cpus = 9"), "the checksum of all before is"},
		{"an expression that is none", change("Cpus = 8", "Cpus = 8 +"), "slot slot1@host: "},
		{"a file elsewhere", change(`File = "a.ads"`, `File = "../a.ads"`), `"../a.ads": not the name of a file`},
		{"a month elsewhere", change(`Month = "2026-01"`, `Month = "../2026"`), `"../2026": not a month`},
		{"a lost job", change("Last = 2\nSeq", "Last = 9\nSeq"), "there already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "spool")
			_, err := Restore(dir, strings.NewReader(c.text), Options{Program: "test", UIDDomain: "x"}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Restore = %v, want …%s…", err, c.want)
			}
			if _, err := os.Lstat(dir); err == nil {
				t.Errorf("Restore left %s, which it made", dir)
			}
		})
	}
	dir := fixture(t)
	want := dump(t, dir)
	if _, err := Restore(dir, strings.NewReader(text), Options{Program: "test"}, nil); err == nil || !strings.Contains(err.Error(), "give an empty or a new directory") {
		t.Errorf("Restore to a spool = %v", err)
	}
	if got := dump(t, dir); got != want {
		t.Errorf("after a refused Restore the spool holds %s\nwant %s", got, want)
	}
}

// TestStoppedRestore stops a Restore at every step, with and without the loss
// of what was not synced: there is the whole spool then, or none that opens.
func TestStoppedRestore(t *testing.T) {
	t.Parallel()
	from := fixture(t)
	foldAll(t, from)
	text := dumped(t, from)
	o := Options{Program: "test", UIDDomain: "x"}
	for at, fired := 1, true; fired; at++ {
		root := filepath.Join(t.TempDir(), "root")
		layer, err := newFaultyOn(root, image{}, fault{at: at, torn: 50, once: syscall.ENOSPC})
		if err != nil {
			t.Fatal(err)
		}
		_, err = restore(filepath.Join(root, "spool"), strings.NewReader(text), o, nil, layer)
		fired = layer.fired
		if left, _ := os.ReadDir(filepath.Join(root, "spool")); fired && len(left) > 0 || fired != (err != nil) {
			t.Errorf("no room at operation %d: Restore = %v and left %v", at, err, left)
		}
	}
	for _, powerCut := range []bool{false, true} {
		for at, fired := 1, true; fired; at++ {
			root := filepath.Join(t.TempDir(), "root")
			layer, err := newFaultyOn(root, image{}, fault{at: at, torn: 50})
			if err != nil {
				t.Fatal(err)
			}
			_, err = restore(filepath.Join(root, "spool"), strings.NewReader(text), o, nil, layer)
			fired = layer.fired
			if powerCut {
				root += ".cut"
				if e := layer.tree.hardestCut().image.write(root); e != nil {
					t.Fatal(e)
				}
			}
			dir := filepath.Join(root, "spool")
			if left, _ := os.ReadDir(dir); err != nil && len(left) == 0 {
				continue // nothing yet is as good
			}
			s, e := Open(dir, o)
			if e != nil && err != nil {
				continue
			}
			if e != nil {
				t.Fatalf("power cut %v at operation %d: Restore = nil, and then %v", powerCut, at, e)
			}
			s.Close()
			if got := dumped(t, dir); got != text {
				t.Fatalf("power cut %v at operation %d: %s\nwant %s, or nothing", powerCut, at, got, text)
			}
		}
	}
}

// FuzzRestore holds that no text makes Restore panic, and that what it accepts
// is dumped as it was.
func FuzzRestore(f *testing.F) {
	dir := fixture(f)
	f.Add(dumped(f, dir))
	f.Add("MyType = \"Spool\"\nDumpFormat = 1\nUIDDomain = \"x\"\nSpoolId = \"\"\nSeq = 0\nNextCluster = 1\n\n")
	f.Add("MyType = \"Spool\"\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		top := t.TempDir()
		dir := filepath.Join(top, "spool")
		_, err := Restore(dir, strings.NewReader(text), Options{Program: "test"}, nil)
		if err == nil {
			once := dumped(t, dir)
			if twice := dumped(t, restored(t, once)); twice != once {
				t.Fatalf("restored, %q dumps as %q", once, twice)
			}
			return
		}
		if _, err := os.Stat(filepath.Join(dir, "VERSION")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a dump that was refused left a VERSION: %v", err)
		}
	})
}
