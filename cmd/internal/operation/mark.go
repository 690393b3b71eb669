package operation

import (
	"strconv"

	"fairspool/spool"
)

// putMark keeps a text under a name, unless it is the one that is kept: nothing is written then.
func putMark(tx *spool.Tx, name, text string) {
	if text != tx.Mark(name) {
		tx.PutMark(name, text)
	}
}

// slotsMark is kept by a spool whose pool was given slots that may be gone by now.
const slotsMark = "slots"

// EverGiven reports whether the pool has a slot or a file in slots.d, or ever had one
// that NoteGiven noted.
func EverGiven(v *spool.View) bool {
	advertised, byHand := v.SlotSources()
	return advertised || byHand || v.Mark(slotsMark) != ""
}

// NoteGiven makes EverGiven true for ever: for transactions that take slots out of the
// pool, and for slots in files, which go without a transaction.
func NoteGiven(tx *spool.Tx) { putMark(tx, slotsMark, "given") }

// FilesUnnoted reports whether slots.d has a file and nothing notes that it had one.
func FilesUnnoted(v *spool.View) bool {
	_, byHand := v.SlotSources()
	return byHand && v.Mark(slotsMark) == ""
}

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
