package spool

import (
	"strings"
	"time"

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

var leaseKind = named(kind[string, lease]{
	letter: 'Z', gone: 'z', table: "leases", title: "Lease", lead: []string{" [ Name = "},
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

// putLeases puts one lease and drops another.
func putLeases(tx *Tx, put, drop string) {
	tx.Op("lease", put)
	tx.put(record{Kind: 'Z', Row: lease{put, 7, noon}})
	tx.put(record{Kind: 'z', Key: drop})
}

func leasesOf(v *View) []lease { return sorted(tableIn(v.state(), leaseKind), strings.Compare) }
