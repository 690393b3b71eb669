package state

import (
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/spool"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"Format":1,"Submitters":[{"Name":"a@b","Priority":1.5,"At":5,"HalfLifeNanos":5,"PriorityFactor":2,"FactorLease":{"Until":5,"Before":0},"Ceiling":3,"CeilingLease":{"Until":9,"Before":-1},"Floor":2,"SlotMillis":0,"WeightedMillis":0,"WeightedRest":3,"Begin":4,"Last":5}],"Groups":[{"Name":"<none>","Priority":1,"At":0,"HalfLifeNanos":0,"Subtree":5,"SlotMillis":0,"WeightedMillis":0}],"Tallies":[{"Kind":"user","Name":"a","At":5,"IntervalNanos":5,"Windows":[{"DedicatedMillis":5,"UtilizedMillis":6,"UtilizedRest":7}]},{"Kind":"own","Name":"a","At":5,"Decayed":{"CPU":1.5,"Memory":0,"IO":0}}]}`))
	f.Add([]byte(`{"Format":1,"Submitters":[],"Groups":[],"Tallies":[]}`))
	f.Add([]byte("{\"Format\":1,\n\"Submitters\":[{]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || state != nil {
				t.Errorf("Parse(%q) = %v, %v, want an error of one line alone", text, state, err)
			}
			return
		}
		for name, r := range state.Records {
			if name != r.Name || r.Priority < accountant.MinPriority || r.Factor != 0 && r.Factor < 1 || r.Floor < 0 {
				t.Errorf("Parse(%q): %s is %+v", text, name, r)
			}
			if _, err := spool.ParseSubmitterRow(spool.SubmitterRow(r)); err != nil {
				t.Errorf("Parse(%q): %s: a record that does not read back: %v", text, name, err)
			}
		}
	})
}
