package negotiator

import (
	"encoding/binary"
	"math"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// autocluster is jobs that are alike in every attribute that a match or rank
// refers to. They may be many submitters'.
type autocluster struct {
	number  int
	ad      *classad.Ad
	meet    int       // slots that meet the jobs' Requirements
	mute    int       // those of them whose ads have no Requirements
	accept  counts    // those of them that accept the jobs
	bundles []*bundle // by place
	// list is a heap of the classes with candidates, best first. A class's
	// place goes by its first slot left and grows worse as slots are taken, so
	// it is enough to look again when a class comes to the top.
	list candidates
	// aside are candidates too heavy for the submitter whose turn it is.
	aside candidates
}

// left says whether any slot that matches is free.
func (k *autocluster) left() bool {
	for _, b := range k.bundles {
		if b.left > 0 {
			return true
		}
	}
	return false
}

// take takes the best slot left whose weight is at most room, and returns its
// index and class. Candidates that are too heavy are set aside until restore.
func (k *autocluster) take(room float64) (int, *class, bool) {
	for k.left() && len(k.list) > 0 {
		top := &k.list[0]
		switch {
		case top.class.left() == 0:
			k.list.pop()
		case top.first != top.class.free[top.class.taken]:
			top.first = top.class.free[top.class.taken]
			k.list.down(0)
		case !fits(top.class.weight, room):
			k.aside = append(k.aside, k.list.pop())
		default:
			class := top.class
			class.taken++
			class.bundle.left--
			return top.first, class, true
		}
	}
	return 0, nil, false
}

// ranks says whether b was taken for its rank: a bundle was left whose slots
// fit as well and would have come first, had the ranks been the same.
func (k *autocluster) ranks(b *bundle, room float64) bool {
	for _, o := range k.bundles {
		if o.place >= b.place {
			return false
		}
		if o.left > 0 && fits(o.weight, room) {
			return true
		}
	}
	return false
}

// restore puts the candidates back that were set aside.
func (k *autocluster) restore() {
	for _, a := range k.aside {
		k.list.push(a)
	}
	k.aside = k.aside[:0]
}

// slack is how much more than its limit a submitter may use, so that
// rounding in the last digit costs nobody a slot.
const slack = 1e-9

func fits(w accountant.Weight, room float64) bool { return w.Float() <= room+slack }

// matchmaker evaluates which slots a cluster can use, and in what order.
type matchmaker struct {
	c       *cycle
	lex     *lexicon
	ranks   names // the jobs' attributes that pre and post ranks refer to
	columns map[string][]preferred
	users   [][]byte // by group of slots: the numbers of the clusters that can use it
	key     []byte
}

// preferred is what NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK make
// of a class.
type preferred struct{ pre, post float64 }

// match fills a new cluster: each group of slots is matched once, each class
// ranked once.
func (m *matchmaker) match(k *autocluster) {
	type answer struct{ asked, meets, accepts bool }
	answers := make([]answer, len(m.users))
	column := m.column(k.ad)
	asks := classad.NewMatcher(m.c.eval, k.ad)
	for i, class := range m.c.classes {
		a := &answers[class.group]
		if !a.asked {
			a.asked = true
			a.meets = asks.Wants(class.ad)
			a.accepts = a.meets && asks.WantedBy(class.ad)
			if a.accepts {
				m.users[class.group] = binary.LittleEndian.AppendUint32(m.users[class.group], uint32(k.number))
			}
		}
		if a.meets {
			k.meet += class.counts.total()
			if !class.ad.Has(pool.AttrRequirements) {
				k.mute += class.counts.total()
			}
		}
		if !a.accepts {
			continue
		}
		k.accept.add(class.counts)
		if class.left() == 0 {
			continue
		}
		if k.list == nil {
			k.list = make(candidates, 0, len(m.c.classes)-i)
		}
		k.list = append(k.list, candidate{
			class: class, pre: column[i].pre, rank: rankNumber(asks.Rank(class.ad)), post: column[i].post, first: class.free[0],
		})
	}
}

// column returns the pre and post ranks of all classes for a job. Jobs alike
// in what these refer to, which is mostly nothing, share one.
func (m *matchmaker) column(job *classad.Ad) []preferred {
	m.key = m.lex.signature(m.key[:0], job, m.ranks)
	col, ok := m.columns[string(m.key)]
	if !ok {
		cfg, eval := m.c.cfg, m.c.eval
		col = make([]preferred, len(m.c.classes))
		for i, class := range m.c.classes {
			if class.left() > 0 {
				col[i].pre = rankOr(eval, cfg.PreJobRank, class.ad, job, math.Inf(-1))
				col[i].post = rankOr(eval, cfg.PostJobRank, class.ad, job, math.Inf(-1))
			}
		}
		m.columns[string(m.key)] = col
	}
	return col
}

// rankNumber is a rank with 0 for what is no number.
func rankNumber(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// rankOr returns what e ranks target with, or other when it is no number.
func rankOr(eval *classad.Context, e *classad.Expr, my, target *classad.Ad, other float64) float64 {
	if e == nil {
		return other
	}
	if v, ok := classad.Rank(eval, e, my, target); ok && !math.IsNaN(v) {
		return v
	}
	return other
}
