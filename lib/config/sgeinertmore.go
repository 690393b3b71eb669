package config

import (
	"strings"

	"fairspool/lib/sge"
)

// inertComplexes finds complexes that no request reaches, for one before them has their name
// or their shortcut. Case does not count in requests.
func inertComplexes(s *sge.Config, tell teller) {
	owner := map[string]string{}
	for _, x := range s.Complexes {
		for i, name := range []string{x.Name, x.Shortcut} {
			folded := strings.ToLower(name)
			other, ok := owner[folded]
			switch {
			case name == "":
			case !ok:
				owner[folded] = x.Name
			case other != x.Name && i == 0:
				tell("complexes."+x.Name, "requests by this name are for %s, which stands before it", shortened(other))
			case other != x.Name:
				tell("complexes."+x.Name+".shortcut", "requests by %s are for %s, which stands before it", shortened(name), shortened(other))
			}
		}
	}
}

// inertNodes finds nodes of the share tree that are surely meant otherwise.
func inertNodes(s *sge.Config, tell teller) {
	if !hasNodes(s) {
		return
	}
	if s.Tree.Name == sge.DefaultNode {
		tell(shareTree, "the root is called %s, and is no default node: that is one below it", sge.DefaultNode)
	}
	if top := s.Tree.Children; len(top) == 1 && strings.EqualFold(top[0].Name, treeRoot) && len(top[0].Children) > 0 {
		tell(shareTree+"./"+top[0].Name, "is a node of its own: paths begin below the root, whose name is not in them")
	}
	inertTwice(s, tell)
	visitNodes(s, func(path func() string, _ string, n *sge.Node) {
		_, named := s.Projects[n.Name]
		_, user := s.Users[n.Name]
		switch {
		case n.Name == sge.DefaultNode && len(n.Children) > 0:
			tell(path(), "has nodes below it: users without a node get one beside it, each with its shares")
		case named && user:
			tell(path(), "is the project's: there is also a user %s, who has no node by it", shortened(n.Name))
		case n.Name != sge.DefaultNode && strings.EqualFold(n.Name, sge.DefaultNode) && !named && !user && len(n.Children) == 0:
			tell(path(), "is the node of a user of that name: the one for users without a node is called %s", sge.DefaultNode)
		}
	})
}

// inertTwice finds leaves of the share tree that no job comes to: a search from the root, depth
// first, finds another one before them.
func inertTwice(s *sge.Config, tell teller) {
	type place struct{ project, name string } // below which project's node
	seen := map[place]bool{}
	visitNodes(s, func(path func() string, project string, n *sge.Node) {
		at := place{project, n.Name}
		_, named := s.Projects[n.Name]
		switch {
		case named && project != "":
			tell(path(), "has no jobs of project %s: it is below the node of project %s", shortened(n.Name), shortened(project))
		case !seen[at]:
			seen[at] = true
		case n.Name == sge.DefaultNode:
			tell(path(), "has no effect: users without a node get one beside the %s that stands before it", sge.DefaultNode)
		case named || len(n.Children) == 0:
			tell(path(), "has no jobs: those of %s belong to the node of that name that stands before it", shortened(n.Name))
		}
	})
}

// mostLevels is how many names of a path are shown.
const mostLevels = 50

// visitNodes calls visit for all nodes below the root, from the top down, each with what
// returns its key in [sge] and the project whose node it is below, or none. Trees of files may
// be as deep as they like.
func visitNodes(s *sge.Config, visit func(key func() string, project string, n *sge.Node)) {
	type step struct {
		node    *sge.Node
		level   int
		project string
	}
	var names []string // on the path to the node
	rest := []step{{node: s.Tree}}
	for len(rest) > 0 {
		at := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if at.level > 0 {
			names = append(names[:at.level-1], at.node.Name)
			visit(func() string { return shareTree + "." + nodePath(names) }, at.project, at.node)
			if _, known := s.Projects[at.node.Name]; known && at.project == "" {
				at.project = at.node.Name
			}
		}
		for i := len(at.node.Children) - 1; i >= 0; i-- {
			rest = append(rest, step{at.node.Children[i], at.level + 1, at.project})
		}
	}
}

// nodePath returns the path of these names, of which it leaves out the first if they are many.
func nodePath(names []string) string {
	if n := len(names); n > mostLevels {
		return "/.../" + strings.Join(names[n-mostLevels:], "/")
	}
	return "/" + strings.Join(names, "/")
}
