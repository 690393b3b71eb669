package classad

// Budget is a number of steps that several evaluations share (Context.Budget): operators,
// references and calls, and one more for every 8 bytes of text made or searched. A step takes
// some nanoseconds. An evaluation within the budget has the value that it has without; one for
// which too little is left is ERROR, and what it took until then counts. Steps are counted, and
// no time: the same evaluations in the same order take the same.
//
// A Budget is for one goroutine at a time.
type Budget struct{ left int }

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{steps} }

// Left returns how many steps are left, 0 of a budget that is spent.
func (b *Budget) Left() int { return max(b.left, 0) }

// Spent reports whether an evaluation needed more than there was. Its value, and those of
// later ones, are ERROR for no reason of their own. It is false for nil.
func (b *Budget) Spent() bool { return b != nil && b.left < 0 }

// Over returns by how many steps more was taken than there was.
func (b *Budget) Over() int { return max(-b.left, 0) }

// Take takes steps that were counted elsewhere.
func (b *Budget) Take(steps int) { b.left -= steps }

// Budgets are budgets of the same number of steps for several owners, each made when it is
// first asked for. They are for one goroutine at a time.
type Budgets struct {
	steps int
	of    map[string]*Budget
}

// NewBudgets returns budgets of so many steps, or nil, which bound nothing, for 0.
func NewBudgets(steps int) *Budgets {
	if steps <= 0 {
		return nil
	}
	return &Budgets{steps, map[string]*Budget{}}
}

// Of returns the budget of an owner; nil of nil.
func (b *Budgets) Of(owner string) *Budget {
	if b == nil {
		return nil
	}
	one := b.of[owner]
	if one == nil {
		one = NewBudget(b.steps)
		b.of[owner] = one
	}
	return one
}

// Whole reports whether nothing was taken of an owner's budget yet.
func (b *Budgets) Whole(owner string) bool { return b != nil && b.Of(owner).left == b.steps }

// Taken returns what owners have taken of their budgets.
func (b *Budgets) Taken() map[string]int {
	if b == nil {
		return nil
	}
	taken := make(map[string]int, len(b.of))
	for owner, one := range b.of {
		taken[owner] = b.steps - one.left
	}
	return taken
}
