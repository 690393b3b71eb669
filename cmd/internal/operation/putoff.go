package operation

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// putOffMark is the mark under which the spool keeps with which job the turn of each owner
// begins whose expressions took more steps than there were in the last cycle.
const putOffMark = "put off"

// PutOffs are owners' jobs with which a look begins, by owner: at their policies, and at the
// slots that they match.
type PutOffs struct{ Policy, Match map[string]pool.JobID }

// PutOffsOf returns what the last cycle put off. Lines that do not read are left out: nothing
// depends on them but whose turn is first.
func PutOffsOf(v *spool.View) PutOffs {
	p := PutOffs{map[string]pool.JobID{}, map[string]pool.JobID{}}
	of := map[string]map[string]pool.JobID{"policy": p.Policy, "match": p.Match}
	for line := range strings.Lines(v.Mark(putOffMark)) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		owner, job, ok := leadingQuoted(rest)
		id, err := pool.ParseJobID(job)
		if list := of[kind]; ok && err == nil && list != nil {
			list[owner] = id
		}
	}
	return p
}

// KeepPutOff keeps what a cycle put off, with a line each, by kind and owner:
//
//	policy "bob" 12.0
func KeepPutOff(tx *spool.Tx, policy []PutOff, match []negotiator.PutOff) {
	var b []byte
	line := func(kind, owner string, first pool.JobID) {
		b = append(strconv.AppendQuote(append(b, kind...), owner), ' ')
		b = fmt.Appendf(b, "%v\n", first)
	}
	for _, p := range policy {
		line("policy ", p.Owner, p.First)
	}
	for _, p := range match {
		line("match ", p.Owner, p.First)
	}
	putMark(tx, putOffMark, string(b))
}
