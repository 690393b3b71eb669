package macro

// Misplaced says that a statement of a condition stands where it has no if, or behind
// its else. It is one line, such as "elif without if".
type Misplaced string

func (m Misplaced) Error() string { return string(m) }

// Branches are the conditions of a text that are open. The zero Branches has none.
type Branches struct{ open []branch }

// branch is one if that is not closed yet.
type branch struct {
	line   int
	active bool // the statements that follow count
	done   bool // some branch was taken
	last   bool // else has been
}

// Taken tells whether statements count now.
func (b *Branches) Taken() bool { return len(b.open) == 0 || b.open[len(b.open)-1].active }

// Open returns the line of the innermost if that no endif has closed.
func (b *Branches) Open() (line int, open bool) {
	if len(b.open) == 0 {
		return 0, false
	}
	return b.open[len(b.open)-1].line, true
}

// If opens a condition, whose if stands in the line. holds is asked only where
// statements count; the error is its.
func (b *Branches) If(line int, holds func() (bool, error)) error {
	yes, err := b.Taken(), error(nil)
	if yes {
		yes, err = holds()
	}
	b.open = append(b.open, branch{line: line, active: yes, done: yes})
	return err
}

// Elif ends a branch and begins the next. holds is asked only if no branch before was
// taken, and statements around count. The error is its, or Misplaced; an elif behind
// else is not taken.
func (b *Branches) Elif(holds func() (bool, error)) error { return b.next("elif", holds) }

// Else begins the last branch. The error is Misplaced; a second else is not taken.
func (b *Branches) Else() error {
	return b.next("else", func() (bool, error) { return true, nil })
}

func (b *Branches) next(word string, holds func() (bool, error)) error {
	n := len(b.open) - 1
	if n < 0 {
		return Misplaced(word + " without if")
	}
	now := &b.open[n]
	after := now.last
	now.active, now.last = false, after || word == "else"
	if after {
		return Misplaced(word + " after else")
	}
	if now.done || n > 0 && !b.open[n-1].active {
		return nil
	}
	yes, err := holds()
	now.active, now.done = yes, yes
	return err
}

// Endif closes the innermost condition. The error is Misplaced.
func (b *Branches) Endif() error {
	if len(b.open) == 0 {
		return Misplaced("endif without if")
	}
	b.open = b.open[:len(b.open)-1]
	return nil
}
