// Package jobargs reads and writes the two ways in which a job ad holds a
// list of arguments or an environment in one string.
//
// The old syntax, V1 (attributes Args and Env), has no quoting at all:
// arguments stand apart by blanks, assignments by semicolons, and what
// contains a separator cannot be said. The new syntax, V2 (Arguments and
// Environment), can say everything: words stand apart by blanks, single
// quotes take the meaning from what they enclose, and two of them in a row
// inside quotes are one quote:
//
//	-n 'two words' 'it''s'      three arguments: -n, two words, it's
//	GREETING='good day' N=3     two assignments
//
// An ad that has both attributes means the new one. The double quotes with
// which submit description files mark the new syntax are not part of it;
// lib/submitfile takes them off.
//
// It is a leaf: submit writes what the starter reads. It knows ads, and
// nothing of files, processes, or the environment that it runs in.
package jobargs
