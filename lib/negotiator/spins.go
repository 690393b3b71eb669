package negotiator

// Spin is one round of the division of the pie.
type Spin struct{}
