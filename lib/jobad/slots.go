package jobad

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// parallelSlots sets ParallelSlots: how many slots the job wants, as qsub -pe has it. A
// single number is one in the ad, too.
func (j *job) parallelSlots() error {
	g, ok, err := j.command("parallel_slots")
	if !ok || err != nil {
		return err
	}
	text, err := sge.SlotsText(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	if strings.ContainsAny(text, "-,") {
		j.setString(sge.AttrParallelSlots, text)
		return nil
	}
	j.setExpr(sge.AttrParallelSlots, text)
	return nil
}

// checkSlots is that of an attribute with a number of slots, or with a text of several.
func checkSlots(v classad.Value) error {
	text, isText := v.Text()
	if n, isInt := v.Int(); isInt && v.Kind() != classad.KindBoolean {
		text, isText = strconv.FormatInt(n, 10), true
	}
	if !isText {
		return fmt.Errorf("%s: want a number of slots, or ranges in double quotes", submitfile.Shorten(v.String()))
	}
	_, err := sge.SlotsText(text)
	return err
}
