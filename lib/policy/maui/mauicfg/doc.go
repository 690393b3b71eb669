// Package mauicfg answers: what stands in a maui.cfg?
//
// Read takes the text of Maui's configuration file and returns its lines: a parameter's
// name, its index and its value each. Int, Real, Bool, Time, List, Pair and Attributes
// say what a value comes to, as Maui 3.3.1 was seen to read it.
//
//	lines, notes := mauicfg.Read("USERCFG[john] PRIORITY=0x10\n", mauicfg.Options{})
//	list, notes := mauicfg.Attributes(lines[0].Value) // PRIORITY is "0x10"
//	n, note, ok := mauicfg.Int(list[0].Value)         // 16
//
// Maui never refuses a file: what it cannot read it leaves out without a word. So does
// this package, but tells of it in notes. Which parameters there are, and what they mean,
// it does not know. It reads no file, no clock and no environment.
package mauicfg
