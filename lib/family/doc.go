// Package family keeps together all processes that a job has started, whatever their
// present parent: it finds them, measures them, and ends them. It is for Linux.
//
// # How a family is known
//
// Four signs mark a process as one of the job's, and each holds where another does not:
//
//   - Descent. Open makes the calling process a subreaper (prctl(2)): it, instead of init, becomes the parent of
//     every orphan among its descendants. A process that calls setsid, closes all files and clears its
//     environment is still a descendant, as long as the caller lives.
//   - A cgroup (version 2), where the machine lets us make one. No process leaves it without the rights to
//     another one's cgroup.procs, the kernel kills all of it at once, and it still exists when the caller has
//     died.
//   - A mark in the limits: the soft limit of file locks (RLIMIT_LOCKS), which Linux ignores, is a number that
//     follows from the family's name. Every process inherits it, whatever it closes, clears or leaves, and loses
//     it only by setting that very limit. Every user may read it of every process.
//   - A mark in the environment, which a process inherits, and few clear. It holds where a hard limit forbids
//     the mark in the limits, and for a family inside another one, whose mark in the limits replaces the outer
//     one's.
//
// When the supervisor has died, the cgroup and the marks identify the family; Survivors uses these three.
//
// Direct children in the caller's own session are left alone: those are programs
// that it runs for itself, while a job has a session of its own.
//
// # Why none is missed, and nobody else is hit
//
// A list of processes is outdated once it has been read. So End stops the processes that it finds until a whole
// look finds no new one, because a stopped process starts nothing, and then kills until two looks in a row find
// none: the second look sees processes that move between them, from a dying parent to us. The kernel kills a
// cgroup before that; but not for Clear, after which another program is to be started in it. A process is
// identified by its number and the time of its start, and is signalled through a descriptor (pidfd_open(2)) that
// was compared with both, so that no number passes to another process in between.
//
// # Where the cgroup is
//
// Below BASE_CGROUP, which is made in the first of these places that allows it: the caller's own cgroup, if no
// other process is in it, as in a scope that systemd delegates (the caller moves to a leaf of it, as a cgroup
// that hands controllers on may hold no processes itself); else the one above. The memory controller is handed
// down if possible; without it the cgroup still serves to find, to measure processor time, and to kill. The cpu
// controller is not: it would divide the processors by cgroups, and nice values would mean nothing between jobs.
//
// # What is measured
//
// With a cgroup, processor time is the kernel's count of it, and memory, with the memory controller, anonymous
// and shared memory without the page cache. Otherwise both are summed over the present processes, and the time of
// ended ones is known when they were waited for. Memory that several processes share then counts for each of them
// (the resident set), except near a limit, where the proportional set (smaps_rollup) is read: it costs about 10
// ms for each GB, the resident set 10 µs.
package family
