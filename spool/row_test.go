package spool

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// TestRowKeys holds that the key of a row is found without parsing it, and is the
// one that parsing finds, whatever its text.
func TestRowKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "name"))
		id := pool.JobID{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Proc: rapid.IntRange(0, 1<<31-1).Draw(t, "proc")}
		for _, row := range []struct {
			record    record
			key, want string
		}{
			{record{Kind: 'K', Claim: pool.Claim{Job: id, Attempt: 1, Slot: name, State: pool.Matched}}, claimKeyName, id.String()},
			{record{Kind: 'U', Submitter: accountant.Record{Name: name, At: time.UnixMilli(1)}}, submitterKeyName, name},
			{record{Kind: 'B', Backoff: pool.Backoff{Slot: name, Failures: 1}}, backoffKeyName, name},
			{record{Kind: 'W', Tally: &accountant.Tally{Key: accountant.Key{Kind: name, Name: "x"}, At: time.UnixMilli(1)}}, tallyKindName, name},
		} {
			line := row.record.append(nil)
			line = line[:len(line)-1]
			if got, ok := keyOf(line, row.key); !ok || got != row.want {
				t.Fatalf("keyOf(%q) = %q, %v, want %q", line, got, ok, row.want)
			}
			r, err := parseRecord(line, nil)
			if err != nil {
				t.Fatalf("parseRecord(%q): %v", line, err)
			}
			if r.Tally == nil {
				r.Tally = &accountant.Tally{}
			}
			if got := map[byte]string{'K': r.Claim.Job.String(), 'U': r.Submitter.Name, 'B': r.Backoff.Slot, 'W': r.Tally.Kind}[r.Kind]; got != row.want {
				t.Fatalf("parseRecord(%q) has the key %q, want %q", line, got, row.want)
			}
			if r.Kind == 'W' {
				// The second half of the key is found without parsing what stands behind.
				if got, err := tallyKey(append(line[:len(line)-1:len(line)-1], '(')); err != nil || got != r.Tally.Key {
					t.Fatalf("tallyKey(%q) = %v, %v, want %v", line, got, err, r.Tally.Key)
				}
			}
		}
	})
}
