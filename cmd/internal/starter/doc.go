// Package starter runs what was matched on this machine: one pass from cron, which
// leaves a supervisor with each job that it starts.
//
// # How the parts work together
//
// A pass (pass.go) first looks after the attempts whose supervisor is gone, then starts a supervisor for each
// claim that is Matched (spawn.go). A supervisor (supervisor.go) locks the claim's file. What it does then is
// package supervise; its partners are the desk in the spool (cmd/internal/desk) and the machine for an
// attempt (lib/launch/local).
//
// A supervisor that leaves its slot without a successor starts a cycle. While it stays, it ensures together
// with all others that there is a cycle each NEGOTIATOR_INTERVAL and after each change (package onchange).
//
// With -watch a starter stays, and starts what is matched as soon as the journal says so (follow.go); its
// passes, and the starting, are those of cron. With -drain it marks the machine as drained, and waits until
// its jobs have left (drain.go). Where systemd runs the machine, a supervisor has a scope of its own
// (spawn.go), so that it outlives the caller of the pass.
//
// # Root, and the account of a spool
//
// Root's starter serves the account that the spool belongs to (account.go, package asuser): all of it,
// supervisors too, runs with the account's effective ids, so that it acts on the spool as the account.
// Threads of their own have root's rights for a job's process, cgroup, /proc entry, signals and scratch
// directory, and the owner's rights for the owner's files. Cycles are started as the account alone. Root's
// starter writes the events that processes of the account owe to the logs of jobs (package joblog).
package starter
