package accountant

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// recorded is a series of HTCondor's accountant's records, one entry for each
// update of the priorities.
type recorded struct {
	HalfLife float64 `json:"priority_halflife_seconds"`
	Series   []entry
}

type entry struct {
	Time      float64 // Unix seconds
	Customers map[string]attributes
}

// attributes are the numbers of one record.
type attributes map[string]float64

// UnmarshalJSON passes over whatever else a record has.
func (a *attributes) UnmarshalJSON(b []byte) error {
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*a = attributes{}
	for name, value := range all {
		if x, ok := value.(float64); ok {
			(*a)[name] = x
		}
	}
	return nil
}

// rounding is how much six decimals take away or add at most.
const rounding = 0.5e-6

func (e entry) at() time.Time { return time.UnixMilli(int64(math.Round(e.Time * 1000))) }

// near reports whether a figure is as recorded: within a millionth, absolute or
// relative. That is the sixth decimal, which two roundings of what lies half way
// between two may take to either side, so it has to be within even where the
// difference of the two numbers as they are stored is some bits more.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1.000001e-6*max(1, math.Abs(want))
}

// sixDecimals returns what printing a number with six decimals keeps of it.
func sixDecimals(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', 6, 64), 64)
	return x
}

// follower is one submitter of a series as we reckon it: the record from its first
// appearance on, never brought back to what was recorded but where somebody
// edited that. HTCondor keeps six decimals of a RUP from one update to the next,
// and so do we, in Priority.
type follower struct {
	Record
	exact float64 // the RUP with nothing rounded on the way
	blur  float64 // what the rounding may have come to
	extra float64 // weight seconds beside Weighted, that are no whole thousandths
	// Whether Begin is the series' own, not ours: it was there at the first
	// appearance, or an edit set it.
	given   bool
	updates []time.Time   // of the series, since the first appearance
	passed  time.Duration // between the last two
}

// TestGoldenDecaySeries feeds each series the usage that it recorded and
// compares every submitter's RUP, weighted usage and times at every entry.
func TestGoldenDecaySeries(t *testing.T) {
	dirs := []string{filepath.Join("testdata", "golden")}
	if dir := os.Getenv("FAIRSPOOL_GOLDEN"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "condor"))
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "decay_series*.json"))
		testenv.OK(t, err)
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) { follow(t, file) })
		}
	}
}

func follow(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	testenv.OK(t, err)
	var s recorded
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if s.HalfLife <= 0 {
		t.Fatalf("%s: half-life %v: want a number above 0", file, s.HalfLife)
	}
	name := filepath.Base(file)
	found := s.compare()
	for _, wrong := range found.wrong {
		t.Errorf("golden %s: %s", name, wrong)
	}
	for _, note := range found.notes {
		t.Logf("golden %s: %s", name, note)
	}
	if found.all == 0 {
		t.Errorf("golden %s: nothing to compare", name)
	}
	t.Logf("golden condor/%s: %d of %d agree", name, found.agree, found.all)
}

// findings is what came of comparing a series: one comparison for each submitter
// and entry but that of its first appearance.
type findings struct {
	agree, all   int
	wrong, notes []string
}

func (s recorded) compare() (found findings) {
	followed, groups := map[string]*follower{}, map[string]bool{}
	for i, e := range s.Series {
		for _, name := range slices.Sorted(maps.Keys(e.Customers)) {
			f := followed[name]
			switch {
			case !strings.Contains(name, "@"):
				groups[name] = true
			case f == nil:
				followed[name] = first(name, e)
			default:
				found.all++
				wrong := f.step(s.Series[i-1].Customers[name], e, s.HalfLife)
				if wrong == "" {
					found.agree++
				} else {
					found.wrong = append(found.wrong, fmt.Sprintf("entry %d, %s: %s", i, name, wrong))
				}
			}
		}
		// One that is gone was deleted, and begins anew if it comes back.
		for _, name := range slices.Sorted(maps.Keys(followed)) {
			if _, there := e.Customers[name]; !there {
				found.notes = append(found.notes, fmt.Sprintf("entry %d: %s is no longer there", i, name))
				delete(followed, name)
			}
		}
	}
	if len(groups) > 0 {
		found.notes = append(found.notes, fmt.Sprintf("left out: the group records %v, whose usage the recorded version never sets back to 0; "+
			"of the submitters, for the same reason, AccumulatedUsage", slices.Sorted(maps.Keys(groups))))
	}
	return found
}

// step brings the submitter to the next entry and says what is not as it was
// recorded there. After an edit it goes on from what was recorded.
func (f *follower) step(before attributes, next entry, halfLife float64) (wrong string) {
	f.advance(before, next, halfLife)
	wrong = f.differs(next.Customers[f.Name])
	if edited := f.jumped(before, next); wrong != "" && edited != "" {
		f.adopt(next.Customers[f.Name])
		wrong += "; nothing that was in use explains what was recorded, so somebody set " + edited
	}
	return wrong
}

// first returns a submitter as it was at its first appearance.
func first(name string, e entry) *follower {
	f := &follower{Record: Record{Name: name, At: e.at(), HalfLife: time.Hour}, updates: []time.Time{e.at()}}
	f.adopt(e.Customers[name])
	return f
}

// adopt takes over what was recorded.
func (f *follower) adopt(c attributes) {
	f.Priority = max(c["Priority"], MinPriority)
	f.exact, f.blur = f.Priority, rounding
	f.Weighted, f.extra = Usage{}, accumulated(c)
	f.Begin, f.Last = moment(c["BeginUsageTime"]), moment(c["LastUsageTime"])
	f.given = !f.Begin.IsZero()
}

func moment(seconds float64) time.Time {
	if seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// accumulated returns the weighted usage of a record; one without is as its
// plain usage.
func accumulated(c attributes) float64 {
	if x, ok := c["WeightedAccumulatedUsage"]; ok {
		return x
	}
	return c["AccumulatedUsage"]
}

// advance brings the submitter to the next entry, with the usage that the one
// before recorded.
func (f *follower) advance(before attributes, next entry, halfLife float64) {
	f.HalfLife = time.Duration(halfLife * float64(time.Second))
	f.passed = max(next.at().Sub(f.At), 0)
	f.ResourcesUsed, f.InUse = 0, 0
	if before["ResourcesUsed"] > 0 || before["UnchargedTime"] > 0 {
		f.ResourcesUsed = 1 // that it is above 0 is all that counts, for Begin and Last
	}
	exact := f.Record
	exact.Priority = f.exact
	used, uncharged := before["WeightedResourcesUsed"], before["WeightedUnchargedTime"]
	if w, err := WeightOf(used); err == nil && uncharged == 0 && w.Float() == used {
		f.InUse, exact.InUse = w, w
		f.Record = f.AsOf(next.at(), plain)
		f.exact = exact.AsOf(next.at(), plain).Priority
	} else {
		rup := f.Priority
		f.Record = f.AsOf(next.at(), plain)
		f.Priority, f.exact = f.after(rup, before), f.after(exact.Priority, before)
		f.extra += used*f.passed.Seconds() + uncharged
	}
	f.Priority = sixDecimals(f.Priority)
	f.blur = decay(f.blur, 0, f.passed, f.HalfLife) + rounding
	f.updates = append(f.updates, next.at())
}

// after returns what comes of a RUP in the time passed, by what was recorded
// before it: what was in use, and matches that began or ended on the way.
func (f *follower) after(rup float64, before attributes) float64 {
	if f.passed == 0 {
		return rup
	}
	used := before["WeightedResourcesUsed"] + before["WeightedUnchargedTime"]/f.passed.Seconds()
	return max(decay(rup, used, f.passed, f.HalfLife), MinPriority)
}

// jumped returns which of the figures recorded next do not follow from those
// recorded before.
func (f *follower) jumped(before attributes, next entry) string {
	var set []string
	after := next.Customers[f.Name]
	rup := f.after(max(before["Priority"], MinPriority), before)
	if p := max(after["Priority"], MinPriority); !near(p, rup) {
		set = append(set, fmt.Sprintf("Priority (%v follows)", rup))
	}
	usage := accumulated(before) + before["WeightedResourcesUsed"]*f.passed.Seconds() + before["WeightedUnchargedTime"]
	if u := accumulated(after); !near(u, usage) {
		set = append(set, fmt.Sprintf("the usage (%v follows)", usage))
	}
	return strings.Join(set, " and ")
}

// differs says what is not as it was recorded, empty if all is.
func (f *follower) differs(c attributes) string {
	var wrong []string
	say := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s = %v, want %v", what, got, want))
	}
	if want := max(c["Priority"], MinPriority); !near(f.Priority, want) {
		say("RUP", f.Priority, want)
	}
	if want := max(c["Priority"], MinPriority); math.Abs(f.exact-want) > f.blur+1e-6 {
		say("RUP without rounding", f.exact, want)
	}
	if got, want := f.Weighted.Seconds()+f.extra, accumulated(c); !near(got, want) {
		say("weighted usage", got, want)
	}
	if got, want := f.begun(), c["BeginUsageTime"]; got != want {
		say("begin", got, want)
	}
	if got, want := unix(f.Last), c["LastUsageTime"]; got != want {
		say("last", got, want)
	}
	return strings.Join(wrong, ", ")
}

// begun returns Begin as HTCondor stamps it. Ours is when the first claim began;
// HTCondor's is the first update that found usage, which is the next one.
func (f *follower) begun() float64 {
	if f.given || f.Begin.IsZero() {
		return unix(f.Begin)
	}
	for _, at := range f.updates {
		if at.After(f.Begin) {
			return unix(at)
		}
	}
	return 0
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

// TestSeriesWithTrouble holds that a series in which somebody edited, came later or
// was deleted, or used fractions, is followed, and that an edit is not hidden.
func TestSeriesWithTrouble(t *testing.T) {
	customers := func(a attributes, more ...map[string]attributes) map[string]attributes {
		all := map[string]attributes{"a@x": a}
		for _, m := range more {
			maps.Copy(all, m)
		}
		return all
	}
	third, six := 1.0/3, sixDecimals
	s := recorded{HalfLife: 10, Series: []entry{
		{0, customers(attributes{"Priority": 8, "WeightedResourcesUsed": third, "ResourcesUsed": 1})},
		{10, customers(attributes{"Priority": six(4 + third/2), "WeightedAccumulatedUsage": 10 * third, "BeginUsageTime": 10, "LastUsageTime": 10},
			map[string]attributes{"b@x": {"WeightedResourcesUsed": 2, "WeightedUnchargedTime": -10, "ResourcesUsed": 1}, "group": {}})},
		{20, customers(attributes{"Priority": 100, "WeightedAccumulatedUsage": 10 * third, "BeginUsageTime": 10, "LastUsageTime": 10},
			map[string]attributes{"b@x": {"Priority": 0.75, "WeightedAccumulatedUsage": 10, "BeginUsageTime": 20, "LastUsageTime": 20}})},
		{30, customers(attributes{"Priority": 50, "WeightedAccumulatedUsage": 10 * third, "BeginUsageTime": 10, "LastUsageTime": 10})},
	}}
	got := s.compare()
	if got.all != 4 || got.agree != 3 || len(got.notes) != 2 {
		t.Errorf("compare = %d of %d, notes %q, want 3 of 4 and two notes", got.agree, got.all, got.notes)
	}
	if len(got.wrong) != 1 || !strings.HasPrefix(got.wrong[0], "entry 2, a@x: RUP = ") || !strings.Contains(got.wrong[0], "somebody set Priority (") {
		t.Errorf("compare finds %q, want the edit of a@x in entry 2 only", got.wrong)
	}
}
