// Package config answers: what did the administrator set?
//
// The configuration is one TOML file whose top-level keys are the names of
// HTCondor's configuration macros; expressions are ClassAd text in strings:
//
//	PRIORITY_HALFLIFE = 86400
//	DEFAULT_PRIO_FACTOR = 1.0
//	NEGOTIATOR_PRE_JOB_RANK = "-100000 * Cpus - Memory"
//	ADMINISTRATORS = ["alice"]
//
// One table, Keys, holds each key's name, kind, default, unit, range and
// meaning; the reader, the checks and the manual page fairspool.toml(5) follow
// it. GroupKeys has those that end with the name of an accounting group, such as
// GROUP_QUOTA_physics, LimitKeys those of concurrency limits, such as
// MATLAB_LIMIT; MauiKeys and SGEKeys those of the tables [maui] and [sge], which
// hold parameters of other policies under their own names, and MauiAttributes what
// [maui] may say of a user or another credential, SGEAttributes what [sge] may say of
// a user, a project or another object. Whatever is in none of them, nor an older
// manual's name of one, is an error: a key that a later version will know is refused
// by name, for any other the nearest known key is given.
// An error is `FILE:LINE: NAME: why`.
//
// ParseMaui reads the other syntax of [maui], Maui's own configuration file, of which
// nothing is an error; what is wrong with it is told in warnings.
//
// Config.With answers: what if the administrator had set something else? Config.Lines answers:
// what is each setting, and where is it from?
//
// A setting exists once. A key sets the field that is read: those of Params are the
// accountant's, those of Cycle the negotiator's, those of Maui and SGE their policies'. Values
// that are texts stand under their keys: Text returns one, and Expr compiles it. The tables of
// policies are registered in one list, policyTables.
//
// The package reads the one file that it is told to, those that this names, a maui.cfg and
// saved output of qconf, and nothing else: where to look for it is the command line's
// business. Groups and what usage decays by come out as lib/accountant takes them, [maui] as
// lib/maui does, [sge] as lib/sge does.
package config
