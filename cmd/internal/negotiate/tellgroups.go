package negotiate

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/negotiator"
)

var quotaColumns = []cmdline.Column{
	{Head: "Group"}, {Head: "Config Quota", Right: true}, {Head: "Effective Quota", Right: true}, {Head: "Subtree Quota", Right: true},
	{Head: "Use", Right: true}, {Head: "Surplus", Right: true}, {Head: "Demand", Right: true},
}

// showGroups prints what groups may use, use and want, if any of them has a quota: each
// group behind the one that it is in, and further to the right.
func showGroups(c *cmdline.Call, groups []negotiator.Group) error {
	if !bounded(groups) {
		return nil
	}
	var rows [][]string
	for _, p := range inTreeOrder(groups) {
		g := groups[p.at]
		rows = append(rows, append([]string{strings.Repeat("  ", p.depth) + g.Name}, quotasOf(g).cells()...))
	}
	fmt.Fprintln(c.Stdout)
	return c.Table(quotaColumns, rows)
}

// bounded tells whether any group has a quota.
func bounded(groups []negotiator.Group) bool {
	return slices.ContainsFunc(groups, func(g negotiator.Group) bool { return g.ConfigQuota > 0 })
}

// placed is the index of a group, and how deep in the tree it is.
type placed struct{ at, depth int }

// inTreeOrder returns groups, of which those above come first, each before those in it.
func inTreeOrder(groups []negotiator.Group) []placed {
	at, in := map[string]int{}, make([][]int, len(groups))
	var tops []int
	for i, g := range groups {
		name := strings.ToLower(g.Name)
		at[name] = i
		parent := -1
		for dot := strings.LastIndexByte(name, '.'); dot >= 0 && parent < 0; dot = strings.LastIndexByte(name, '.') {
			name = name[:dot]
			if p, known := at[name]; known {
				parent = p
			}
		}
		if parent < 0 {
			tops = append(tops, i)
		} else {
			in[parent] = append(in[parent], i)
		}
	}
	var line []placed
	var next []placed // the last one first
	push := func(list []int, depth int) {
		for _, i := range slices.Backward(list) {
			next = append(next, placed{i, depth})
		}
	}
	push(tops, 0)
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		line = append(line, p)
		push(in[p.at], p.depth+1)
	}
	return line
}
