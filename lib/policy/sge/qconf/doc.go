// Package qconf reads saved output of Grid Engine's qconf.
//
// Each reader takes the text that one option prints: ReadParameters -ssconf's, ReadRecords those of -suser,
// -sprj, -su and -sp, ReadComplexes -sc's, and ReadTree -sstree's. List splits a value that is a list.
//
//	users, notes := qconf.ReadRecords("name alice\noticket 0\nfshare 100\ndefault_project NONE\n", qconf.Users)
//	text := users[0].Attributes[1].Value // "100", on line 3
//
// There are no errors: unreadable text is left out, and a note says on which line and why. A note also reports
// a file that ends too early, because half a table of users is worse than none. The package does not know what
// attributes mean. It reads no file, no clock and no environment.
//
// Sources: sched_conf(5), complex(5), user(5), project(5), access_list(5), sge_pe(5)
// and share_tree(5) of Grid Engine 8.1.9.
package qconf
