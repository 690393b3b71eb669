package pool

import (
	"reflect"
	"testing"
)

// Two successors are equal if and only if all of their fields are.
func TestSuccessorsEqual(t *testing.T) {
	make := func() Successors {
		return Successors{Submitter: "alice@x", Jobs: []Procs{{Cluster: 1, First: 2, Last: 3}}, Places: []int{4}, More: 5, Takes: true, Limit: "slots", Asks: true, QOS: "high", PE: 6}
	}
	other := Successors{Jobs: []Procs{{Cluster: 1, First: 2, Last: 4}}, Places: []int{5}}
	if !make().Equal(make()) {
		t.Error("one differs from itself")
	}
	for i := range reflect.TypeFor[Successors]().NumField() {
		a := make()
		reflect.ValueOf(&a).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		if a.Equal(make()) || make().Equal(a) {
			t.Errorf("another %s is not noticed", reflect.TypeFor[Successors]().Field(i).Name)
		}
	}
}
