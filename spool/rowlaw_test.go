package spool

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// drawText draws a text that an ad can hold: any bytes but 0.
func drawText(t *rapid.T, what string) string {
	return string(rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 12).Draw(t, what))
}

// drawTime draws a time of whole milliseconds, or none.
func drawTime(t *rapid.T, what string) time.Time {
	if rapid.Bool().Draw(t, "no "+what) {
		return time.Time{}
	}
	return time.UnixMilli(rapid.Int64Range(-1<<45, 1<<47).Draw(t, what)).UTC()
}

// drawReal draws any number, also such as are none.
func drawReal(t *rapid.T, what string) float64 {
	return math.Float64frombits(rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{
		0, 1 << 63, 1, math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)), math.Float64bits(math.NaN()), math.Float64bits(0.1),
	})).Draw(t, what))
}

func drawInt(t *rapid.T, what string) int64 {
	return rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64})).Draw(t, what)
}

func drawUsage(t *rapid.T, what string) accountant.Usage {
	return accountant.Usage{Millis: drawInt(t, what), Rest: drawInt(t, what+" rest")}
}

func drawRecord(t *rapid.T) accountant.Record {
	lease := func(what string) accountant.Lease {
		return accountant.Lease{Until: drawTime(t, what), Before: drawReal(t, what)}
	}
	r := accountant.Record{
		Name: drawText(t, "name"), Priority: drawReal(t, "priority"), At: drawTime(t, "at"), HalfLife: time.Duration(drawInt(t, "half-life")),
		Factor: drawReal(t, "factor"), ResourcesUsed: int(drawInt(t, "slots")), InUse: accountant.Weight(drawInt(t, "in use")),
		Subtree: accountant.Weight(drawInt(t, "subtree")), OutsideSlots: int(drawInt(t, "outside slots")), Outside: accountant.Weight(drawInt(t, "outside")),
		Slots: drawUsage(t, "usage"), Weighted: drawUsage(t, "weighted"),
		Begin: drawTime(t, "begin"), Last: drawTime(t, "last"), Floor: drawInt(t, "floor"),
		FactorLease: lease("factor lease"), CeilingLease: lease("ceiling lease"), FloorLease: lease("floor lease"),
	}
	if rapid.Bool().Draw(t, "bounded") {
		r.Ceiling = accountant.Limit{Set: true, Slots: rapid.Int64Range(0, math.MaxInt64).Draw(t, "ceiling")}
	}
	return r
}

func drawTally(t *rapid.T) accountant.Tally {
	recent := func(what string) accountant.Recent {
		return accountant.Recent{CPU: drawReal(t, what), Memory: drawReal(t, what), IO: drawReal(t, what)}
	}
	y := accountant.Tally{
		Key: accountant.Key{Kind: drawText(t, "kind"), Name: drawText(t, "name")}, At: drawTime(t, "at"), Cpus: drawInt(t, "cpus"),
		Interval: time.Duration(drawInt(t, "interval")), Decayed: recent("decayed"), LongTerm: recent("long term"),
	}
	if y.PE = accountant.EquivalentsOf(y.Cpus); rapid.Bool().Draw(t, "PE known") {
		y.PE = accountant.Weight(drawInt(t, "PE"))
	}
	known := rapid.Bool().Draw(t, "equivalents known")
	for range rapid.IntRange(0, accountant.MaxDepth).Draw(t, "windows") {
		w := accountant.Window{Dedicated: drawUsage(t, "dedicated"), Utilized: drawUsage(t, "utilized")}
		if w.Equivalent = w.Dedicated; known {
			w.Equivalent = drawUsage(t, "equivalent")
		}
		y.Windows = append(y.Windows, w)
	}
	return y
}

func drawClaim(t *rapid.T) pool.Claim {
	var piece pool.Piece
	if rapid.Bool().Draw(t, "piece") {
		piece.Of = drawText(t, "of") + "@"
		piece.Takes = pool.ResourcesOf([]pool.Amount{
			{Name: "Cpus", Of: drawReal(t, "cores")}, {Name: "Memory", Of: float64(drawInt(t, "memory"))}, {Name: "GPUs", Of: drawReal(t, "GPUs")},
		})
	}
	var promisedTo pool.JobID
	if rapid.Bool().Draw(t, "promised") {
		promisedTo = pool.JobID{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "to cluster"), Proc: rapid.IntRange(0, 1<<31-1).Draw(t, "to proc")}
	}
	return pool.Claim{
		Rank: drawReal(t, "rank"), ChargedSince: drawTime(t, "charged"), VacateReason: drawText(t, "reason"), PromisedTo: promisedTo,
		Piece: piece, Limits: drawText(t, "limits"), Flocked: drawText(t, "flocked"), Instance: drawText(t, "instance"), Told: int(drawInt(t, "told")),
		Job:     pool.JobID{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Proc: rapid.IntRange(0, 1<<31-1).Draw(t, "proc")},
		Attempt: int(drawInt(t, "attempt")), Slot: drawText(t, "slot"), Machine: drawText(t, "machine"), Submitter: drawText(t, "submitter"),
		State: pool.ClaimState(rapid.IntRange(int(pool.Matched), int(pool.Promised)).Draw(t, "state")), Weight: accountant.Weight(drawInt(t, "weight")),
		By: accountant.Credentials{
			User: drawText(t, "user"), Group: drawText(t, "group"), Account: drawText(t, "account"), QOS: drawText(t, "qos"),
			Class: drawText(t, "class"), Project: drawText(t, "project"), Cpus: drawInt(t, "cpus"), PE: drawReal(t, "PE"),
		},
		VacateCode: int(drawInt(t, "code")), VacateSubcode: int(drawInt(t, "subcode")),
		MatchedAt: drawTime(t, "matched"), StartedAt: drawTime(t, "started"), VacateSince: drawTime(t, "vacate"), PID: int(drawInt(t, "pid")),
	}
}

func drawReservation(t *rapid.T) pool.Reservation {
	return pool.Reservation{Slot: drawText(t, "slot"), Job: drawJob(t), Submitter: drawText(t, "submitter"), Since: drawInt(t, "since")}
}

func drawInput(t *rapid.T) pool.Input {
	return pool.Input{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Text: drawText(t, "text")}
}

func drawJob(t *rapid.T) pool.JobID {
	return pool.JobID{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Proc: rapid.IntRange(0, 1<<31-1).Draw(t, "proc")}
}

func drawProcs(t *rapid.T) pool.Procs {
	p := pool.Only(drawJob(t))
	p.Last = rapid.IntRange(p.First, 1<<31-1).Draw(t, "last")
	return p
}

func drawTexts(t *rapid.T, what string) []string {
	return slices.Clip(append([]string(nil), rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawText(t, what) }), 0, 3).Draw(t, what)...))
}

func drawEndings(t *rapid.T) pool.Endings {
	number := func(what string) int { return int(drawInt(t, what)) }
	return pool.Endings{
		Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Owner: drawText(t, "owner"), Name: drawText(t, "name"), To: drawText(t, "to"),
		Notification: number("notification"), Submitted: drawInt(t, "submitted"),
		Succeeded: number("succeeded"), Failed: number("failed"), Signalled: number("signalled"), Removed: number("removed"),
		Troubles: drawTexts(t, "troubles"), Shown: drawTexts(t, "shown"), Held: number("held"), FirstHeld: drawText(t, "first held"),
		Wall: drawReal(t, "wall"), CPU: drawReal(t, "CPU"), First: drawInt(t, "first"), Last: drawInt(t, "last"),
		Unknown: rapid.Bool().Draw(t, "unknown"), Seen: drawText(t, "seen"), From: number("from"), Gone: number("gone"),
		Told: rapid.SampledFrom([][]pool.Tell{nil, {"held"}, {"held", "end"}}).Draw(t, "told"), Tries: number("tries"), Retry: drawInt(t, "retry"),
	}
}

func drawSuccessors(t *rapid.T) pool.Successors {
	q := pool.Successors{
		Submitter: drawText(t, "submitter"), More: int(drawInt(t, "more")), Takes: rapid.Bool().Draw(t, "takes"), Limit: drawText(t, "limit"),
		Asks: rapid.Bool().Draw(t, "asks"), QOS: drawText(t, "QOS"), PE: drawReal(t, "PE"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "stretches") {
		q.Jobs, q.Places = append(q.Jobs, drawProcs(t)), append(q.Places, int(drawInt(t, "place")))
	}
	return q
}

func drawEntitled(t *rapid.T) pool.Entitled {
	e := pool.Entitled{Submitter: drawText(t, "submitter"), Weight: drawReal(t, "weight")}
	for range rapid.IntRange(0, 2).Draw(t, "jobs") {
		e.Jobs = append(e.Jobs, drawJob(t))
	}
	return e
}

func drawCourse(t *rapid.T) pool.Course {
	return pool.Course{Limits: drawTexts(t, "limits"), OneQueue: rapid.Bool().Draw(t, "one queue"), More: int(drawInt(t, "more"))}
}

func drawPilot(t *rapid.T) pool.Pilot {
	return pool.Pilot{
		ID: rapid.IntRange(1, 1<<31-1).Draw(t, "id"), Engine: drawText(t, "engine"), Machine: drawText(t, "machine"),
		State: pool.PilotState(rapid.IntRange(int(pool.Asked), int(pool.Void)).Draw(t, "state")),
		Token: drawText(t, "token"), Instance: drawText(t, "instance"), Why: drawText(t, "why"),
		Owner: drawText(t, "owner"), Ref: drawText(t, "ref"), Says: drawText(t, "says"),
		AskedAt: drawTime(t, "asked"), LiveAt: drawTime(t, "live"), OverAt: drawTime(t, "over"),
	}
}

// sameBits reports whether two things are equal to the bit: a number that is none
// is equal to itself, and 0 is not what is -0.
func sameBits(a, b any) bool {
	var walk func(a, b reflect.Value) bool
	walk = func(a, b reflect.Value) bool {
		switch {
		case a.Type() == reflect.TypeFor[time.Time]():
			return reflect.DeepEqual(a.Interface(), b.Interface())
		case a.Kind() == reflect.Float64:
			x, y := a.Float(), b.Float()
			return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
		case a.Kind() == reflect.Struct:
			for i := range a.NumField() {
				if !walk(a.Field(i), b.Field(i)) {
					return false
				}
			}
			return true
		case a.Kind() == reflect.Slice:
			for i := range min(a.Len(), b.Len()) {
				if !walk(a.Index(i), b.Index(i)) {
					return false
				}
			}
			return a.Len() == b.Len()
		}
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	return walk(reflect.ValueOf(a), reflect.ValueOf(b))
}

// TestRowsLaw holds that rows read back to the bit, whatever is in them, from a
// line without a newline in it.
func TestRowsLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		read := func(r record) record {
			line := r.append(nil)
			if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
				t.Fatalf("%q has a newline at %d", line, n)
			}
			again, err := parseRecord(line[:len(line)-1], nil)
			if err != nil {
				t.Fatalf("parseRecord(%q): %v", line, err)
			}
			return again
		}
		s, y, c := drawRecord(t), drawTally(t), drawClaim(t)
		if got := read(record{Kind: 'U', Row: s}).Row; !sameBits(got, s) {
			t.Fatalf("a submitter is read as %+v, want %+v", got, s)
		}
		if got, err := ParseSubmitterRow(SubmitterRow(s)); err != nil || !sameBits(got, s) {
			t.Fatalf("ParseSubmitterRow(%q) = %+v, %v, want %+v", SubmitterRow(s), got, err, s)
		}
		if got := read(record{Kind: 'W', Row: y}).Row; !sameBits(got, y) {
			t.Fatalf("a tally is read as %+v, want %+v", got, y)
		}
		if got := read(record{Kind: 'w', Key: y.Key}).Key; got != y.Key {
			t.Fatalf("the key of a tally that is gone is read as %+v, want %+v", got, y.Key)
		}
		if got := read(record{Kind: 'K', Row: c}).Row; !sameBits(got, c) {
			t.Fatalf("a claim is read as %+v, want %+v", got, c)
		}
		for kind, row := range map[byte]any{
			'R': drawReservation(t), 'X': drawEndings(t), 'Q': drawSuccessors(t), 'P': drawEntitled(t), 'J': drawCourse(t), 'I': drawPilot(t), 'Z': drawInput(t),
		} {
			if got := read(record{Kind: kind, Row: row}).Row; !sameBits(got, row) {
				t.Fatalf("a row %c is read as %+v, want %+v", kind, got, row)
			}
		}
		m := mark{drawText(t, "mark"), drawText(t, "text") + "x"}
		if got := read(record{Kind: 'M', Row: m}).Row; got != m {
			t.Fatalf("a mark is read as %q, want %q", got, m)
		}
	})
}

// TestRowsAsBefore holds that rows without what was added later read as they
// did, and that what is not set is not written.
func TestRowsAsBefore(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`U [ Name = "alice@x"; Priority = 0.5; At = 1000; HalfLife = 3600000000000; ResourcesUsed = 1; InUse = 1000; SlotMillis = 5; WeightedMillis = 6; Begin = 1; Last = 2 ]`,
		`K [ Job = "1.0"; Attempt = 1; Slot = "s"; Machine = "m"; Submitter = "a@x"; State = "Matched"; Weight = 1000; MatchedAt = 1 ]`,
		`W [ Kind = "user"; Name = "alice" ]`,
		`W [ Kind = "user"; Name = "alice"; At = 1; Cpus = 2; Interval = 3600000000000; Windows = "5000 1 400 3, 9000 0 0 0" ]`,
	} {
		r, err := parseRecord([]byte(line), nil)
		if err != nil {
			t.Fatalf("parseRecord(%q): %v", line, err)
		}
		got, err := parseRecord(bytes.TrimSuffix(r.append(nil), newline), nil)
		if err != nil || !reflect.DeepEqual(got, r) || len(r.append(nil)) != len(line)+1 {
			t.Errorf("%q is written as %q, which reads as %+v, %v", line, r.append(nil), got, err)
		}
		s, _ := r.Row.(accountant.Record)
		c, _ := r.Row.(pool.Claim)
		if s.Ceiling.Set || c.By != (accountant.Credentials{}) || c.Piece != (pool.Piece{}) || c.Limits != "" || c.Rank != 0 || c.PromisedTo != (pool.JobID{}) || c.Instance != "" || c.Told != 0 {
			t.Errorf("%q has a ceiling %v, a claim %+v, want neither ceiling nor credentials, piece and limits", line, s.Ceiling, c)
		}
		y, ok := r.Row.(accountant.Tally)
		if !ok {
			continue
		}
		// What is not told of equivalents is what is told of processors.
		if want := accountant.EquivalentsOf(y.Cpus); y.PE != want {
			t.Errorf("%q has %v equivalents, want %v", line, y.PE, want)
		}
		for _, w := range y.Windows {
			if w.Equivalent != w.Dedicated {
				t.Errorf("%q has a window %+v, want equivalents of what is dedicated", line, w)
			}
		}
	}
}

// TestBadPieces holds that a claim whose piece is none is no claim.
func TestBadPieces(t *testing.T) {
	t.Parallel()
	const head = `K [ Job = "1.0"; Attempt = 1; Slot = "slot1_1@m"; Machine = "m"; Submitter = "a@x"; State = "Matched"; Weight = 1000; MatchedAt = 1; `
	for tail, want := range map[string]string{
		`Takes = "Cpus=1" ]`:                          "Takes: without Of",
		`Of = "slot1@m"; Takes = "Memory=1 Cpus=1" ]`: `Takes: "Cpus=1": resources are not in order`,
		`Of = "slot1@m"; Takes = "Cpus=0" ]`:          `Takes: "Cpus=0": not an amount`,
		`Of = 1 ]`:                                    "Of: missing or no string",
		`Limits = 1 ]`:                                "Limits: missing or no string",
		`Rank = "high" ]`:                             "Rank: no number",
		`PromisedTo = 12.0 ]`:                         "PromisedTo: missing or no string",
		`PromisedTo = "12" ]`:                         `PromisedTo: "12": not a job id`,
	} {
		if r, err := parseRecord([]byte(head+tail), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseRecord(…%s) = %+v, %v, want …%s…", tail, r.Row, err, want)
		}
	}
	r, err := parseRecord([]byte(head+`Of = "slot1@m"; Takes = "Cpus=1 Memory=128"; Limits = "sw.x:2" ]`), nil)
	if want := (pool.Piece{Of: "slot1@m", Takes: "Cpus=1 Memory=128"}); err != nil || r.Row.(pool.Claim).Piece != want || r.Row.(pool.Claim).Limits != "sw.x:2" {
		t.Errorf("a claim with a piece is read as %+v, %v, want the piece %+v", r.Row, err, want)
	}
}

// TestBadRows holds that rows that say what cannot be are damaged.
func TestBadRows(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`R [ Slot = "s"; Submitter = "a@x" ]`:                     "Job: missing or no string",
		`R [ Job = "1"; Slot = "s"; Submitter = "a@x" ]`:          `Job: "1": not a job id`,
		`X [ Cluster = 1; Troubles = "x" ]`:                       "Troubles: not a list of texts",
		`X [ Cluster = 1; Held = "2" ]`:                           "Held: no integer",
		`Q [ Submitter = "a@x" ]`:                                 "0 successors at 0 places",
		`Q [ Jobs = "1.0"; Submitter = "a@x" ]`:                   "1 successors at 0 places",
		`Q [ Jobs = "1.0-x"; Submitter = "a@x" ]`:                 `Jobs: "1.0-x"`,
		`Q [ Jobs = "1.0 1.2"; Submitter = "a@x"; Places = "1" ]`: "2 successors at 1 places",
		`Q [ Jobs = "1.0"; Submitter = "a@x"; Places = "one" ]`:   "Places: strconv",
		`P [ Submitter = "a@x"; Weight = 1.5; Jobs = "1" ]`:       `Jobs: "1": not a job id`,
		`J [ Queues = "two" ]`:                                    "Queues: two: want one or several",
		`J [ Queues = "one"; Limits = "x" ]`:                      "Limits: not a list of texts",
		`I [ ID = 1; State = "Live" ]`:                            "Machine: missing or no string",
		`I [ ID = 1; Machine = "n1"; State = "Dead" ]`:            `State: "Dead": not a state of a pilot`,
	} {
		if r, err := parseRecord([]byte(line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseRecord(%s) = %+v, %v, want …%s…", line, r.Row, err, want)
		}
	}
}

func TestParseSubmitterRow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                              "",
		`[ ]`:                           "Name: missing",
		`[ Name = 1 ]`:                  "Name: missing or no string",
		`[ Name = "a"; Floor = "1" ]`:   "Floor: no integer",
		`[ Name = "a"; Ceiling = 0.5 ]`: "Ceiling: no integer",
		`[ Name = "a" ] [ ]`:            "",
		`[ Name = "a"`:                  "",
	} {
		if got, err := ParseSubmitterRow(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSubmitterRow(%q) = %+v, %v, want …%s…", text, got, err, want)
		}
	}
}

func TestBadTallies(t *testing.T) {
	t.Parallel()
	for _, row := range []string{
		`Equivalents = "1 0"`, `Windows = "1 2 3 4"; Equivalents = "1"`, `Windows = "1 2 3 4"; Equivalents = "1 2 3"`, `Windows = "1 2 3 4"; Equivalents = "1 2, 3 4"`,
		`Windows = "1 2 3 4, 5 6 7 8"; Equivalents = "1 2"`, `Windows = "1 2 3 4"; Equivalents = "1 2,"`, `Windows = "1 2 3 4"; Equivalents = "1 x"`, `Equivalents = 1`, `PE = "1"`,
	} {
		if got, err := parseRecord([]byte(`W [ Kind = "user"; Name = "alice"; `+row+` ]`), nil); err == nil {
			t.Errorf("a tally with %s is read as %+v, want an error", row, got.Row)
		}
	}
}

// TestRowIsItsAd holds that a row that is written as text is the ad that it is written to.
func TestRowIsItsAd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaim(t)
		c.Seq = rapid.Uint64Range(0, math.MaxInt64).Draw(t, "seq")
		isAd(t, claimKind, c)
		isAd(t, submitterKind, drawRecord(t))
		isAd(t, tallyKind, drawTally(t))
		isAd(t, Endings, drawEndings(t))
		isAd(t, Reservations, drawReservation(t))
		isAd(t, Succession, drawSuccessors(t))
		isAd(t, Entitlement, drawEntitled(t))
		isAd(t, Course, drawCourse(t))
		isAd(t, Pilots, drawPilot(t))
		isAd(t, Inputs, drawInput(t))
		isAd(t, Flocked, drawRecord(t))
	})
}

func isAd[K comparable, V any](t *rapid.T, k *Kind[K, V], v V) {
	want := classad.New()
	k.write(want, v)
	text := k.appendRow(nil, v)
	got, err := classad.ParseAd(string(text))
	if err != nil || got.Format(classad.StyleSpool) != want.Format(classad.StyleSpool) {
		t.Fatalf("%s is the ad %v, %v, want %v", text, got, err, want)
	}
}
