// Package sge answers: what priority has each job by Grid Engine's sge_priority(5), which of
// them goes first, and what does each number come from?
//
// A Ranking is one scheduler run: the jobs that wait and those that run, a Config and a World
// go in; a job's priority, the weighted sum of its normalised POSIX priority, urgency and
// tickets, comes out, with everything it is made of. Queue is the same as a policy of
// fairspool/lib/jobprio, and makes Jobs of job ads.
//
// Names are those of sched_conf(5), complex(5), share_tree(5) and qstat(1). "Seed" in comments
// is sge_priority(5). The package is pure: no clock, files, accounts or printing.
package sge
