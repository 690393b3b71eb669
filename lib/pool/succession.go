package pool

// Successors are idle jobs of one submitter and autocluster, in the order in which they are served: a
// claim of their kind may go on with them.
type Successors struct {
	Submitter string
	Jobs      []Procs // some
	// In one queue of all, Places are where each of Jobs begins in it, from 1; and More is the
	// place from which on there are others than Jobs, 0 for none.
	Places []int
	More   int
	// Takes says that the jobs wait for nothing but slots, and take those of others; Limit is
	// else the limit of the policy that keeps them from it, if that is all. Asks says that
	// the policy has to be asked before one of them follows another.
	Takes bool
	Limit string
	Asks  bool
	// QOS and PE are what a job is charged under there, as of a Match.
	QOS string
	PE  float64
}

// Entitled is the slot weight that a submitter may have while others wait.
type Entitled struct {
	Submitter string
	Weight    float64
	// Jobs are the first of its queues, one for each autocluster, if the submitter has less than that
	// weight and waits for slots; empty if it has more.
	Jobs []JobID
}

// Course is what holds of all Successors that a cycle leaves.
type Course struct {
	// Telling are the names of the attributes that tell autoclusters apart, sorted, in
	// lower case.
	Telling []string
	// OneQueue says that there is one queue of all, and More the place from which on other jobs than
	// the Successors may stand in it; 0: there are none.
	OneQueue bool
	More     int
}
