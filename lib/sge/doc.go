// Package sge computes the priority of each job by Grid Engine's sge_priority(5), the order of the
// jobs, and the source of each number.
//
// A Ranking is one scheduler run. Its input is the waiting and the running jobs, a Config and a
// World; its output is each job's priority, the weighted sum of its normalised POSIX priority,
// urgency and tickets, with everything it is made of. Queue is the same as a policy of
// fairspool/lib/jobprio, and makes Jobs of job ads.
//
// Rank computes once all that depends on all jobs (the scales, the turns in which tickets are handed
// out, the share tree), and keeps it in arrays by number; the Numbers of a job are made on demand.
// Numbers are doubles, summed in the program's order of terms.
//
// The functional and the override policy serve jobs one after the other. Jobs of the same owner,
// project, department and share are one contender. A contender's tickets never grow while others are
// served, not even by rounding, so an earlier number is a bound, and only the apparent first is
// computed again. A test compares this with a plain greedy algorithm; both agree exactly. The share
// tree is made into branches by number once for a pass, with a temporary branch for each user on a
// "default"; lists of jobs go up from branch to branch and are merged. The procs that count are all
// that run, and of each waiting cluster the lowest min(max_pending_tasks_per_job, free slots + 1): so
// the number of clusters bounds the cost of tickets.
//
// The source of a number (Course) is no second computation: the pass is made once more and notes the
// inputs of the formulas. Priorities, deadlines, shares and tickets count only as constants, as an
// expression's value may change. If program and manual disagree, the program counts, except for the
// half-life; compatibility = "8.1.9" has that as well.
//
// Names are those of sched_conf(5), complex(5), share_tree(5) and qstat(1). "Seed" in comments
// is sge_priority(5). The package is pure: no clock, files, accounts or printing.
package sge
