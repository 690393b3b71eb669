package policy

// Policy is a rule for whose job goes first.
type Policy interface {
	// Name is the value of JOB_PRIORITY_POLICY that chooses it, such as "maui".
	Name() string
}
