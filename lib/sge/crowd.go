package sge

import "fairspool/lib/parallel"

// object is a user, a project or a department of somebody, and what it is entitled to.
type object struct{ fshare, oticket float64 }

// The kinds of objects.
const (
	ofUser = iota
	ofDepartment
	ofProject
	kinds
)

// nobody is the object that is no project, and all those that are entitled to nothing.
const nobody = 0

// party is what the functional and the override policy know of a job. Jobs of which they know
// the same are one party.
type party struct {
	objects         [kinds]int32 // whose it is, in crowd.objects
	jobShare, extra float64      // job share and override tickets of its own
}

// crowd is whose the members are.
type crowd struct {
	objects []object // nobody is the first
	parties []party
	of      []int32 // the party of each member
}

// manyJobs are worth another processor.
const manyJobs = 4096

// facts are those of a job that make its party.
type facts struct {
	user, project, department string
	jobShare, extra           float64
}

func factsOf(j *Job) facts {
	return facts{j.User, j.Project, j.Department, entitlement(j.JobShare), entitlement(j.OverrideTickets)}
}

// crowdOf finds the parties of members, in the order of their first ones. Several processors
// find those of some members each, and then these are put together.
func crowdOf(c *Config, members []member) *crowd {
	w := &crowd{objects: []object{nobody: {}}, of: make([]int32, len(members))}
	parts := parallel.Bounds(len(members), manyJobs)
	found := make([][]facts, len(parts)-1)
	parallel.Parts(parts, func(part, from, to int) { found[part] = meet(members[from:to], w.of[from:to]) })
	known := map[facts]int32{}
	objects := map[[2]string]int32{}
	for part, some := range found {
		numbers := make([]int32, len(some))
		for i, f := range some {
			number, met := known[f]
			if !met {
				number = int32(len(w.parties))
				known[f] = number
				w.parties = append(w.parties, w.party(c, f, objects))
			}
			numbers[i] = number
		}
		if part > 0 { // the first part's are as they were found
			for m := parts[part]; m < parts[part+1]; m++ {
				w.of[m] = numbers[w.of[m]]
			}
		}
	}
	return w
}

// meet numbers the facts of members in the order in which they come. Neighbours mostly have the
// same.
func meet(members []member, of []int32) (found []facts) {
	known := map[facts]int32{}
	var last *Job
	for m := range members {
		job := members[m].job
		switch {
		case job == last || last != nil && factsOf(job) == factsOf(last):
			of[m] = of[m-1]
		default:
			f := factsOf(job)
			number, met := known[f]
			if !met {
				number = int32(len(found))
				known[f] = number
				found = append(found, f)
			}
			of[m] = number
		}
		last = job
	}
	return found
}

// party returns the party with these facts. Known are the numbers of the objects by kind
// and name, so far.
func (w *crowd) party(c *Config, f facts, known map[[2]string]int32) party {
	p := party{jobShare: f.jobShare, extra: f.extra}
	for kind, name := range [kinds]string{ofUser: f.user, ofDepartment: f.department, ofProject: f.project} {
		records := [kinds]map[string]Object{ofUser: c.Users, ofDepartment: c.Departments, ofProject: c.Projects}[kind]
		record, configured := records[name]
		if !configured || record.FShare <= 0 && record.OTicket <= 0 {
			continue // nobody
		}
		key := [2]string{string(rune('0' + kind)), name}
		number, met := known[key]
		if !met {
			number = int32(len(w.objects))
			known[key] = number
			w.objects = append(w.objects, object{entitlement(record.FShare), entitlement(record.OTicket)})
		}
		p.objects[kind] = number
	}
	return p
}
