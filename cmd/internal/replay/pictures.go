package replay

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/page"
	"fairspool/lib/clean"
	"fairspool/lib/plural"
	"fairspool/lib/replay"
	"fairspool/lib/workload"
)

const (
	// mostWatched is how many users have a curve of their own: those with the most core hours.
	mostWatched = 8
	// mostHeats is how many users have a row of their own in the heat map, and heatBins how many bins a row has at most.
	mostHeats = 300
	heatBins  = 84
	// mostChanged is how many users are shown that wait longer, and how many that wait shorter.
	mostChanged = 15
	// quantiles is how many points a curve of slowdowns has.
	quantiles = 200
)

// gallery is what pictures are drawn of.
type gallery struct {
	*workload.Workload
	pool     pooled
	name     string // of the workload
	variants []*variant
	courses  []*variant // those with a course
	users    []int      // indexes of users, that with the most core hours first
	zone     *time.Location
	width    time.Duration // of the bins of courses
	until    time.Time     // when the last course ends
	base     *variant
	chance   bool // runs with shaken submissions say what may be chance
}

// busiest returns the users with the most core hours.
func busiest(w *workload.Workload, n int) []string {
	hours := map[string]int64{}
	var names []string
	for _, j := range w.Jobs {
		if hours[j.User] == 0 {
			names = append(names, j.User)
		}
		hours[j.User] += int64(j.Cores)*j.Run + 1
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(hours[b], hours[a]), strings.Compare(a, b)) })
	return names[:min(n, len(names))]
}

func newGallery(c *cmdline.Call, o options, w *workload.Workload, p pooled, variants []*variant) *gallery {
	g := &gallery{Workload: w, pool: p, name: "the pool's history", variants: variants, zone: c.Now.Location(), base: base(variants), chance: o.shake > 0}
	if len(c.Args) > 0 {
		g.name = clean.Line(c.Args[0])
	}
	place := map[string]int{}
	for i, u := range g.base.users {
		place[u.Name] = i
	}
	for _, name := range busiest(w, math.MaxInt) {
		g.users = append(g.users, place[name])
	}
	width := int64(1)
	for _, v := range variants {
		if v.result.Course != nil {
			g.courses = append(g.courses, v)
			width = max(width, v.result.Course.Width)
		}
	}
	bins := 0
	for _, v := range g.courses {
		v.result.Course.Coarsen(width)
		bins = max(bins, len(v.result.Course.Used))
	}
	g.width = time.Duration(width) * time.Second
	g.until = g.first().Add(time.Duration(bins) * g.width)
	return g
}

func (g *gallery) at(s int64) time.Time { return g.Start.Add(time.Duration(s) * time.Second) }

func (g *gallery) first() time.Time { return g.at(g.Jobs[0].Submit) }

// last returns when the last job of all configurations was submitted.
func (g *gallery) last() (last int64) {
	for _, v := range g.variants {
		last = max(last, v.result.LastSubmit())
	}
	return last
}

// drawing is a kind of picture: in parts, each of which is a picture in a page.
type drawing struct {
	name, title string
	note        string
	columns     int
	key         func(g *gallery) []chart.Key
	groups      func(g *gallery) []chart.Group
	none        string // what is said if there are no groups
}

// changed is the picture that compares configurations.
var changed = drawing{"users", "Who waits longer, who shorter", "Users' mean waits, on a logarithmic scale; further left is better. Those whose wait grows most come first, those whose wait shrinks most last.", 2,
	func(g *gallery) []chart.Key { return chart.ChangeKeys(g.chance) }, (*gallery).changes, "there is only one configuration; -with and -what-if add others"}

// drawings are all of them.
var drawings = []drawing{
	changed,
	{"held", "Cores held and entitled to", "The users with the most core hours. An area that follows the line is fair. Each user has a scale of cores.", 3,
		func(*gallery) []chart.Key {
			return []chart.Key{chart.AreaKey(0, "cores held"), chart.LineKey(1, true, "cores entitled to")}
		}, (*gallery).holdings, ""},
	{"queue", "Queue and utilisation", "", 1, func(g *gallery) []chart.Key { return lineKeys(g.courses) }, (*gallery).queues, ""},
	{"waits", "Waits over time", "A row for each user, that with the most core hours first; a cell is the mean wait of the jobs submitted then. Lower is better.", 0,
		func(*gallery) []chart.Key { return chart.HeatKeys() }, (*gallery).heats, ""},
	{"slowdown", "Slowdowns", "The part of all that have a slowdown up to this, on a logarithmic scale. A curve further up and to the left is better.", 2,
		func(g *gallery) []chart.Key { return lineKeys(g.variants) }, (*gallery).slowdowns, ""},
}

// drawn are the names of the pictures.
func drawn() (names []string) {
	for _, d := range drawings {
		names = append(names, d.name)
	}
	return names
}

func lineKeys(variants []*variant) (keys []chart.Key) {
	for i, v := range variants {
		keys = append(keys, chart.LineKey(i, false, v.name))
	}
	return keys
}

// changes compares each configuration with the pool's own, and that with what was recorded.
func (g *gallery) changes() (groups []chart.Group) {
	type pair struct{ from, to *variant }
	var pairs []pair
	longest := 0.0
	for _, v := range g.variants {
		switch {
		case v == g.base:
		case v.name == recorded:
			pairs = append(pairs, pair{v, g.base})
		default:
			pairs = append(pairs, pair{g.base, v})
		}
		for _, u := range v.users {
			longest = max(longest, u.Wait)
		}
	}
	for _, p := range pairs {
		grows := func(i int) float64 { return math.Round(p.to.users[i].Wait) - math.Round(p.from.users[i].Wait) }
		order := slices.Clone(g.users)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(grows(b), grows(a)) })
		longer, shorter := 0, 0
		for _, i := range order {
			if d := grows(i); d > 0 {
				longer++
			} else if d < 0 {
				shorter++
			}
		}
		counts := fmt.Sprintf("%s longer, %d shorter, %d as long as before", plural.Pick(longer, "1 user waits", "%d users wait"), shorter, len(order)-longer-shorter)
		if len(order) > 2*mostChanged {
			order = slices.Concat(order[:min(longer, mostChanged)], order[len(order)-min(shorter, mostChanged):])
		}
		if len(order) == 0 { // none of many differs
			order = g.users[:mostChanged]
		}
		var names []string
		var bells chart.Dumbbells
		for _, i := range order {
			u, v := p.from.users[i], p.to.users[i]
			names = append(names, u.Name)
			bells = append(bells, chart.Dumbbell{Before: u.Wait, After: v.Wait, Note: signed(grows(i)) + ", " + plural.Count(u.Jobs, "job"), Chance: same(p.from.waits(i), p.to.waits(i))})
		}
		const height, free = 13, 0.6
		groups = append(groups, chart.Group{Title: p.from.name + " to " + p.to.name, Plots: []chart.Axes{{Label: counts, Height: height * float64(len(names)), X: chart.Waits(longest, free), Y: chart.Rows(names, height), Marks: []chart.Mark{bells}}}})
	}
	return groups
}

// holdings are the courses of what users held and were entitled to.
func (g *gallery) holdings() (groups []chart.Group) {
	names := busiest(g.Workload, mostWatched)
	if n := len(g.users) - len(names); n > 0 {
		names = append(names, plural.Count(n, "other user"))
	}
	for i, name := range names {
		most := 1.0
		for _, v := range g.courses {
			h := v.result.Course.Users[i]
			most = max(most, slices.Max(h.Held), slices.Max(h.Entitled))
		}
		group := chart.Group{Title: name}
		for _, v := range g.courses {
			h := v.result.Course.Users[i]
			group.Plots = append(group.Plots, chart.Axes{Label: v.name, Height: 62, X: g.times(), Y: chart.UpTo(most), Marks: []chart.Mark{
				chart.Steps{From: g.first(), Width: g.width, Values: h.Held, Rank: 0, Filled: true},
				chart.Steps{From: g.first(), Width: g.width, Values: h.Entitled, Rank: 1, Solid: true},
			}})
		}
		groups = append(groups, group)
	}
	return groups
}

func (g *gallery) times() chart.Axis { return chart.Times(g.first(), g.until, g.zone) }

// queues are what jobs wait for and use.
func (g *gallery) queues() []chart.Group {
	wanted, cores := 1.0, int64(0)
	var waiting, using []chart.Mark
	for i, v := range g.courses {
		c := v.result.Course
		wanted, cores = max(wanted, slices.Max(c.Wanted)), max(cores, v.result.Cores)
		waiting = append(waiting, chart.Steps{From: g.first(), Width: g.width, Values: c.Wanted, Rank: i})
		using = append(using, chart.Steps{From: g.first(), Width: g.width, Values: c.Used, Rank: i})
	}
	return []chart.Group{{Title: "", Plots: []chart.Axes{
		{Label: "cores that waiting jobs ask for, lower is better", Height: 150, X: g.times(), Y: chart.UpTo(wanted), Marks: waiting},
		{Label: fmt.Sprintf("cores in use of %d at most, higher is better", cores), Height: 150, X: g.times(), Y: chart.UpTo(float64(cores)), Marks: using},
	}}}
}

// heats are the users' waits by the time of submission.
func (g *gallery) heats() (groups []chart.Group) {
	rows, names := map[string]int{}, []string(nil)
	for k, i := range g.users {
		if k == mostHeats-1 && len(g.users) > mostHeats {
			names = append(names, plural.Count(len(g.users)-k, "other user"))
			break
		}
		rows[g.base.users[i].Name] = k
		names = append(names, g.base.users[i].Name)
	}
	row := func(user string) int {
		if k, ok := rows[user]; ok {
			return k
		}
		return len(names) - 1
	}
	last := g.last()
	width := (last-g.Jobs[0].Submit)/heatBins + 1
	height := max(6.6, min(14, 600/float64(len(names))))
	for _, v := range g.variants {
		groups = append(groups, chart.Group{Title: v.name, Plots: []chart.Axes{{Height: height * float64(len(names)), X: chart.Times(g.first(), g.at(last), g.zone), Y: chart.Rows(names, height),
			Marks: []chart.Mark{chart.Heats{From: g.first(), Width: time.Duration(width) * time.Second, Rows: replay.Waits(g.Workload, v.result, len(names), row, width)}}}}})
	}
	return groups
}

// slowdowns are the distributions of slowdowns, of jobs and of users.
func (g *gallery) slowdowns() []chart.Group {
	jobs := func(v *variant) (x []float64) {
		for i, j := range g.Jobs {
			if f := &v.result.Fates[i]; f.End >= 0 {
				x = append(x, replay.Slowdown(j, f))
			}
		}
		return x
	}
	users := func(v *variant) (x []float64) {
		for _, u := range v.users {
			if u.Slowdown > 0 {
				x = append(x, u.Slowdown)
			}
		}
		return x
	}
	var groups []chart.Group
	for _, q := range []struct {
		title, label string
		of           func(*variant) []float64
	}{{"Slowdown of jobs", "part of the jobs, higher is better", jobs}, {"Mean slowdown of users", "part of the users, higher is better", users}} {
		axes := chart.Axes{Label: q.label, Height: 180, Y: chart.Parts()}
		most := 10.0
		for i, v := range g.variants {
			x := q.of(v)
			slices.Sort(x)
			curve := chart.Line{Rank: i}
			for k := 0; k <= quantiles && len(x) > 0; k++ {
				part := float64(k) / quantiles
				most = max(most, x[len(x)-1])
				curve.X = append(curve.X, math.Log10(x[max(int(math.Ceil(part*float64(len(x)))), 1)-1]))
				curve.Y = append(curve.Y, part)
			}
			axes.Marks = append(axes.Marks, curve)
		}
		axes.X = chart.Powers(1, most)
		groups = append(groups, chart.Group{Title: q.title, Plots: []chart.Axes{axes}})
	}
	return groups
}

// write draws a picture into a file.
func (d drawing) write(c *cmdline.Call, g *gallery, file string) error {
	groups := d.groups(g)
	p := chart.Picture{Title: d.title + ", " + g.name, Note: d.note, Key: d.key(g), Columns: min(cmp.Or(d.columns, 3), len(groups)), Groups: groups}
	format, _ := chart.FormatOf(file)
	if _, err := c.Replace(file, 0o666, func(w io.Writer) error { return p.Draw(w, format) }); err != nil {
		return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
	}
	return nil
}

// section returns the part of a page with a picture.
func (d drawing) section(g *gallery) (page.Section, error) {
	s := page.Section{ID: d.name, Title: d.title}
	if d.note != "" {
		s.Text = []string{d.note}
	}
	groups := d.groups(g)
	if len(groups) == 0 {
		s.Text = []string{"Nothing is compared: " + d.none + "."}
	}
	for _, group := range groups {
		label := d.title
		if group.Title != "" {
			label += ": " + group.Title
		}
		svg, err := chart.Picture{Key: d.key(g), Groups: []chart.Group{group}}.Inline(fmt.Sprintf(`role="img" aria-label="%s"`, template.HTMLEscapeString(clean.Line(label))))
		if err != nil {
			return s, err
		}
		s.Pictures = append(s.Pictures, page.Picture{Caption: clean.Line(cmp.Or(group.Title, d.title)), SVG: template.HTML(svg)})
	}
	return s, nil
}

// page returns the page.
func (g *gallery) page(o options) ([]byte, error) {
	const layout = "2006-01-02 15:04 MST"
	from, to := g.first().In(g.zone).Format(layout), g.at(g.last()).In(g.zone).Format(layout)
	p := page.Page{Title: "Replay of " + g.name, Subject: plural.Count(len(g.variants), "configuration"), Program: "replay",
		Lead: template.HTML(template.HTMLEscapeString(fmt.Sprintf("Jobs submitted from %s to %s, under %s", from, to, plural.Count(len(g.variants), "configuration")))),
		Figures: []page.Figure{{Name: "Jobs", Value: page.Count(len(g.Jobs))}, {Name: "Users", Value: page.Count(len(g.users))},
			{Name: "Slots", Value: page.Count(g.base.slots)}, {Name: "Cores", Value: fmt.Sprint(g.base.cores)}}}
	measures := page.Section{ID: "measures", Title: "Measures", Text: []string{`"now" is the pool's own configuration. replay-measures(7) has the formula of each measure, and what a replay cannot tell.`}}
	measures.Text = append(measures.Text, o.arrivals(), g.pool.words(g.base))
	if o.shake > 0 {
		measures.Text = append(measures.Text, o.shaken(g.variants))
	}
	for _, n := range g.Left {
		measures.Text = append(measures.Text, plural.Pick(n.Jobs, "1 job is", "%d jobs are")+" left out: "+n.What+".")
	}
	for _, n := range g.Unknown {
		measures.Text = append(measures.Text, plural.Count(n.Jobs, "job")+": unknown "+n.What+".")
	}
	columns, rows := measureTable(g.variants)
	columns[0].Head = "Measure"
	measures.Tables = []page.Table{tabled("measures-table", "Measures by configuration", columns, rows)}
	p.Sections = []page.Section{measures}
	for _, d := range drawings {
		s, err := d.section(g)
		if err != nil {
			return nil, err
		}
		if d.name == "users" {
			columns, rows := userTable(g.variants)
			t := tabled("users-table", "Mean waits of users", columns, rows[:min(len(rows), page.MostRows)])
			if n := len(rows) - len(t.Rows); n > 0 {
				t.More = "And " + plural.Count(n, "user") + " whose wait changes less: replay -users shows all."
			}
			s.Tables = []page.Table{t}
		}
		p.Sections = append(p.Sections, s)
	}
	return p.HTML()
}

// tabled returns a table of a page.
func tabled(id, caption string, columns []cmdline.Column, rows [][]string) page.Table {
	t := page.Table{ID: id, Caption: caption}
	for _, c := range columns {
		class := "name"
		if c.Right {
			class = "number"
		}
		t.Columns = append(t.Columns, page.Column{Name: page.Short(c.Head), Class: class})
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, page.Row{Head: page.Short(r[0]), Cells: r[1:]})
	}
	return t
}
