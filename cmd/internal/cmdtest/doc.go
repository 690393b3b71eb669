// Package cmdtest is what the tests of commands share: a spool with known
// contents that the commands find, a way to run one of them in the test's
// own process, and scripts over several. Jobs that really run have their owners' rights where the test is root's:
// Users and Share let them.
//
// It knows how commands are called, and nothing of what any of them does.
package cmdtest
