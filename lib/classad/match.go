package classad

// wanted are the attributes that matching looks at.
var wanted = [2]attribute{newAttribute("Requirements"), newAttribute("Rank")}

const (
	requirements = iota
	rank
)

// want returns one of the attributes wanted, or nil.
func (a *Ad) want(which int) *cell {
	for ; a != nil; a = a.parent {
		if a.shape != nil {
			if at := a.shape.wants[which]; at > 0 {
				return a.at(int(at) - 1)
			}
		}
	}
	return nil
}

// Match reports whether two ads want each other: the Requirements of both are
// true with the other ad as TARGET. Missing, UNDEFINED and ERROR mean no. The
// right one is evaluated first.
func Match(c *Context, left, right *Ad) bool {
	st := newState(c, left, right)
	ok := right != nil && left != nil && st.satisfied(&st.target) && st.satisfied(&st.my)
	st.release()
	return ok
}

// MatchRanks is Match and, if the ads match, the Rank of each with the other
// as TARGET. A rank that is missing or no number is 0.
func MatchRanks(c *Context, left, right *Ad) (ok bool, leftRank, rightRank float64) {
	st := newState(c, left, right)
	if right != nil && left != nil && st.satisfied(&st.target) && st.satisfied(&st.my) {
		ok, leftRank, rightRank = true, st.rank(&st.my), st.rank(&st.target)
	}
	st.release()
	return ok, leftRank, rightRank
}

// Satisfies reports whether my accepts target: its Requirements are true.
func Satisfies(c *Context, my, target *Ad) bool {
	st := newState(c, my, target)
	ok := st.satisfied(&st.my)
	st.release()
	return ok
}

// satisfied evaluates the Requirements of one side.
func (st *state) satisfied(sc *scope) bool {
	e := sc.ad.want(requirements)
	if e == nil {
		return false
	}
	return st.attribute(e, sc, &wanted[requirements], -1).True() && !st.failed
}

// rank evaluates the Rank of one side.
func (st *state) rank(sc *scope) float64 {
	e := sc.ad.want(rank)
	if e == nil {
		return 0
	}
	x, ok := st.attribute(e, sc, &wanted[rank], -1).Number()
	if !ok || st.failed {
		return 0
	}
	return x
}

// Rank evaluates an expression such as an ad's Rank, with target as TARGET. It
// returns a number, or 1 and 0 for a boolean; ok is false for everything else,
// which counts as 0. A nil expression is not ok.
func Rank(c *Context, e *Expr, my, target *Ad) (rank float64, ok bool) {
	if e == nil {
		return 0, false
	}
	return e.Eval(c, my, target).Number()
}

// Eval returns the value of an attribute with a as MY; UNDEFINED when a does
// not have it.
func (a *Ad) Eval(c *Context, name string, target *Ad) Value {
	e := a.cellNamed(name)
	if e == nil {
		return Undefined()
	}
	if e.kind != kindProgram {
		return e.Value
	}
	st := newState(c, a, target)
	return st.done(st.named(name, &st.my, -1))
}

// readSteps is what an attribute may take of which a program wants nothing but the number or
// the text: most are constants.
const readSteps = 5_000

// read is Eval of an attribute without a TARGET, which is ERROR beyond readSteps, or the
// MaxSteps of c.
func (a *Ad) read(c *Context, name string) Value {
	e := a.cellNamed(name)
	if e == nil {
		return Undefined()
	}
	if e.kind != kindProgram {
		return e.Value
	}
	limited := Context{}
	if c != nil {
		limited = *c
	}
	if limited.MaxSteps == 0 {
		limited.MaxSteps = readSteps
	}
	st := newState(&limited, a, nil)
	return st.done(st.named(name, &st.my, -1))
}

// EvalInt returns the value of an attribute that is an integer, without a
// TARGET; ok is false when it is missing or something else, or takes more than 5,000 steps
// where c has no MaxSteps. So do the next three.
func (a *Ad) EvalInt(c *Context, name string) (n int64, ok bool) { return a.read(c, name).Int() }

// EvalString returns the text of an attribute that is a string, without a
// TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalString(c *Context, name string) (s string, ok bool) {
	return a.read(c, name).Text()
}

// EvalNumber returns an attribute that is a number or a boolean (0 or 1),
// without a TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalNumber(c *Context, name string) (x float64, ok bool) {
	return a.read(c, name).Number()
}

// EvalBool returns an attribute that is a boolean, or whether a number is not
// zero, without a TARGET; ok is false when it is missing or something else.
func (a *Ad) EvalBool(c *Context, name string) (b, ok bool) { return a.read(c, name).Bool() }
