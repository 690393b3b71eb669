// Package pool holds the nouns that every part of fairspool shares: what a
// job is called and which states it has, what a slot is, and what a claim
// binds together.
//
// A claim has a whole slot, or a Piece of a partitionable one, which then is a
// dynamic slot: Left is the partitionable slot's ad without the pieces, DynamicAd
// that of one of them.
//
// It is a leaf: it knows ads and accounting weights, and nothing of files,
// policy or commands. Whoever needs to hand a job, a slot or a claim from one
// part to another uses these types.
package pool
