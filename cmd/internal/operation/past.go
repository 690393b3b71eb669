package operation

import (
	"strconv"

	"fairspool/spool"
)

// pastMark is the mark under which the spool keeps which transaction was the last
// to change what had been.
const pastMark = "past"

// ChangePast notes that the transaction leaves a record as of a time before its
// last event, or drops one: what is so from now on does not follow from what
// happened since.
func ChangePast(tx *spool.Tx) { tx.PutMark(pastMark, strconv.FormatUint(tx.Seq(), 10)) }

// Past returns a text that is another one after each change of the past, be it by
// ChangePast or by a clock that was set.
func Past(v *spool.View) string { return v.Mark(pastMark) + " " + v.Mark(clockMark) }
