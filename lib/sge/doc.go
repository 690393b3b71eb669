// Package sge answers: what priority has each job by Grid Engine's sge_priority(5), which of
// them goes first, and what does each number come from?
//
// A Ranking is one scheduler run: the jobs that wait and those that run, a Config and a World
// go in; a job's priority, the weighted sum of its normalised POSIX priority, urgency and
// tickets, comes out, with everything it is made of. Queue is the same as a policy of
// fairspool/lib/jobprio, and makes Jobs of job ads.
//
// What depends on all jobs (the scales, the turns in which tickets are handed out, the
// share tree) is computed once by Rank and kept in arrays by number; the Numbers of a job
// are made on demand. Doubles, in the program's order of terms.
//
// The functional and the override policy serve jobs one after the other. Jobs of the same owner,
// project, department and share are one contender; what a contender would get never grows while others
// are served, not even by rounding, so an earlier number is a bound, and only the apparent first is
// computed again. A plain greedy agrees with it exactly, as a test. The share tree is made into
// branches by number once for a pass, with a temporary branch for each user on a "default"; lists of
// jobs go up from branch to branch and are merged. The procs that count are all that run, and of each
// cluster that waits the lowest min(max_pending_tasks_per_job, free slots + 1): what tickets cost is
// bounded by clusters.
//
// What a number comes from (Course) is no second reckoning: the pass is made once more and notes what
// it puts into the formulas. Priorities, deadlines, shares and tickets count only as constants: what an
// expression is worth may be something else tomorrow. Where program and manual disagree the program
// counts, but for the half-life; compatibility = "8.1.9" has that as well.
//
// Names are those of sched_conf(5), complex(5), share_tree(5) and qstat(1). "Seed" in comments
// is sge_priority(5). The package is pure: no clock, files, accounts or printing.
package sge
