package spool

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestRowKeys holds that the key of a row is found without parsing it, and is the
// one that parsing finds, whatever its text.
func TestRowKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "name"))
		id := pool.JobID{Cluster: rapid.IntRange(1, 1<<31-1).Draw(t, "cluster"), Proc: rapid.IntRange(0, 1<<31-1).Draw(t, "proc")}
		for row, want := range map[any][]string{
			pool.Claim{Job: id, Attempt: 1, Slot: name, State: pool.Matched}: {"K", id.String()},
			accountant.Record{Name: name, At: time.UnixMilli(1)}:             {"U", name},
			pool.Backoff{Slot: name, Failures: 1}:                            {"B", name},
			mark{name, "x"}:                                                  {"M", name},
			Owner{Name: name, Clusters: id.Proc}:                             {"O", name},
			pool.Reservation{Slot: name, Job: id}:                            {"R", id.String()},
		} {
			line := record{Kind: want[0][0], Row: row}.append(nil)
			line = line[:len(line)-1]
			holdKey(t, line, want[1:])
		}
		line := record{Kind: 'W', Row: accountant.Tally{Key: accountant.Key{Kind: name, Name: "x"}, At: time.UnixMilli(1)}}.append(nil)
		holdKey(t, line[:len(line)-1], []string{name, "x"})
		line = record{Kind: 'F', Row: factory{Factory: Factory{Cluster: id.Cluster/2 + 1, Owner: name}}}.append(nil)
		holdKey(t, line[:len(line)-1], []string{strconv.Itoa(id.Cluster/2 + 1)})
		for want, r := range map[string]record{
			strconv.Itoa(id.Cluster): {Kind: 'X', Row: pool.Endings{Cluster: id.Cluster, Owner: name}},
			id.String():              {Kind: 'Q', Row: pool.Successors{Jobs: []pool.Procs{pool.Only(id), drawProcs(t)}, Places: []int{1, 2}, Submitter: name}},
			name:                     {Kind: 'P', Row: pool.Entitled{Submitter: name}},
			"several":                {Kind: 'J', Row: pool.Course{Limits: []string{name}}},
			strconv.Itoa(id.Proc):    {Kind: 'I', Row: pool.Pilot{ID: id.Proc, Machine: name, State: pool.Asked}},
		} {
			line = r.append(nil)
			holdKey(t, line[:len(line)-1], []string{want})
		}
	})
}

// holdKey holds a row to its key, found with what stands behind it, and without.
func holdKey(t *rapid.T, line []byte, want []string) {
	t.Helper()
	got, err := keyTexts(line)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q has the key %q, %v, want %q", line, got, err, want)
	}
	if r, err := parseRecord(line, nil); err != nil {
		t.Fatalf("parseRecord(%q) = %+v, %v", line, r, err)
	}
	if got, err := keyTexts(append(line[:len(line)-1:len(line)-1], '(')); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q, its end damaged, has the key %q, %v, want %q", line, got, err, want)
	}
}

// keyTexts returns the key in a row's line.
func keyTexts(line []byte) ([]string, error) {
	switch line[0] {
	case 'K':
		return textsIn(claimKind, line)
	case 'U':
		return textsIn(submitterKind, line)
	case 'B':
		return textsIn(backoffKind, line)
	case 'M':
		return textsIn(markKind, line)
	case 'O':
		return textsIn(ownerKind, line)
	case 'W':
		return textsIn(tallyKind, line)
	case 'R':
		return textsIn(Reservations, line)
	case 'X':
		return textsIn(Endings, line)
	case 'Q':
		return textsIn(Succession, line)
	case 'P':
		return textsIn(Entitlement, line)
	case 'J':
		return textsIn(Course, line)
	case 'I':
		return textsIn(Pilots, line)
	case 'Z':
		return textsIn(Inputs, line)
	case 'V':
		return textsIn(Flocked, line)
	}
	return textsIn(factoryKind, line)
}

func textsIn[K comparable, V any](k *Kind[K, V], line []byte) ([]string, error) {
	key, err := k.keyIn(line)
	return k.texts(key), err
}

// asAd reads a row without the short way, which none has that begins with a blank.
func asAd(letter byte, text string) (any, error) {
	r := record{Kind: letter}
	err := schema[kindOf(letter)].parseRecord(&r, " "+text)
	return r.Row, err
}

// What is read the short way is what the ad says.
func TestPlainIsWhatTheAdSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"1", "-1", "0.5", "-0.0", "12345678901234567", "1.0E-7", `"a"`, `"a; B = 1"`, `"\\"`, "true", "1.", ".5", "0x1F", "01", "--1", "- 1", "1 "})
		name := rapid.SampledFrom([]string{"Name", "At", "InUse", "Priority", "Floor", "name", "X", "Kind", "Windows", "Cpus"})
		text := `[ Name = "n"`
		for range rapid.IntRange(0, 4).Draw(t, "attributes") {
			text += "; " + name.Draw(t, "name") + " = " + value.Draw(t, "value")
		}
		text += " ]"
		kind := rapid.SampledFrom([]byte("UKBW")).Draw(t, "kind")
		want, err := asAd(kind, text)
		got := record{Kind: kind}
		if e := schema[kindOf(kind)].parseRecord(&got, text); (e == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got.Row, want) {
			t.Fatalf("%s reads as %+v, %v, want %+v, %v", text, got, e, want, err)
		}
	})
}

func BenchmarkRow(b *testing.B) {
	r := accountant.Record{Name: "alice@example.org", Priority: 12.3456789, HalfLife: 1, Factor: 1000, ResourcesUsed: 7, InUse: 7000,
		Slots: accountant.Usage{Millis: 123456789}, Weighted: accountant.Usage{Millis: 123456789}}
	r.At = accountant.Clock{Boot: "x"}.Booted()
	text := SubmitterRow(r)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseSubmitterRow(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ad", func(b *testing.B) {
		for b.Loop() {
			if _, err := asAd('U', text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What tells procs apart is found wherever an expression hides it.
func TestTellsApart(t *testing.T) {
	t.Parallel()
	ad, err := classad.ParseAd(`[ClusterId = 1; ProcId = 0; Same = ClusterId; Own = ProcId; Hidden = eval("Own"); Chance = random(); L = {1, procid}; Clock = time()]`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"Same > 3": false, "Nobody": false, "Clock > 3": false, "TARGET.ProcId": false, `eval("Same")`: false, "true": false,
		"Own": true, "PROCID": true, "MY.ProcId": true, ".ProcId": true, "Hidden": true, "Chance": true, "L[0]": true, "size(L)": true,
		`MY["ProcId"]`: true, `eval("ProcId")`: true, `eval(strcat("Proc", "Id"))`: true, "[a = Own].a": true, "true ? 1 : Own": true,
	} {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Run{Procs: pool.Procs{Cluster: 1, First: 2, Last: 3}, Ad: ad}).TellsApart(e); got != want {
			t.Errorf("TellsApart(%s) = %v, want %v", text, got, want)
		}
		if (Run{Procs: pool.Procs{Cluster: 1, First: 2, Last: 2}, Ad: ad}).TellsApart(e) {
			t.Errorf("TellsApart(%s) of one proc = true, want false", text)
		}
	}
}
