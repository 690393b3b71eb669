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
// meaning. The reader, the checks and the pages follow it, and fairspool-keys(5)
// is made from it. GroupKeys has those that end with the name of an accounting group, such as
// GROUP_QUOTA_physics, LimitKeys those of concurrency limits, such as
// MATLAB_LIMIT, and EngineKeys those of the tables of engines, [engine.NAME]. Whatever is in none of them, nor an older
// manual's name of one, is an error: a key that a later version will know is refused
// by name, for any other the nearest known key is given.
// An error is `FILE:LINE: NAME: why`.
//
// The package is a mechanism and knows no policy. A policy has a Table: keys under their own
// names and hooks for what is no key, such as an object's attributes or a file of another
// program. A Schema is made of the policies' names and tables, and reads files:
//
//	schema := config.NewSchema([]string{"condor", "fifo"}, fifo.Table())
//	c, err := schema.Parse("fairspool.toml", text)
//	depth := c.Settings("fifo").(*fifo.Settings).Depth
//
// fairspool/lib/policy/registry has that of all policies.
//
// Config.With answers: what if the administrator had set something else? Config.Lines answers:
// what is each setting, and where is it from?
//
// A setting exists once. A key sets the field that is read: those of Params are the
// accountant's, those of Cycle the negotiator's, and a table's are its policy's. Values
// that are texts stand under their keys: Text returns one, and Expr compiles it.
//
// The package reads the one file that it is told to, and those of other programs that tables ask
// for (ReadForeign), and nothing else: where to look for it is the command line's
// business. Groups and what usage decays by come out as lib/accountant takes them.
package config
