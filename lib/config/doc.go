// Package config reads the administrator's settings.
//
// The configuration is one TOML file whose top-level keys are the names of
// HTCondor's configuration macros; expressions are ClassAd text in strings:
//
//	PRIORITY_HALFLIFE = 86400
//	DEFAULT_PRIO_FACTOR = 1.0
//	NEGOTIATOR_PRE_JOB_RANK = "-100000 * Cpus - Memory"
//	ADMINISTRATORS = ["alice"]
//
// One table, Keys, holds each key's name, kind, default, unit, range and meaning. The reader, the checks and the pages
// follow it, and fairspool-keys(5) is made from it. GroupKeys has the keys that end with the name of an accounting
// group, such as GROUP_QUOTA_physics, LimitKeys those of concurrency limits, such as MATLAB_LIMIT, and EngineKeys those
// of the tables of engines, [engine.NAME]. Any other key, except an older manual's name of one, is an error. The error
// names a key that a later version will know, and gives the nearest known key for any other. An error is `FILE:LINE:
// NAME: why`.
//
// The package is a mechanism and knows no policy. A policy has a Table: keys under their own names, and hooks for other
// settings, such as an object's attributes or a file of another program. A Schema is made of the policies' names and
// tables, and reads files:
//
//	schema := config.NewSchema([]string{"condor", "fifo"}, fifo.Table())
//	c, err := schema.Parse("fairspool.toml", text)
//	depth := c.Settings("fifo").(*fifo.Settings).Depth
//
// fairspool/lib/policy/registry has the schema of all policies.
//
// Config.With returns the configuration with other settings. Config.Lines returns each setting with its source.
//
// A setting exists once. A key sets the field that is read: the fields of Params are the accountant's, those of Cycle
// the negotiator's, and a table's are its policy's. Values that are texts stand under their keys: Text returns one, and
// Expr compiles it.
//
// The package reads only the file that the caller names, and those of other programs that tables ask for (ReadForeign).
// The command line decides where to look for the file. Groups and the decay of usage have lib/accountant's types.
package config
