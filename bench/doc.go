// Package bench times whole commands on large spools: make bench runs it. The
// benchmarks of single functions stand beside their code.
package bench
