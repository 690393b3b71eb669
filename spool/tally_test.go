package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/logtext"
)

// userKey is the key of a user's tally.
func userKey(name string) accountant.Key {
	return accountant.Key{Kind: accountant.KindUser, Name: name}
}

// TestTallies holds what View and Tx say of tallies and marks: in the
// transaction that changes them, in the next, and when they were folded.
func TestTallies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	is := func(v *View, want string) error {
		var got []string
		for _, y := range v.Tallies() {
			one, ok := v.Tally(y.Key)
			if !ok || !sameBits(one, y) {
				return fmt.Errorf("Tally(%v) = %+v, %v, want %+v", y.Key, one, ok, y)
			}
			got = append(got, fmt.Sprintf("%s/%s=%d", y.Kind, y.Name, y.Cpus))
		}
		if got := fmt.Sprintf("%v %s", got, v.Mark("clock")); got != want {
			return fmt.Errorf("tallies and mark = %s, want %s", got, want)
		}
		if y, ok := v.Tally(userKey("nobody")); ok || !sameBits(y, accountant.Tally{Key: userKey("nobody")}) {
			return fmt.Errorf("Tally of nobody = %+v, %v, want none", y, ok)
		}
		return nil
	}
	for n, step := range []struct {
		do    func(*Tx)
		want  string
		marks int
	}{
		{func(tx *Tx) {
			for i, k := range []accountant.Key{userKey("bob"), {Kind: "total", Name: "all"}, userKey("alice"), {Kind: "acct", Name: "z"}, userKey("bob")} {
				y, _ := tx.Tally(k)
				y.Cpus += int64(i + 1)
				tx.PutTally(y)
			}
			tx.PutMark("clock", "one")
		}, "[acct/z=4 total/all=2 user/alice=3 user/bob=6] one", 1},
		{func(tx *Tx) {
			tx.DropTally(userKey("alice"))
			tx.PutTally(accountant.Tally{Key: userKey("carol"), Cpus: 9})
			tx.DropTally(userKey("carol"))
			tx.DropTally(userKey("nobody"))
			tx.DropTally(userKey("bob"))
			tx.PutTally(accountant.Tally{Key: userKey("bob"), Cpus: 1})
			tx.PutMark("clock", "two")
			tx.PutMark("clock", "a\nb")
		}, "[acct/z=4 total/all=2 user/bob=1] a\nb", 1},
		{func(tx *Tx) { tx.PutMark("clock", "") }, "[acct/z=4 total/all=2 user/bob=1] ", 0},
	} {
		if err := s.Update(func(tx *Tx) error {
			tx.Op("tally")
			step.do(tx)
			return is(&tx.View, step.want)
		}); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		for _, fold := range []bool{false, true} {
			if fold {
				foldAll(t, dir)
			}
			fresh, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Spool{s, fresh} {
				if err := s.View(func(v *View) error { return is(v, step.want) }); err != nil {
					t.Fatalf("step %d, folded %v: %v", n, fold, err)
				}
			}
			st, err := fresh.Stat()
			if want := strings.Count(step.want, "="); err != nil || st.Tallies != want || st.Marks != step.marks {
				t.Errorf("step %d, folded %v: Stat = %d tallies, %d marks, %v, want %d, %d", n, fold, st.Tallies, st.Marks, err, want, step.marks)
			}
			fresh.Close()
		}
	}
}

// TestTalliesOnce holds that a transaction writes each tally once, in the order
// of the keys, however often and in whatever order it was put.
func TestTalliesOnce(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, names := range []string{"c a b a", "b a a c c"} {
		dir := filepath.Join(t.TempDir(), "spool")
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("tally")
			for _, name := range strings.Fields(names) {
				tx.PutTally(accountant.Tally{Key: userKey(name), Cpus: 1, PE: accountant.One})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "journal.1"))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "W ") {
				lines = append(lines, line)
			}
		}
		texts = append(texts, strings.Join(lines, ""))
	}
	want := "W [ Kind = \"user\"; Name = \"a\"; Cpus = 1 ]\n" + "W [ Kind = \"user\"; Name = \"b\"; Cpus = 1 ]\n" + "W [ Kind = \"user\"; Name = \"c\"; Cpus = 1 ]\n"
	for _, got := range texts {
		if got != want {
			t.Errorf("the journal has\n%swant\n%s", got, want)
		}
	}
}

// TestTallyReadsItsTable holds that a look at a tally or a mark opens none of
// the other tables.
func TestTallyReadsItsTable(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	foldAll(t, dir)
	for table, look := range map[string]func(*View){
		"tallies":   func(v *View) { v.Tally(userKey("alice")) },
		"marks":     func(v *View) { v.Mark("clock") },
		"factories": func(v *View) { v.Factory(1) },
	} {
		bare := copyDir(t, dir)
		for _, other := range tableNames() {
			files, err := filepath.Glob(filepath.Join(bare, other+".*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", other, files, err)
			}
			if other != table {
				if err := os.Remove(files[0]); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := Open(bare, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.View(func(v *View) error { look(v); return nil }); err != nil {
			t.Errorf("a look at the %s reads another table: %v", table, err)
		}
	}
}

// TestSummaryOfTallies holds what is said of a transaction.
func TestSummaryOfTallies(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"W [ Kind = \"user\"; Name = \"a\" ]\n": "1 tally",
		"W [ Kind = \"user\"; Name = \"a\" ]\nW [ Kind = \"user\"; Name = \"b\" ]\nw \"a\" \"b\"\nM \"a\" \"b\"\n": "2 tallies, 1 tally deleted, 1 mark",
		"U [ Name = \"a\" ]\nM \"a\" \"\"\nM \"b\" \"\"\n":                                                         "1 submitter charged or changed, 2 marks",
	} {
		if got := logtext.Words([]byte(body)); got != want {
			t.Errorf("summary(%q) = %q, want %q", body, got, want)
		}
	}
}

// TestLongArguments holds that a transaction may have more than a megabyte
// of arguments, few or many, and that whoever reads the spool gets them whole.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	line := SubmitterRow(accountant.Record{Name: "alice\n\"@x", Priority: 0.1})
	many := slices.Repeat([]string{line}, 5<<18/len(line))
	for name, args := range map[string][]string{"many": append([]string{"alice@x", "--"}, many...), "one": {"--", strings.Join(many, "\n")}} {
		t.Run(name, func(t *testing.T) {
			dir := fixture(t)
			if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
				tx.Op("import", args...)
				tx.PutMark("clock", "set")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			text := dumped(t, dir)
			for _, dir := range []string{dir, dir, restored(t, text)} { // before and after a fold
				if report, sound := checkOf(t, dir); !sound {
					t.Fatalf("Check: %s", report)
				}
				s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var last Logged
				if err := s.Log(func(l Logged) error { last = l; return nil }); err != nil || !slices.Equal(last.Args, args) || last.What != "1 mark" {
					t.Errorf("Log has %d arguments, %q, %v, want %d", len(last.Args), last.What, err, len(args))
				}
				if err := s.View(func(v *View) error {
					if got := v.Mark("clock"); got != "set" {
						t.Errorf("Mark = %q, want set", got)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				var again bytes.Buffer
				if err := s.Dump(&again); err != nil || again.String() != text {
					t.Errorf("Dump of %d bytes, %v, want the same %d", again.Len(), err, len(text))
				}
				_, _, _, saved := salvaged(t, dir)
				if saved.Jobs != 11 || saved.Lost != 0 {
					t.Errorf("Salvage = %+v, want 11 jobs and nothing lost", saved)
				}
				foldAll(t, dir)
			}
		})
	}
}

// BenchmarkPutTallies changes 20,000 tallies in one transaction.
func BenchmarkPutTallies(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "spool")
	window := accountant.Window{Dedicated: accountant.Usage{Millis: 43_200_000}, Equivalent: accountant.Usage{Millis: 43_200_000}, Utilized: accountant.Usage{Millis: 41_234_567, Rest: 8}}
	for b.Loop() {
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("tally")
			for n := range 20_000 {
				tx.PutTally(accountant.Tally{Key: userKey(fmt.Sprint("user", n)), At: noon, Cpus: 1, PE: accountant.One, Windows: slices.Repeat([]accountant.Window{window}, 8)})
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		foldAll(b, dir)
		b.StartTimer()
	}
}

// BenchmarkTally looks up one tally of 20,000 anew.
func BenchmarkTally(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "spool")
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("tally")
		for n := range 20_000 {
			tx.PutTally(accountant.Tally{Key: userKey(fmt.Sprint("user", n)), At: noon, LongTerm: accountant.Recent{CPU: 1.0 / 3}})
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	foldAll(b, dir)
	for b.Loop() {
		s, err := Open(dir, Options{UIDDomain: "x"})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.View(func(v *View) error { v.Tally(userKey("user5")); return nil }); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
