// Package policy answers: what does a way to say who goes first have to tell the pool?
//
// A Policy orders jobs by shares, as HTCondor does, or puts all submitters' jobs into one queue, as
// Maui and Grid Engine do. Each is a package below this one, and is registered by one line in
// fairspool/lib/policy/registry.
package policy
