package pool

import "slices"

// Successors are idle jobs of one submitter and autocluster, in the order of service: a claim of the
// submitter may go on with them.
type Successors struct {
	Submitter string
	Jobs      []Procs // some
	// Places are where each of Jobs begins, from 1, in the one queue of all, or else among the
	// submitter's own jobs; and More is the place from which on there are others than Jobs, 0 for
	// none.
	Places []int
	More   int
	// Takes says that the jobs wait only for slots, and take slots of other submitters. Else
	// Limit is the policy's limit that keeps them from it, if that is all. Asks says that the
	// policy has to be asked before one of them succeeds another.
	Takes bool
	Limit string
	Asks  bool
	// QOS and PE are the job's values under which it is charged there, as in a Match.
	QOS string
	PE  float64
}

// Equal reports whether two say the same.
func (s Successors) Equal(other Successors) bool {
	return s.Submitter == other.Submitter && s.More == other.More && s.Takes == other.Takes && s.Limit == other.Limit && s.Asks == other.Asks &&
		s.QOS == other.QOS && s.PE == other.PE && slices.Equal(s.Places, other.Places) && slices.Equal(s.Jobs, other.Jobs)
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
	// Limits are the names of the attributes that concurrency limits and limits of the policy look at,
	// in lower case: a claim goes on with no job that differs in one of them.
	Limits []string
	// OneQueue says that there is one queue of all, and More the place from which on it may hold
	// other jobs than the Successors; 0: it holds none.
	OneQueue bool
	More     int
}

// Endings is how the jobs of a watched cluster have ended. A cluster is watched if its owner
// asks for mail, or if other jobs wait for its end.
type Endings struct {
	Cluster int
	// Owner and Name are the cluster's, To is NotifyUser, Notification the JobNotification that
	// asks for the most among the jobs seen.
	Owner, Name  string
	To           string
	Notification int
	Submitted    int64 // QDate

	// The numbers of jobs that ended with success, with another exit code, by a signal, and of
	// jobs that were removed.
	Succeeded, Failed, Signalled, Removed int
	// Troubles are the first few failures, such as "12.3 ended with exit code 1".
	Troubles []string
	// Shown are the EmailAttributes of the last job that ended, with its name in front.
	Shown []string
	// Held counts the holds that no user asked for, and FirstHeld is the first of these jobs with
	// its reason.
	Held      int
	FirstHeld string
	// Wall and CPU are the seconds that all ended jobs used. First is the first start and Last the
	// last end, in Unix seconds.
	Wall, CPU   float64
	First, Last int64

	// Unknown: the jobs that had left the queue before the watch began are not counted yet. Seen are the
	// procs that were in the queue then, as "0-3,7"; procs from From on were made later, -1: none.
	Unknown bool
	Seen    string
	From    int
	// Gone is the number of jobs that had left the queue and are not in the history.
	Gone int

	// Told are the subjects on which no mail is to be sent any more.
	Told []Tell
	// Tries counts the failed tries to send the next message, and Retry is the time of the next try,
	// in Unix seconds.
	Tries int
	Retry int64
}

// Tell is the subject of a message to the owner of a cluster.
type Tell string
