package operation

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// Accounts are records and claims: those of a transaction, or a copy of them.
type Accounts interface {
	Submitters() []accountant.Record
	Submitter(name string) (accountant.Record, bool)
	PutSubmitter(accountant.Record)
	DropSubmitter(name string)
	Claims() []pool.Claim
	PutClaim(pool.Claim)
}

// Respell gives all submitters and groups the names that the configuration spells
// otherwise now, in their records and in the claims: names of groups are the same
// whatever their case. The record of one who has both names is the two joined. Whoever
// calls it on a transaction names that.
func Respell(tx Accounts, now time.Time, p accountant.Params) {
	for _, r := range tx.Submitters() {
		name := p.Groups.Spelled(r.Name)
		if name == r.Name {
			continue
		}
		tx.DropSubmitter(r.Name)
		r.Name = name
		if other, there := tx.Submitter(name); there {
			r = other.Joined(r, now, p)
		}
		tx.PutSubmitter(r)
	}
	for _, c := range tx.Claims() {
		if name := p.Groups.Spelled(c.Submitter); name != c.Submitter {
			c.Submitter = name
			tx.PutClaim(c)
		}
	}
}

// Misspelt tells whether Respell would change anything.
func (s Snapshot) Misspelt(groups *accountant.Groups) bool {
	for _, r := range s.Pool.Submitters {
		if groups.Spelled(r.Name) != r.Name {
			return true
		}
	}
	for _, c := range s.Pool.Claims {
		if groups.Spelled(c.Submitter) != c.Submitter {
			return true
		}
	}
	return false
}
