package replay

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"fairspool/spool"
)

// watched runs jobs on slots of one core and gathers the course of users.
func watched(t *testing.T, slots int, users []string, lines ...string) (*Result, [][]float64) {
	t.Helper()
	w := jobs(t, lines...)
	s := spool.InMemory("pool")
	ads, err := Slots(slots, 1)
	if err == nil {
		err = Put(s, ads, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(w, Settings{Config: configured(t), Spool: s, Interval: time.Minute, Watched: users})
	if err != nil {
		t.Fatal(err)
	}
	row := func(user string) int {
		if user == "ann" {
			return 0
		}
		return 1
	}
	return r, Waits(w, r, 2, row, 60)
}

// TestCourse holds a course to a case that is worked out by hand: on two slots, ann has three jobs of 120 s from 0 on, bob one of 60 s from
// 60 on.
func TestCourse(t *testing.T) {
	r, waits := watched(t, 2, []string{"ann"}, "0 120 1 ann", "0 120 1 ann", "0 120 1 ann", "60 60 1 bob")
	// Two of ann's run to 120; then bob's until 180 and ann's third until 240.
	if got := starts(r); got != "0-0-120 0-0-120 120-120-240 120-120-180" {
		t.Fatalf("jobs started at %s", got)
	}
	c := r.Course
	c.Coarsen(60)
	if c.Width != 64 {
		t.Fatalf("bins of %d s, want 64", c.Width)
	}
	// In bins from 0, 64, 128 and 192, and to 240: bob wants something from 60 to 120, and the cycle at 60 entitles each to one slot. As no
	// job waits from 120 on, users are entitled to what they have.
	for name, x := range map[string][2][]float64{
		"used":      {c.Used, {2, 2, 116.0 / 64, 48.0 / 64}},
		"wanted":    {c.Wanted, {(60 + 4*2) / 64.0, 56 * 2 / 64.0, 0, 0}},
		"ann has":   {c.Users[0].Held, {2, (56*2 + 8) / 64.0, 1, 48.0 / 64}},
		"ann's":     {c.Users[0].Entitled, {(60*2 + 4) / 64.0, 1, 1, 48.0 / 64}},
		"bob has":   {c.Users[1].Held, {0, 8.0 / 64, 52.0 / 64, 0}},
		"bob's":     {c.Users[1].Entitled, {4.0 / 64, 1, 52.0 / 64, 0}},
		"ann waits": {waits[0], {40, -1}},
		"bob waits": {waits[1], {-1, 60}},
	} {
		if len(x[0]) != len(x[1]) {
			t.Errorf("%s: %v, want %v", name, x[0], x[1])
			continue
		}
		for i := range x[0] {
			if math.Abs(x[0][i]-x[1][i]) > 0.01 {
				t.Errorf("%s: %v, want %v", name, x[0], x[1])
				break
			}
		}
	}
}

// TestCourseBounded holds that a course has no more bins when the last job runs for years, and that its parts add up to the whole.
func TestCourseBounded(t *testing.T) {
	r, _ := watched(t, 2, []string{}, "0 10 1 ann", "1000 1000000000 1 bob", "1010 5 1 eve")
	c := r.Course
	if n := len(c.Used); n < courseBins || n >= 4*courseBins || len(c.Users) != 1 {
		t.Errorf("%d bins", n)
	}
	if !reflect.DeepEqual(c.Used, c.Users[0].Held) {
		t.Errorf("cores in use %v, held %v", c.Used[:3], c.Users[0].Held[:3])
	}
}

// TestCourseAddsUp holds that what users have is what is in use, with each policy, and is what jobs ran.
func TestCourseAddsUp(t *testing.T) {
	for name, settings := range policies {
		w := random(t, rand.New(rand.NewPCG(5, 6)), 50, 4, 3)
		r := run(t, w, configured(t, settings...), 2, 4)
		c, ran, used := r.Course, 0.0, 0.0
		for i, j := range w.Jobs {
			ran += float64(j.Cores) * float64(j.Run+r.Fates[i].Lost)
		}
		for i := range c.Used {
			used += c.Used[i] * float64(c.Width)
			if sum := c.Users[0].Held[i] + c.Users[1].Held[i] + c.Users[2].Held[i]; math.Abs(sum-c.Used[i]) > 1e-6 {
				t.Errorf("%s: bin %d: users have %v of %v", name, i, sum, c.Used[i])
			}
		}
		if math.Abs(used-ran) > 1 {
			t.Errorf("%s: the course has %v core seconds, jobs ran for %v", name, used, ran)
		}
	}
}

// TestCourseOfNothing holds that jobs that take no time have a course.
func TestCourseOfNothing(t *testing.T) {
	r, _ := watched(t, 1, []string{"ann"}, "0 0 1 ann")
	if c := r.Course; !reflect.DeepEqual(c.Used, []float64{0}) || !reflect.DeepEqual(c.Users[0].Held, []float64{0}) || len(c.Users) != 2 {
		t.Errorf("the course is %+v", c)
	}
}
