// Package mauicfg reads a maui.cfg.
//
// Read takes the text of Maui's configuration file and returns its lines: a parameter's
// name, its index and its value each. Int, Real, Bool, Time, List, Pair and Attributes
// interpret a value as Maui 3.3.1 was observed to do.
//
//	lines, notes := mauicfg.Read("USERCFG[john] PRIORITY=0x10\n", mauicfg.Options{})
//	list, notes := mauicfg.Attributes(lines[0].Value) // PRIORITY is "0x10"
//	n, note, ok := mauicfg.Int(list[0].Value)         // 16
//
// Maui never refuses a file: it silently skips what it cannot read. This package does the
// same, but reports it in notes. It does not know which parameters there are, or what
// they mean. It reads no file, no clock and no environment.
package mauicfg
