package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/spool/internal/files"
)

// sampleNow is 2026-11-21 08:00 UTC.
var sampleNow = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

var sampleParams = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1000}

// busy are submitters all of whom are at work all the time: after each cycle
// their claims change.
type busyPool struct {
	records []accountant.Record
	demand  map[string]float64
	n       int
}

func newBusyPool(n int) *busyPool {
	b := &busyPool{demand: map[string]float64{}}
	for i := range n {
		b.records = append(b.records, accountant.Record{Name: fmt.Sprintf("user%03d@cluster.example.org", i)})
	}
	return b
}

// clone returns a pool of its own that goes on from here.
func (b *busyPool) clone() *busyPool {
	return &busyPool{slices.Clone(b.records), maps.Clone(b.demand), b.n}
}

// cycle lets every submitter begin or end a claim, at a time of its own shortly
// before now, and returns what is so then.
func (b *busyPool) cycle(now time.Time) history.Moment {
	b.n++
	for i, r := range b.records {
		at := now.Add(-time.Duration(100+i*317%29000) * time.Millisecond)
		if (b.n+i)%7 < 4 {
			r = r.Start(at, accountant.One, sampleParams)
		} else if r.ResourcesUsed > 0 {
			r = r.End(at, accountant.One, sampleParams)
		}
		if r.ResourcesUsed > 20+i {
			r.ResourcesUsed, r.InUse = 3, 3*accountant.One
		}
		b.records[i] = r
		b.demand[r.Name] = float64((b.n*31 + i*17) % 500)
	}
	return history.Moment{Now: now, Records: b.records, Demand: b.demand, Params: sampleParams}
}

// years writes the samples of so many years of cycles every minute up to
// sampleNow, but only of the cycles of whose samples any are left by then.
func years(t testing.TB, s *Spool, b *busyPool, n int) {
	t.Helper()
	begin := sampleNow.AddDate(-n, 0, 0)
	for now := begin; !now.After(sampleNow); {
		if err := s.AddSamples(b.cycle(now)); err != nil {
			t.Fatal(err)
		}
		step := 24 * time.Hour
		for _, x := range []struct{ age, step time.Duration }{
			{400 * 24 * time.Hour, 6 * time.Hour}, {93 * 24 * time.Hour, time.Hour},
			{9 * 24 * time.Hour, 10 * time.Minute}, {49 * time.Hour, time.Minute},
		} {
			if sampleNow.Sub(now) <= x.age {
				step = x.step
			}
		}
		now = now.Add(step).Truncate(step)
	}
}

func samplesSize(t testing.TB, s *Spool) (size int64) {
	t.Helper()
	err := filepath.WalkDir(s.path(samplesDir), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, e := d.Info()
			size, err = size+info.Size(), e
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func sampleSpool(t testing.TB, dir string, fsys files.Layer) *Spool {
	t.Helper()
	s, err := open(dir, Options{Program: "test", Now: sampleNow}, fsys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkFiveYears reads what five years leave of a hundred submitters, all of
// them busy: all of it, and as much as a plot takes.
func BenchmarkFiveYears(b *testing.B) {
	s := sampleSpool(b, b.TempDir(), files.Disk{})
	years(b, s, newBusyPool(100), 5)
	size := samplesSize(b, s)
	if size > 50<<20 {
		b.Errorf("samples take %d bytes, want 50 MB at most", size)
	}
	for _, points := range []int{0, 1000} {
		b.Run(fmt.Sprint("points=", points), func(b *testing.B) {
			for b.Loop() {
				r, damage, err := s.ReadSamples(Samples{Until: sampleNow, Points: points})
				if err != nil || len(damage) > 0 {
					b.Fatal(err, damage)
				}
				if n := len(r.Series()); n != 100 {
					b.Fatalf("%d series, want 100", n)
				}
			}
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}

// TestYear holds that a year takes little room, and that what is read of it is as dense
// as its tiers are.
func TestYear(t *testing.T) {
	t.Parallel()
	s := sampleSpool(t, t.TempDir(), files.Disk{})
	b := newBusyPool(3)
	years(t, s, b, 1)
	if size := samplesSize(t, s); size > 3*500<<10 {
		t.Errorf("samples of three submitters take %d bytes after a year, want 500 kB each at most", size)
	}
	for _, c := range []struct {
		since  time.Duration
		points int
		want   string // how many there are, or how far they are apart
		least  int
	}{
		{time.Hour, 0, "a minute", 61}, {24 * time.Hour, 48, "ten minutes", 30}, {30 * 24 * time.Hour, 0, "at most an hour", 720},
		{0, 0, "up to six hours", 4000}, {0, 100, "at most 100", 60},
	} {
		want := Samples{Until: sampleNow, Points: c.points}
		if c.since > 0 {
			want.Since = sampleNow.Add(-c.since)
		}
		r, damage, err := s.ReadSamples(want)
		if err != nil || len(damage) > 0 {
			t.Fatal(err, damage)
		}
		for _, x := range r.Series() {
			n := len(x.Points)
			if n < c.least || c.points > 0 && n > c.points {
				t.Errorf("%s: %d points of the last %v, want %d or more: %s", x.Name, n, c.since, c.least, c.want)
			}
			if first := x.Points[0].Time; first.Before(want.Since) || first.Sub(want.Since) > 12*time.Hour && c.since > 0 {
				t.Errorf("%s: the first point of the last %v is at %v", x.Name, c.since, first)
			}
			// The mean in use by time is what was used, across all tiers.
			used, start, end := 0.0, x.Points[0], x.Points[n-1]
			for i, p := range x.Points[1:] {
				used += p.InUse * p.Time.Sub(x.Points[i].Time).Seconds()
			}
			if total := end.Usage - start.Usage; used < total*0.999999 || used > total*1.000001 {
				t.Errorf("%s: in use by time since %v is %v, usage %v", x.Name, c.since, used, total)
			}
		}
	}
}

// readSamples returns how many points there are of each name, and the damage.
func readSamples(t testing.TB, s *Spool, until time.Time) (points map[string]int, damage []error) {
	t.Helper()
	r, damage, err := s.ReadSamples(Samples{Until: until})
	if err != nil {
		t.Fatal(err)
	}
	points = map[string]int{}
	for _, x := range r.Series() {
		points[x.Name] = len(x.Points)
	}
	return points, damage
}

// TestOnceABucket holds that each tier gets one block a bucket, whatever the
// clock does.
func TestOnceABucket(t *testing.T) {
	t.Parallel()
	s := sampleSpool(t, t.TempDir(), files.Disk{})
	b := newBusyPool(1)
	for _, after := range []time.Duration{0, 20 * time.Second, 59 * time.Second, time.Minute, time.Minute, -time.Hour, 61 * time.Second, 10 * time.Minute} {
		if err := s.AddSamples(b.cycle(sampleNow.Add(after))); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]int{"minute-2026-11-21": 3, "minutes10-2026-11-21": 2, "hour-2026-11": 1, "hours6-2026-11": 1, "day-2026-11": 1} {
		text, err := os.ReadFile(s.path(samplesDir + "/" + file))
		if n := strings.Count(string(text), "@ "); err != nil || n != want {
			t.Errorf("%s has %d blocks, %v, want %d:\n%s", file, n, err, want, text)
		}
	}
}

// TestNothingDue holds that a cycle in the minute of the last one does not even
// look at the names.
func TestNothingDue(t *testing.T) {
	t.Parallel()
	s := sampleSpool(t, t.TempDir(), files.Disk{})
	b := newBusyPool(1)
	if err := s.AddSamples(b.cycle(sampleNow)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.path(namesFile)); err != nil {
		t.Fatal(err)
	}
	if err := s.AddSamples(b.cycle(sampleNow.Add(20 * time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.path(namesFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the names were looked for: %v", err)
	}
}

// BenchmarkAddSamples adds what a cycle a minute later has to note of ten thousand
// submitters of whom so many had events, and what one has in the same minute.
func BenchmarkAddSamples(b *testing.B) {
	for _, busy := range []int{50, 10000} {
		for _, step := range []time.Duration{time.Minute, time.Millisecond} {
			b.Run(fmt.Sprintf("busy=%d/step=%v", busy, step), func(b *testing.B) {
				s, p, now := sampleSpool(b, b.TempDir(), files.Disk{}), newBusyPool(10000), sampleNow
				m := p.cycle(now)
				m.Demand = nil
				for {
					if err := s.AddSamples(m); err != nil {
						b.Fatal(err)
					}
					if !b.Loop() {
						return
					}
					now = now.Add(step)
					for i := range busy {
						p.records[i] = p.records[i].Start(now, accountant.One, sampleParams)
					}
					m.Now = now
				}
			})
		}
	}
}

// TestClockJumps holds that a cycle years ahead or behind costs few samples, and
// that the others go on behind them.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	s := sampleSpool(t, t.TempDir(), files.Disk{})
	b := newBusyPool(1)
	now := sampleNow
	cycle := func(at time.Time) {
		t.Helper()
		if err := s.AddSamples(b.cycle(at)); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		cycle(now)
		now = now.Add(time.Minute)
	}
	for _, years := range []int{50, -30, 50} {
		cycle(now.AddDate(years, 0, 0))
	}
	for range 60 {
		cycle(now)
		now = now.Add(time.Minute)
	}
	r, damage, err := s.ReadSamples(Samples{Since: sampleNow, Until: now})
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	if list := r.Series(); len(list) != 1 || len(list[0].Points) != 120 {
		t.Errorf("read %d series, want one of the 120 points of the right times: %+v", len(list), list)
	}
	for years := range 20 {
		cycle(now.AddDate(70-years, 0, 0))
	}
	files, err := s.sampleFiles()
	if n := len(files["minute"]); err != nil || n > 4 {
		t.Errorf("%v, %v: want 4 files of the finest tier at most", files["minute"], err)
	}
}

// TestTornSamples cuts a file of samples, and that of names, at every byte: no
// reader calls it damage, and the next cycle goes on behind what is whole.
func TestTornSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := sampleSpool(t, dir, files.Disk{})
	b := newBusyPool(2)
	for i := range 3 {
		if err := s.AddSamples(b.cycle(sampleNow.Add(time.Duration(i) * time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	name := s.path(samplesDir + "/minute-2026-11-21")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m := b.cycle(sampleNow.Add(3 * time.Minute))
	for n := range text {
		if err := os.WriteFile(name, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := strings.Count(string(text[:n]), "\n@ ")
		if n > 0 && text[n-1] != '\n' || !strings.Contains(string(text[:n]), "\n= ") {
			whole = strings.Count(string(text[:max(n-1, 0)]), "\n@ ")
		}
		if _, damage := readSamples(t, s, sampleNow.Add(time.Hour)); len(damage) > 0 {
			t.Fatalf("the first %d bytes of %d: %v", n, len(text), damage)
		}
		if err := s.AddSamples(m); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if ends, begins := strings.Count(string(after), "\n= "), strings.Count(string(after), "@ "); ends != begins || ends < whole {
			t.Fatalf("after %d bytes of %d and a cycle: %d blocks begin and %d end", n, len(text), begins, ends)
		}
		if points, damage := readSamples(t, s, sampleNow.Add(time.Hour)); len(damage) > 0 || points["user000@cluster.example.org"] == 0 {
			t.Fatalf("after %d bytes of %d and a cycle: %v, %v", n, len(text), points, damage)
		}
	}
}

// TestDamagedSamples holds that damage is told by file and line, and that the
// rest counts.
func TestDamagedSamples(t *testing.T) {
	t.Parallel()
	s := sampleSpool(t, t.TempDir(), files.Disk{})
	b := newBusyPool(2)
	for i := range 5 {
		if err := s.AddSamples(b.cycle(sampleNow.Add(time.Duration(i) * time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	name := s.path(samplesDir + "/minute-2026-11-21")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines[5] = "1 7" + lines[5][1:] // of the second block, which begins in line 5
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	points, damage := readSamples(t, s, sampleNow.Add(time.Hour))
	var d *DamageError
	if points["user000@cluster.example.org"] != 4 || len(damage) != 1 || !errors.As(damage[0], &d) || d.File != name || d.Line != 5 {
		t.Errorf("read %v points, %v, want 4 of each and damage at %s:5", points, damage, name)
	}
	var told []Finding
	sound, err := Check(s.Dir(), Options{}, func(f Finding) {
		if strings.HasPrefix(f.File, s.path(samplesDir)) {
			told = append(told, f)
		}
	})
	if err != nil || sound || len(told) != 6 {
		t.Errorf("Check = %v, %v with %+v, want a word on 6 files, one of them damaged", sound, err, told)
	}
	if err := os.Remove(s.path(namesFile)); err != nil {
		t.Fatal(err)
	}
	if err := s.AddSamples(b.cycle(sampleNow.Add(6 * time.Minute))); err != nil {
		t.Fatal(err)
	}
	points, damage = readSamples(t, s, sampleNow.Add(time.Hour))
	if points["user001@cluster.example.org"] != 1 || len(damage) == 0 {
		t.Errorf("after the names were lost: %v, %v, want one point, and a word on the others", points, damage)
	}
}

// TestSamplesFail makes each step of a cycle's samples go wrong: the cycle is
// told, and the next one succeeds and leaves no damage.
func TestSamplesFail(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault{{name: "killed", torn: 50}, {name: "full", once: syscall.ENOSPC, torn: 50}, {name: "EIO", once: syscall.EIO, done: true}} {
		for at := 1; ; at++ {
			fsys := newFaulty()
			s := sampleSpool(t, t.TempDir(), fsys)
			b := newBusyPool(2)
			if err := s.AddSamples(b.cycle(sampleNow)); err != nil {
				t.Fatal(err)
			}
			b.records = append(b.records, accountant.Record{Name: "new@pool"})
			kind.at = at
			fsys.arm(kind)
			next := b.cycle(sampleNow.AddDate(0, 0, 2))
			err := s.AddSamples(next)
			fired := fsys.fired
			fsys.revive()
			if fired && err == nil {
				t.Errorf("%v: nothing told", kind)
			}
			if err := s.AddSamples(b.cycle(sampleNow.AddDate(0, 0, 2).Add(time.Minute))); err != nil {
				t.Fatalf("%v: the next cycle: %v", kind, err)
			}
			if points, damage := readSamples(t, s, sampleNow.AddDate(1, 0, 0)); len(damage) > 0 || len(points) != 3 {
				t.Fatalf("%v: read %v, %v, want all three, and no damage", kind, points, damage)
			}
			if !fired {
				break
			}
		}
	}
}
