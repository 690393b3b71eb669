package negotiator

import "fairspool/lib/pool"

// Succession is what a claim may go on with when its job has ended before the next
// cycle: the same submitter's next job of the same autocluster, unless somebody better
// waits for the slot: who has less than its share or, with a Config.Queue, whose job goes
// before it there. It says what the cycle saw. Who acts on it has to look whether a
// job is still idle and matches the slot, which the cycle did not ask.
type Succession struct {
	// Telling are the names of the attributes that tell autoclusters apart, sorted, in
	// lower case.
	Telling []string
	// Queues are what is left of the queues of submitters who have claims, in the order
	// in which each submitter's are served. In one queue of all they are those of all who
	// wait for slots, too, the one whose first job goes first before the others.
	Queues []Successors
	// OneQueue says that there is one queue of all. Then there are no Shares and no Waiting,
	// and More is the place from which on other jobs may stand in it; 0: there are none.
	OneQueue bool `json:",omitempty"`
	More     int  `json:",omitempty"`
	// Shares are what submitters who have claims are entitled to while somebody waits, by
	// name; none when nobody does. Who is not among them has all that it wants.
	Shares []Entitled
	// Waiting are the submitters who have less than they are entitled to, in the order of
	// negotiation.
	Waiting []Waiting
}

// Successors are idle jobs of one submitter and autocluster, in the order in which they
// are served.
type Successors struct {
	Submitter string
	Jobs      []pool.Procs
	// In one queue of all, Places are where each of Jobs begins in it, from 1; and More is the
	// place from which on there are others than Jobs, 0 for none.
	Places []int `json:",omitempty"`
	More   int   `json:",omitempty"`
	// Takes says that the jobs wait for nothing but slots, and take those of others; Limit is
	// else the limit of the policy that keeps them from it, if that is all. Asks says that
	// the policy has to be asked before one of them follows another.
	Takes bool   `json:",omitempty"`
	Limit string `json:",omitempty"`
	Asks  bool   `json:",omitempty"`
	// QOS and PE are what a job is charged under there, as of a Match.
	QOS string  `json:",omitempty"`
	PE  float64 `json:",omitempty"`
}

// Entitled is the slot weight that a submitter may have while others wait.
type Entitled struct {
	Submitter string
	Weight    float64
}

// Waiting is a submitter who waits for slots: the first jobs of its queues, one for each
// autocluster, and the slot weight that it may have.
type Waiting struct {
	Submitter string
	Jobs      []pool.JobID
	Weight    float64
}
