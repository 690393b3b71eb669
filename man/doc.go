// Package man holds the manual pages, in mdoc, one file a page. It has no
// code; its tests hold the pages to the commands and to the configuration's
// table of keys, and run the examples.
//
// A page is written by hand and says in its own words what a user has to
// know. What can be counted is checked: options, keys with their defaults,
// references between pages, and the sections that each page has.
package man
