package pool

import (
	"cmp"
	"fairspool/lib/caseless"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Piece is the part of a partitionable slot that a claim takes. A claim of a whole slot
// has the zero Piece. Pieces compare with ==.
type Piece struct {
	// Of is the Name of the partitionable slot, empty for a whole slot.
	Of string
	// Takes is the claim's part of the slot's resources.
	Takes Resources
}

// Resources is an amount of each of several resources as one text, such as "Cpus=2
// Disk=1024 GPUs=1 Memory=2048": sorted by name without regard to case, each name once,
// amounts above zero in the units of the slot's ad (Memory in MB, Disk in KB). Unnamed
// resources are not taken.
type Resources string

// Amount is how much of one resource.
type Amount struct {
	Name string // as the slot's ad spells it
	Of   float64
}

// ResourcesOf returns the amounts as one text. It leaves out amounts that are not above
// zero or not finite, and names with other characters than letters, digits and
// underscores; of two amounts with one name the first counts.
func ResourcesOf(amounts []Amount) Resources {
	amounts = slices.DeleteFunc(slices.Clone(amounts), func(a Amount) bool { return !a.good() })
	slices.SortStableFunc(amounts, func(a, b Amount) int { return caseless.Compare(a.Name, b.Name) })
	amounts = slices.CompactFunc(amounts, func(a, b Amount) bool { return caseless.Compare(a.Name, b.Name) == 0 })
	var text []byte
	for i, a := range amounts {
		if i > 0 {
			text = append(text, ' ')
		}
		text = appendAmount(append(append(text, a.Name...), '='), a.Of)
	}
	return Resources(text)
}

// Amounts is the inverse of ResourcesOf. A text that ResourcesOf does not make
// is an error.
func (r Resources) Amounts() ([]Amount, error) {
	if r == "" {
		return nil, nil
	}
	amounts := make([]Amount, 0, 1+strings.Count(string(r), " "))
	for field := range strings.SplitSeq(string(r), " ") {
		name, text, _ := strings.Cut(field, "=")
		x, err := strconv.ParseFloat(text, 64)
		a := Amount{name, x}
		if err != nil || !a.good() {
			return nil, fmt.Errorf("%.80q: not an amount of a resource: want NAME=NUMBER, like Cpus=2", field)
		}
		var room [32]byte
		if string(appendAmount(room[:0], x)) != text {
			return nil, fmt.Errorf("%.80q: want the number written %.80s", field, appendAmount(nil, x))
		}
		if n := len(amounts); n > 0 && caseless.Compare(amounts[n-1].Name, name) >= 0 {
			return nil, fmt.Errorf("%.80q: resources are not in order, or twice", field)
		}
		amounts = append(amounts, a)
	}
	return amounts, nil
}

// Of returns the amount of one resource, 0 if the resource is not named or ResourcesOf
// did not make the text.
func (r Resources) Of(name string) float64 {
	amounts, _ := r.Amounts()
	for _, a := range amounts {
		if caseless.Compare(a.Name, name) == 0 {
			return a.Of
		}
	}
	return 0
}

// StandardResources are the resources that every slot has.
var StandardResources = []string{AttrCpus, AttrMemory, AttrDisk}

// RoundedUp returns the part of a large enough partitionable slot that a request for n of a resource takes:
// whole cores, multiples of 128 MB and of 1024 KB (HTCondor's defaults of MODIFY_REQUEST_EXPR_REQUESTCPUS,
// ...MEMORY and ...DISK); of any other resource just n.
func RoundedUp(resource string, n float64) float64 {
	quantum := 0.0
	switch {
	case caseless.Compare(resource, AttrCpus) == 0:
		quantum = 1
	case caseless.Compare(resource, AttrMemory) == 0:
		quantum = 128
	case caseless.Compare(resource, AttrDisk) == 0:
		quantum = 1024
	}
	if quantum == 0 || !(n > 0) {
		return n
	}
	return math.Max(1, math.Ceil(n/quantum-1e-9)) * quantum
}

func (a Amount) good() bool {
	return ResourceName(a.Name) && a.Of > 0 && !math.IsInf(a.Of, 0)
}

func appendAmount(b []byte, x float64) []byte { return strconv.AppendFloat(b, x, 'f', -1, 64) }

// ResourceName reports whether s can name a resource: letters, digits and underscores,
// with no digit first.
func ResourceName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_', '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// Reservation keeps a partitionable slot from all jobs but one until enough of it is
// free. That job is wider than the free part of any slot, and than the part that any one
// job there leaves.
type Reservation struct {
	Slot      string // Name of the partitionable slot
	Job       JobID
	Submitter string
	// Since is the policy time of the cycle that made it.
	Since int64
}

// Compare orders reservations by slot, as CompareNames does, then job.
func (r Reservation) Compare(o Reservation) int {
	return cmp.Or(CompareNames(r.Slot, o.Slot), r.Job.Compare(o.Job))
}
