// Package cmdtest is what the tests of commands share: a spool with known
// contents that the commands find, and a way to run one of them in the test's
// own process.
//
// It knows how commands are called, and nothing of what any of them does.
package cmdtest
