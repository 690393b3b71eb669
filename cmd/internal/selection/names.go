package selection

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/pool"
)

// Names are the arguments of a command that name jobs.
type Names struct {
	words    []string
	all      bool
	clusters map[int]string // as written
	ranges   []clusters
	procs    map[int]*rows // by cluster
	users    map[string]bool
}

// clusters are several whole ones: first to last.
type clusters struct {
	first, last int
	word        string // as written
}

func (c clusters) has(id int) bool { return c.first <= id && id <= c.last }

// allWord stands for all jobs among the words.
const allWord = "-a"

// All names every job.
func All() Names { return Names{words: []string{allWord}, all: true} }

// Users names the jobs of users, each an Owner or a User.
func Users(users []string) Names {
	n := Names{words: users, users: map[string]bool{}}
	for _, u := range users {
		n.users[u] = true
	}
	return n
}

// Words returns the names as they were written.
func (n Names) Words() []string { return n.words }

// Parse reads arguments. What begins with a digit names jobs: a cluster (12),
// clusters (12-15), a job (12.0), procs of a cluster (12.0-9), or each second of
// them (12.0-9:2), as qstat shows procs in a row. What begins with a letter is a
// user: an Owner, or a User where there is an @ in it.
func Parse(args []string) (Names, error) {
	n := Names{words: args, clusters: map[int]string{}, procs: map[int]*rows{}, users: map[string]bool{}}
	for _, a := range args {
		if err := n.add(a); err != nil {
			return Names{}, err
		}
	}
	for _, r := range n.procs {
		r.arrange()
	}
	return n, nil
}

func (n *Names) add(arg string) error {
	first, _ := utf8.DecodeRuneInString(arg)
	switch {
	case unicode.IsLetter(first) || first == '_':
		n.users[arg] = true
		return nil
	case first < '0' || first > '9':
		return fmt.Errorf("%q: neither a cluster, a job like 12.0, nor a user", arg)
	}
	if m := otherIDs.FindStringSubmatch(arg); m != nil {
		return fmt.Errorf("%q: no job; did you mean %s.%s?", arg, m[1], m[2])
	}
	if strings.Contains(arg, ",") {
		return fmt.Errorf("%q: between jobs stand blanks: %s", arg, strings.ReplaceAll(arg, ",", " "))
	}
	cluster, rest, dotted := strings.Cut(arg, ".")
	if !dotted {
		return n.addClusters(arg)
	}
	from, to, ranged := strings.Cut(rest, "-")
	id, err := pool.ParseJobID(cluster + "." + from)
	p := row{pool.Only(id), 1, arg}
	switch {
	case !ranged && err != nil && strings.Contains(rest, ":"):
		return fmt.Errorf("%q: want a first and a last proc before the colon, like 12.0-9:2", arg)
	case !ranged && err != nil:
		return err // which names the argument
	case err == nil && ranged:
		p, err = parseRow(p, to)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", arg, withoutName(err))
	}
	if n.procs[id.Cluster] == nil {
		n.procs[id.Cluster] = &rows{}
	}
	n.procs[id.Cluster].add(p)
	return nil
}

// otherIDs are jobs of a cluster as they are written elsewhere: 12_0, 12[0], or by mistake.
var otherIDs = regexp.MustCompile(`^([0-9]{1,9})[,_:\[]([0-9]{1,9})\]?$`)

// addClusters reads 12 or 12-15.
func (n *Names) addClusters(arg string) error {
	from, to, ranged := strings.Cut(arg, "-")
	if !ranged {
		id, err := pool.ParseCluster(arg)
		if err == nil && n.clusters[id] == "" {
			n.clusters[id] = arg
		}
		return err
	}
	first, err := pool.ParseCluster(from)
	last, err2 := pool.ParseCluster(to)
	if err = cmp.Or(err, err2); err != nil {
		return fmt.Errorf("%q: %w", arg, withoutName(err))
	}
	if last < first {
		return fmt.Errorf("%q: the last cluster comes before the first", arg)
	}
	n.ranges = append(n.ranges, clusters{first, last, arg})
	return nil
}

// parseRow reads what follows the first proc and a dash: 9 or 9:2.
func parseRow(p row, text string) (row, error) {
	to, by, stepped := strings.Cut(text, ":")
	last, err := pool.ParseJobID("1." + to)
	if err != nil {
		return p, err
	}
	if p.Last = last.Proc; p.Last < p.First {
		return p, errors.New("the last proc comes before the first")
	}
	if stepped {
		n, err := strconv.ParseUint(by, 10, 31)
		if err != nil || n < 1 {
			return p, errors.New("invalid step: want a whole number from 1 up")
		}
		p.step = int(n)
	}
	return p, nil
}

// withoutName leaves out of an error the part of an argument that it quotes.
func withoutName(err error) error {
	if _, why, ok := strings.Cut(err.Error(), `": `); ok {
		return errors.New(why)
	}
	return err
}
