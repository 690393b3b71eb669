package operation

import "fairspool/spool"

// putMark keeps a text under a name, unless it is the one that is kept: nothing is written then.
func putMark(tx *spool.Tx, name, text string) {
	if text != tx.Mark(name) {
		tx.PutMark(name, text)
	}
}
