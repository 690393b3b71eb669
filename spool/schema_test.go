package spool

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/rowtext"
)

// lease is a kind of row that only the tests know: all that holds of the kinds of the schema holds of
// it, by this, an operation of the table that puts and drops rows, and that what is there of them is
// among what tests say a spool holds.
type lease struct {
	Name  string
	Slots int
	Until time.Time
}

var leaseKind = named(Kind[string, lease]{
	letter: '@', gone: '&', table: "leases", title: "Lease", lead: []string{" [ Name = "},
	key: func(l lease) string { return l.Name },
	write: func(to rowtext.Attributes, l lease) {
		to.SetString("Name", l.Name)
		rowtext.SetInt(to, "Slots", int64(l.Slots))
		rowtext.SetTime(to, "Until", l.Until)
	},
	read: func(r *rowtext.Row) (lease, error) {
		l := lease{r.Text("Name"), int(r.Int("Slots")), r.Time("Until")}
		return l, r.Err
	},
})

func init() { schema = append(schema, leaseKind) }

// putLease puts a lease and drops the first one, where the schema has the kind (TestKeptSpools).
func putLease(tx *Tx, l lease) {
	if slices.Contains(schema, rowKind(leaseKind)) {
		leaseKind.Drop(tx, "first")
		leaseKind.Put(tx, l)
	}
}

// putRows puts a row of each kind that is read and written whole, and drops some others.
func putRows(tx *Tx) {
	tx.Op("rows", "second \"lease\"")
	putLease(tx, lease{"second \"lease\"", 7, noon})
	Endings.Put(tx, pool.Endings{Cluster: 1, Owner: "alice", Troubles: []string{"1.2 ended with exit code 1", "1.3 \"held\""}, Wall: 0.5, From: -1, Unknown: true})
	Endings.Drop(tx, 9)
	Reservations.Set(tx, []pool.Reservation{{Slot: "slot1@host", Job: pool.JobID{Cluster: 1, Proc: 3}, Submitter: "alice@x", Since: 7}})
	Succession.Set(tx, []pool.Successors{{Submitter: "alice@x", Jobs: []pool.Procs{{Cluster: 1, First: 2, Last: 5}}, Places: []int{1}, Takes: true}})
	Entitlement.Set(tx, []pool.Entitled{{Submitter: "alice@x", Weight: 2.5}, {Submitter: "bob@x", Jobs: []pool.JobID{{Cluster: 1, Proc: 1}}}})
	Course.Set(tx, []pool.Course{{Limits: []string{"rank", "requirements"}, OneQueue: true, More: 3}})
	Pilots.Put(tx, pool.Pilot{ID: 7, Engine: "farm", Machine: "n1", State: pool.Live, Token: "5e88", Instance: "a0b1", AskedAt: noon, LiveAt: noon.Add(time.Second)})
	Pilots.Drop(tx, 6)
	Inputs.Put(tx, pool.Input{Cluster: 1, Text: "umask 077\nexec \"starter\"\n"})
	Inputs.Drop(tx, 9)
	Flocked.Put(tx, accountant.Record{Name: "alice@x", Priority: 0.75, At: noon, HalfLife: time.Hour, InUse: accountant.One, ResourcesUsed: 1, Weighted: accountant.Usage{Millis: 7}})
	Flocked.Drop(tx, "bob@x")
}

// rowsOf returns the rows of these kinds, a line each.
func rowsOf(v *View) []string {
	return slices.Concat(linesOf(v, leaseKind), linesOf(v, Endings), linesOf(v, Reservations), linesOf(v, Succession), linesOf(v, Entitlement), linesOf(v, Course), linesOf(v, Pilots), linesOf(v, Inputs), linesOf(v, Flocked))
}

func linesOf[K comparable, V any](v *View, k *Kind[K, V]) (list []string) {
	for _, row := range k.All(v) {
		list = append(list, k.table+" "+string(k.appendRow(nil, row)))
	}
	return list
}

// TestSetWritesWhatDiffers holds that Set leaves the rows of a list, and writes no others than those that differ.
func TestSetWritesWhatDiffers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) lease {
			return lease{Name: rapid.StringMatching(`[a-d]`).Draw(t, "name"), Slots: rapid.IntRange(0, 1).Draw(t, "slots")}
		}), 0, 4, func(l lease) string { return l.Name }).Draw(t, "list")
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			before := map[string]lease{}
			for _, l := range leaseKind.All(&tx.View) {
				before[l.Name] = l
			}
			differ := len(before)
			for _, l := range list {
				if b, ok := before[l.Name]; !ok {
					differ++
				} else if b == l {
					differ--
				}
			}
			tx.Op("set")
			leaseKind.Set(tx, list)
			if lines := bytes.Count(tx.body, newline); lines != differ {
				t.Fatalf("Set of %v over %v wrote %d lines, want %d:\n%s", list, before, lines, differ, tx.body)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			got := leaseKind.All(&tx.View)
			slices.SortFunc(list, func(a, b lease) int { return strings.Compare(a.Name, b.Name) })
			if !slices.Equal(got, list) {
				t.Fatalf("after Set of %v there are %v", list, got)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
