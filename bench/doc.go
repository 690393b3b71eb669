// Package bench times whole commands on large spools: make bench runs it. The
// benchmarks of single functions stand beside their code.
//
// Spools that benchmarks share are made once a run, by processes of their own. The
// slots and jobs of those for negotiation have as many attributes, and
// expressions as long, as those of pools in use; what a pool of them is called
// says how many there are.
package bench
