package userprio

import (
	"cmp"
	"slices"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
)

// decayedRow is usage as Grid Engine's share tree takes it: of a user's jobs
// without project, of a project, or of a user within a project.
type decayedRow struct {
	User, Project    string  `json:",omitempty"`
	CPU              float64 // s
	Memory           float64 // GB s
	IO               float64 // GB
	Combined         float64
	LongTermCPU      float64
	LongTermMemory   float64
	LongTermIO       float64
	LongTermCombined float64
}

// showDecayed shows Grid Engine's decayed usage.
func showDecayed(c *cmdline.Call) error {
	list, p, err := tallies(c, false)
	if err != nil {
		return err
	}
	rows, failed := onlyNamed(c, decayedOf(list, p.Decay), untallied, func(r decayedRow) []string { return []string{r.User, r.Project} })
	if c.Has("json") {
		err = c.JSON(struct {
			HalfTime float64 `json:"halftime"` // hours
			Usage    []decayedRow
		}{p.Decay.HalfTime.Hours(), append([]decayedRow{}, rows...)})
	} else {
		err = c.Table(decayedColumns, decayedCells(rows))
	}
	return cmp.Or(err, failed)
}

// decayedOf returns the rows of tallies: users by name, each without project
// first, then projects.
func decayedOf(list []accountant.Tally, p accountant.DecayParams) []decayedRow {
	rows := make([]decayedRow, 0, len(list))
	for _, y := range list {
		user, project := y.UserProject()
		now, ever := y.Decayed, y.LongTerm
		rows = append(rows, decayedRow{
			User: user, Project: project,
			CPU: now.CPU, Memory: now.Memory, IO: now.IO, Combined: now.Combined(p),
			LongTermCPU: ever.CPU, LongTermMemory: ever.Memory, LongTermIO: ever.IO, LongTermCombined: ever.Combined(p),
		})
	}
	noUser := func(r decayedRow) int {
		if r.User == "" {
			return 1
		}
		return 0
	}
	slices.SortFunc(rows, func(a, b decayedRow) int {
		return cmp.Or(cmp.Compare(noUser(a), noUser(b)), cmp.Compare(a.User, b.User), cmp.Compare(a.Project, b.Project))
	})
	return rows
}

var decayedColumns = []cmdline.Column{
	{Head: "User"}, {Head: "Project"}, {Head: "CPU s", Right: true}, {Head: "Mem GB s", Right: true}, {Head: "IO GB", Right: true},
	{Head: "Combined", Right: true}, {Head: "Long-term", Right: true},
}

func decayedCells(rows []decayedRow) [][]string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{cmp.Or(r.User, "-"), cmp.Or(r.Project, "-"),
			amount(r.CPU), amount(r.Memory), amount(r.IO), amount(r.Combined), amount(r.LongTermCombined)}
	}
	return cells
}

// amount writes usage.
func amount(x float64) string {
	if x >= 1e15 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
