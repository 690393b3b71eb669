package spool

import (
	"bytes"
	"testing"

	"fairspool/lib/classad"
	"fairspool/spool/internal/endline"
)

// FuzzRecord holds that no line makes the reader panic, and that what is read
// is written the same way.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`C 12 Cmd = "/bin/sleep"`, `N 12 0-999`, `A 12 3-5 JobPrio = 5`, `D 12 3-5 JobPrio`, `L 12 3-5`, `k 12.3`,
		`u "alice@example.org"`, `S "slot1@host"`, `G "slot1@host" Cpus = 8`, `g "slot1@host" Cpus`, `s "x"`, `b "x"`, `H 2026-11 4711`,
		`K [Job = "1.0"; Attempt = 1; Slot = "s"; Machine = "m"; Submitter = "a@x"; State = "Matched"; Weight = 1000; MatchedAt = 1]`,
		`U [Name = "a@x"; Priority = 0.5]`, `B [Slot = "s"; Failures = 1; Until = 5]`, `W [Kind = "user"; Name = "a"; At = 5; Windows = "1 0 2 0, 0 0 0 0"; LongTermCPU = 0.1]`, `W [ Kind = "user"; Name = "a"; Windows = "1" ]`, `w "user" "a b"`, `M "clock" "a\nb"`, `M "clock" ""`,
		`U [Name = "g"; Subtree = 5; Ceiling = 0; Floor = 3; FactorUntil = 1; FactorBefore = 10.5]`, `A 1 5-3 X = 1`, `A -1 0-0 X = 1`, `C`, ``, `Z 1`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := parseRecord([]byte(line), classad.NewInterner())
		if err != nil {
			return
		}
		newState(&Spool{}, pinned{generation: noGeneration(1)}).apply(r, 1)
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
	b, _ := framed(Transaction{Seq: 1, User: "a b", Program: "p", Op: "o", Args: []string{"x\ny", ""}}, []byte("N 1 0-0\n"), 0, 2)
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

// FuzzGeneration holds that no index makes the reader panic, and that what is
// read is written the same way.
func FuzzGeneration(f *testing.F) {
	for _, text := range []string{
		"generation 7 41 12 5407c828\njobs 1-9.7 100 9 12 5407c828 1 9\nslots 0.7 100 2 0 5407c828 \"a\" \"b c\"\ntable claims claims.7 9 1 00000000\nhistory 2026-11 4711 5407c828\nlog 2026-11 1 00000001\n",
		"generation 7 0 1 00000000\n", "generation 8 0 1 0\n", "jobs\n", "generation 7 0 1 0\njobs 9-1.7 1 1 1 0 9 1\n", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, line, err := parseGeneration(endline.Append([]byte(text)), 7)
		if err != nil {
			if line < 1 {
				t.Fatalf("%q: %v at line %d", text, err, line)
			}
			return
		}
		once := g.text()
		again, _, err := parseGeneration(once, 7)
		if err != nil {
			t.Fatalf("%q was written as %q, which reads as: %v", text, once, err)
		}
		if twice := again.text(); !bytes.Equal(once, twice) {
			t.Fatalf("%q was written as %q and then as %q", text, once, twice)
		}
	})
}

// FuzzEntry holds the same of a line of a segment's index.
func FuzzEntry(f *testing.F) {
	for _, line := range []string{`I 12 0 81 02045a33 1000 "alice" ""`, `I 1 0 0 0 0 - -`, `I 1 0 0 0 0 "a`, `I`, `I x`, `I 1 0 0 0 0 "a\" -`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parseEntry([]byte(line), clusterKeys)
		if err != nil {
			return
		}
		once := e.append(nil, clusterKeys)
		again, err := parseEntry(bytes.TrimSuffix(once, newline), clusterKeys)
		if err != nil || again != e {
			t.Fatalf("%q was written as %q, which reads as %+v, %v, want %+v", line, once, again, err, e)
		}
	})
}
