// Package container has the programs that run jobs in containers, as one table: how each is called,
// which kinds of images it takes, and how to test whether it works on this machine.
//
// A job stays a process of its supervisor: Wrap replaces the program of a job in a container by a
// runtime, and Start of lib/launch executes that like any other program. The rest follows from that:
//
//   - The runtime and all that it starts inherit the marks and the control group of the job's family
//     (lib/family), and, except for podman, the pipe of its claim. No runtime makes a control group of
//     its own, so the limits of memory and processors are the job's.
//   - Signals go to the session inside (bubblewrap), or to the runtime, which hands them on.
//   - Standard input and output are the job's open files.
//
// State outside of processes, such as podman's record of a container, has the name of the attempt, and
// Remove forgets it.
package container
