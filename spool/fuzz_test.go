package spool

import (
	"bytes"
	"testing"

	"fairspool/lib/classad"
)

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
	b, _ := appendFrame(nil, Transaction{Seq: 1, User: "a b", Program: "p", Op: "o", Args: []string{"x\ny", ""}}, []byte("N 1 0-0\n"), 2)
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
