// Package flock is serve -flock: jobs that users of other pools have here. Each is a pilot of its pool, and runs that user's jobs
// in the slot that this pool gives it.
//
// The caller speaks for a domain, by its account or by the key that sshd let it in with (FLOCK_FROM). It may ask for a pilot, look at those
// of its domain, and cancel them. Of what it says nothing is believed but what it may say: the user is one of its domain, the
// program is this pool's starter.
package flock
