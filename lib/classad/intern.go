package classad

import "sync"

// Interner lets equal texts share one compiled expression, so that ten
// thousand slot ads cost the memory of what differs between them. It may be
// used by several goroutines.
type Interner struct {
	mu    sync.Mutex
	exprs map[internKey]*Expr
	names map[string]string
}

type internKey struct {
	text string
	old  bool
}

// NewInterner returns an Interner that knows nothing yet.
func NewInterner() *Interner {
	return &Interner{exprs: map[internKey]*Expr{}, names: map[string]string{}}
}

// Expr compiles text as ParseExpr does, or returns what it compiled before. Bad
// texts are not remembered.
func (i *Interner) Expr(text string) (*Expr, error) {
	return i.get(internKey{text, false}, ParseExpr)
}

func (i *Interner) long(text string) (*Expr, error) {
	return i.get(internKey{text, true}, ParseLongExpr)
}

func (i *Interner) get(key internKey, parse func(string) (*Expr, error)) (*Expr, error) {
	i.mu.Lock()
	e := i.exprs[key]
	i.mu.Unlock()
	if e != nil {
		return e, nil
	}
	e, err := parse(key.text)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := i.exprs[key]; known != nil {
		return known, nil
	}
	i.exprs[key] = e
	return e, nil
}

func (i *Interner) name(name string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, ok := i.names[name]; ok {
		return known
	}
	i.names[name] = name
	return name
}
