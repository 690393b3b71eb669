package pool

// Input is the standard input of a cluster's jobs that is kept out of their ads, which others may see: it has a secret. It leaves
// with the last of the jobs.
type Input struct {
	Cluster int
	Text    string
}
