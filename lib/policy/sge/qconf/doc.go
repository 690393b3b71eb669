// Package qconf reads saved output of Grid Engine's qconf.
//
// Each reader takes the text that one option prints: ReadParameters that of -ssconf,
// ReadRecords that of -suser, -sprj, -su and -sp, ReadComplexes that of -sc, and ReadTree that
// of -sstree. List takes a value apart that is a list.
//
//	users, notes := qconf.ReadRecords("name alice\noticket 0\nfshare 100\ndefault_project NONE\n", qconf.Users)
//	text := users[0].Attributes[1].Value // "100", on line 3
//
// There are no errors: what cannot be read is left out, and a note says on which line and
// why. So does one where a file ends too early, because half a table of users is worse than
// none. What attributes mean the package does not know. It reads no file, no clock and no
// environment.
//
// Sources: sched_conf(5), complex(5), user(5), project(5), access_list(5), sge_pe(5)
// and share_tree(5) of Grid Engine 8.1.9.
package qconf
