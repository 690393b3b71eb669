// Package chart draws how priorities and usage went over time: as a picture
// in SVG or PNG, or as text for a terminal.
//
// A picture has panels that share the time axis: effective priority, on a
// logarithmic scale, since factors lie decades apart; the slots in use; and,
// when anybody asked for any, the slots wanted by idle jobs. The text has the
// first two. Each submitter has one line, the same in each panel; accounting
// groups are dashed. Where there are more than a picture can show, those with
// the most usage in the time shown are drawn and the rest are counted. A line of
// many points is drawn as their mean over time; up to three lines have a pale
// band from the lowest to the highest besides.
//
// pick.go chooses the lines and their points; scale.go places the ticks; chart.go and
// panel.go draw with gonum/plot; terminal.go draws with characters. Nothing here reads a
// clock or a file, and the same input gives the same bytes.
package chart
