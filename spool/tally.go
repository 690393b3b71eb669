package spool

import "fairspool/lib/accountant"

// Tally returns what is tallied under a key; for one that is not known a Tally
// with its Key, and false.
func (v *View) Tally(k accountant.Key) (accountant.Tally, bool) {
	return accountant.Tally{Key: k}, false
}

// PutTally adds a tally or changes it as a whole.
func (tx *Tx) PutTally(y accountant.Tally) {}
