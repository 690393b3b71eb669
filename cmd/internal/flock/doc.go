// Package flock is serve -flock: it runs jobs of users of other pools here. Each is a pilot of its pool, and runs that
// user's jobs in the slot that this pool gives it.
//
// The caller speaks for a domain, by its account or by the key that sshd admitted it with (FLOCK_FROM). It may ask for
// a pilot, look at those of its domain, and cancel them. Its requests are checked: the user is one of its domain, the
// program is this pool's starter.
package flock
