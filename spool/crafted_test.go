package spool

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/lockline"
)

// TestCraftedLines holds that lines which no program of ours writes, in a
// transaction whose checksum is right, are errors and nothing worse, whoever
// reads them.
func TestCraftedLines(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"\n", "C\n", "C \n", "C 1\n", "C 1 \n", "S\n", "S \"a\n", "S \"a\"\n\n", "S \"a\"\nG \"a\"\n", "G \"b\" A = 1\n", "N 1 0-\n",
		"N 5 0-3 x\n", "A 9 0-0 A = 1\n", "A 1 0-0 A\n", "L 1 0-99\n", "K [\n", "K [ Job = \"1.0\" ]\n", "k x\n", "U [ Name = 1 ]\n", "u x\n",
		"B [ ]\n", "b \"\n", "W [ Kind = \"user\" ]\n", "W [ Kind = 1; Name = \"a\" ]\n", "W [ Kind = \"user\"; Name = \"a\"; Windows = \"1 2\" ]\n", "w \"user\"\n", "w \"user\" \"a\" \"b\"\n",
		"M\n", "M \"a\"\n", "M \"a\" b\n", "U [ Name = \"a\"; Ceiling = \"none\" ]\n", "H\n", "H 2026-11 x y\n", "Q 1 2\n", "C 2 A = (\n", "N 2 0-0\nN 2 0-0\n", "D 1 0-0 \"\n", "\n\n\n", "g \"c\" A\n", "E\n",
	} {
		dir := fixture(t)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.View(func(*View) error { return nil }); err != nil {
			t.Fatal(err)
		}
		text, crc := framed(Transaction{Seq: s.at.seq + 1, User: "a", Program: "b", Op: "c"}, []byte(body), 0, 9)
		end := s.at.ack()
		end.End, end.Seq, end.Next, end.CRC = end.End+int64(len(text)), end.Seq+1, 9, crc
		journal, err := os.ReadFile(dir + "/journal.1")
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"journal.1": append(journal, text...), "lock": []byte(lockline.Of("free") + end.line("acknowledged"))} {
			if err := os.WriteFile(dir+"/"+name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if report, ok := checkOf(t, dir); ok || !strings.Contains(report, "damaged "+dir+"/journal.1") {
			t.Errorf("%q: Check = %v\n%s", body, ok, report)
		}
		if _, err := readAll(dir); err == nil {
			t.Errorf("%q: everything was read", body)
		}
		if err := s.Log(func(Logged) error { return nil }); err != nil {
			t.Errorf("%q: Log = %v", body, err)
		}
		if _, err := s.Fold(1, nil); err == nil {
			t.Errorf("%q: it was folded", body)
		}
	}
}

// fullWriter has no room for more than so many bytes.
type fullWriter int

func (w *fullWriter) Write(b []byte) (int, error) {
	if *w -= fullWriter(len(b)); *w < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

// TestUnwrittenDump holds that a dump which cannot be written says so, and not
// that the spool is damaged.
func TestUnwrittenDump(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(func(tx *Tx) error {
		tx.Op("submit")
		ad := jobAd("alice")
		ad.SetString("Long", strings.Repeat("x", dumptext.Buffer))
		for range 5 {
			tx.AddCluster(ad, []NewRun{{Count: 1}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	foldAll(t, dir)
	for room := range 6 {
		w := fullWriter(room * dumptext.Buffer)
		err := s.Dump(&w)
		if !errors.Is(err, syscall.ENOSPC) || errors.As(err, new(*DamageError)) {
			t.Errorf("Dump with room for %d MB = %v, want %v", room, err, syscall.ENOSPC)
		}
	}
}
